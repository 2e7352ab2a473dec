//! The cryptography provider and the clock of all TLS connections.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use crate::base::clock;

/// The ciphers, signatures and key exchanges of every TLS configuration. No default is installed
/// for the process, so a configuration without an explicit provider cannot be built.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The clock of every TLS configuration. The default of rustls panics before 1970.
#[must_use]
pub fn clock() -> Arc<dyn TimeProvider> {
    Arc::new(TlsClock)
}

#[derive(Debug)]
struct TlsClock;

impl TimeProvider for TlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = clock::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Some(UnixTime::since_unix_epoch(since))
    }
}
