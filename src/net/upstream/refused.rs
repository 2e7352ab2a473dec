//! Refused certificates, stored so that a person can allow one of them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::{CertificateFault, Origin, Reach, Scheme};
use wwwoffle_api::Chain;

/// The largest number of origins remembered. The oldest refusal is forgotten first.
const MAX_ORIGINS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// The refusal of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCertificate {
    /// The fault.
    pub fault: CertificateFault,
    /// The SHA-256 of the origin's certificate. `None` if the origin sent no certificate that could
    /// be allowed.
    pub sha256: Option<[u8; 32]>,
    /// The description of the chain that the origin sent. Empty if `sha256` is `None`.
    pub chain: Chain,
    /// Whether the configuration allows another certificate at this origin.
    pub differs: bool,
}

/// Recently refused certificates, by origin. A form can only allow a certificate listed here,
/// because a fingerprint in a URL proves nothing.
#[derive(Debug)]
pub struct RefusedCertificates(Mutex<LruCache<Origin, Arc<RefusedCertificate>>>);

impl Default for RefusedCertificates {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_ORIGINS)))
    }
}

impl RefusedCertificates {
    /// The certificate that `origin` showed last, if it was refused.
    #[must_use]
    pub fn of(&self, origin: &Origin) -> Option<Arc<RefusedCertificate>> {
        self.lock().peek(&key(origin)).map(Arc::clone)
    }

    pub(super) fn add(&self, origin: &Origin, refused: Arc<RefusedCertificate>) {
        self.lock().put(key(origin), refused);
    }

    /// Removes the refusal of `origin`, because the origin has since sent an accepted certificate.
    pub(super) fn remove(&self, origin: &Origin) {
        self.lock().pop(&key(origin));
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Origin, Arc<RefusedCertificate>>> {
        // A panic under the lock cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of an origin. It does not contain the reach, because an origin sends the same
/// certificate to every client, nor the scheme: host and port determine the certificate.
fn key(origin: &Origin) -> Origin {
    Origin { scheme: Scheme::Https, reach: Reach::Outward, ..origin.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(port: u16) -> Origin {
        Origin::here(Scheme::Https, "a.example", port)
    }

    fn refused(number: u8) -> Arc<RefusedCertificate> {
        let (fault, sha256) = (CertificateFault::Revoked, Some([number; 32]));
        Arc::new(RefusedCertificate { fault, sha256, chain: Chain::default(), differs: false })
    }

    #[test]
    fn only_the_latest_certificates_are_remembered() {
        let seen = RefusedCertificates::default();
        seen.add(&origin(0), refused(1));
        seen.add(&origin(0), refused(2));
        assert_eq!(seen.of(&origin(0)), Some(refused(2)));
        assert_eq!(seen.of(&origin(1)), None);
        for port in 1..=u16::try_from(MAX_ORIGINS.get()).unwrap() {
            seen.add(&origin(port), refused(3));
        }
        assert_eq!(seen.of(&origin(0)), None);
        assert_eq!(seen.of(&origin(1)), Some(refused(3)));
        seen.remove(&origin(1));
        assert_eq!(seen.of(&origin(1)), None);
        assert_eq!(seen.lock().len(), MAX_ORIGINS.get() - 1);
    }
}
