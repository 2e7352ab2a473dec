//! Our certificate authority: one key and one certificate, which clients have to trust.
//!
//! It can only sign certificates of hosts: `pathlen:0` makes authorities below it invalid (RFC 5280
//! §4.2.1.9). Its name contains the machine and the date, so that a browser's list shows which of
//! several authorities it is.

mod constraints;

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
    PublicKeyData, SerialNumber,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use self::constraints::{THIS_MACHINE, constraints, limits, permitted};

/// The validity of an authority, from its creation.
const VALID_FOR: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

/// The validity of the authority of a fixture. A fixture should work as long as the tests that use
/// it, and only programs started for a test trust its authority.
const FIXTURE_VALID_FOR: Duration = Duration::from_secs(20 * 365 * 24 * 60 * 60);

/// The purpose of the certificates that the authority of a fixture signs.
const SERVERS: &[ExtendedKeyUsagePurpose] = &[ExtendedKeyUsagePurpose::ServerAuth];

/// The name to which an authority without hosts is limited. No host has it (RFC 6761 §6.4).
const NO_HOST: &str = "invalid";

/// The time by which the validity of a certificate begins before its creation, because the clocks
/// of clients differ.
pub(super) const BACKDATED: Duration = Duration::from_secs(24 * 60 * 60);

/// The time before its end at which an authority should be renewed.
pub const RENEW_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The common prefix of the names of our authorities.
pub const NAME_BEGINS: &str = "wwwoffle CA on ";

/// The maximum length of the machine name in the authority's name. RFC 5280 (`ub-common-name`)
/// allows 64 characters for the whole name.
const MAX_MACHINE: usize = 32;

/// The random bytes of a serial number (RFC 5280 §4.1.2.2 allows 20 bytes in all).
const SERIAL_BYTES: usize = 16;

/// The reason why an authority cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub enum BadAuthority {
    /// The file contains no private key in PEM.
    #[error("it holds no private key")]
    NoKey,
    /// The file contains no certificate in PEM.
    #[error("it holds no certificate")]
    NoCertificate,
    /// The certificate is damaged, or does not belong to an authority.
    #[error("its certificate is damaged, or not that of an authority")]
    NotAnAuthority,
    /// Key and certificate belong to different authorities.
    #[error("its key and its certificate do not belong together")]
    Mismatch,
    /// The authority has expired, or is not valid yet.
    #[error("the certificate authority is not valid at this time")]
    NotNow,
    /// The authority may only sign for other domains.
    #[error("the certificate authority is not for the host {0:?}")]
    Outside(String),
    /// A certificate cannot contain this host name.
    #[error("no certificate can name the host {0:?}")]
    Name(String),
    /// Creating a key or signature failed.
    #[error("a key or certificate cannot be made")]
    Making(#[from] rcgen::Error),
    /// rustls refused the certificate.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The system cannot supply random bytes.
    #[error("the system has no randomness")]
    Random(#[from] getrandom::Error),
}

/// Our certificate authority with its private key.
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    name: String,
    valid_from: SystemTime,
    valid_until: SystemTime,
    /// The domains for which the authority may sign; empty if it may sign for all names.
    domains: Vec<String>,
}

