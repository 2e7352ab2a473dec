//! Hiding of passwords: results show only that a password is set.
//!
//! A password can be found from its hash with enough time, so hashes are hidden too.

use super::{Edit, EditError, EditResult, Rule};
use crate::schema::SECTIONS;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value as Toml};

/// The placeholder of a secret.
const HIDDEN: &str = "\"(hidden)\"";

/// The beginning of every password hash.
const HASH: &str = "$argon2";

/// Replaces the value of an option if it is a secret.
pub(super) fn shown(key: &str, value: String) -> String {
    if is_secret(key) { HIDDEN.to_owned() } else { value }
}

/// Replaces the secrets in a rule.
pub(super) fn shown_rule(rule: Rule) -> Rule {
    let options = rule.options.into_iter();
    let options = options.map(|(key, value)| {
        let value = shown(&key, value);
        (key, value)
    });
    Rule { options: options.collect(), urls: rule.urls }
}

/// Whether a value is the placeholder that [`shown`] returns for a secret.
pub(super) fn is_shown_of(key: &str, value: &str) -> bool {
    is_secret(key) && value.trim() == HIDDEN
}

/// Removes the secrets from the result of an edit.
pub(super) fn hide(
    edit: &Edit,
    result: Result<EditResult, EditError>,
) -> Result<EditResult, EditError> {
    match edit {
        Edit::Set { key, .. }
        | Edit::Unset { key, .. }
        | Edit::Add { key, .. }
        | Edit::Remove { key, .. } => {
            if !is_secret(key) {
                return result;
            }
            let hide = |value: Option<String>| value.map(|_| HIDDEN.to_owned());
            match result {
                Ok(result) => {
                    Ok(EditResult { was: hide(result.was), now: hide(result.now), ..result })
                }
                Err(EditError::NoItem { option, .. }) => {
                    let (item, found) = (HIDDEN.to_owned(), HIDDEN.to_owned());
                    Err(EditError::NoItem { option, item, found })
                }
                Err(error) => Err(error),
            }
        }
        Edit::AddRule { .. } | Edit::RemoveRule { .. } | Edit::ReplaceRule { .. } => {
            let hide = |rule: Option<String>| rule.map(|rule| without_secrets(&rule));
            result.map(|result| EditResult {
                was: hide(result.was),
                now: hide(result.now),
                ..result
            })
        }
    }
}

/// A text without readable secrets, for display. A text that is not TOML becomes empty.
///
/// The values of secrets are hidden wherever they occur, and so is a password hash in a comment.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let Ok(document) = Document::parse(text) else { return String::new() };
    let mut spans = Vec::new();
    collect(document.as_table(), false, &mut spans);
    spans.sort_unstable_by_key(|span| std::cmp::Reverse(span.start));
    let mut shown = text.to_owned();
    for span in spans {
        shown.replace_range(span, HIDDEN);
    }
    without_hashes(&shown)
}

/// Collects the ranges of secret values, or of all values if `all` is set.
fn collect(table: &dyn TableLike, all: bool, spans: &mut Vec<Range<usize>>) {
    for (key, item) in table.iter() {
        collect_item(item, all || is_secret(key), spans);
    }
}

fn collect_item(item: &Item, is_secret: bool, spans: &mut Vec<Range<usize>>) {
    match item {
        Item::None => {}
        Item::Value(value) if is_secret => spans.extend(value.span()),
        Item::Value(value) => collect_value(value, spans),
        Item::Table(table) => collect(table, is_secret, spans),
        Item::ArrayOfTables(tables) => {
            tables.iter().for_each(|table| collect(table, is_secret, spans));
        }
    }
}

fn collect_value(value: &Toml, spans: &mut Vec<Range<usize>>) {
    match value {
        Toml::InlineTable(table) => collect(table, false, spans),
        Toml::Array(array) => array.iter().for_each(|element| collect_value(element, spans)),
        _ => {}
    }
}

fn without_hashes(text: &str) -> String {
    let mut parts = text.split(HASH);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
        let rest = part.find(ends).and_then(|end| part.get(end..)).unwrap_or_default();
        shown.extend(["(hidden)", rest]);
    }
    shown
}

