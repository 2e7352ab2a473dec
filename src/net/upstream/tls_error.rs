//! The reason why there is no TLS connection, and the faults of a certificate.

use std::fmt;
use std::io;

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::refused::RefusedCertificate;
use super::verify::{Unverified, is_of_authority};
use crate::net::certificates::{self, ChainEnd};
use wwwoffle_api::Chain;

/// The largest number of described names of a certificate.
const MAX_NAMES: usize = 8;

/// The maximum length of a described name, in characters. No DNS name is longer.
const MAX_NAME: usize = 253;

/// The fault of a refused certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateFault {
    /// It expired at this time, if the time is known.
    Expired(Option<Timestamp>),
    /// It will be valid from this time, if the time is known.
    NotYetValid(Option<Timestamp>),
    /// It is valid only for other names.
    WrongName {
        /// The host name of the origin.
        wanted: String,
        /// The first few names in the certificate.
        names: Vec<String>,
        /// The number of further names.
        more: usize,
    },
    /// It is self-signed.
    SelfSigned,
    /// The chain leads to this authority, which is not trusted.
    UntrustedAuthority(String),
    /// This issuer is not trusted, and its certificate was not sent.
    MissingIssuer(String),
    /// The issuer is unknown for another reason.
    UnknownIssuer,
    /// It is the certificate of an authority, not of a site.
    OfAuthority {
        /// Whether it is self-signed. Most certificates of authorities are.
        is_self_signed: bool,
    },
    /// Its authority has revoked it.
    Revoked,
    /// Another fault.
    Other(String),
}

impl CertificateFault {
    fn of(error: &CertificateError) -> Self {
        match error {
            CertificateError::Expired => Self::Expired(None),
            CertificateError::ExpiredContext { not_after, .. } => Self::Expired(time(*not_after)),
            CertificateError::NotValidYet => Self::NotYetValid(None),
            CertificateError::NotValidYetContext { not_before, .. } => {
                Self::NotYetValid(time(*not_before))
            }
            CertificateError::NotValidForName => {
                Self::WrongName { wanted: String::new(), names: Vec::new(), more: 0 }
            }
            CertificateError::NotValidForNameContext { expected, presented } => Self::WrongName {
                wanted: expected.to_str().into_owned(),
                names: presented.iter().take(MAX_NAMES).map(|name| name_in_debug(name)).collect(),
                more: presented.len().saturating_sub(MAX_NAMES),
            },
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::Revoked => Self::Revoked,
            error if is_of_authority(error) => Self::OfAuthority { is_self_signed: false },
            CertificateError::BadSignature => Self::Other("its signature is wrong".to_owned()),
            CertificateError::BadEncoding => Self::Other("it cannot be read".to_owned()),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Self::Other("it is not for servers".to_owned())
            }
            other => Self::Other(other.to_string()),
        }
    }

    /// Returns a more precise fault, if the chain shows one.
    fn with(self, chain: &Chain) -> Self {
        match (self, certificates::end_of(chain)) {
            (Self::UnknownIssuer, Some(ChainEnd::SelfSigned)) => Self::SelfSigned,
            (Self::UnknownIssuer, Some(ChainEnd::Authority(name))) => {
                Self::UntrustedAuthority(name)
            }
            (Self::UnknownIssuer, Some(ChainEnd::Missing(name))) => Self::MissingIssuer(name),
            (Self::OfAuthority { .. }, Some(ChainEnd::SelfSigned)) => {
                Self::OfAuthority { is_self_signed: true }
            }
            (fault, _) => fault,
        }
    }
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(Some(when)) => write!(f, "it expired at {when}"),
            Self::Expired(None) => write!(f, "it has expired"),
            Self::NotYetValid(Some(when)) => write!(f, "it is valid only from {when}"),
            Self::NotYetValid(None) => write!(f, "it is not valid yet"),
            Self::WrongName { wanted, names, more } => {
                write!(f, "it is not for {wanted:?}, but for ")?;
                if names.is_empty() {
                    return write!(f, "no host at all");
                }
                for (number, name) in names.iter().enumerate() {
                    write!(f, "{}{name:?}", if number == 0 { "" } else { ", " })?;
                }
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Self::SelfSigned => {
                write!(f, "it is self-signed: only its owner has signed it")
            }
            Self::UntrustedAuthority(name) => {
                write!(f, "it leads to the authority {name:?}, which is not trusted here")
            }
            Self::MissingIssuer(name) => write!(
                f,
                "its chain ends with a certificate signed by {name:?}, which is not trusted here \
                 and whose own certificate was not sent"
            ),
            Self::UnknownIssuer => {
                write!(
                    f,
                    "none of the trusted authorities has signed it, directly or through others"
                )
            }
            Self::OfAuthority { is_self_signed } => write!(
                f,
                "it is {}the certificate of an authority, not that of a site",
                if *is_self_signed { "self-signed, and " } else { "" }
            ),
            Self::Revoked => write!(f, "its authority has revoked it"),
            Self::Other(what) => write!(f, "{what}"),
        }
    }
}

