//! Descriptions of foreign certificates.
//!
//! Text in a certificate may be hostile, even in a verified certificate. So the length and number
//! of texts are bounded, and hidden characters are made visible. Nothing here verifies a
//! certificate.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Name;

use crate::base::shown;
use wwwoffle_api::{Certificate, Chain};

/// The largest number of described certificates in a chain; real chains have two to four.
pub const MAX_CHAIN: usize = 8;

/// The largest number of described names of a certificate.
const MAX_NAMES: usize = 8;

/// The maximum length of a text in a description, in characters. No DNS name is longer.
const MAX_NAME: usize = 253;

/// The replacement for a missing or unreadable text.
const UNREADABLE: &str = "(cannot be read)";

/// The SHA-256 fingerprint of a certificate.
#[must_use]
pub fn sha256(certificate: &[u8]) -> [u8; 32] {
    Sha256::digest(certificate).into()
}

/// Returns the hexadecimal `digits` of a fingerprint in upper case, with colons between the bytes,
/// for comparison by eye: `AB:CD:…`.
#[must_use]
pub fn with_colons(digits: &str) -> String {
    let upper = digits.to_ascii_uppercase();
    let pairs: Vec<String> =
        upper.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).into_owned()).collect();
    pairs.join(":")
}

/// Describes a chain. At most [`MAX_CHAIN`] certificates are described, and the others are counted.
#[must_use]
pub fn chain(sent: &[CertificateDer<'_>]) -> Chain {
    Chain {
        certificates: sent.iter().take(MAX_CHAIN).map(|one| describe(one)).collect(),
        left_out: sent.len().saturating_sub(MAX_CHAIN),
    }
}

/// Describes a certificate.
#[must_use]
pub fn describe(certificate: &[u8]) -> Certificate {
    let sha256 = hex::encode(sha256(certificate));
    let Ok((_, read)) = X509Certificate::from_der(certificate) else {
        let unreadable = || UNREADABLE.to_owned();
        return Certificate {
            subject: unreadable(),
            issuer: unreadable(),
            sha256,
            ..Certificate::default()
        };
    };
    let (names, more_names) = names(&read);
    Certificate {
        subject: name(read.subject()),
        issuer: name(read.issuer()),
        sha256,
        from: time(read.validity().not_before),
        until: time(read.validity().not_after),
        names,
        more_names,
    }
}

/// The reason why the chain does not reach a trusted authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The first certificate is self-signed.
    SelfSigned,
    /// The chain ends with this self-signed authority.
    Authority(String),
    /// The certificate of this issuer was not sent.
    Missing(String),
}

/// The end of a chain that leads to no trusted authority. Compares only names, because the result
/// is only a description. `None` if the chain is empty, or its names form a circle.
#[must_use]
pub fn end_of(chain: &Chain) -> Option<ChainEnd> {
    let first = chain.certificates.first()?;
    if first.subject == first.issuer {
        return Some(ChainEnd::SelfSigned);
    }
    let mut at = first;
    // The loop ends after as many steps as there are certificates, even if their names form a
    // circle.
    for _ in &chain.certificates {
        let issuer = chain.certificates.iter().find(|one| one.subject == at.issuer);
        match issuer {
            None => return Some(ChainEnd::Missing(at.issuer.clone())),
            Some(issuer) if issuer.subject == issuer.issuer => {
                return Some(ChainEnd::Authority(issuer.subject.clone()));
            }
            Some(issuer) => at = issuer,
        }
    }
    None
}

fn name(name: &X509Name<'_>) -> String {
    match name.to_string_with_registry(x509_parser::objects::oid_registry()) {
        Ok(text) if text.is_empty() => "(no name)".to_owned(),
        Ok(text) => bounded(&text),
        Err(_) => UNREADABLE.to_owned(),
    }
}

/// The names of a certificate, and the number of names left out.
fn names(certificate: &X509Certificate<'_>) -> (Vec<String>, usize) {
    let is_names = |extension: &ParsedExtension<'_>| match extension {
        ParsedExtension::SubjectAlternativeName(names) => Some(names.general_names.len()),
        _ => None,
    };
    let mut listed = Vec::new();
    let mut all = 0;
    for extension in certificate.extensions() {
        let parsed = extension.parsed_extension();
        all += is_names(parsed).unwrap_or_default();
        if let ParsedExtension::SubjectAlternativeName(names) = parsed {
            let left = MAX_NAMES.saturating_sub(listed.len());
            listed.extend(names.general_names.iter().take(left).map(general_name));
        }
    }
    let more = all.saturating_sub(listed.len());
    (listed, more)
}

fn general_name(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
            bounded(name)
        }
        GeneralName::IPAddress(bytes) => address(bytes),
        other => bounded(&other.to_string()),
    }
}

fn address(bytes: &[u8]) -> String {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(four).to_string();
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(sixteen) => Ipv6Addr::from(sixteen).to_string(),
        Err(_) => UNREADABLE.to_owned(),
    }
}

fn time(time: ASN1Time) -> Option<Timestamp> {
    Timestamp::from_second(time.timestamp()).ok()
}

