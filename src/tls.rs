//! TLS towards clients: our certificate authority, and the certificates it makes for the hosts that
//! clients ask for.
//!
//! ```text
//! files      <spool>/ca/authority.pem: key and certificate, for the owner alone
//! ca         the authority: made once, loaded at each start, renewed by command
//! leaf       a certificate for each host asked for, made on the way and kept in memory
//! hello      the first bytes of a client: TLS, and for which name, or something else
//! rejected   which clients do not take our certificates, so that theirs pass untouched
//! ```
//!
//! The private keys stay in this module: neither the authority's nor that of the leaves is shown,
//! logged or handed out.

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

/// What the daemon has for TLS towards its clients.
#[derive(Debug)]
pub struct Faces {
    /// Our certificate authority.
    pub authority: Arc<Authority>,
    /// The certificates it has made.
    pub leaves: Leaves,
    /// Who did not take them.
    pub rejections: Rejections,
    told: AtomicBool,
}

impl Faces {
    /// Begins with `authority`, and a new key for the certificates it will make.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] when the system has no randomness.
    pub fn new(authority: Authority) -> Result<Self, BadAuthority> {
        let authority = Arc::new(authority);
        let leaves = Leaves::new(Arc::clone(&authority))?;
        Ok(Self {
            authority,
            leaves,
            rejections: Rejections::default(),
            told: AtomicBool::new(false),
        })
    }

    /// Whether `error` is that the authority is not valid at this time, for the first time since the
    /// start: the clock may have been set meanwhile, or the daemon have run until its end.
    pub fn is_news(&self, error: &BadAuthority) -> bool {
        matches!(error, BadAuthority::NotNow) && !self.told.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn that_the_authority_is_not_valid_is_news_once() {
        let faces = Faces::new(Authority::make("m", clock::now()).unwrap()).unwrap();
        for (error, want) in [
            (BadAuthority::Name("a b".to_owned()), false),
            (BadAuthority::NotNow, true),
            (BadAuthority::NotNow, false),
        ] {
            assert_eq!(faces.is_news(&error), want, "{error}");
        }
    }
}
