//! The key of an entry.

use std::fmt;
use std::str::FromStr;

use sha2::block_api::compress256;

use crate::error::{ParseError, UrlFault};

/// The key of an entry: SHA-256 of a canonical URL with its credentials.
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
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of one contiguous text. The padding is done here, because the buffer and state of
    /// `sha2::Sha256` would take a sixth of the time for such short texts.
    pub(crate) fn of(text: &[u8]) -> Self {
        /// The initial state of SHA-256 (FIPS 180-4 §5.3.3).
        const START: [u32; 8] = [
            0x6a09_e667,
            0xbb67_ae85,
            0x3c6e_f372,
            0xa54f_f53a,
            0x510e_527f,
            0x9b05_688c,
            0x1f83_d9ab,
            0x5be0_cd19,
        ];
        let mut state = START;
        let (blocks, rest) = text.as_chunks();
        if !blocks.is_empty() {
            compress256(&mut state, blocks);
        }
        // FIPS 180-4 §5.1.1: a bit, zeros, and the length in bits at the end of a block.
        let mut tail = [[0; 64]; 2];
        let (head, padding) = tail.as_flattened_mut().split_at_mut(rest.len());
        head.copy_from_slice(rest);
        if let Some(bit) = padding.first_mut() {
            *bit = 0x80;
        }
        let end = if rest.len() < 56 { 1 } else { 2 };
        let (tail, _) = tail.split_at_mut(end);
        if let Some(length) = tail.as_flattened_mut().last_chunk_mut() {
            *length = u64::try_from(text.len() * 8).unwrap_or(u64::MAX).to_be_bytes();
        }
        compress256(&mut state, tail);
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
            *to = word.to_be_bytes();
        }
        Self(bytes)
    }

    /// The key of an object under this key, if `text` distinguishes several objects: SHA-256 of
    /// this key in hex, a line feed, and `text`. A URL contains no line feed, so no URL has such a
    /// key.
    #[must_use]
    pub fn variant(&self, text: &str) -> Self {
        Self::of(format!("{self}\n{text}").as_bytes())
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

    /// Parses 64 lower-case hex digits, the spelling in file names.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut bytes = [0; 32];
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(UrlFault::BadKey.into());
        }
        hex::decode_to_slice(text, &mut bytes).map_err(|_| UrlFault::BadKey)?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_hash_of_a_text_is_sha_256() {
        let text: Vec<u8> = (0..=255).collect();
        for end in 0..=text.len() {
            let expected: [u8; 32] = Sha256::digest(&text[..end]).into();
            assert_eq!(Key::of(&text[..end]), Key(expected), "{end}");
        }
    }

    #[test]
    fn variants_of_a_key_have_keys_of_their_own() {
        let key = Key::from_bytes([0xab; 32]);
        let expected: [u8; 32] = Sha256::digest(format!("{}\nuser a", "ab".repeat(32))).into();
        assert_eq!(key.variant("user a"), Key(expected));
        assert_ne!(key.variant(""), key);
        assert_ne!(key.variant("a").variant("b"), key.variant("a\nb"));
    }

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
