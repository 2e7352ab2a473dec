//! The cryptography under all TLS, chosen here and nowhere else.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// The implementation of ciphers, signatures and key exchanges that every TLS configuration is
/// built with. None is installed for the process: what does not name this one does not build.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
