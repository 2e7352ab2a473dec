//! The one choice of cryptography for TLS, towards clients and towards origins.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The provider that every TLS configuration of ours is built with.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
