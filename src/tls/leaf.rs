//! Certificates for requested hosts, created on demand and cached in memory.
//!
//! They all share one key, which is created at each start and never written. Separate keys would
//! not help: an attacker who can read one key in this process can read all. With one key, a
//! certificate costs only a signature. Each host has its own TLS configuration and no session is
//! resumed, because a session for one host must not be valid for another.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ResolvesServerCertUsingSni};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use time::OffsetDateTime;

use super::ca::{Authority, BACKDATED, BadAuthority, serial};
use crate::tls::provider::{self, provider};

/// The maximum number of cached certificates. Beyond it, the least recently used certificate is
/// removed.
pub const MAX_LEAVES: usize = 256;

/// The validity of a certificate from its creation. Together with [`BACKDATED`], it is 90 days,
/// less one second, because RFC 5280 §4.1.2.5 includes the last second.
const VALID_FOR: Duration = Duration::from_secs(89 * 24 * 60 * 60 - 1);

/// The age at which the certificate of a host is replaced, even if it is in use.
const REMADE_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum length of a name that is also written into the subject (RFC 5280, `ub-common-name`).
const MAX_COMMON_NAME: usize = 64;

/// The ALPN name of HTTP/1.1 (RFC 7301).
pub const HTTP_1_1: &[u8] = b"http/1.1";

/// The ALPN name of HTTP/2, which is preferred.
pub const HTTP_2: &[u8] = b"h2";

/// The certificates for hosts, created on demand. The recent ones are cached.
pub struct Leaves {
    authority: Arc<Authority>,
    key: KeyPair,
    signing: Arc<dyn SigningKey>,
    made: Mutex<LeafCache>,
}

#[derive(Default)]
struct LeafCache {
    by_host: HashMap<String, Leaf>,
    /// The number of uses, so that the least recently used certificate is known without a clock.
    uses: u64,
}

struct Leaf {
    config: Arc<ServerConfig>,
    made: SystemTime,
    used: u64,
}

/// Shows the number of certificates, never the key.
impl fmt::Debug for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaves").field("made", &self.len()).finish_non_exhaustive()
    }
}

