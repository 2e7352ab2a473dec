//! Certificate verification. A certificate is accepted if a trusted authority signed it, or if a
//! person allowed it for this host.

use std::collections::HashSet;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use crate::net::certificates;

/// The fingerprints that are allowed at one origin. Nearly always empty.
pub(super) type AllowedFingerprints = Vec<[u8; 32]>;

/// The certificates trusted for every origin.
#[derive(Debug, Clone)]
pub(super) struct TrustedCertificates {
    pub(super) authorities: Arc<WebPkiServerVerifier>,
    /// The SHA-256 digests of the certificates added by the configuration. A site may use such a
    /// certificate even if the certificate is marked as that of an authority.
    pub(super) own: Arc<HashSet<[u8; 32]>>,
}

impl TrustedCertificates {
    fn verify(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.authorities.verify_server_cert(own, others, name, ocsp, now) {
            // webpki reports this error only after it has checked the validity period, so the
            // certificate is valid now.
            Err(Error::InvalidCertificate(error))
                if is_of_authority(&error) && self.own.contains(&certificates::sha256(own)) =>
            {
                verify_server_name(&ParsedCertificate::try_from(own)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }
}

/// Whether a certificate was refused because it is marked as that of an authority (RFC 5280
/// §4.2.1.9, `cA`).
pub(super) fn is_of_authority(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// A verifier that checks a certificate against the trusted certificates, and then against the
/// fingerprints that are allowed for its origin.
///
/// In both cases the origin must prove by a signature that it has the private key.
#[derive(Debug)]
pub(super) struct CertificateVerifier {
    pub(super) trusted: TrustedCertificates,
    pub(super) allowed: AllowedFingerprints,
}

/// A refused certificate with the rest of the chain. It is recorded because rustls only reports the
/// reason.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct Unverified {
    pub(super) error: CertificateError,
    pub(super) chain: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let error = match self.trusted.verify(own, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(error)) => error,
            verified_or_failed => return verified_or_failed,
        };
        if self.allowed.contains(&certificates::sha256(own)) {
            return Ok(ServerCertVerified::assertion());
        }
        // The chain is stored completely. rustls accepts at most 64 KiB (RFC 8446 §4.4.2 would
        // allow 16 MiB).
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
        self.trusted.authorities.verify_tls12_signature(message, own, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted.authorities.verify_tls13_signature(message, own, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.authorities.supported_verify_schemes()
    }
}
