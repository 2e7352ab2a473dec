//! TLS to clients: our certificate authority, and its certificates for requested hosts.
//!
//! ```text
//! files      <spool>/ca/authority.pem: key and certificate, readable only for the owner
//! ca         the authority: created once, loaded at each start, renewed by a command
//! leaf       a certificate for each requested host, created on demand and cached in memory
//! hello      the first bytes of a client: TLS with a server name, or another protocol
//! rejected   clients that rejected our certificates, so that their TLS is not intercepted
//! ```
//!
//! Private keys leave this module only in the files of `<spool>/ca`: they are neither shown nor
//! logged.

pub mod ca;
pub mod files;
pub mod hello;
pub mod leaf;
pub mod provider;
pub mod rejected;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::ca::{Authority, BadAuthority};
use self::leaf::Leaves;
use self::rejected::Rejections;

/// The certificates that the daemon shows to its clients.
#[derive(Debug)]
pub struct ServerCertificates {
    /// Our certificate authority.
    pub authority: Arc<Authority>,
    /// The certificates for hosts.
    pub leaves: Leaves,
    /// The clients that rejected our certificates.
    pub rejections: Rejections,
    is_reported: AtomicBool,
}

impl ServerCertificates {
    /// Starts with `authority` and a new key for the certificates of hosts.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes.
    pub fn new(authority: Authority) -> Result<Self, BadAuthority> {
        let authority = Arc::new(authority);
        let leaves = Leaves::new(Arc::clone(&authority))?;
        Ok(Self {
            authority,
            leaves,
            rejections: Rejections::default(),
            is_reported: AtomicBool::new(false),
        })
    }

    /// Whether `error` says that the authority is not valid now, and this is the first such error
    /// since the start. The cause may be a wrong clock, or the authority has expired since the
    /// start.
    pub fn is_news(&self, error: &BadAuthority) -> bool {
        matches!(error, BadAuthority::NotNow) && !self.is_reported.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn invalid_authority_is_reported_once() {
        let served = ServerCertificates::new(Authority::make("m", clock::now()).unwrap()).unwrap();
        for (error, want) in [
            (BadAuthority::Name("a b".to_owned()), false),
            (BadAuthority::NotNow, true),
            (BadAuthority::NotNow, false),
        ] {
            assert_eq!(served.is_news(&error), want, "{error}");
        }
    }
}
