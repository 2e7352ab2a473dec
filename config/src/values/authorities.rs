//! Certificate authorities that the configuration adds to those of the system.

use crate::{
    disk::{MAX_LIST, read},
    source::{
        RawValue, ValueSource,
        value::{STRINGS, Value, elements},
    },
};
use rustls_pki_types::{CertificateDer, pem, pem::PemObject};
use std::path::{Path, PathBuf};

/// The largest number of certificates in one file: several times the number that a system trusts.
const MAX_CERTIFICATES: usize = 2_000;

/// Authorities that may sign certificates of origins, in addition to those of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraAuthorities {
    files: Vec<PathBuf>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ExtraAuthorities {
    /// The files of the certificates, in the given order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The certificates in the files; each can be used as a trust anchor.
    #[must_use]
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    fn read_one(&mut self, given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<()> {
        let expected = "PEM files with certificates of authorities, such as \"my-ca.pem\"";
        let Some(name) = given.value.as_str().filter(|name| !name.is_empty()) else {
            return source.refuse(given, expected, "");
        };
        let path = source.file().parent().unwrap_or(Path::new("")).join(name);
        let read = read(&path, MAX_LIST).map_err(|error| error.to_string());
        match read.and_then(|text| certificates(&text)) {
            Ok(certificates) => {
                self.certificates.extend(certificates);
                self.files.push(path);
                Some(())
            }
            Err(because) => {
                source.refuse(given, expected, &format!("{}: {because}", path.display()))
            }
        }
    }
}

/// The certificates in a PEM text. Other sections, such as a key, are skipped.
fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut certificates = Vec::new();
    for (number, section) in (1..).zip(CertificateDer::pem_slice_iter(text.as_bytes())) {
        if number > MAX_CERTIFICATES {
            return Err(format!("it has more than {MAX_CERTIFICATES} certificates"));
        }
        let certificate = section.map_err(|error| describe_fault(number, &error))?;
        webpki::anchor_from_trusted_cert(&certificate)
            .map_err(|error| format!("certificate {number} in it cannot be used: {error}"))?;
        certificates.push(certificate);
    }
    if certificates.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(certificates)
}

/// Describes the fault of a section without its bytes, because they may be a key.
fn describe_fault(number: usize, error: &pem::Error) -> String {
    let because = match error {
        pem::Error::MissingSectionEnd { .. } => "has no END line",
        pem::Error::IllegalSectionStart { .. } => "has a malformed BEGIN line",
        pem::Error::Base64Decode(_) => "is not base64",
        _ => "cannot be read",
    };
    format!("certificate {number} in it {because}")
}

impl Value for ExtraAuthorities {
    const KIND: &'static str = "certificate files";
    const MEANING: &'static str = "\
An array of files in PEM form (`-----BEGIN CERTIFICATE-----`), each with one or more
certificates of authorities. A self-signed certificate of a site is allowed too. Paths are
relative to the directory of the configuration. Other content of the files is ignored.";
    const EXPECTED: &'static str = "an array of PEM files, such as [\"my-ca.pem\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let mut authorities = Self::default();
        elements(given, source, Self::EXPECTED, |one, source| authorities.read_one(one, source))?;
        Some(authorities)
    }
}
