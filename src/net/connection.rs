//! The facts about a connection that are stored with an entry: TLS, and the source of the response.
//!
//! They are a block of a `metadata` record, described in `docs/spool-format.md`: version, cipher
//! suite, the origin's own certificate as sent, and descriptions of the other certificates. An
//! origin controls its certificates, so the size of the block is bounded.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::http::Extensions;
use rustls::pki_types::CertificateDer;
use wwwoffle_spool::MAX_CONNECTION;

use crate::base::shown;
use crate::net::certificates::{MAX_CHAIN, describe};
use crate::net::upstream::{ReceivedFrom, TlsDetails};
use wwwoffle_api::{Certificate, Connection};

/// The maximum size of the origin's own certificate for storing it as sent, in bytes. Of a larger
/// one, only the description is stored.
const MAX_KEPT: usize = 8 << 10;

const VERSION: &str = "tls-version";
const SUITE: &str = "tls-cipher-suite";
const BY_FINGERPRINT: &str = "allowed-by-fingerprint";
const CERTIFICATE: &str = "certificate";
const TOLD: &str = "certificate-told";
const RECEIVED_FROM: &str = "received-from";
const LEFT_OUT: &str = "certificates-left-out";

/// The block stored with the entry of a response with these extensions. `None` without facts.
#[must_use]
pub fn record(answer: &Extensions) -> Option<Vec<u8>> {
    let secured = answer.get::<Arc<TlsDetails>>();
    let line = answer.get::<ReceivedFrom>().map(|source| source_line(StoredSource::of(*source)));
    if secured.is_none() && line.is_none() {
        return None;
    }
    let mut text = line.unwrap_or_default();
    if let Some(secured) = secured {
        // A longer block could not be stored, so there is room for fewer certificates.
        text.push_str(&account(secured, MAX_CONNECTION - text.len()));
    }
    Some(text.into_bytes())
}

/// The source of a stored response, as far as the archive tier needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredSource {
    /// The origin, at a public address.
    PublicAddress,
    /// A parent proxy. The address of the origin is unknown.
    ParentProxy,
    /// The archive tier.
    ArchiveTier,
}

impl StoredSource {
    const ALL: [Self; 3] = [Self::PublicAddress, Self::ParentProxy, Self::ArchiveTier];

    fn of(source: ReceivedFrom) -> Self {
        match source {
            ReceivedFrom::PublicAddress => Self::PublicAddress,
            ReceivedFrom::ParentProxy => Self::ParentProxy,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::PublicAddress => "public-address",
            Self::ParentProxy => "parent-proxy",
            Self::ArchiveTier => "archive-tier",
        }
    }

    /// The source in a block. `None` if the block does not name exactly one known source.
    #[must_use]
    pub fn read(account: &[u8]) -> Option<Self> {
        let begin = format!("{RECEIVED_FROM}: ");
        let lines = account.split_inclusive(|byte| *byte == b'\n');
        let mut lines = lines.filter(|line| line.starts_with(begin.as_bytes()));
        let (only, None) = (lines.next()?, lines.next()) else { return None };
        Self::ALL.into_iter().find(|source| source_line(*source).as_bytes() == only)
    }
}

/// The block without the source, for a copy that a person makes. `None` if nothing is left.
#[must_use]
pub fn without_source(account: &[u8]) -> Option<Vec<u8>> {
    let lines = account.split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| !line.starts_with(RECEIVED_FROM.as_bytes()));
    let kept: Vec<u8> = kept.flatten().copied().collect();
    (!kept.is_empty()).then_some(kept)
}

/// The block of an entry of the archive tier.
#[must_use]
pub fn of_archive_tier() -> Vec<u8> {
    source_line(StoredSource::ArchiveTier).into_bytes()
}

fn source_line(source: StoredSource) -> String {
    line(RECEIVED_FROM, source.word())
}

/// The TLS details in at most `most` bytes: lines `name: value` that each end with CR LF.
fn account(secured: &TlsDetails, most: usize) -> String {
    let version = format!("{:?}", secured.version).replace('_', ".");
    // rustls writes `TLS13_…` for the IANA name `TLS_…`.
    let suite = format!("{:?}", secured.suite).replace("TLS13_", "TLS_");
    let mut text = format!("{VERSION}: {version}\r\n{SUITE}: {suite}\r\n");
    if secured.by_exception {
        text.push_str(&line(BY_FINGERPRINT, "yes"));
    }
    let (mut kept, all) = (0, secured.chain.len());
    for certificate in secured.chain.iter().take(MAX_CHAIN) {
        let line = certificate_line(kept == 0, certificate);
        // The 64 bytes are for the line with the number of certificates left out.
        if text.len() + line.len() + 64 > most {
            break;
        }
        text.push_str(&line);
        kept += 1;
    }
    if kept < all {
        text.push_str(&line(LEFT_OUT, &(all - kept).to_string()));
    }
    text
}

fn certificate_line(is_own: bool, certificate: &CertificateDer<'_>) -> String {
    if is_own && certificate.len() <= MAX_KEPT {
        return line(CERTIFICATE, &STANDARD.encode(certificate));
    }
    // JSON strings contain no line end.
    line(TOLD, &serde_json::to_string(&describe(certificate)).unwrap_or_default())
}

