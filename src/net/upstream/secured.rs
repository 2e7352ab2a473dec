//! The TLS details of a response.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, ClientConnection, ProtocolVersion};

use super::verify::AllowedFingerprints;
use crate::net::certificates;

/// How a connection to an origin was secured. Each response over it has this in its extensions, as
/// an `Arc`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Secured {
    /// The version of TLS.
    pub version: ProtocolVersion,
    /// The negotiated cipher suite.
    pub suite: CipherSuite,
    /// The certificates as sent by the origin, its own first.
    pub chain: Arc<[CertificateDer<'static>]>,
    /// Whether the chain is accepted only by an exception. It then proves nothing about other hosts
    /// than that of the exception.
    pub by_exception: bool,
}

impl Secured {
    /// The result of a handshake; `None` before its end.
    #[must_use]
    pub fn of(connection: &ClientConnection) -> Option<Self> {
        Some(Self {
            version: connection.protocol_version()?,
            suite: connection.negotiated_cipher_suite()?.suite(),
            chain: connection.peer_certificates()?.to_vec().into(),
            by_exception: false,
        })
    }

    /// The same with these `allowed` fingerprints. A certificate that an authority vouches for
    /// counts as an exception too if it is listed.
    pub(super) fn where_allowed(self, allowed: &AllowedFingerprints) -> Self {
        let own = self.chain.first().map(|own| certificates::sha256(own));
        Self { by_exception: own.is_some_and(|own| allowed.contains(&own)), ..self }
    }
}
