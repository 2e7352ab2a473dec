//! The TLS details of a response.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, ClientConnection, ProtocolVersion};

use super::verify::AllowedFingerprints;
use crate::net::certificates;

/// The TLS details of a connection to an origin. Each response over the connection has this value
/// in its extensions, as an `Arc`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TlsDetails {
    /// The version of TLS.
    pub version: ProtocolVersion,
    /// The negotiated cipher suite.
    pub suite: CipherSuite,
    /// The certificates as sent by the origin, the origin's own first.
    pub chain: Arc<[CertificateDer<'static>]>,
    /// Whether a person allowed the origin's certificate by its fingerprint, even if an authority
    /// has signed it too. Such a certificate is not accepted as proof for other hosts.
    pub by_exception: bool,
}

impl TlsDetails {
    /// The details of `connection`; `None` before the end of its handshake. `by_exception` is
    /// false.
    #[must_use]
    pub fn of(connection: &ClientConnection) -> Option<Self> {
        Some(Self {
            version: connection.protocol_version()?,
            suite: connection.negotiated_cipher_suite()?.suite(),
            chain: connection.peer_certificates()?.to_vec().into(),
            by_exception: false,
        })
    }

    /// The same details, with `by_exception` set if the origin's certificate has one of the
    /// `allowed` fingerprints.
    pub(super) fn where_allowed(self, allowed: &AllowedFingerprints) -> Self {
        let own = self.chain.first().map(|own| certificates::sha256(own));
        Self { by_exception: own.is_some_and(|own| allowed.contains(&own)), ..self }
    }
}
