//! Clients that rejected our certificate for a host: a program with a pinned key, or a browser that
//! does not trust the authority. For a limited time, their connections to this host are not
//! intercepted.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use lru::LruCache;
use rustls::AlertDescription;

/// The time for which a rejection is remembered.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(60 * 60);

/// The maximum number of remembered rejections. Beyond it, the oldest is removed.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The rejections that are remembered, by client and host.
#[derive(Debug)]
pub struct Rejections(Mutex<LruCache<(IpAddr, String), SystemTime>>);

impl Default for Rejections {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_REMEMBERED)))
    }
}

/// A rejection of our certificate for a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejection {
    /// The host.
    pub host: String,
    /// The client.
    pub client: IpAddr,
    /// Until this time, connections of the client to that host are not intercepted.
    pub until: SystemTime,
}

impl Rejections {
    /// Remembers that `client` rejected our certificate for `host`.
    pub fn remember(&self, client: IpAddr, host: &str, now: SystemTime) {
        self.lock().put((client.to_canonical(), host.to_owned()), now);
    }

    /// Whether `client` has recently rejected our certificate for `host`.
    #[must_use]
    pub fn has(&self, client: IpAddr, host: &str, now: SystemTime) -> bool {
        let who = (client.to_canonical(), host.to_owned());
        self.lock().peek(&who).is_some_and(|since| is_recent(*since, now))
    }

    /// The remembered rejections, by host and client.
    #[must_use]
    pub fn list(&self, now: SystemTime) -> Vec<Rejection> {
        let all = self.lock();
        let recent = all.iter().filter(|(_, since)| is_recent(**since, now));
        let mut list: Vec<Rejection> = recent
            .map(|((client, host), since)| Rejection {
                host: host.clone(),
                client: *client,
                until: *since + REMEMBERED_FOR,
            })
            .collect();
        list.sort();
        list
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<(IpAddr, String), SystemTime>> {
        // A panic leaves a valid map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a rejection still counts. If the clock was set back, it does not: a further failed
/// handshake is better than a host that is never stored.
fn is_recent(since: SystemTime, now: SystemTime) -> bool {
    now.duration_since(since).is_ok_and(|age| age < REMEMBERED_FOR)
}

/// Whether a failure means that the client rejected our certificate, and not that the connection
/// broke.
#[must_use]
pub fn is_rejection(failure: &(dyn Error + 'static)) -> bool {
    use AlertDescription as Alert;
    let mut cause = Some(failure);
    while let Some(error) = cause {
        // `io::Error::source` skips the wrapped error and returns the source of that error, so the
        // wrapped error is examined here.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = held.and_then(|held| held.downcast_ref()).or_else(|| error.downcast_ref());
        if let Some(rustls::Error::AlertReceived(alert)) = tls {
            return matches!(
                alert,
                Alert::BadCertificate
                    | Alert::UnsupportedCertificate
                    | Alert::CertificateRevoked
                    | Alert::CertificateExpired
                    | Alert::CertificateUnknown
                    | Alert::UnknownCA
                    | Alert::BadCertificateStatusResponse
            );
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn a_rejection_is_valid_for_one_client_and_host_for_an_hour() {
        let (all, now) = (Rejections::default(), clock::now());
        let (one, two): (IpAddr, IpAddr) =
            ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        all.remember(one, "h.example", now);
        assert!(all.has(one, "h.example", now));
        assert!(all.has("::ffff:10.0.0.1".parse().unwrap(), "h.example", now));
        assert!(!all.has(two, "h.example", now));
        assert!(!all.has(one, "i.example", now));
        let until = now + REMEMBERED_FOR;
        let of = |client, host: &str| Rejection { host: host.to_owned(), client, until };
        assert_eq!(all.list(now), [of(one, "h.example")]);
        assert!(!all.has(one, "h.example", now + REMEMBERED_FOR));
        assert!(!all.has(one, "h.example", now - Duration::from_secs(1)));
        assert!(all.list(now + REMEMBERED_FOR).is_empty());
        all.remember(two, "h.example", now);
        all.remember(two, "a.example", now);
        assert_eq!(
            all.list(now),
            [of(two, "a.example"), of(one, "h.example"), of(two, "h.example")]
        );
    }

    #[test]
    fn the_number_of_rejections_is_limited() {
        let (all, now) = (Rejections::default(), clock::now());
        let client = "10.0.0.1".parse().unwrap();
        for number in 0..=MAX_REMEMBERED.get() {
            let later = u64::try_from(number).unwrap();
            all.remember(client, &format!("h{number}"), now + Duration::from_millis(later));
        }
        assert_eq!(all.lock().len(), MAX_REMEMBERED.get());
        assert!(!all.has(client, "h0", now + Duration::from_secs(5)));
        assert!(all.has(client, "h1", now + Duration::from_secs(5)));
    }

    #[test]
    fn only_a_certificate_alert_is_a_rejection() {
        let alert = |alert| {
            let tls = rustls::Error::AlertReceived(alert);
            is_rejection(&io::Error::new(io::ErrorKind::InvalidData, tls))
        };
        assert!(alert(AlertDescription::UnknownCA));
        assert!(alert(AlertDescription::CertificateUnknown));
        assert!(!alert(AlertDescription::ProtocolVersion));
        assert!(!alert(AlertDescription::CloseNotify));
        assert!(!is_rejection(&io::Error::from(io::ErrorKind::UnexpectedEof)));
    }
}
