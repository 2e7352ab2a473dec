//! Domains, each with all of its subdomains.

use std::net::IpAddr;

use wwwoffle_url::canonicalise_host;

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};

/// A list of domains. An empty list means no restriction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains(Vec<String>);

impl Domains {
    /// The domains in the notation of certificates: ASCII and lower case.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

/// Parses one domain: a host name without port or wildcard, and not an address.
fn domain(text: &str) -> Option<String> {
    let plain = !text.is_empty() && !text.contains(['*', ':', '/', '[']);
    let host = canonicalise_host(text.as_bytes()).ok().filter(|_| plain)?;
    let name = host.trim_end_matches('.');
    (!name.is_empty() && name.parse::<IpAddr>().is_err()).then(|| name.to_owned())
}

impl Value for Domains {
    const KIND: &'static str = "domains";
    const MEANING: &'static str = "An array of domains, each with all of its subdomains.";
    const EXPECTED: &'static str = "an array of domains, such as [\"example.org\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let each = "domains without port, wildcard or address, such as \"example.org\"";
        texts(given, source, [Self::EXPECTED, each], domain).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::domain;

    #[test]
    fn only_a_name_is_a_valid_domain() {
        for (text, want) in [
            ("Example.ORG", Some("example.org")),
            ("example.org.", Some("example.org")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("org", Some("org")),
            ("", None),
            (".", None),
            ("*.example.org", None),
            ("example.org:443", None),
            ("127.0.0.1", None),
            ("0x7f.1", None),
            ("::1", None),
            ("[::1]", None),
            ("http://a/", None),
            ("a b", None),
        ] {
            assert_eq!(domain(text).as_deref(), want, "{text:?}");
        }
    }
}
