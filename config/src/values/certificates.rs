//! Individual certificates of origins that are accepted despite an error.

use crate::source::{
    RawValue, ValueSource,
    value::{Value, elements},
};
use std::fmt;
use toml_edit::InlineTable;
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The default port of HTTPS.
const HTTPS: u16 = 443;

/// The length of a SHA-256, in bytes.
const SHA256: usize = 32;

const EXPECTED: &str = "a host and the SHA-256 of its certificate: { host = \"old.example\", sha256 = \"64 hex digits\" }";

/// A certificate that is accepted for one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCertificate {
    host: String,
    port: u16,
    sha256: [u8; SHA256],
}

impl AllowedCertificate {
    /// Parses a host, with its port unless it is 443, and a fingerprint of 64 hex digits, with or
    /// without colons.
    ///
    /// # Errors
    ///
    /// A short description of the fault.
    pub fn parse(host: &str, sha256: &str) -> Result<Self, &'static str> {
        let sha256 = fingerprint(sha256).ok_or("sha256 takes 64 hex digits")?;
        let (host, port) =
            site(host).ok_or("host takes a name or an address, with an optional port")?;
        Ok(Self { host, port, sha256 })
    }

    /// The host in canonical spelling.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of the origin.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The SHA-256 fingerprint of the certificate.
    #[must_use]
    pub fn sha256(&self) -> &[u8; SHA256] {
        &self.sha256
    }
}

/// Writes the notation of the file. The host is quoted, because browsers accept hosts that contain
/// quotes and commas.
impl fmt::Display for AllowedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.port == HTTPS {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        };
        write!(f, "{{ host = {}, sha256 = \"", toml_edit::Value::from(host))?;
        self.sha256.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("\" }")
    }
}

/// Certificates that are accepted despite an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedCertificates(Vec<AllowedCertificate>);

impl AllowedCertificates {
    /// The certificates in the given order.
    #[must_use]
    pub fn as_slice(&self) -> &[AllowedCertificate] {
        &self.0
    }

    /// The accepted fingerprints for a canonical host and a port.
    pub fn at(&self, host: &str, port: u16) -> impl Iterator<Item = &[u8; SHA256]> {
        let is_meant = move |allowed: &&AllowedCertificate| {
            allowed.port == port && allowed.host.eq_ignore_ascii_case(host)
        };
        self.0.iter().filter(is_meant).map(AllowedCertificate::sha256)
    }
}

/// Parses `text`, which must be a host with an optional port.
fn site(text: &str) -> Option<(String, u16)> {
    if text.is_empty() || text.contains(['/', '?', '#', '\\', '@']) {
        return None;
    }
    let nobody = LocalHost::new(&["localhost"], 80, None).ok()?;
    let url = CanonicalUrl::parse(&format!("https://{text}/"), &nobody).ok()?;
    let port = url.port_or_default().unwrap_or(HTTPS);
    (url.path() == "/" && port != 0).then(|| (url.host().to_owned(), port))
}

fn fingerprint(text: &str) -> Option<[u8; SHA256]> {
    let mut digits = text.bytes().filter(|byte| *byte != b':');
    let mut sha256 = [0; SHA256];
    for byte in &mut sha256 {
        let mut digit = || char::from(digits.next()?).to_digit(16);
        *byte = u8::try_from(digit()? << 4 | digit()?).ok()?;
    }
    digits.next().is_none().then_some(sha256)
}