/// Whether an option of this name is a secret in any section.
fn is_secret(key: &str) -> bool {
    let options = SECTIONS.iter().flat_map(|section| section.options);
    options.filter(|option| option.is_secret).any(|option| option.key == key)
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, EditError, apply, overview};
    use super::without_secrets;

    /// Texts with `hunter2` in a place where a secret may be, or with a hash where none is
    /// expected.
    const TEXTS: &[&str] = &[
        "[startup]\npassword = \"hunter2\"\n",
        "startup.password = 'hunter2'\n",
        "startup = { password = \"hunter2\" }\n",
        "[[startup]]\npassword = \"hunter2\"\n",
        "[startup.password]\nx = \"hunter2\"\n",
        "[allowed-connect-users]\nusers = [\n  { name = \"a\", password = \"hunter2\" }, # c\n]\n",
        "[[allowed-connect-users.users]]\nname = \"a\"\npassword = \"hunter2\"\n",
        "[proxy]\nauth-password = \"hunter2\"\n[[proxy.for]]\nurl = \"u\"\nauth-password = 'hunter2'\n",
        "# password = \"$argon2id$v=19$hunter2\"\n[startup]\n",
        "x = [[{ password = \"hunter2\" }]]\n",
    ];

    #[test]
    fn secrets_are_hidden() {
        for text in TEXTS {
            let shown = without_secrets(text);
            assert!(shown.contains("(hidden)") && !shown.contains("hunter2"), "{shown}");
            assert!(!format!("{:?}", overview(text).unwrap()).contains("hunter2"), "{text}");
        }
        let plain = "[options]\nlog-level = 'warn' # c\n";
        assert_eq!(without_secrets(plain), plain);
        assert_eq!(without_secrets("password = \"hunter2"), "");
    }

    #[test]
    fn edits_of_a_secret_hide_its_value() {
        let text = "[startup]\npassword = \"hunter2\"\n[allowed-connect-users]\nusers = [\"hunter2\"]\n\
            [[proxy.for]]\nurl = \"u\"\nauth-password = \"hunter2\"\n";
        let of = |section: &str, key: &str| (section.to_owned(), key.to_owned());
        let (section, key) = of("startup", "password");
        let (users, list) = of("allowed-connect-users", "users");
        let urls = || vec!["u".to_owned()];
        let options = |password: &str| vec![("auth-password".to_owned(), password.to_owned())];
        let proxy = || "proxy".to_owned();
        let replace = Edit::ReplaceRule {
            section: proxy(),
            index: 0,
            was: urls(),
            url: vec!["v".to_owned()],
            options: options("\"(hidden)\""),
        };
        for edit in [
            Edit::Set { section: section.clone(), key: key.clone(), value: "hunter2x".to_owned() },
            Edit::Unset { section, key },
            Edit::Add {
                section: users.clone(),
                key: list.clone(),
                item: "hunter2x".to_owned(),
                before: None,
            },
            Edit::Remove { section: users.clone(), key: list.clone(), item: "hunter2".to_owned() },
            Edit::RemoveRule { section: proxy(), index: 0, url: urls() },
            Edit::AddRule {
                section: proxy(),
                url: urls(),
                options: options("hunter2x"),
                before: None,
            },
            replace.clone(),
        ] {
            let edited = apply(text, &edit).unwrap();
            assert!(!format!("{:?} {:?}", edited.was, edited.now).contains("hunter2"), "{edit:?}");
        }
        let none = Edit::Remove { section: users, key: list, item: "hunter3".to_owned() };
        let edited = apply(text, &none).unwrap_err();
        assert!(matches!(&edited, EditError::NoItem { .. }));
        assert!(!edited.to_string().contains("hunter"), "{edited}");
        // A page sends back the placeholder of a secret. The secret then stays unchanged.
        let kept = apply(text, &replace).unwrap().text;
        assert_eq!(kept, text.replace("url = \"u\"", "url = [\"v\"]"));
    }
}