fn line(name: &str, value: &str) -> String {
    format!("{name}: {value}\r\n")
}

/// Parses a block that [`record`] has written. Unreadable lines are skipped.
#[must_use]
pub fn read(account: &[u8]) -> Connection {
    let mut connection = Connection::default();
    let text = String::from_utf8_lossy(account);
    for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        match name {
            VERSION => connection.version = shown::text(value),
            SUITE => connection.suite = shown::text(value),
            BY_FINGERPRINT => connection.by_fingerprint = value == "yes",
            LEFT_OUT => connection.chain.left_out = value.parse().unwrap_or_default(),
            CERTIFICATE | TOLD if connection.chain.certificates.len() < MAX_CHAIN => {
                connection.chain.certificates.extend(certificate(name, value));
            }
            _ => {}
        }
    }
    connection
}

fn certificate(name: &str, value: &str) -> Option<Certificate> {
    if name == TOLD {
        return serde_json::from_str(value).ok();
    }
    STANDARD.decode(value).ok().map(|certificate| describe(&certificate))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use rustls::{CipherSuite, ProtocolVersion};

    use super::*;
    use crate::net::certificates::chain;

    fn made(names: usize) -> CertificateDer<'static> {
        let names: Vec<String> = (0..names).map(|n| format!("host{n}.example")).collect();
        let params = CertificateParams::new(names).unwrap();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn secured(sent: Vec<CertificateDer<'static>>, by_exception: bool) -> TlsDetails {
        TlsDetails {
            version: ProtocolVersion::TLSv1_3,
            suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
            chain: sent.into(),
            by_exception,
        }
    }

    fn stored(secured: &TlsDetails) -> Vec<u8> {
        account(secured, MAX_CONNECTION).into_bytes()
    }

    #[test]
    fn a_connection_record_round_trips() {
        for (sent, by_fingerprint) in
            [(vec![made(1), made(2), made(0)], false), (vec![made(9)], true)]
        {
            let account = stored(&secured(sent.clone(), by_fingerprint));
            let want = Connection {
                version: "TLSv1.3".to_owned(),
                suite: "TLS_AES_256_GCM_SHA384".to_owned(),
                by_fingerprint,
                chain: chain(&sent),
            };
            assert_eq!(read(&account), want);
        }
    }

    #[test]
    fn the_source_of_a_response_is_recorded_with_and_without_tls() {
        let mut answer = Extensions::new();
        assert_eq!(record(&answer), None);
        answer.insert(ReceivedFrom::PublicAddress);
        let plain = record(&answer).unwrap();
        assert_eq!(StoredSource::read(&plain), Some(StoredSource::PublicAddress));
        assert_eq!(read(&plain), Connection::default());
        answer.insert(ReceivedFrom::ParentProxy);
        answer.insert(Arc::new(secured(vec![made(1)], true)));
        let both = record(&answer).unwrap();
        assert_eq!(StoredSource::read(&both), Some(StoredSource::ParentProxy));
        assert!(read(&both).by_fingerprint);
        // A long record has fewer certificates, but all other facts.
        answer.insert(Arc::new(secured(vec![made(2_000); 9], true)));
        let longest = record(&answer).unwrap();
        assert_eq!(StoredSource::read(&longest), Some(StoredSource::ParentProxy));
        assert!(longest.len() <= MAX_CONNECTION && read(&longest).by_fingerprint);
        for none in ["", "received-from: me\r\n", "received-from: public-address"] {
            assert_eq!(StoredSource::read(none.as_bytes()), None);
        }
        assert_eq!(without_source(&plain), None);
        let kept = without_source(&both).unwrap();
        assert!(StoredSource::read(&kept).is_none() && read(&kept) == read(&both));
        let tier = of_archive_tier();
        assert_eq!(StoredSource::read(&tier), Some(StoredSource::ArchiveTier));
        assert_eq!(StoredSource::read(&[tier, plain].concat()), None);
        assert_eq!(StoredSource::read(&stored(&secured(vec![made(1)], false))), None);
    }

    #[test]
    fn a_hostile_chain_is_truncated_and_the_rest_counted() {
        for sent in [
            vec![made(2_000), made(1)],
            vec![made(100); 50],
            vec![CertificateDer::from(vec![0; 60_000]), made(1)],
            vec![CertificateDer::from(Vec::new()); 20_000],
        ] {
            let account = stored(&secured(sent.clone(), false));
            assert!(account.len() <= MAX_CONNECTION, "{}", account.len());
            let read = read(&account);
            let listed = read.chain.certificates.len();
            assert!((1..=MAX_CHAIN).contains(&listed));
            assert_eq!(listed + read.chain.left_out, sent.len());
        }
    }

    #[test]
    fn invalid_certificates_are_skipped() {
        let rubbish =
            b"certificate: !\r\ncertificate-told: {\"subject\": 1}\r\nx\r\n: \r\n\xff: a\r\n\
                        certificates-left-out: -1\r\ntls-version: a\0b\r\n";
        let want = Connection { version: "a⟨U+0000⟩b".to_owned(), ..Connection::default() };
        assert_eq!(read(rubbish), want);
        assert_eq!(read(b""), Connection::default());
    }
}
