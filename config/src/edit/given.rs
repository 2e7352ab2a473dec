//! Conversion of a value, as a person typed it, to its notation in the file.

use super::quoted;
use crate::schema::Config;
use std::path::Path;
use toml_edit::Value as Toml;

/// Converts the value of an option.
pub(super) fn value(section: &str, key: &str, typed: &str) -> String {
    read(typed, |value| format!("[{section}]\n{key} = {value}\n"))
}

/// Converts one element of an option that is an array.
pub(super) fn item(section: &str, key: &str, typed: &str) -> String {
    read(typed, |item| format!("[{section}]\n{key} = [{item}]\n"))
}

/// Converts the value of an option in a rule.
pub(super) fn of_rule(section: &str, key: &str, typed: &str) -> String {
    let url = "url = [\"*://*/*\"]";
    read(typed, |value| format!("[[{section}.for]]\n{url}\n{key} = {value}\n"))
}

/// Returns `typed` if it is TOML, and otherwise quotes it as a text. A word that is TOML, such as
/// `443`, is also quoted if the option accepts it only as a text.
fn read(typed: &str, whole: impl Fn(&str) -> String) -> String {
    let typed = typed.trim();
    let Ok(value) = typed.parse::<Toml>() else {
        return quoted(typed);
    };
    let plain = value.decorated("", "").to_string();
    let is_word = !plain.starts_with(['"', '\'', '[', '{']);
    let fits = |value: &str| Config::parse(&whole(value), Path::new("")).is_ok();
    if is_word && !fits(&plain) && fits(&quoted(typed)) { quoted(typed) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::{item, value};

    #[test]
    fn typed_values_become_toml() {
        for (section, key, typed, want) in [
            ("options", "connect-timeout", "30s", r#""30s""#),
            ("options", "connect-timeout", r#""30s""#, r#""30s""#),
            ("options", "connect-timeout", " '30s' ", "'30s'"),
            ("options", "connect-timeout", "30", "30"),
            ("options", "finish-downloads", "false", "false"),
            ("options", "finish-downloads", "no", r#""no""#),
            ("options", "connections-per-host", "8", "8"),
            ("startup", "spool-dir", "/a \"b\"", r#"'/a "b"'"#),
            ("startup", "spool-dir", "", r#""""#),
            ("tunnel", "ports", "[443, \"1-2\"]", "[443, \"1-2\"]"),
        ] {
            assert_eq!(value(section, key, typed), want, "{key} {typed}");
        }
        for (section, key, typed, want) in [
            ("tunnel", "ports", "443", "443"),
            ("tunnel", "ports", "1-2", r#""1-2""#),
            ("local-host", "names", "proxy.lan", r#""proxy.lan""#),
            ("local-host", "names", "::1", r#""::1""#),
            ("https", "refuse", "*://a.test/*", r#""*://a.test/*""#),
            ("https", "refuse", "{ file = \"a\" }", "{ file = \"a\" }"),
        ] {
            assert_eq!(item(section, key, typed), want, "{key} {typed}");
        }
    }
}