/// Shows the name, never the key.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates an authority on the machine called `machine`.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes.
    pub fn make(machine: &str, now: SystemTime) -> Result<Self, BadAuthority> {
        Self::make_for(machine, now, &[])
    }

    /// Creates an authority. If there are `domains`, it may sign only for these and their
    /// subdomains (RFC 5280 §4.2.1.10), and for `localhost`.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes, or a domain is invalid.
    pub fn make_for(
        machine: &str,
        now: SystemTime,
        domains: &[String],
    ) -> Result<Self, BadAuthority> {
        Self::make_valid((VALID_FOR, &[]), machine, now, domains)
    }

    /// Creates the authority of a fixture: it may sign only for these hosts and their subdomains,
    /// and for `localhost`. A host may be an IP address.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes, or a host is invalid.
    pub fn make_fixture(now: SystemTime, hosts: &[String]) -> Result<Self, BadAuthority> {
        let none = [NO_HOST.to_owned()];
        let hosts = if hosts.is_empty() { &none } else { hosts };
        Self::make_valid((FIXTURE_VALID_FOR, SERVERS), "fixture", now, hosts)
    }

    fn make_valid(
        (valid_for, purposes): (Duration, &[ExtendedKeyUsagePurpose]),
        machine: &str,
        now: SystemTime,
        domains: &[String],
    ) -> Result<Self, BadAuthority> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name(machine, now));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.extended_key_usages = purposes.to_vec();
        params.not_before = OffsetDateTime::from(now - BACKDATED);
        params.not_after = OffsetDateTime::from(now + valid_for);
        params.serial_number = Some(serial()?);
        params.name_constraints = constraints(domains);
        let certificate = params.self_signed(&key)?.der().clone();
        Self::of(certificate, key)
    }

    /// Parses the text made by [`Authority::secret_text`].
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if a part is missing or damaged, or the parts do not belong together.
    pub fn parse(text: &str) -> Result<Self, BadAuthority> {
        let key =
            PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| BadAuthority::NoKey)?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|_| BadAuthority::NoCertificate)?;
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)
            .map_err(|_| BadAuthority::NoKey)?;
        Self::of(certificate, key)
    }

    fn of(certificate: CertificateDer<'static>, key: KeyPair) -> Result<Self, BadAuthority> {
        let (name, valid_from, valid_until, domains) = {
            let (rest, x509) = X509Certificate::from_der(&certificate)
                .map_err(|_| BadAuthority::NotAnAuthority)?;
            if !rest.is_empty() || !x509.is_ca() {
                return Err(BadAuthority::NotAnAuthority);
            }
            if x509.public_key().raw != key.subject_public_key_info().as_slice() {
                return Err(BadAuthority::Mismatch);
            }
            let name = x509.subject().iter_common_name().next();
            let name = name.and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned();
            let validity = x509.validity();
            let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
            (name, at(from), at(until), permitted(&x509)?)
        };
        let issuer = Issuer::from_ca_cert_der(&certificate, key)
            .map_err(|_| BadAuthority::NotAnAuthority)?;
        Ok(Self { certificate, issuer, name, valid_from, valid_until, domains })
    }

    /// Key and certificate in PEM, for a file that only its owner may read.
    #[must_use]
    pub fn secret_text(&self) -> String {
        format!("{}{}", self.issuer.key().serialize_pem(), self.pem())
    }

    /// The certificate in PEM, for clients.
    #[must_use]
    pub fn pem(&self) -> String {
        pem(&self.certificate)
    }

    /// The certificate in DER, for clients.
    #[must_use]
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The name of the authority in lists of authorities.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The domains for which the authority may sign; empty if it may sign for all names.
    #[must_use]
    pub fn domains(&self) -> &[String] {
        &self.domains
    }

    /// Whether the authority is limited to exactly these domains, in any order. `localhost` is
    /// ignored.
    #[must_use]
    pub fn is_limited_to(&self, domains: &[String]) -> bool {
        let others = |one: &&String| *one != THIS_MACHINE;
        self.domains.is_empty() == domains.is_empty()
            && domains.iter().filter(others).all(|one| self.domains.contains(one))
            && self.domains.iter().filter(others).all(|one| domains.contains(one))
    }

    /// Whether the authority may sign for `host`. Only an unlimited authority, or that of a fixture,
    /// may sign for an IP address.
    #[must_use]
    pub fn permits(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').trim_start_matches('[').trim_end_matches(']');
        let host = host.to_ascii_lowercase();
        let is_below = |domain: &String| {
            host.strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.domains.is_empty() || self.domains.iter().any(is_below)
    }

    /// Whether the authority may sign for exactly these hosts and their subdomains, as that of
    /// [`Authority::make_fixture`], and only for servers.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes, or a host is invalid.
    pub fn is_for_fixture(&self, hosts: &[String]) -> Result<bool, BadAuthority> {
        let made = Self::make_fixture(self.valid_from, hosts)?;
        Ok(limits(&self.certificate)? == limits(&made.certificate)?)
    }

    /// The beginning of the validity, which is before the creation.
    #[must_use]
    pub fn valid_from(&self) -> SystemTime {
        self.valid_from
    }

    /// The end of the validity.
    #[must_use]
    pub fn valid_until(&self) -> SystemTime {
        self.valid_until
    }

    /// The SHA-256 fingerprint of the certificate as browsers show it: `AB:CD:…`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(&self.certificate);
        let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        pairs.join(":")
    }

    /// The SHA-256 of the public key in base64, as in Chromium's
    /// `--ignore-certificate-errors-spki-list`.
    #[must_use]
    pub fn spki_hash(&self) -> String {
        use base64::Engine;
        let key = self.issuer.key().subject_public_key_info();
        base64::prelude::BASE64_STANDARD.encode(Sha256::digest(key))
    }

    /// Signs a certificate with these `params` for the public key of `key`.
    pub(super) fn sign(
        &self,
        params: &CertificateParams,
        key: &KeyPair,
    ) -> Result<Certificate, BadAuthority> {
        Ok(params.signed_by(key, &self.issuer)?)
    }
}

