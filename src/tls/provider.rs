//! The cryptography under all TLS, chosen here and nowhere else.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use crate::base::clock;

/// The implementation of ciphers, signatures and key exchanges that every TLS configuration is
/// built with. None is installed for the process: what does not name this one does not build.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The clock of every TLS configuration. The one of rustls panics before 1970.
#[must_use]
pub fn clock() -> Arc<dyn TimeProvider> {
    Arc::new(Clock)
}

#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = clock::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Some(UnixTime::since_unix_epoch(since))
    }
}
