//! Forms in pages. They are parsed and filled in as by a browser without scripts.

/// A form: its target, its method, and the values of its fields.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) method: String,
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
}

/// All possible submissions of a page: each form, and each form once more for each of its buttons
/// that has another target.
pub(crate) fn forms(html: &str) -> Vec<Form> {
    let (mut sent, mut open) = (Vec::new(), None::<Form>);
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>').map(|(tag, _)| tag)) {
        let kind = tag.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let value = |name: &str| attribute(tag, name);
        let (method, action) = (value("method"), value("action"));
        match (kind.as_str(), &mut open) {
            ("form", _) => {
                let method = method.unwrap_or_default().to_ascii_uppercase();
                let action = action.unwrap_or_default();
                sent.extend(open.replace(Form { method, action, fields: Vec::new() }));
            }
            ("/form", _) => sent.extend(open.take()),
            ("input" | "button", Some(form)) => {
                let own = value("name").map(|name| (name, value("value").unwrap_or_default()));
                if let Some(action) = value("formaction") {
                    let mut pressed = Form { action, ..form.clone() };
                    pressed.fields.extend(own);
                    sent.push(pressed);
                } else {
                    form.fields.extend(own);
                }
            }
            _ => {}
        }
    }
    sent.extend(open);
    sent
}

/// The first form whose action contains `part`.
#[track_caller]
pub(crate) fn form(html: &str, part: &str) -> Form {
    let found = forms(html).into_iter().find(|form| form.action.contains(part));
    found.unwrap_or_else(|| panic!("no form to {part:?} in:\n{html}"))
}

impl Form {
    /// The encoded request body.
    pub(crate) fn body(&self) -> String {
        let pair = |(name, value): &(String, String)| format!("{}={}", encode(name), encode(value));
        self.fields.iter().map(pair).collect::<Vec<_>>().join("&")
    }

    /// The same form without the fields named `name`.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(found, _)| found != name);
        self
    }

    /// The same form with `value` as the only value of `name`.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same form with an additional field.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The first value of a field. `None` if the form has no such field.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The value of an attribute, with character references decoded. `None` if the tag lacks it.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let at = lower
        .match_indices(&format!("{name}="))
        .find(|(at, _)| lower[..*at].ends_with(|before: char| before.is_ascii_whitespace()))?
        .0;
    let rest = &tag[at + name.len() + 1..];
    let value = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next()?,
        _ => rest.split_ascii_whitespace().next()?,
    };
    Some(unescape(value))
}

/// Decodes the character references that our templates use.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, next) = after.split_once(';').unwrap_or((after, ""));
        let number = name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16).ok());
        let number = number.or_else(|| name.strip_prefix('#').map(|decimal| decimal.parse().ok()));
        let known = match (name, number) {
            ("amp", _) => Some('&'),
            ("lt", _) => Some('<'),
            ("gt", _) => Some('>'),
            ("quot", _) => Some('"'),
            ("apos", _) => Some('\''),
            (_, number) => number.flatten().and_then(char::from_u32),
        };
        if let Some(character) = known {
            out.push(character);
            rest = next;
        } else {
            out.push('&');
            rest = after;
        }
    }
    out + rest
}

/// Encodes a text as in `application/x-www-form-urlencoded`.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}
