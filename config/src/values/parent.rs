//! Parent proxies, and replacements for blocked resources.

use crate::{
    pattern::host::has_port,
    source::{RawValue, ValueSource, value::Value},
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let Some(text) = given.value.as_str() else {
            return source.refuse(given, Self::EXPECTED, "");
        };
        if text.is_empty() {
            return Some(Self(None));
        }
        let Some((host, port)) = text.rsplit_once(':').filter(|(_, port)| !port.contains(']'))
        else {
            return source.refuse(given, Self::EXPECTED, "the port is missing");
        };
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port != 0);
        match (canonicalise_host(host.as_bytes()), port) {
            (Ok(host), Some(port)) if !has_port(&host) => Some(Self(Some((host, port)))),
            _ => source.refuse(given, Self::EXPECTED, ""),
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

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let is_web = |text: &str| {
            ["/", "http://", "https://"].iter().any(|begin| text.starts_with(begin))
                && !text.starts_with("//")
        };
        match given.value.as_str().filter(|text| text.len() <= MAX_REPLACEMENT) {
            Some("") => Some(Self(None)),
            Some(text)
                if is_web(text) && CanonicalUrl::parse(text, &LocalHost::default()).is_ok() =>
            {
                Some(Self(Some(text.to_owned())))
            }
            _ => source.refuse(given, Self::EXPECTED, ""),
        }
    }
}
