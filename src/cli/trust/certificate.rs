//! The certificate to trust, and how to recognize certificates that wwwoffle made.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use crate::base::small_file;
use crate::tls::ca::{NAME_BEGINS, pem};

/// The number of hex digits of a fingerprint that distinguish our certificates in the names of
/// files and of database entries.
pub(super) const MARK: usize = 16;

/// The certificate of an authority that wwwoffle has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuthorityCertificate {
    der: CertificateDer<'static>,
    name: String,
}

impl AuthorityCertificate {
    /// Parses a certificate; `None` if wwwoffle has not made it.
    pub(super) fn of(der: CertificateDer<'static>) -> Option<Self> {
        let name = {
            let (rest, x509) = X509Certificate::from_der(&der).ok()?;
            let name = x509.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
            (rest.is_empty() && x509.is_ca() && name.starts_with(NAME_BEGINS)).then_some(name)?
        };
        Some(Self { der, name })
    }

    /// Returns the common name of the certificate, which lists of authorities show.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn pem(&self) -> String {
        pem(&self.der)
    }

    /// Returns the SHA-256 of the certificate, in hex.
    pub(super) fn fingerprint(&self) -> String {
        fingerprint(&self.der)
    }

    /// Returns the first [`MARK`] digits of the fingerprint.
    pub(super) fn mark(&self) -> String {
        self.fingerprint().chars().take(MARK).collect()
    }

    /// Returns the name of the certificate's file in a system store, without the extension.
    pub(super) fn file_stem(&self) -> String {
        format!("wwwoffle-{}", self.mark())
    }

    /// Returns the name of the certificate's entry in a browser's database.
    pub(super) fn nickname(&self) -> String {
        format!("{} ({})", self.name, self.mark())
    }
}

/// The certificates to find or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnCertificates {
    /// Those with these fingerprints.
    These(Vec<String>),
    /// All certificates that wwwoffle has made for any spool, recognized by their names.
    All,
}

impl OwnCertificates {
    /// Whether the certificate belongs to this set.
    pub(super) fn has(&self, der: &CertificateDer<'_>) -> bool {
        match self {
            Self::These(fingerprints) => fingerprints.contains(&fingerprint(der)),
            Self::All => AuthorityCertificate::of(der.clone().into_owned()).is_some(),
        }
    }

    /// Whether `text` contains certificates, and only certificates of this set.
    pub(super) fn has_all_of(&self, text: &[u8]) -> bool {
        let all: Vec<_> = CertificateDer::pem_slice_iter(text).collect();
        !all.is_empty() && all.iter().all(|der| der.as_ref().is_ok_and(|der| self.has(der)))
    }

    /// Whether one of the certificates in `text` belongs to this set.
    pub(super) fn has_any_of(&self, text: &[u8]) -> bool {
        CertificateDer::pem_slice_iter(text).flatten().any(|der| self.has(&der))
    }

    /// Whether the file at `path` contains certificates, and only certificates of this set.
    pub(super) fn has_file(&self, path: &Path) -> bool {
        small_file::read(path).ok().flatten().is_some_and(|text| self.has_all_of(&text))
    }
}

fn fingerprint(der: &CertificateDer<'_>) -> String {
    hex::encode(Sha256::digest(der))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;
    use crate::tls::ca::Authority;

    #[test]
    fn our_certificates_are_identified_by_fingerprint_or_name() {
        let made = || Authority::make("m", clock::now()).unwrap();
        let (one, two) = (made(), made());
        let known = AuthorityCertificate::of(one.der().clone()).unwrap();
        assert_eq!(known.name(), one.name());
        assert_eq!(known.pem(), one.pem());
        assert_eq!(known.file_stem(), format!("wwwoffle-{}", known.mark()));
        assert_eq!(one.fingerprint().replace(':', "").to_lowercase(), known.fingerprint());
        let ours = OwnCertificates::These(vec![known.fingerprint()]);
        let both = format!("{}{}", one.pem(), two.pem());
        for (text, these, all) in [
            (one.pem(), true, true),
            (two.pem(), false, true),
            (both, false, true),
            (String::new(), false, false),
            ("rubbish".to_owned(), false, false),
            (one.pem().replace("MI", "!!"), false, false),
        ] {
            assert_eq!(ours.has_all_of(text.as_bytes()), these, "{text}");
            assert_eq!(OwnCertificates::All.has_all_of(text.as_bytes()), all, "{text}");
        }
        let foreign = rcgen::generate_simple_self_signed(vec!["wwwoffle CA on x".to_owned()]);
        assert!(!OwnCertificates::All.has(foreign.unwrap().cert.der()));
    }
}
