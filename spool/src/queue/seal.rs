//! Sealed secrets of outgoing requests: without the key of the spool, the files reveal neither
//! passwords nor cookies.
//!
//! The algorithm is ChaCha20-Poly1305 (RFC 8439) with a random nonce. It also authenticates the key
//! of the request, so secrets sealed for one request cannot be opened for another.

use crate::durability::Root;
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use wwwoffle_url::Key;

use crate::entry::warc::Reason;
use crate::error::{Damage, Result, SpoolFault};
use crate::fs::Disk;
use crate::fs::whole::read_whole;

/// The file in the root that contains the key of 32 bytes.
pub(crate) const SECRET_FILE: &str = "secret";
pub(crate) const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 12;

/// The reason for an invalid key file.
const NO_KEY: Reason = "it is not a key of 32 bytes";

/// Checks that the content of a file is a key.
pub(crate) fn reason(bytes: &[u8]) -> Result<(), Reason> {
    if bytes.len() == KEY_LEN { Ok(()) } else { Err(NO_KEY) }
}

/// The key that seals the secrets of one spool.
pub(crate) struct Vault(ChaCha20Poly1305);

impl Vault {
    /// Reads the key of a spool, or creates one. An invalid file is set aside first.
    pub(crate) fn open(root: &Root, damaged: &mut Vec<Damage>) -> Result<Vault> {
        let path = root.join(SECRET_FILE);
        let Some(found) = read_whole(&*root.disk, &path, KEY_LEN)? else {
            return Vault::make(root);
        };
        if let Ok(key) = <[u8; KEY_LEN]>::try_from(found.unwrap_or_default()) {
            return Ok(Vault(ChaCha20Poly1305::new(&key.into())));
        }
        damaged.push(root.move_aside(&path, NO_KEY));
        Vault::make(root)
    }

    /// Reads the key of a spool without changing anything.
    pub(crate) fn peek(disk: &dyn Disk, root: &Path) -> Option<Vault> {
        let key = read_whole(disk, &root.join(SECRET_FILE), KEY_LEN).ok()??.ok()?;
        let key = <[u8; KEY_LEN]>::try_from(key).ok()?;
        Some(Vault(ChaCha20Poly1305::new(&key.into())))
    }

    fn make(root: &Root) -> Result<Vault> {
        let mut key = [0; KEY_LEN];
        getrandom::fill(&mut key).map_err(SpoolFault::Random)?;
        match root.replace_private_file(&root.join(SECRET_FILE), &key) {
            // Nothing can be sealed on a read-only file system, so the key need not be stored.
            Err(error) if !error.is_read_only() => return Err(error),
            _ => {}
        }
        Ok(Vault(ChaCha20Poly1305::new(&key.into())))
    }

    /// Encrypts secrets. Returns nonce and ciphertext.
    pub(crate) fn seal(&self, request: &Key, secrets: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(SpoolFault::Random)?;
        let payload = Payload { msg: secrets, aad: request.as_bytes() };
        let sealed =
            self.0.encrypt(&Nonce::from(nonce), payload).map_err(|_| SpoolFault::Sealing)?;
        Ok([nonce.as_slice(), sealed.as_slice()].concat())
    }

    /// Decrypts secrets. `None` if they were sealed with another key or for another request.
    pub(crate) fn unseal(&self, request: &Key, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce: [u8; NONCE_LEN] = nonce.try_into().ok()?;
        let payload = Payload { msg: sealed, aad: request.as_bytes() };
        self.0.decrypt(&Nonce::from(nonce), payload).ok()
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_with_its_key_and_request_only() {
        let vault = |byte| Vault(ChaCha20Poly1305::new(&[byte; KEY_LEN].into()));
        let (one, other) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
        let sealed = vault(1).seal(&one, b"Cookie: a=b").unwrap();
        assert_eq!(vault(1).unseal(&one, &sealed).as_deref(), Some(&b"Cookie: a=b"[..]));
        assert_eq!(vault(1).unseal(&other, &sealed), None);
        assert_eq!(vault(2).unseal(&one, &sealed), None);
        for cut in 0..sealed.len() {
            assert_eq!(vault(1).unseal(&one, &sealed[..cut]), None);
        }
        assert_ne!(sealed, vault(1).seal(&one, b"Cookie: a=b").unwrap(), "a nonce came twice");
    }
}
