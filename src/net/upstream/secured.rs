//! What is known of the TLS that an answer came over.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, ClientConnection, ProtocolVersion};

use super::verify::Pins;
use crate::net::certificates;

/// How a connection to an origin was secured. Each answer that came over it carries this in its
/// extensions, as an `Arc`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Secured {
    /// The version of TLS.
    pub version: ProtocolVersion,
    /// The cipher suite that was agreed on.
    pub suite: CipherSuite,
    /// The certificates as the origin sent them, its own first.
    pub chain: Arc<[CertificateDer<'static>]>,
    /// Whether the chain is one that only an exception lets pass: it proves nothing about any host
    /// but the one that the exception is for.
    pub by_exception: bool,
}

impl Secured {
    /// What was agreed on in a handshake; `None` before its end.
    #[must_use]
    pub fn of(connection: &ClientConnection) -> Option<Self> {
        Some(Self {
            version: connection.protocol_version()?,
            suite: connection.negotiated_cipher_suite()?.suite(),
            chain: connection.peer_certificates()?.to_vec().into(),
            by_exception: false,
        })
    }

    /// The same, where these fingerprints are `allowed`. One that the authorities vouch for as well
    /// counts as an exception too.
    pub(super) fn where_allowed(self, allowed: &Pins) -> Self {
        let own = self.chain.first().map(|own| certificates::sha256(own));
        Self { by_exception: own.is_some_and(|own| allowed.contains(&own)), ..self }
    }
}
