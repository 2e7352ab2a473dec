//! The key an entry is kept under.

use std::fmt;
use std::str::FromStr;

use crate::error::{Kind, ParseError};

/// SHA-256 of a canonical URL with its credentials: what an entry is found by.
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// use wwwoffle_url::{CanonicalUrl, Key, LocalHost};
/// let key = CanonicalUrl::parse("http://www.example.org", &LocalHost::default())?.key();
/// assert_eq!(key.to_string().parse::<Key>()?, key);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key with this hash.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        hex::encode_to_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

impl FromStr for Key {
    type Err = ParseError;

    /// Reads 64 lower-case hex digits, the spelling of file names.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut bytes = [0; 32];
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(Kind::BadKey.into());
        }
        hex::decode_to_slice(text, &mut bytes).map_err(|_| Kind::BadKey)?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_spelling_is_a_key() {
        let key = Key::from_bytes([0xab; 32]);
        let text = key.to_string();
        assert_eq!(text, "ab".repeat(32));
        assert_eq!(text.parse(), Ok(key));
        for wrong in [text.to_uppercase(), text.replace('a', "g"), format!("{text}0"), "ab".into()]
        {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }
}
