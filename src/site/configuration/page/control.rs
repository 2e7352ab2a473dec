//! Form controls for options, chosen by the type of the option.

use std::fmt::Write as _;

use serde_json::Value;
use wwwoffle_config::edit::{quoted, unquoted};
use wwwoffle_config::schema::OptionInfo;

use crate::base::shown;
use crate::page::{View, view};

/// Kind of a form control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionControl {
    /// Yes or no.
    YesNo,
    /// One of these words.
    Words(Vec<String>),
    /// An integer.
    Number,
    /// A string, typed without quotes.
    Text,
    /// A password or its hash; never shown.
    Secret,
    /// An array, edited element by element.
    List,
    /// Any other value, in TOML syntax.
    Toml,
}

impl OptionControl {
    /// Returns the control for an option.
    #[must_use]
    pub fn of(option: &OptionInfo) -> Self {
        let schema: Value = serde_json::from_str(option.json).unwrap_or_default();
        let kind = schema.get("type").and_then(Value::as_str);
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Option<Vec<_>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            return words.map_or(Self::Toml, Self::Words);
        }
        match kind {
            Some("array") => Self::List,
            _ if option.is_secret => Self::Secret,
            Some("boolean") => Self::YesNo,
            Some("integer") => Self::Number,
            Some("string") => Self::Text,
            _ => Self::Toml,
        }
    }

    /// Returns the text for the form from a value of the file.
    #[must_use]
    pub fn typed(&self, value: &str) -> String {
        match self {
            Self::Text | Self::Words(_) => match unquoted(value) {
                Some(text) if shown::line(&text) == text => text,
                _ => escape_invisible(value),
            },
            Self::Secret => String::new(),
            Self::YesNo | Self::Number | Self::List | Self::Toml => escape_invisible(value),
        }
    }

    /// Returns the value for the file from the typed text.
    #[must_use]
    pub fn value(&self, typed: &str) -> String {
        match self {
            // Typed with quotes: the text is already in the syntax of the file.
            Self::Text if typed.starts_with('"') && unquoted(typed).is_some() => typed.to_owned(),
            Self::Text | Self::Words(_) | Self::Secret => quoted(typed),
            Self::YesNo | Self::Number | Self::List | Self::Toml => typed.trim().to_owned(),
        }
    }

    /// Returns the control for a template, filled in with `typed`.
    pub(super) fn view(&self, typed: &str) -> View {
        let typed = if *self == Self::Secret { "" } else { typed };
        let mut choices: Vec<String> = match self {
            // The template translates these words.
            Self::YesNo => vec!["true".to_owned(), "false".to_owned()],
            Self::Words(words) => words.clone(),
            _ => Vec::new(),
        };
        let is_known = choices.iter().any(|value| value == typed);
        // A value of the file that is not among the choices is shown, too.
        if !choices.is_empty() && !is_known && !typed.is_empty() && typed.len() <= LONGEST_VALUE {
            choices.push(typed.to_owned());
        }
        let choice =
            |value: &String| view! { value, word: shown::text(value), chosen: value == typed };
        let too_long = typed.len() > LONGEST_VALUE;
        view! {
            name: self.name(),
            value: if too_long { "" } else { typed },
            choices: choices.iter().map(choice).collect::<Vec<_>>(),
            // Whether the value was left out because it is too long.
            too_long,
        }
    }

    /// Returns the name of the control in templates.
    fn name(&self) -> &'static str {
        match self {
            Self::YesNo => "yes-no",
            Self::Words(_) => "words",
            Self::Number => "number",
            Self::Text => "text",
            Self::Secret => "secret",
            Self::List => "list",
            Self::Toml => "toml",
        }
    }
}

/// Returns a value in the syntax of the file, with invisible characters escaped.
#[must_use]
pub fn escape_invisible(value: &str) -> String {
    let escaped = |text: &str| {
        text.chars().fold(String::new(), |mut fit, c| {
            let is_seen = c == '\n' || shown::line(c.encode_utf8(&mut [0; 4])).starts_with(c);
            if is_seen {
                fit.push(c);
            } else {
                // Writing to a string cannot fail.
                let _ = write!(fit, "\\U{:08X}", u32::from(c));
            }
            fit
        })
    };
    match unquoted(value) {
        Some(text) if shown::line(&text) != text => {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{}\"", escaped(&text).replace('\n', "\\n"))
        }
        _ => escaped(value),
    }
}

/// Maximum length of a value in a form, in bytes.
pub const LONGEST_VALUE: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use wwwoffle_config::edit::unquoted;
    use wwwoffle_config::schema::SECTIONS;

    use super::{OptionControl, escape_invisible};

    #[test]
    fn each_type_has_its_control() {
        for (section, key, want) in [
            ("options", "log-level", "words"),
            ("options", "finish-downloads", "yes-no"),
            ("options", "connections-per-host", "number"),
            ("options", "connect-timeout", "text"),
            ("startup", "spool-dir", "text"),
            ("startup", "listen", "list"),
            ("startup", "password", "secret"),
            ("allowed-connect-users", "users", "list"),
            ("dont-get", "urls", "list"),
            ("censor-header", "headers", "toml"),
        ] {
            let section = SECTIONS.iter().find(|known| known.name == section).unwrap();
            let option = section.options.iter().find(|known| known.key == key).unwrap();
            assert_eq!(OptionControl::of(option).name(), want, "{key}");
        }
    }

    #[test]
    fn every_default_round_trips() {
        for section in SECTIONS {
            for option in section.options {
                let control = OptionControl::of(option);
                if control == OptionControl::Secret {
                    continue;
                }
                let back = control.value(&control.typed(option.default));
                let same = |text: &str| unquoted(text).unwrap_or_else(|| text.to_owned());
                assert_eq!(same(&back), same(option.default), "{}.{}", section.name, option.key);
            }
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for (value, want) in [
            ("'a'", "'a'"),
            ("\"a\u{202e}\\\"b\"", "\"a\\U0000202E\\\"b\""),
            ("[\"a\u{200b}\"]", "[\"a\\U0000200B\"]"),
        ] {
            assert_eq!(escape_invisible(value), want);
        }
        assert_eq!(OptionControl::Text.value("\"a\\U0000202E\""), "\"a\\U0000202E\"");
        assert_eq!(OptionControl::Text.value("\""), "'\"'");
    }
}
