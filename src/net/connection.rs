//! The facts about a connection that are stored with an entry: TLS, and a private address.
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
use crate::net::upstream::{PrivatePeer, TlsDetails};
use wwwoffle_api::{Certificate, Connection};

/// The maximum size of the origin's own certificate for storing it as sent, in bytes. Of a larger
/// one, only the description is stored.
const MAX_KEPT: usize = 8 << 10;

const VERSION: &str = "tls-version";
const SUITE: &str = "tls-cipher-suite";
const BY_FINGERPRINT: &str = "allowed-by-fingerprint";
const CERTIFICATE: &str = "certificate";
const TOLD: &str = "certificate-told";
const PRIVATE: &str = "private-address";
const LEFT_OUT: &str = "certificates-left-out";

/// The block stored with the entry of a response with these extensions. `None` without facts.
#[must_use]
pub fn record(answer: &Extensions) -> Option<Vec<u8>> {
    let secured = answer.get::<Arc<TlsDetails>>().map(|secured| account(secured));
    let Some(_private) = answer.get::<PrivatePeer>() else { return secured };
    let line = line(PRIVATE, "yes");
    // A longer block could not be stored. The fact about the address matters more.
    let rest = secured.filter(|rest| rest.len() + line.len() <= MAX_CONNECTION);
    Some([line.into_bytes(), rest.unwrap_or_default()].concat())
}

/// Whether a block says that the response came from a private address.
#[must_use]
pub fn is_from_private_address(account: &[u8]) -> bool {
    let wanted = line(PRIVATE, "yes");
    account.split_inclusive(|byte| *byte == b'\n').any(|line| line == wanted.as_bytes())
}

/// The TLS details: lines `name: value` that each end with CR LF.
#[must_use]
pub fn account(secured: &TlsDetails) -> Vec<u8> {
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
        if text.len() + line.len() + 64 > MAX_CONNECTION {
            break;
        }
        text.push_str(&line);
        kept += 1;
    }
    if kept < all {
        text.push_str(&line(LEFT_OUT, &(all - kept).to_string()));
    }
    text.into_bytes()
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

/// Parses a block that [`account`] has written. Unreadable lines are skipped.
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

    #[test]
    fn a_connection_record_round_trips() {
        for (sent, by_fingerprint) in
            [(vec![made(1), made(2), made(0)], false), (vec![made(9)], true)]
        {
            let account = account(&secured(sent.clone(), by_fingerprint));
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
    fn a_private_address_is_recorded_with_and_without_tls() {
        let mut answer = Extensions::new();
        assert_eq!(record(&answer), None);
        answer.insert(PrivatePeer);
        let plain = record(&answer).unwrap();
        assert!(is_from_private_address(&plain));
        assert_eq!(read(&plain), Connection::default());
        answer.insert(Arc::new(secured(vec![made(1)], true)));
        let both = record(&answer).unwrap();
        assert!(is_from_private_address(&both) && read(&both).by_fingerprint);
        answer.insert(Arc::new(secured(vec![made(2_000); 9], false)));
        let longest = record(&answer).unwrap();
        assert!(is_from_private_address(&longest) && longest.len() <= MAX_CONNECTION);
        assert!(!is_from_private_address(&account(&secured(vec![made(1)], false))));
    }

    #[test]
    fn a_hostile_chain_is_truncated_and_the_rest_counted() {
        for sent in [
            vec![made(2_000), made(1)],
            vec![made(100); 50],
            vec![CertificateDer::from(vec![0; 60_000]), made(1)],
            vec![CertificateDer::from(Vec::new()); 20_000],
        ] {
            let account = account(&secured(sent.clone(), false));
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
