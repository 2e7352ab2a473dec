//! `Link` fields (RFC 8288) that make browsers fetch sub-resources.

use super::element::{ElementContext, Tag};
use super::gather::Collector;
use super::link;

/// The relations that browsers honour in `Link` fields.
const HEEDED: [&str; 4] = ["preload", "modulepreload", "prefetch", "stylesheet"];

/// A link of a `Link` field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLink {
    /// The target, as written.
    pub target: String,
    /// The parameters, with their names in lower case.
    parameters: Vec<(String, String)>,
}

impl FieldLink {
    /// The first parameter of this name (RFC 8288 §3).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the link has this relation to the resource of its response.
    #[must_use]
    pub fn has_relation(&self, relation: &str) -> bool {
        let mut relations = self.get("rel").unwrap_or_default().split_ascii_whitespace();
        self.get("anchor").is_none() && relations.any(|own| own.eq_ignore_ascii_case(relation))
    }
}

/// The links of one `Link` field. The list ends before the first invalid link.
///
/// ```
/// let field = "<http://a.example/>; rel=\"original\", </m>; rel=memento; datetime=\"x\"";
/// let links: Vec<_> = wwwoffle_html::references::field_links(field).collect();
/// assert!(links[0].has_relation("original") && links[0].target == "http://a.example/");
/// assert_eq!(links[1].get("datetime"), Some("x"));
/// ```
pub fn field_links(field: &str) -> impl Iterator<Item = FieldLink> + '_ {
    let mut rest = field;
    std::iter::from_fn(move || {
        let (tag, after) = next(rest)?;
        rest = after;
        let mut parameters = tag.attributes;
        let (_, target) = parameters.remove(0);
        Some(FieldLink { target, parameters })
    })
}

/// Parses the value of one field.
pub(super) fn read(field: &str, gather: &mut Collector) {
    let mut rest = field;
    while let Some((tag, after)) = next(rest) {
        rest = after;
        // With an anchor, the link describes another resource (RFC 8288 §3.2).
        if tag.get("anchor").is_some() {
            continue;
        }
        if HEEDED.iter().any(|word| tag.has_word("rel", word)) {
            link::link(&tag, &mut ElementContext::default(), gather);
        } else if tag.has_word("rel", "canonical")
            && let Some(reference) = tag.filled("href")
        {
            gather.set_canonical(reference);
        }
    }
}

/// The next link, as the equivalent `link` element, and the text after it. `None` at the end, or if
/// the next link is invalid.
fn next(text: &str) -> Option<(Tag, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    let (reference, mut rest) = text.strip_prefix('<')?.split_once('>')?;
    let mut attributes = vec![("href".to_owned(), reference.to_owned())];
    while let Some(after) = rest.trim_start().strip_prefix(';') {
        let after = after.trim_start();
        let end = after.find([';', ',', '=']).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => value(after.trim_start()),
            None => (String::new(), after),
        };
        attributes.push((name.trim().to_ascii_lowercase(), value));
        rest = after;
    }
    Some((Tag { name: "link".to_owned(), attributes }, rest))
}

/// Parses a token or a quoted string. Returns its text and the text after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return (token.trim_end().to_owned(), rest);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            '"' if !is_escaped => return (value, quoted.get(at + 1..).unwrap_or_default()),
            c => value.push(c),
        }
        is_escaped = false;
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use crate::references::{BodyKind, Finder, Viewport};

    #[test]
    fn fields_are_read_as_elements_are() {
        let rows = [
            ("</a.css>; rel=preload; as=style", "stylesheet /a.css"),
            (
                "<a.js>;rel=\"x modulepreload\" , <b.woff2>; as=\"font\"; rel=preload",
                "script /d/a.js font /d/b.woff2",
            ),
            (
                "<a,b;c.png>; REL=preload; As=image; title=\"x, <y>; \\\" z\", <c.js>;rel=preload;nopush;as=script",
                "image /d/a,b;c.png script /d/c.js",
            ),
            (
                "<a.png>; rel=preload; as=image; imagesrcset=\"b.png 1x, c.png 2x\"",
                "image /d/b.png",
            ),
            ("</x>; rel=canonical, <//h.example>; rel=preconnect, <y>; rel=next", ""),
            ("<a.css>; rel=stylesheet; anchor=\"#x\"", ""),
            ("a.css; rel=preload; as=style", ""),
            ("<a.css; rel=preload", ""),
            (",, <>; rel=preload; as=style,", ""),
            ("<a.css>; rel=\"preload; as=style", ""),
        ];
        for (field, want) in rows {
            let page = "http://a.example/d/p".parse().unwrap();
            let mut finder = Finder::new(BodyKind::Html, &page, None, &Viewport::default());
            finder.link_field(field);
            finder.write(b"<link rel=icon href=data:,>");
            let found = finder.finish();
            let links = found.links.iter().filter(|link| link.left_out.is_none());
            let links = links.map(|link| {
                let path = link.url.strip_prefix("http://a.example").unwrap_or(&link.url);
                format!("{} {path}", link.class)
            });
            assert_eq!(links.collect::<Vec<_>>().join(" "), want, "{field}");
        }
    }
}