/// The reason why there is no TLS connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    /// The other end does not speak TLS.
    #[error("the server does not speak TLS")]
    NotTls,
    /// A handshake message is larger than rustls accepts.
    #[error("a message of the origin's handshake is larger than 64 KiB, usually its certificates")]
    TooLarge,
    /// The host name cannot occur in a certificate.
    #[error("no certificate can be issued for such a name")]
    NoName,
    /// The origin ended the handshake, or the connection after it, with an alert.
    #[error("the origin refused: {}", alert_text(*.0))]
    Alert(AlertDescription),
    /// There is no common version or cipher suite.
    #[error("no common version or cipher: {0}")]
    Incompatible(String),
    /// The connection ended during the handshake.
    #[error("the connection ended in the middle of the handshake")]
    CutShort(#[source] io::Error),
    /// The origin violated TLS.
    #[error("the origin violates TLS: {0}")]
    Broken(String),
}

/// The reason why a handshake failed.
#[derive(Debug)]
pub(super) enum Handshake {
    Certificate(RefusedCertificate),
    Tls(TlsFault),
}

impl Handshake {
    /// Classifies a handshake error. `differs` says that the configuration allows another
    /// certificate at this origin.
    pub(super) fn of(error: io::Error, differs: bool) -> Self {
        match inner(&error) {
            Some(inside) => Self::from_rustls(inside, differs),
            None => Self::Tls(TlsFault::CutShort(error)),
        }
    }

    fn from_rustls(error: &Error, differs: bool) -> Self {
        match error {
            Error::InvalidCertificate(error) => Self::Certificate(describe_refusal(error, differs)),
            Error::NoCertificatesPresented => {
                let fault = CertificateFault::Other("the origin shows none".to_owned());
                Self::Certificate(refused_without(fault, differs))
            }
            Error::AlertReceived(alert) => Self::Tls(TlsFault::Alert(*alert)),
            Error::InvalidMessage(error) => Self::Tls(fault_of_message(error)),
            Error::PeerIncompatible(error) => {
                Self::Tls(TlsFault::Incompatible(format!("{error:?}")))
            }
            other => Self::Tls(TlsFault::Broken(other.to_string())),
        }
    }
}

/// The fault that an invalid message shows: the peer does not speak TLS, sends a message that is
/// too large, or has a faulty TLS implementation.
fn fault_of_message(error: &InvalidMessage) -> TlsFault {
    match error {
        InvalidMessage::InvalidContentType
        | InvalidMessage::UnknownProtocolVersion
        | InvalidMessage::InvalidEmptyPayload
        | InvalidMessage::MessageTooLarge => TlsFault::NotTls,
        InvalidMessage::HandshakePayloadTooLarge | InvalidMessage::CertificatePayloadTooLarge => {
            TlsFault::TooLarge
        }
        other => TlsFault::Broken(format!("{other:?}")),
    }
}

/// The description of a refused certificate.
fn describe_refusal(error: &CertificateError, differs: bool) -> RefusedCertificate {
    let unverified = match error {
        CertificateError::Other(other) => other.0.downcast_ref::<Unverified>(),
        _ => None,
    };
    let Some(unverified) = unverified else {
        // The signature of the handshake is wrong: the other end does not have the key of the
        // certificate.
        return refused_without(CertificateFault::of(error), differs);
    };
    let chain = certificates::chain(&unverified.chain);
    let fault = CertificateFault::of(&unverified.error).with(&chain);
    let own = unverified.chain.first().map(|own| certificates::sha256(own));
    RefusedCertificate { fault, sha256: own, chain, differs }
}

/// A refusal without a certificate to describe.
fn refused_without(fault: CertificateFault, differs: bool) -> RefusedCertificate {
    RefusedCertificate { fault, sha256: None, chain: Chain::default(), differs }
}

/// The alert that ended a connection, if any. With TLS 1.3, an origin checks the client's part of
/// the handshake after the handshake is complete for the client. So the alert may arrive as an
/// error of the exchange.
pub(super) fn find_alert(error: &(dyn std::error::Error + 'static)) -> Option<AlertDescription> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(Error::AlertReceived(alert)) = error.downcast_ref::<io::Error>().and_then(inner)
        {
            return Some(*alert);
        }
        cause = error.source();
    }
    None
}

fn inner(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// The text for an alert (RFC 8446 §6).
fn alert_text(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it requires a certificate of the client, and none is configured".to_owned()
        }
        AlertDescription::UnrecognisedName => "it has no site of this name".to_owned(),
        AlertDescription::ProtocolVersion => "it accepts no TLS version that we support".to_owned(),
        AlertDescription::NoApplicationProtocol => {
            "it supports no HTTP version that we support".to_owned()
        }
        alert => format!("{alert:?}"),
    }
}

fn time(at: UnixTime) -> Option<Timestamp> {
    i64::try_from(at.as_secs()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok())
}

