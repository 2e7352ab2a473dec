//! Methods of requests.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};

/// The longest name of a method, in bytes.
const MAX_NAME: usize = 127;

/// A list of request methods; case matters (RFC 9110 §9.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods(Vec<String>);

impl Methods {
    /// Whether the list includes `method`.
    #[must_use]
    pub fn contains(&self, method: &str) -> bool {
        self.0.iter().any(|known| known == method)
    }
}

impl Value for Methods {
    const KIND: &'static str = "methods";
    const MEANING: &'static str = "\
An array of request methods, in capitals as they are sent: `[\"PURGE\", \"SUBSCRIBE\"]`.";
    const EXPECTED: &'static str = "an array of methods of requests, such as [\"PURGE\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "methods of requests, such as \"PURGE\""];
        texts(given, source, expected, method).map(Self)
    }
}

/// Parses a method, which is a token (RFC 9110 §5.6.2).
fn method(text: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_method = !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(is_token);
    is_method.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::method;

    #[test]
    fn methods_are_tokens() {
        for (text, want) in [
            ("PURGE", true),
            ("M-SEARCH", true),
            ("", false),
            ("A B", false),
            ("A\r\n", false),
            ("É", false),
        ] {
            assert_eq!(method(text).is_some(), want, "{text:?}");
        }
    }
}