impl Leaves {
    /// An empty cache with a new shared key.
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the system cannot supply random bytes.
    pub fn new(authority: Arc<Authority>) -> Result<Self, BadAuthority> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signing =
            provider().key_provider.load_private_key(secret).map_err(BadAuthority::Tls)?;
        Ok(Self { authority, key, signing, made: Mutex::default() })
    }

    /// The number of cached certificates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().by_host.len()
    }

    /// Whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The TLS configuration for `host`, which is a name as in a canonical URL, or an IP address
    /// (IPv6 in brackets).
    ///
    /// # Errors
    ///
    /// [`BadAuthority`] if the authority is not valid at this time or may not sign for the host, if
    /// a certificate cannot contain the host name, or if the system cannot supply random bytes.
    pub fn config(&self, host: &str, now: SystemTime) -> Result<Arc<ServerConfig>, BadAuthority> {
        let mut made = self.lock();
        made.uses += 1;
        let used = made.uses;
        // A certificate that was created shortly before the end of its authority expires together
        // with the authority, so it is not used after that.
        if let Some(leaf) = made.by_host.get_mut(host)
            && now < self.authority.valid_until()
            && now.duration_since(leaf.made).is_ok_and(|age| age < REMADE_AFTER)
        {
            leaf.used = used;
            return Ok(Arc::clone(&leaf.config));
        }
        let config = self.build_config(host, now)?;
        if made.by_host.len() >= MAX_LEAVES && !made.by_host.contains_key(host) {
            let unused = made.by_host.iter().min_by_key(|(_, leaf)| leaf.used);
            let unused = unused.map(|(host, _)| host.clone());
            if let Some(unused) = unused {
                made.by_host.remove(&unused);
            }
        }
        made.by_host.insert(host.to_owned(), Leaf { config: Arc::clone(&config), made: now, used });
        Ok(config)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LeafCache> {
        // A panic leaves a valid cache, because missing certificates are created again.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn build_config(&self, host: &str, now: SystemTime) -> Result<Arc<ServerConfig>, BadAuthority> {
        // The chain includes the authority, so that a client can pin one key for all hosts.
        let chain = vec![self.issue(host, now)?, self.authority.der().clone()];
        let presented = CertifiedKey::new(chain, Arc::clone(&self.signing));
        let mut config = ServerConfig::builder_with_details(provider(), provider::clock())
            .with_safe_default_protocol_versions()
            .map_err(BadAuthority::Tls)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(presented)));
        config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1_1.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// A certificate for `host` only.
    fn issue(&self, host: &str, now: SystemTime) -> Result<CertificateDer<'static>, BadAuthority> {
        let authority = &self.authority;
        if now < authority.valid_from() || now >= authority.valid_until() {
            return Err(BadAuthority::NotNow);
        }
        if !authority.permits(host) {
            return Err(BadAuthority::Outside(host.to_owned()));
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        // The common name has the same spelling as the alternative name. Otherwise certificate
        // linters report two hosts.
        let common = bare_host(host);
        // OpenSSL compares an address in the common name with the names of a limited authority.
        let is_limited_address =
            !authority.domains().is_empty() && common.parse::<IpAddr>().is_ok();
        if common.len() <= MAX_COMMON_NAME && !is_limited_address {
            params.distinguished_name.push(DnType::CommonName, common);
        }
        params.subject_alt_names = vec![name(host)?];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let from = (now - BACKDATED).max(authority.valid_from());
        let until = (now + VALID_FOR).min(authority.valid_until());
        params.not_before = OffsetDateTime::from(from);
        params.not_after = OffsetDateTime::from(until);
        params.serial_number = Some(serial()?);
        Ok(authority.sign(&params, &self.key)?.der().clone())
    }
}

/// Returns the host without the brackets of an IP address and without the final dot of an absolute
/// name.
fn bare_host(host: &str) -> &str {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    address.unwrap_or_else(|| host.trim_end_matches('.'))
}

