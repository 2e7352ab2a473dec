//! Refused certificates, remembered for a person who may allow them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{CertificateFault, Origin, Reach};
use crate::api::Chain;

/// The largest number of origins remembered. The oldest refusal is forgotten first.
const MAX_ORIGINS: usize = 64;

/// A refused certificate, as the origin sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCertificate {
    /// The fault.
    pub fault: CertificateFault,
    /// The SHA-256 of the origin's certificate; `None` if there is none to allow.
    pub sha256: Option<[u8; 32]>,
    /// The complete chain.
    pub chain: Chain,
    /// Whether another certificate is allowed at this origin.
    pub differs: bool,
}

/// Recently refused certificates, by origin. A form can only allow a certificate listed here,
/// because a fingerprint in an address proves nothing.
#[derive(Debug, Default)]
pub struct RefusedCertificates {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    by_origin: HashMap<Origin, (u64, Arc<RefusedCertificate>)>,
    count: u64,
}

impl RefusedCertificates {
    /// The certificate that `origin` showed last, if it was refused.
    #[must_use]
    pub fn of(&self, origin: &Origin) -> Option<Arc<RefusedCertificate>> {
        self.lock().by_origin.get(&key(origin)).map(|(_, refused)| Arc::clone(refused))
    }

    pub(super) fn add(&self, origin: &Origin, refused: Arc<RefusedCertificate>) {
        let mut seen = self.lock();
        seen.count += 1;
        let number = seen.count;
        seen.by_origin.insert(key(origin), (number, refused));
        if seen.by_origin.len() > MAX_ORIGINS {
            let oldest = seen.by_origin.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(origin, _)| origin.clone()) {
                seen.by_origin.remove(&oldest);
            }
        }
    }

    /// Forgets `origin`, which has shown a valid certificate since.
    pub(super) fn remove(&self, origin: &Origin) {
        self.lock().by_origin.remove(&key(origin));
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // A panic under the lock cannot leave the map half changed.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An origin shows its certificate to every client, so the reach does not count.
fn key(origin: &Origin) -> Origin {
    Origin { reach: Reach::Outward, ..origin.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::upstream::Scheme;

    fn origin(port: u16) -> Origin {
        Origin::here(Scheme::Https, "a.example", port)
    }

    fn refused(number: u8) -> Arc<RefusedCertificate> {
        let (fault, sha256) = (CertificateFault::Revoked, Some([number; 32]));
        Arc::new(RefusedCertificate { fault, sha256, chain: Chain::default(), differs: false })
    }

    #[test]
    fn the_last_of_each_is_remembered_and_a_bounded_number() {
        let seen = RefusedCertificates::default();
        seen.add(&origin(0), refused(1));
        seen.add(&origin(0), refused(2));
        assert_eq!(seen.of(&origin(0)), Some(refused(2)));
        assert_eq!(seen.of(&origin(1)), None);
        for port in 1..=u16::try_from(MAX_ORIGINS).unwrap() {
            seen.add(&origin(port), refused(3));
        }
        assert_eq!(seen.of(&origin(0)), None);
        assert_eq!(seen.of(&origin(1)), Some(refused(3)));
        seen.remove(&origin(1));
        assert_eq!(seen.of(&origin(1)), None);
        assert_eq!(seen.lock().by_origin.len(), MAX_ORIGINS - 1);
    }
}
