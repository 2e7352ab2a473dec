//! The reason why a text was refused as a URL.

use std::fmt;

/// The reason why a text has no canonical form.
///
/// The message never quotes user, password or port. The text that is read as a port may be the
/// start of a password: a raw `/` in a password ends the authority early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(UrlFault);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlFault {
    TooLong { length: usize, limit: usize },
    HostTooLong { length: usize, limit: usize },
    NoHost,
    BadHost { host: String },
    BadIpv4 { host: String },
    BadIpv6 { host: String },
    BadPort,
    BadProtocol,
    NotHierarchical { protocol: String },
    NoLocalName,
    BadKey,
}

impl ParseError {
    /// Whether the text, or its canonical form, is longer than [`MAX_LEN`](crate::MAX_LEN) bytes.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        matches!(self.0, UrlFault::TooLong { .. })
    }

    /// Whether the host is missing, too long or invalid: a forbidden code point, a name that IDNA
    /// refuses, a number that is not an IPv4 address, or brackets without an IPv6 address.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(
            self.0,
            UrlFault::HostTooLong { .. }
                | UrlFault::NoHost
                | UrlFault::BadHost { .. }
                | UrlFault::BadIpv4 { .. }
                | UrlFault::BadIpv6 { .. }
        )
    }

    /// Whether the port is not a decimal number from 0 to 65535.
    #[must_use]
    pub fn is_port(&self) -> bool {
        matches!(self.0, UrlFault::BadPort)
    }

    /// Whether the URL does not name a host: `mailto:`, `data:`, `javascript:` …
    #[must_use]
    pub fn is_not_hierarchical(&self) -> bool {
        matches!(self.0, UrlFault::NotHierarchical { .. })
    }
}

impl From<UrlFault> for ParseError {
    fn from(kind: UrlFault) -> Self {
        Self(kind)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            UrlFault::TooLong { length, limit } => {
                write!(f, "the URL is {length} bytes long, above the limit of {limit}")
            }
            UrlFault::HostTooLong { length, limit } => {
                write!(f, "the host is {length} bytes long, above the limit of {limit}")
            }
            UrlFault::NoHost => write!(f, "the URL has no host"),
            UrlFault::BadHost { host } => write!(f, "{host:?} is not a host name"),
            UrlFault::BadIpv4 { host } => {
                write!(f, "{host:?} ends in a number but is not an IPv4 address")
            }
            UrlFault::BadIpv6 { host } => {
                write!(f, "{host:?} is not an IPv6 address in brackets")
            }
            UrlFault::BadPort => write!(f, "the port is not a decimal number from 0 to 65535"),
            UrlFault::BadProtocol => {
                write!(
                    f,
                    "the protocol is not a letter followed by letters, digits, \"+\", \"-\" and \".\""
                )
            }
            UrlFault::NotHierarchical { protocol } => {
                write!(f, "a {protocol:?} URL does not name a host")
            }
            UrlFault::NoLocalName => write!(f, "the local host needs at least one name"),
            UrlFault::BadKey => write!(f, "a key must be 64 lower-case hexadecimal digits"),
        }
    }
}

impl std::error::Error for ParseError {}

/// The maximum number of characters of a host that a message quotes.
const SHOWN: usize = 80;

/// The beginning of a foreign text, for quoting in a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let start = text.get(..SHOWN * 4).unwrap_or(text);
    String::from_utf8_lossy(start).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_quote_control_bytes_and_stay_short() {
        let long = vec![b'\n'; 1000];
        let error = ParseError::from(UrlFault::BadHost { host: excerpt(&long) });
        let shown = error.to_string();
        assert!(!shown.contains('\n'));
        assert!(shown.len() < 200, "{shown}");
    }
}
