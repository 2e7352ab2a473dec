//! Parent proxies, and replacements for blocked resources.

use crate::{
    pattern::host::has_port,
    source::value::{Value, or_none},
};
use wwwoffle_url::{CanonicalUrl, LocalHost, canonicalise_host};

/// The longest URL of a replacement, in bytes.
const MAX_REPLACEMENT: usize = 8 << 10;

/// A parent proxy, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentProxy(Option<(String, u16)>);

impl ParentProxy {
    /// The host, with an IPv6 address in brackets, and its port. `None` without a parent proxy.
    #[must_use]
    pub fn host_port(&self) -> Option<(&str, u16)> {
        self.0.as_ref().map(|(host, port)| (host.as_str(), *port))
    }
}

impl Value for ParentProxy {
    const KIND: &'static str = "proxy";
    const MEANING: &'static str = "\
Host and port of a proxy, as in `\"proxy.example.org:3128\"`, with an IPv6 address in brackets;
or `\"\"` for none.";
    const EXPECTED: &'static str =
        "host and port of a proxy, such as \"proxy.example.org:3128\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let parts = text.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let (host, port) = parts.ok_or("the port is missing")?;
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port != 0);
        match (canonicalise_host(host.as_bytes()), port) {
            (Ok(host), Some(port)) if !has_port(&host) => Ok(Self(Some((host, port)))),
            _ => Err(""),
        }
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