fn read_one(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<AllowedCertificate> {
    let Some(table) = given.value.as_inline_table() else {
        return source.refuse(given, EXPECTED, "");
    };
    let text = |table: &InlineTable, key| table.get(key)?.as_str().map(str::to_owned);
    if table.iter().any(|(key, _)| !["host", "sha256"].contains(&key)) {
        return source.refuse(given, EXPECTED, "only host and sha256 are allowed");
    }
    let (Some(host), Some(sha256)) = (text(table, "host"), text(table, "sha256")) else {
        return source.refuse(given, EXPECTED, "host and sha256 are both required, in quotes");
    };
    AllowedCertificate::parse(&host, &sha256)
        .map_or_else(|because| source.refuse(given, EXPECTED, because), Some)
}

impl Value for AllowedCertificates {
    const KIND: &'static str = "allowed certificates";
    const MEANING: &'static str = "\
An array of tables `{ host = \"old.example:8443\", sha256 = \"64 hex digits\" }`: a host, with
its port unless it is 443, and the SHA-256 fingerprint of the one certificate that is accepted
there, with or without colons.";
    const EXPECTED: &'static str = "an array of hosts with fingerprints, such as [{ host = \"old.example\", sha256 = \"64 hex digits\" }]";
    const JSON: &'static str = r#"{"type": "array", "items": {"type": "object"}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        elements(given, source, Self::EXPECTED, read_one).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const HEX: &str = "00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00AB";

    #[test]
    fn hosts_and_fingerprints_are_read() {
        let colons: Vec<&str> = (0..32).map(|byte| &HEX[2 * byte..2 * byte + 2]).collect();
        let colons = colons.join(":");
        for (host, sha256, want) in [
            ("old.example", HEX, Ok(("old.example", 443))),
            ("OLD.Example:8443", &colons, Ok(("old.example", 8443))),
            ("bücher.example", HEX, Ok(("xn--bcher-kva.example", 443))),
            ("[::1]:8443", HEX, Ok(("[::1]", 8443))),
            ("127.0.0.1", HEX, Ok(("127.0.0.1", 443))),
            ("localhost:8443", HEX, Ok(("localhost", 8443))),
            ("", HEX, Err("host")),
            ("old.example/path", HEX, Err("host")),
            ("me@old.example", HEX, Err("host")),
            ("https://old.example", HEX, Err("host")),
            ("old.example:0", HEX, Err("host")),
            ("old.example:x", HEX, Err("host")),
            ("old.example", "", Err("sha256")),
            ("old.example", &HEX[2..], Err("sha256")),
            ("old.example", &format!("{HEX}00"), Err("sha256")),
            ("old.example", &HEX.replace('A', "g"), Err("sha256")),
        ] {
            match (AllowedCertificate::parse(host, sha256), want) {
                (Ok(read), Ok(want)) => {
                    assert_eq!((read.host(), read.port()), want);
                    assert_eq!((read.sha256()[1], read.sha256()[31]), (0xff, 0xab));
                }
                (Err(error), Err(word)) => assert!(error.contains(word), "{host}: {error}"),
                (read, _) => panic!("{host} {sha256}: {read:?}"),
            }
        }
    }

    #[test]
    fn written_certificate_parses_to_the_same_value() {
        let injected = format!("a\",sha256=\"{HEX}\"}},{{host=\"bank.example");
        for host in ["old.example", "old.example:8443", "[::1]:1", "a\"b'c\\.example", &injected] {
            let Ok(allowed) = AllowedCertificate::parse(host, HEX) else { continue };
            let text = format!("[https]\nallowed-certificates = [{allowed}]\n");
            let config = crate::Config::parse(&text, Path::new("c")).unwrap();
            assert_eq!(config.https.allowed_certificates.as_slice(), [allowed], "{text}");
        }
        assert!(AllowedCertificate::parse(&injected, HEX).is_ok(), "such a host can be");
    }

    #[test]
    fn a_certificate_is_allowed_for_its_host_and_port_only() {
        let text = format!(
            "[https]\nallowed-certificates = [\n  # the old printer\n  \
             {{ host = \"old.example:8443\", sha256 = \"{HEX}\" }},\n]\n"
        );
        let config = crate::Config::parse(&text, Path::new("c")).unwrap();
        let allowed = &config.https.allowed_certificates;
        assert_eq!(allowed.as_slice().len(), 1);
        for (host, port, want) in [
            ("old.example", 8443, 1),
            ("old.example", 443, 0),
            ("www.old.example", 8443, 0),
            ("example", 8443, 0),
        ] {
            assert_eq!(allowed.at(host, port).count(), want, "{host}:{port}");
        }
    }

    #[test]
    fn a_fault_is_reported_with_its_line() {
        for (given, because) in [
            ("{ host = \"a.example\" }", "both required"),
            ("\"a.example\"", "a host and the SHA-256"),
            (&*format!("{{ host = \"a\", sha256 = \"{HEX}\", more = 1 }}"), "only host and sha256"),
            ("{ host = \"a b\", sha256 = \"00\" }", "64 hex digits"),
            (&*format!("{{ host = \"a b\", sha256 = \"{HEX}\" }}"), "host takes"),
        ] {
            let text = format!("[https]\nallowed-certificates = [\n{given},\n]\n");
            let faults = crate::Config::parse(&text, Path::new("c")).unwrap_err().to_string();
            assert!(faults.contains("c:3:") && faults.contains(because), "{given}: {faults}");
        }
    }
}
