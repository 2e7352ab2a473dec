//! Names of header fields.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};

/// The longest name of a header field, in bytes. A longer one cannot be in `Vary`.
const MAX_NAME: usize = 64;

/// Names of header fields, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderNames(Vec<String>);

impl HeaderNames {
    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value for HeaderNames {
    const KIND: &'static str = "header names";
    const MEANING: &'static str = "\
An array of names of header fields: `[\"X-Version\", \"SOAPAction\"]`. Case does not matter.";
    const EXPECTED: &'static str = "an array of names of header fields, such as [\"X-Version\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "names of header fields, such as \"X-Version\""];
        texts(given, source, expected, name).map(Self)
    }
}

/// Parses one name: the characters that names in `Vary` may have.
fn name(text: &str) -> Option<String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(is_usual);
    is_name.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn header_names_are_read_in_lower_case() {
        let long = "x".repeat(65);
        for (text, want) in [
            ("X-Version", Some("x-version")),
            ("SOAPAction", Some("soapaction")),
            ("", None),
            ("*", None),
            ("x y", None),
            ("x:", None),
            (long.as_str(), None),
        ] {
            assert_eq!(name(text).as_deref(), want, "{text:?}");
        }
    }
}