/// The name inside a debug text such as `DnsName("www.example.org")` or `IpAddress(127.0.0.1)`.
fn name_in_debug(described: &str) -> String {
    let inside = |kind: &str| described.strip_prefix(kind)?.strip_suffix(')');
    let name = inside("DnsName(")
        .and_then(|name| name.strip_prefix('"')?.strip_suffix('"'))
        .or_else(|| inside("IpAddress("))
        .unwrap_or(described);
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use rustls::PeerIncompatible;
    use rustls::pki_types::ServerName;

    use super::*;
    use wwwoffle_api::Certificate;

    fn shown(error: Error) -> String {
        match Handshake::of(io::Error::new(io::ErrorKind::InvalidData, error), false) {
            Handshake::Certificate(refused) => format!("certificate: {}", refused.fault),
            Handshake::Tls(fault) => format!("tls: {fault}"),
        }
    }

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
    }

    fn wrong_name(presented: &[&str]) -> CertificateError {
        CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("www.example.org").unwrap(),
            presented: presented.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn each_tls_error_is_described() {
        let (time, year) = (at(1_700_000_000), at(1_600_000_000));
        for (error, want) in [
            (
                CertificateError::ExpiredContext { time, not_after: year },
                "it expired at 2020-09-13T12:26:40Z",
            ),
            (
                CertificateError::NotValidYetContext { time: year, not_before: time },
                "it is valid only from 2023-11-14T22:13:20Z",
            ),
            (
                wrong_name(&["DnsName(\"a.example\")", "IpAddress(127.0.0.1)"]),
                "it is not for \"www.example.org\", but for \"a.example\", \"127.0.0.1\"",
            ),
            (wrong_name(&[]), "it is not for \"www.example.org\", but for no host at all"),
            (
                wrong_name(&["DnsName(\"a\n\u{202e}b\")"]),
                "it is not for \"www.example.org\", but for \"a\\n\\u{202e}b\"",
            ),
            (
                CertificateError::UnknownIssuer,
                "none of the trusted authorities has signed it, directly or through others",
            ),
            (CertificateError::Revoked, "its authority has revoked it"),
        ] {
            let got = shown(Error::InvalidCertificate(error));
            assert_eq!(got, format!("certificate: {want}"));
        }
        for (error, want) in [
            (
                Error::InvalidMessage(InvalidMessage::InvalidContentType),
                "the server does not speak TLS",
            ),
            (
                Error::InvalidMessage(InvalidMessage::CertificatePayloadTooLarge),
                "a message of the origin's handshake is larger than 64 KiB, usually its certificates",
            ),
            (
                Error::InvalidMessage(InvalidMessage::MissingKeyExchange),
                "the origin violates TLS: MissingKeyExchange",
            ),
            (
                Error::AlertReceived(AlertDescription::UnrecognisedName),
                "the origin refused: it has no site of this name",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "no common version or cipher: NoCipherSuitesInCommon",
            ),
        ] {
            assert_eq!(shown(error), format!("tls: {want}"));
        }
    }

    #[test]
    fn the_end_of_a_chain_is_described() {
        let chain = |pairs: &[(&str, &str)]| {
            let one = |&(subject, issuer): &(&str, &str)| Certificate {
                subject: subject.to_owned(),
                issuer: issuer.to_owned(),
                ..Certificate::default()
            };
            Chain { certificates: pairs.iter().map(one).collect(), left_out: 0 }
        };
        let of_authority = || CertificateFault::OfAuthority { is_self_signed: false };
        for (fault, pairs, want) in [
            (
                CertificateFault::UnknownIssuer,
                &[("a", "a")][..],
                "it is self-signed: only its owner has signed it",
            ),
            (
                CertificateFault::UnknownIssuer,
                &[("a", "b"), ("b", "b")],
                "it leads to the authority \"b\", which is not trusted here",
            ),
            (
                CertificateFault::UnknownIssuer,
                &[("a", "<b>\n")],
                "its chain ends with a certificate signed by \"<b>\\n\", which is not trusted here and \
                 whose own certificate was not sent",
            ),
            (
                of_authority(),
                &[("a", "a")],
                "it is self-signed, and the certificate of an authority, not that of a site",
            ),
            (
                of_authority(),
                &[("a", "b")],
                "it is the certificate of an authority, not that of a site",
            ),
            (CertificateFault::Revoked, &[("a", "a")], "its authority has revoked it"),
        ] {
            assert_eq!(fault.with(&chain(pairs)).to_string(), want);
        }
    }

    #[test]
    fn many_long_certificate_names_are_shortened() {
        let many = vec![format!("DnsName(\"{}\")", "x".repeat(10_000)); 5_000];
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let got = shown(Error::InvalidCertificate(wrong_name(&many)));
        assert!(got.ends_with(" and 4992 more"), "{got}");
        assert!(got.len() < MAX_NAMES * (MAX_NAME + 8) + 100, "{}", got.len());
    }

    #[test]
    fn an_alert_is_found_under_other_errors() {
        let alert = Error::AlertReceived(AlertDescription::CertificateRequired);
        let error = io::Error::new(io::ErrorKind::InvalidData, alert);
        assert_eq!(find_alert(&error), Some(AlertDescription::CertificateRequired));
        assert_eq!(find_alert(&io::Error::other("x")), None);
    }
}