/// A certificate in PEM.
#[must_use]
pub fn pem(certificate: &CertificateDer<'_>) -> String {
    use base64::Engine;
    // RFC 7468 §2: lines of 64 characters.
    const LINE: usize = 64;
    let encoded = base64::prelude::BASE64_STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for (count, character) in encoded.chars().enumerate() {
        if count > 0 && count % LINE == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text + "\n-----END CERTIFICATE-----\n"
}

/// The name of an authority, such as `wwwoffle CA on ship, 2026-11-20`.
fn name(machine: &str, now: SystemTime) -> String {
    let machine: String = machine
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        .take(MAX_MACHINE)
        .collect();
    let machine = if machine.is_empty() { "this machine" } else { &machine };
    format!("{NAME_BEGINS}{machine}, {}", day(now))
}

/// The UTC day of a time: `2026-11-20`.
#[must_use]
pub fn day(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Creates a new serial number. Browsers refuse an authority that uses a number twice.
pub(super) fn serial() -> Result<SerialNumber, BadAuthority> {
    let mut bytes = [0; SERIAL_BYTES];
    getrandom::fill(&mut bytes)?;
    if let Some(first) = bytes.first_mut() {
        // The number is positive (RFC 5280 §4.1.2.2) and has no leading zero byte, so its length is
        // constant.
        *first = *first & 0x7f | 0x40;
    }
    Ok(SerialNumber::from_slice(&bytes))
}

fn at(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn an_authority_can_sign_only_leaves() {
        let now = clock::now();
        let authority = Authority::make("ship.example", now).unwrap();
        assert_eq!(authority.name(), format!("wwwoffle CA on ship.example, {}", day(now)));
        let (_, x509) = X509Certificate::from_der(authority.der()).unwrap();
        let constraints = x509.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && constraints.value.ca);
        assert_eq!(constraints.value.path_len_constraint, Some(0));
        let usage = x509.key_usage().unwrap().unwrap().value;
        assert!(usage.key_cert_sign() && usage.crl_sign() && !usage.digital_signature());
        let good_for = authority.valid_until().duration_since(authority.valid_from()).unwrap();
        assert_eq!(good_for, VALID_FOR + BACKDATED);
        assert!(authority.valid_from() <= now - BACKDATED);
    }

    #[test]
    fn a_constrained_authority_permits_its_domains_and_this_machine() {
        let domains = ["example.org".to_owned(), "test".to_owned()];
        let made = Authority::make_for("m", clock::now(), &domains).unwrap();
        let limited = Authority::parse(&made.secret_text()).unwrap();
        assert_eq!(limited.domains(), ["example.org", "test", "localhost"]);
        let all = Authority::make("m", clock::now()).unwrap();
        assert!(all.domains().is_empty());
        let others = ["example.org".to_owned()];
        assert!(limited.is_limited_to(&domains) && !limited.is_limited_to(&others));
        assert!(all.is_limited_to(&[]) && !all.is_limited_to(&others));
        assert!(!limited.is_limited_to(&[]));
        for (host, want) in [
            ("example.org", true),
            ("www.example.org", true),
            ("www.example.org.", true),
            ("a.test", true),
            ("localhost", true),
            ("notexample.org", false),
            ("example.org.evil.example", false),
            ("org", false),
            ("127.0.0.1", false),
            ("[::1]", false),
        ] {
            assert_eq!(limited.permits(host), want, "{host}");
            assert!(all.permits(host), "{host}");
        }
    }

    #[test]
    fn the_authority_of_a_fixture_permits_only_its_hosts() {
        let hosts = ["example.org".to_owned(), "192.0.2.7".to_owned(), "[2001:db8::1]".to_owned()];
        let made = Authority::make_fixture(clock::now(), &hosts).unwrap();
        let read = Authority::parse(&made.secret_text()).unwrap();
        for (host, want) in [
            ("example.org", true),
            ("www.example.org", true),
            ("192.0.2.7", true),
            ("[2001:db8::1]", true),
            ("example.net", false),
            ("192.0.2.8", false),
            ("[2001:db8::2]", false),
        ] {
            assert_eq!(read.permits(host), want, "{host}");
        }
        assert!(read.is_for_fixture(&hosts).unwrap());
        assert!(!read.is_for_fixture(&hosts[..2]).unwrap());
        let wider = ["org".to_owned(), "192.0.2.7".to_owned(), "[2001:db8::1]".to_owned()];
        assert!(
            !Authority::make_fixture(clock::now(), &wider).unwrap().is_for_fixture(&hosts).unwrap()
        );
        // Without the purpose, it could sign for programs and mail too.
        let any = Authority::make_for("m", clock::now(), &hosts).unwrap();
        assert!(!any.is_for_fixture(&hosts).unwrap());
        let none = Authority::make_fixture(clock::now(), &[]).unwrap();
        assert!(none.is_for_fixture(&[]).unwrap());
        assert!(!none.permits("example.org"));
    }

    #[test]
    fn an_authority_round_trips() {
        let authority = Authority::make("m", clock::now()).unwrap();
        let again = Authority::parse(&authority.secret_text()).unwrap();
        assert_eq!(again.der(), authority.der());
        assert_eq!(again.fingerprint(), authority.fingerprint());
        assert_eq!(again.spki_hash(), authority.spki_hash());
        assert_eq!(again.valid_until(), authority.valid_until());
        assert_eq!(authority.fingerprint().len(), 95);
        assert!(authority.pem().lines().all(|line| line.len() <= 64));
        assert!(!authority.pem().contains("PRIVATE"));
        assert!(!format!("{authority:?}").contains("PRIVATE"));
    }

    #[test]
    fn damage_is_reported_with_its_cause() {
        let (one, two) = (
            Authority::make("m", clock::now()).unwrap(),
            Authority::make("m", clock::now()).unwrap(),
        );
        let key = one.issuer.key().serialize_pem();
        for (text, want) in [
            (String::new(), "it holds no private key"),
            (one.pem(), "it holds no private key"),
            (key.clone(), "it holds no certificate"),
            (format!("{key}{}", two.pem()), "its key and its certificate do not belong together"),
            (one.secret_text().replace("MI", "AA"), "it holds no private key"),
        ] {
            assert_eq!(Authority::parse(&text).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn the_name_is_valid_for_any_machine_name() {
        let now = UNIX_EPOCH;
        assert_eq!(name("", now), "wwwoffle CA on this machine, 1970-01-01");
        assert_eq!(name("a\nb c", now), "wwwoffle CA on abc, 1970-01-01");
        assert!(name(&"x".repeat(300), now).len() <= 64);
    }
}