/// The beginning of a foreign text, with hidden characters made visible.
fn bounded(text: &str) -> String {
    let mut safe: String = shown::line(text.get(..boundary(text)).unwrap_or_default());
    if let Some((end, _)) = safe.char_indices().nth(MAX_NAME) {
        safe.truncate(end);
        safe.push('…');
    }
    safe
}

/// The length of the first `MAX_NAME + 1` characters of `text`, in bytes. The additional character
/// shows [`bounded`] that the text is too long.
fn boundary(text: &str) -> usize {
    text.char_indices().nth(MAX_NAME + 1).map_or(text.len(), |(end, _)| end)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn made(common: &str, names: &[String]) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(names.to_vec()).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_certificate_is_described() {
        let names = ["a.example", "*.b.example", "192.0.2.1", "2001:db8::1"].map(str::to_owned);
        let der = made("A host", &names);
        let certificate = describe(&der);
        assert_eq!((&*certificate.subject, &*certificate.issuer), ("CN=A host", "CN=A host"));
        assert_eq!(certificate.names, names);
        assert_eq!(certificate.sha256, hex::encode(sha256(&der)));
        assert!(certificate.from < certificate.until);
        let colons = with_colons(&certificate.sha256);
        assert_eq!(
            (colons.len(), colons.replace(':', "")),
            (95, certificate.sha256.to_uppercase())
        );
    }

    #[test]
    fn hostile_texts_are_bounded_and_visible() {
        let many: Vec<String> = (0..500).map(|n| format!("h{n}.example")).collect();
        let certificate = describe(&made(&format!("a\u{202e}\n\0{}", "x".repeat(50_000)), &many));
        assert!(
            certificate.subject.starts_with("CN=a⟨U+202E⟩⟨U+000A⟩⟨U+0000⟩xxx"),
            "{}",
            certificate.subject
        );
        assert_eq!(certificate.subject.chars().count(), MAX_NAME + 1);
        assert_eq!((certificate.names.len(), certificate.more_names), (MAX_NAMES, 500 - MAX_NAMES));
        let rubbish = describe(b"rubbish");
        assert_eq!((&*rubbish.subject, rubbish.until), (UNREADABLE, None));
        let sent = vec![CertificateDer::from(b"rubbish".to_vec()); 100];
        let chain = chain(&sent);
        assert_eq!((chain.certificates.len(), chain.left_out), (MAX_CHAIN, 100 - MAX_CHAIN));
    }

    #[test]
    fn the_end_of_a_chain_is_found_by_its_names() {
        let chain = |pairs: &[(&str, &str)]| {
            let one = |&(subject, issuer): &(&str, &str)| Certificate {
                subject: subject.to_owned(),
                issuer: issuer.to_owned(),
                ..Certificate::default()
            };
            Chain { certificates: pairs.iter().map(one).collect(), left_out: 0 }
        };
        for (pairs, want) in [
            (&[][..], None),
            (&[("a", "a")], Some(ChainEnd::SelfSigned)),
            (&[("a", "b")], Some(ChainEnd::Missing("b".to_owned()))),
            (&[("a", "b"), ("b", "c")], Some(ChainEnd::Missing("c".to_owned()))),
            (&[("a", "b"), ("c", "c"), ("b", "c")], Some(ChainEnd::Authority("c".to_owned()))),
            (&[("a", "b"), ("b", "a")], None),
        ] {
            assert_eq!(end_of(&chain(pairs)), want, "{pairs:?}");
        }
    }

    /// Damages a certificate: changes, cuts or repeats some bytes. The same seed causes the same
    /// damage.
    fn mutated(der: &[u8], seed: u64) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap() % bound.max(1)
        };
        let mut bytes = der.to_vec();
        for _ in 0..=below(4) {
            let at = below(bytes.len());
            if bytes.is_empty() {
                break;
            }
            match below(6) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.splice(at..at, der[below(der.len())..].to_vec())),
                2 => drop(bytes.drain(at..(at + 1 + below(8)).min(bytes.len()))),
                // Parsers most often fail at lengths and tags of DER.
                3 => bytes[at] = [0x80, 0x84, 0xff, 0x30, 0x7f, 0x00][below(6)],
                _ => bytes[at] ^= 1 << below(8),
            }
        }
        bytes
    }

    #[test]
    fn the_description_of_a_damaged_certificate_is_limited() {
        let names = ["a.example", "*.b.example", "192.0.2.1", "2001:db8::1"].map(str::to_owned);
        let der = made("A host", &names);
        let mut read = 0;
        for seed in 0..20_000 {
            let certificate = describe(&mutated(&der, seed));
            read += u32::from(certificate.until.is_some());
            assert!(certificate.names.len() <= MAX_NAMES, "{seed}");
            for text in certificate.names.iter().chain([&certificate.subject, &certificate.issuer])
            {
                assert!(text.chars().count() <= MAX_NAME + 1, "{seed}: {text}");
                assert!(!text.chars().any(char::is_control), "{seed}: {text:?}");
            }
        }
        assert!(read > 1_000, "{read} of them are read");
    }
}
