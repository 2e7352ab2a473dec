//! A cache of the results of password checks, so that a check is not repeated for every request.
//!
//! The key is a keyed hash of the network of the client, the stored password hash and the password
//! that was sent. So the cache discloses no password. If the stored hash of a user changes, the
//! results for the old hash are no longer found.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use hmac::{Hmac, KeyInit, Mac};
use lru::LruCache;
use sha2::Sha256;
use wwwoffle_config::PasswordHash;

use super::tries::network;

/// Maximum number of cached results for correct passwords, and also for wrong ones.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// Bytes of the secret: one block of SHA-256, which HMAC uses unchanged (RFC 2104 §3).
const SECRET_BYTES: usize = 64;

/// The cache key for a password from a client and the hash that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PasswordKey([u8; 32]);

/// The secret for making cache keys, which have no meaning outside this daemon.
pub(super) struct Keys([u8; SECRET_BYTES]);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

impl Keys {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }

    /// The cache key of a password from `client` that is compared with `hash`. `whom` is empty if
    /// `hash` is that of the user or the control password. For an unknown user, it contains the
    /// user name.
    pub(super) fn key(
        &self,
        client: IpAddr,
        hash: &PasswordHash,
        whom: &[u8],
        password: &[u8],
    ) -> PasswordKey {
        // Only what this client has sent before is known. Otherwise a client that has to wait could
        // recognise the password of another client: it alone would not be refused.
        let network = match network(client) {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        // The encoding is unambiguous: the network has a fixed length. No hash contains a zero
        // byte, so the zero byte ends the hash. The length of `whom` is written before `whom`.
        mac.update(&network.octets());
        mac.update(hash.as_str().as_bytes());
        mac.update(&[0]);
        mac.update(&u64::try_from(whom.len()).unwrap_or(u64::MAX).to_be_bytes());
        mac.update(whom);
        mac.update(password);
        PasswordKey(mac.finalize().into_bytes().into())
    }
}

/// The cached results. Wrong passwords cannot evict correct ones.
#[derive(Debug)]
pub(super) struct PasswordCache {
    right: LruCache<PasswordKey, ()>,
    wrong: LruCache<PasswordKey, ()>,
}

impl Default for PasswordCache {
    fn default() -> Self {
        Self { right: LruCache::new(MAX_REMEMBERED), wrong: LruCache::new(MAX_REMEMBERED) }
    }
}

impl PasswordCache {
    /// Whether the password is correct. `None` if the result is not cached.
    pub(super) fn is_right(&self, key: PasswordKey) -> Option<bool> {
        if self.right.contains(&key) {
            Some(true)
        } else {
            self.wrong.contains(&key).then_some(false)
        }
    }

    pub(super) fn remember(&mut self, key: PasswordKey, is_right: bool) {
        let cache = if is_right { &mut self.right } else { &mut self.wrong };
        cache.put(key, ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_network_hash_password_and_daemon() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let client = ip("2001:db8::1");
        let (one, other) = (Keys::new().unwrap(), Keys::new().unwrap());
        let (hash, again) =
            (PasswordHash::make("secret").unwrap(), PasswordHash::make("secret").unwrap());
        let key = one.key(client, &hash, b"", b"secret");
        assert_eq!(one.key(client, &hash, b"", b"secret"), key);
        assert_eq!(one.key(ip("2001:db8::2"), &hash, b"", b"secret"), key, "the same network");
        assert_ne!(one.key(ip("2001:db8:0:1::1"), &hash, b"", b"secret"), key);
        assert_eq!(
            one.key(ip("10.0.0.1"), &hash, b"", b"secret"),
            one.key(ip("::ffff:10.0.0.1"), &hash, b"", b"secret")
        );
        assert_ne!(
            one.key(ip("10.0.0.1"), &hash, b"", b"secret"),
            one.key(ip("10.0.0.2"), &hash, b"", b"secret")
        );
        assert_ne!(one.key(client, &hash, b"", b"Secret"), key);
        assert_ne!(one.key(client, &again, b"", b"secret"), key);
        assert_ne!(other.key(client, &hash, b"", b"secret"), key);
        assert_ne!(one.key(client, &hash, b"s", b"ecret"), key);
        assert_ne!(one.key(client, &hash, b"se", b"cret"), one.key(client, &hash, b"s", b"ecret"));
        assert_eq!(format!("{one:?}"), "Keys(…)");
    }

    #[test]
    fn wrong_passwords_do_not_displace_valid_ones() {
        let mut checked = PasswordCache::default();
        let key = |number: u32| {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            PasswordKey(bytes)
        };
        checked.remember(key(0), true);
        for number in 1..5_000 {
            checked.remember(key(number), false);
        }
        assert_eq!(checked.is_right(key(0)), Some(true));
        assert_eq!(checked.is_right(key(1)), None);
        assert_eq!(checked.is_right(key(4_999)), Some(false));
        assert_eq!(checked.wrong.len(), MAX_REMEMBERED.get());
    }
}
