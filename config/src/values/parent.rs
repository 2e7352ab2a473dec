//! Parent proxies, and replacements for blocked resources.

use crate::{
    pattern::host::has_port,
    source::{
        RawValue, ValueSource,
        value::{Value, or_none},
    },
};
use std::fmt;
use wwwoffle_url::{CanonicalUrl, LocalHost, canonicalise_host};

/// The longest URL of a replacement, in bytes.
const MAX_REPLACEMENT: usize = 8 << 10;

/// The largest number of parent proxies of a URL.
const MAX_PARENTS: usize = 8;

/// The word for a direct connection to the origin.
const DIRECT: &str = "direct";

/// The protocol of a parent proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParentProtocol {
    /// HTTP, with CONNECT for HTTPS (RFC 9110 §9.3.6).
    Http,
    /// SOCKS 5 (RFC 1928). The parent looks up names.
    Socks5,
}

/// The address of a parent proxy. Displayed as `HOST:PORT`, or `socks5://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParentAddress {
    /// Its protocol.
    pub protocol: ParentProtocol,
    /// A name or an address, IPv6 in brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl ParentAddress {
    /// Parses `HOST:PORT`, `http://HOST:PORT`, `socks5://HOST:PORT` or `socks5h://HOST:PORT`.
    /// Without a port, it is `default_port` of the protocol, if there is one.
    pub(crate) fn parse(
        text: &str,
        default_port: impl FnOnce(ParentProtocol) -> Option<u16>,
    ) -> Result<Self, &'static str> {
        let (scheme, authority) = text.split_once("://").unwrap_or(("http", text));
        let protocol = match scheme.to_ascii_lowercase().as_str() {
            "http" => ParentProtocol::Http,
            "socks5" | "socks5h" => ParentProtocol::Socks5,
            _ => return Err("only \"http://\" and \"socks5://\" are supported"),
        };
        if authority.contains('@') {
            return Err("the login belongs in auth-username and auth-password");
        }
        let parts = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let (host, port) = match parts {
            Some((host, port)) => {
                let digits = port.bytes().all(|byte| byte.is_ascii_digit());
                (host, port.parse().ok().filter(|port| digits && *port != 0))
            }
            None => (authority, Some(default_port(protocol).ok_or("the port is missing")?)),
        };
        match (canonicalise_host(host.as_bytes()), port) {
            (Ok(host), Some(port)) if !has_port(&host) => Ok(Self { protocol, host, port }),
            _ => Err(""),
        }
    }
}

impl fmt::Display for ParentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.protocol == ParentProtocol::Socks5 {
            f.write_str("socks5://")?;
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A way to an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentStep {
    /// Through a parent proxy.
    Parent(ParentAddress),
    /// Without a parent proxy.
    Direct,
}

/// The ways to an origin, in the order in which they are tried. Without any, nothing is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentProxy(Vec<ParentStep>);

impl ParentProxy {
    /// The ways in order. Empty if no way is configured.
    #[must_use]
    pub fn steps(&self) -> &[ParentStep] {
        &self.0
    }
}

impl Value for ParentProxy {
    const KIND: &'static str = "proxy";
    const MEANING: &'static str = "\
Host and port of a proxy, as in `\"proxy.example.org:3128\"`, with an IPv6 address in brackets. With
`socks5://` before them it is a SOCKS 5 server: `\"socks5://127.0.0.1:9050\"`. Up to eight proxies
with commas between them are tried in this order: `\"a.example:3128, b.example:3128\"`. The word
`direct` connects without a proxy; it may be the last of several. `\"\"` is for none.";
    const EXPECTED: &'static str = "host and port of a proxy, such as \"proxy.example.org:3128\" or \
         \"socks5://127.0.0.1:9050\", several with commas between them, \"direct\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let mut steps = Vec::new();
        for step in text.split(',').map(str::trim) {
            if steps.last() == Some(&ParentStep::Direct) {
                return Err("\"direct\" must be the last");
            } else if steps.len() == MAX_PARENTS {
                return Err("there are more than 8");
            } else if step == DIRECT {
                steps.push(ParentStep::Direct);
            } else {
                steps.push(ParentStep::Parent(ParentAddress::parse(step, |_| None)?));
            }
        }
        Ok(Self(steps))
    }

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let text = given.value.as_str();
        // A login in the address is refused, and the fault must not show its password.
        let is_secret = given.is_secret || text.is_some_and(|text| text.contains('@'));
        let read = text.map_or(Err(""), Self::parse);
        let given = RawValue { is_secret, ..*given };
        read.map_or_else(|because| source.refuse(&given, Self::EXPECTED, because), Some)
    }
}

/// The replacement for a blocked resource, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement(Option<String>);

impl Replacement {
    /// The URL of the replacement, or a path on this proxy. `None` without a replacement.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for Replacement {
    const KIND: &'static str = "replacement";
    const MEANING: &'static str = "\
A URL (`http` or `https`), or a path on this proxy, as in `\"/local/blank.gif\"`; or `\"\"` for none.";
    const EXPECTED: &'static str =
        "a URL, a path on this proxy such as \"/local/blank.gif\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_web = ["/", "http://", "https://"].iter().any(|begin| text.starts_with(begin))
            && !text.starts_with("//")
            && text.len() <= MAX_REPLACEMENT;
        let is_valid = is_web && CanonicalUrl::parse(text, &LocalHost::default()).is_ok();
        or_none(text, is_valid).map(Self)
    }
}
