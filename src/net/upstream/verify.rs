//! Whether an origin's certificate is taken: as the authorities have it, or because a person has
//! allowed this one certificate at this one host.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use crate::net::certificates;

/// The fingerprints that are allowed at one origin; none at nearly all.
pub(super) type Pins = Vec<[u8; 32]>;

/// Asks the authorities first and the list of this origin then.
///
/// Whatever it says, the origin has to show by a signature that it has the certificate's key.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) authorities: Arc<WebPkiServerVerifier>,
    pub(super) allowed: Pins,
}

/// A certificate that was refused, with what else the origin sent: rustls tells only why.
#[derive(Debug)]
pub(super) struct Unverified {
    pub(super) error: CertificateError,
    pub(super) chain: Vec<CertificateDer<'static>>,
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unverified {}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let error = match self.authorities.verify_server_cert(own, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(error)) => error,
            verified_or_failed => return verified_or_failed,
        };
        if self.allowed.contains(&certificates::sha256(own)) {
            return Ok(ServerCertVerified::assertion());
        }
        // All of it: rustls takes no more than 64 KiB (RFC 8446 §4.4.2 would allow 16 MiB).
        let sent = std::iter::once(own).chain(others);
        let chain = sent.map(|one| one.clone().into_owned()).collect();
        let unverified = Unverified { error, chain };
        Err(CertificateError::Other(OtherError(Arc::new(unverified))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, own, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, own, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
