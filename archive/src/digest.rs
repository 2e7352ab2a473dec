//! Digests in the notation of archives: `sha1:` in base 32 or hex, `sha256:`, `sha512:`.

use sha1::Sha1;
use sha2::digest::DynDigest;
use sha2::{Sha256, Sha512};

use crate::refusal::Reason;

/// An expected digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) algorithm: Algorithm,
    bytes: Vec<u8>,
}

/// A digest algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

/// An incremental digest.
pub(crate) type Hasher = Box<dyn DynDigest>;

impl Digest {
    /// Parses the value of a field. `None` if the algorithm is unknown; such a digest is not
    /// verified.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, Reason> {
        let (name, value) = text.trim().split_once(':').unwrap_or_default();
        let algorithm = match name.to_ascii_lowercase().replace('-', "").as_str() {
            "sha1" => Algorithm::Sha1,
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Ok(None),
        };
        let width = algorithm.hasher().output_size();
        let bytes = if value.len() == 2 * width { hex::decode(value).ok() } else { base32(value) };
        match bytes.filter(|bytes| bytes.len() == width) {
            Some(bytes) => Ok(Some(Self { algorithm, bytes })),
            None => Err("has an invalid digest".into()),
        }
    }

    /// Whether the hasher's result equals this digest.
    pub(crate) fn is(&self, hasher: Hasher) -> bool {
        *hasher.finalize() == *self.bytes
    }

    /// Whether this digest equals a SHA-256; `None` if it has another algorithm.
    pub(crate) fn is_sha256(&self, digest: &[u8; 32]) -> Option<bool> {
        (self.algorithm == Algorithm::Sha256).then(|| self.bytes == digest)
    }
}

impl Algorithm {
    pub(crate) fn hasher(self) -> Hasher {
        match self {
            Self::Sha1 => Box::new(Sha1::default()),
            Self::Sha256 => Box::new(Sha256::default()),
            Self::Sha512 => Box::new(Sha512::default()),
        }
    }
}

/// Decodes base 32 (RFC 4648 §6), in any letter case, with or without padding.
fn base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_the_same_digest() {
        let mut hasher = Algorithm::Sha1.hasher();
        hasher.update(b"");
        for text in [
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "SHA-1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
            "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
            " sha1:DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
        ] {
            assert!(Digest::parse(text).unwrap().unwrap().is(hasher.clone()), "{text}");
        }
        let sha256 = "sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====";
        let digest = Digest::parse(sha256).unwrap().unwrap();
        assert!(digest.is(Algorithm::Sha256.hasher()));
        assert_eq!(Digest::parse("md5:1B2M2Y8AsgTpgAmY7PhCfg").unwrap(), None);
        assert_eq!(Digest::parse("").unwrap(), None);
        for bad in
            ["sha1:", "sha1:xyz", "sha256:da39a3ee5e6b4b0d3255bfef95601890afd80709", "sha1:é"]
        {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
    }
}