/// The TLS configuration for a client that requests a host other than ours. The handshake ends with
/// the alert `access_denied`, and no certificate is shown.
///
/// # Errors
///
/// [`BadAuthority`] if the cryptography supports no protocol version, which does not happen.
pub fn refusing_config() -> Result<Arc<ServerConfig>, BadAuthority> {
    let config = ServerConfig::builder_with_details(provider(), provider::clock())
        .with_safe_default_protocol_versions()
        .map_err(BadAuthority::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    Ok(Arc::new(config))
}

/// The host as a name in a certificate (RFC 5280 §4.2.1.6).
fn name(host: &str) -> Result<SanType, BadAuthority> {
    let name = bare_host(host);
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    match name.try_into() {
        Ok(text) if is_name => Ok(SanType::DnsName(text)),
        _ => Err(BadAuthority::Name(host.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;
    use x509_parser::extensions::GeneralName;
    use x509_parser::prelude::{FromDer, X509Certificate};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn leaves(now: SystemTime) -> Leaves {
        Leaves::new(Arc::new(Authority::make("m", now).unwrap())).unwrap()
    }

    #[test]
    fn a_leaf_names_only_its_host() {
        let now = clock::now();
        let leaves = leaves(now);
        for (host, want) in [
            ("www.example.org", GeneralName::DNSName("www.example.org")),
            ("xn--bcher-kva.example", GeneralName::DNSName("xn--bcher-kva.example")),
            ("a_b.example", GeneralName::DNSName("a_b.example")),
            ("dot.example.", GeneralName::DNSName("dot.example")),
            ("127.0.0.1", GeneralName::IPAddress(&[127, 0, 0, 1])),
            ("[::1]", GeneralName::IPAddress(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
        ] {
            let der = leaves.issue(host, now).unwrap();
            let (_, leaf) = X509Certificate::from_der(&der).unwrap();
            let names = leaf.subject_alternative_name().unwrap().unwrap();
            assert_eq!(names.value.general_names, [want], "{host}");
            assert!(!leaf.is_ca());
            let usage = leaf.extended_key_usage().unwrap().unwrap().value;
            assert!(usage.server_auth && !usage.client_auth && !usage.any);
            let key_usage = leaf.key_usage().unwrap().unwrap().value;
            assert!(key_usage.digital_signature() && !key_usage.key_cert_sign());
            let (_, root) = X509Certificate::from_der(leaves.authority.der()).unwrap();
            assert_eq!(leaf.issuer(), root.subject());
        }
        let long = format!("{}.example", "a.".repeat(60));
        let der = leaves.issue(&long, now).unwrap();
        let (_, leaf) = X509Certificate::from_der(&der).unwrap();
        assert!(leaf.subject().iter().next().is_none());
        assert!(leaf.subject_alternative_name().unwrap().unwrap().critical);
        for host in ["", ".", "a b", "*.example.org", "a,b", "bücher.example"] {
            assert!(leaves.issue(host, now).is_err(), "{host:?}");
        }
    }

    #[test]
    fn no_leaf_outlives_ninety_days_or_its_authority() {
        let made = clock::now();
        let leaves = leaves(made);
        let until = leaves.authority.valid_until();
        for now in [made, made + 300 * DAY, until - 30 * DAY, until - Duration::from_secs(1)] {
            let der = leaves.issue("h.example", now).unwrap();
            let (_, leaf) = X509Certificate::from_der(&der).unwrap();
            let (from, end) = (leaf.validity().not_before, leaf.validity().not_after);
            assert!(end.timestamp() - from.timestamp() < 90 * 24 * 60 * 60, "both ends count");
            let seconds = |time| jiff::Timestamp::try_from(time).unwrap().as_second();
            assert!(end.timestamp() <= seconds(until));
            assert!(from.timestamp() >= seconds(leaves.authority.valid_from()));
        }
        for now in [until, until + DAY, made - 2 * DAY] {
            assert!(matches!(leaves.issue("h.example", now), Err(BadAuthority::NotNow)));
        }
    }

    #[test]
    fn a_leaf_in_memory_ends_with_its_authority() {
        let made = clock::now();
        let leaves = leaves(made);
        let until = leaves.authority.valid_until();
        let second = Duration::from_secs(1);
        let before = leaves.config("h.example", until - second).unwrap();
        assert!(Arc::ptr_eq(&before, &leaves.config("h.example", until - second).unwrap()));
        assert!(matches!(leaves.config("h.example", until), Err(BadAuthority::NotNow)));
        assert!(leaves.config("h.example", made).is_ok());
    }

    #[test]
    fn two_leaves_never_share_a_serial_number() {
        let now = clock::now();
        let leaves = leaves(now);
        let serial = |der: &CertificateDer<'_>| {
            X509Certificate::from_der(der).unwrap().1.raw_serial_as_string()
        };
        let one = serial(&leaves.issue("a.example", now).unwrap());
        assert_ne!(one, serial(&leaves.issue("a.example", now).unwrap()));
    }

    #[test]
    fn the_number_of_leaves_is_limited_and_used_ones_stay() {
        let now = clock::now();
        let leaves = leaves(now);
        let first = leaves.config("used.example", now).unwrap();
        for number in 0..1_000 {
            leaves.config(&format!("h{number}.example"), now).unwrap();
            let again = leaves.config("used.example", now).unwrap();
            assert!(Arc::ptr_eq(&first, &again));
        }
        assert_eq!(leaves.len(), MAX_LEAVES);
        let later = leaves.config("used.example", now + DAY).unwrap();
        assert!(!Arc::ptr_eq(&first, &later));
        assert_eq!(leaves.len(), MAX_LEAVES);
    }
}
