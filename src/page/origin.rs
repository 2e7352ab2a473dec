//! The origin of our own pages: scheme, host and port.

use std::fmt;

/// A scheme, a name and a port under which our own pages are reached, such as
/// `http://localhost:8080`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalOrigin {
    /// `scheme://host:port`, in lower case.
    text: String,
    /// Start and end of the host in `text`.
    host: (usize, usize),
}

/// A text that is not `host` or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a host, or a host and a port, not {0:?}")]
pub struct NotAnAddress(String);

/// Maximum length of a host name, in bytes (RFC 1035 §2.3.4).
const LONGEST_HOST: usize = 255;

impl LocalOrigin {
    /// Makes an origin from a scheme, `http` or `https`, and the value of a `Host` field.
    ///
    /// The result is well formed, so it may be written into pages, scripts and header fields. The
    /// caller must check whether the origin is one of ours.
    ///
    /// # Errors
    ///
    /// [`NotAnAddress`] if `host_port` is anything but a name, an IPv4 address or a bracketed IPv6
    /// address with or without a port.
    pub fn parse(scheme: &'static str, host_port: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress(host_port.chars().take(LONGEST_HOST).collect());
        let host_end = match host_port.strip_prefix('[') {
            Some(_) => host_port.find(']').map(|end| end + 1).ok_or_else(wrong)?,
            None => host_port.find(':').unwrap_or(host_port.len()),
        };
        let (host, port) = host_port.split_at(host_end);
        let port_is_right = port.is_empty()
            || port.strip_prefix(':').is_some_and(|digits| {
                digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
            });
        if !is_host(host) || !port_is_right {
            return Err(wrong());
        }
        let text = format!("{scheme}://{}", host_port.to_ascii_lowercase());
        let start = text.len() - host_port.len();
        Ok(Self { text, host: (start, start + host_end) })
    }

    /// Returns the whole origin, such as `http://localhost:8080`, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host and port, such as `localhost:8080`.
    #[must_use]
    pub fn host_port(&self) -> &str {
        self.text.get(self.host.0..).unwrap_or_default()
    }

    /// Whether browsers regard the origin as potentially trustworthy (W3C Secure Contexts §3.1).
    /// Only to such an origin do they send the site that caused a request (Fetch Metadata §2).
    #[must_use]
    pub fn is_trustworthy(&self) -> bool {
        let host = self.host();
        let is_loopback = |host: &str| {
            host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        };
        self.text.starts_with("https:")
            || host == "[::1]"
            || host == "localhost"
            || host.ends_with(".localhost")
            || is_loopback(host)
    }

    /// Returns the host, such as `localhost`; an IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.text.get(self.host.0..self.host.1).unwrap_or_default()
    }
}

impl fmt::Display for LocalOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_host(host: &str) -> bool {
    if host.is_empty() || host.len() > LONGEST_HOST {
        return false;
    }
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::LocalOrigin;

    #[test]
    fn an_address_is_split() {
        let table = [
            ("LocalHost:8080", "http://localhost:8080", "localhost", "localhost:8080"),
            ("proxy.lan", "http://proxy.lan", "proxy.lan", "proxy.lan"),
            ("127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1", "127.0.0.1:1"),
            ("[::1]:8080", "http://[::1]:8080", "[::1]", "[::1]:8080"),
        ];
        for (given, text, host, host_port) in table {
            let origin = LocalOrigin::parse("http", given).unwrap();
            assert_eq!(
                (origin.as_str(), origin.host(), origin.host_port()),
                (text, host, host_port)
            );
        }
    }

    #[test]
    fn local_and_secure_origins_are_trustworthy() {
        for (scheme, given, want) in [
            ("http", "localhost:8080", true),
            ("http", "127.0.0.2", true),
            ("http", "[::1]:8080", true),
            ("http", "proxy.localhost", true),
            ("https", "ship", true),
            ("http", "ship:8080", false),
            ("http", "192.168.1.5:8080", false),
            ("http", "[fd00::1]:8080", false),
            ("http", "127.0.0.1.evil.example", false),
            ("http", "notlocalhost", false),
        ] {
            assert_eq!(
                LocalOrigin::parse(scheme, given).unwrap().is_trustworthy(),
                want,
                "{given}"
            );
        }
    }

    #[test]
    fn an_origin_with_unsafe_characters_is_refused() {
        let long = "a".repeat(256);
        let table = [
            "", ":80", "a:", "a:b", "a:99999", "a:+1", "a b", "a\"b", "a;b", "a/b", "[::1", "[x]",
            "[::1]x", "a\r\nb", "u@a", "ä", "'none'", "*", &long,
        ];
        for given in table {
            assert!(LocalOrigin::parse("http", given).is_err(), "{given}");
        }
    }
}
