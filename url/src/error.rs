//! The reason why a text was refused as a URL.

use std::fmt;

/// The reason why a text has no canonical form.
///
/// The message never quotes user, password or port. The text that is read as a port may be the
/// start of a password: a raw `/` in a password ends the authority early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
        matches!(self.0, Kind::TooLong { .. })
    }

    /// Whether the host is missing, too long or invalid: a forbidden code point, a name that IDNA
    /// refuses, a number that is not an IPv4 address, or brackets without an IPv6 address.
    #[must_use]
    pub fn is_host(&self) -> bool {
        matches!(
            self.0,
            Kind::HostTooLong { .. }
                | Kind::NoHost
                | Kind::BadHost { .. }
                | Kind::BadIpv4 { .. }
                | Kind::BadIpv6 { .. }
        )
    }

    /// Whether the port is not a decimal number from 0 to 65535.
    #[must_use]
    pub fn is_port(&self) -> bool {
        matches!(self.0, Kind::BadPort)
    }

    /// Whether the URL does not name a host: `mailto:`, `data:`, `javascript:` …
    #[must_use]
    pub fn is_not_hierarchical(&self) -> bool {
        matches!(self.0, Kind::NotHierarchical { .. })
    }
}

impl From<Kind> for ParseError {
    fn from(kind: Kind) -> Self {
        Self(kind)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::TooLong { length, limit } => {
                write!(f, "the URL is {length} bytes long, above the limit of {limit}")
            }
            Kind::HostTooLong { length, limit } => {
                write!(f, "the host is {length} bytes long, above the limit of {limit}")
            }
            Kind::NoHost => write!(f, "the URL has no host"),
            Kind::BadHost { host } => write!(f, "{host:?} is not a host name"),
            Kind::BadIpv4 { host } => {
                write!(f, "{host:?} ends in a number but is not an IPv4 address")
            }
            Kind::BadIpv6 { host } => {
                write!(f, "{host:?} is not an IPv6 address in brackets")
            }
            Kind::BadPort => write!(f, "the port is not a decimal number from 0 to 65535"),
            Kind::BadProtocol => {
                write!(
                    f,
                    "the protocol is not a letter followed by letters, digits, \"+\", \"-\" and \".\""
                )
            }
            Kind::NotHierarchical { protocol } => {
                write!(f, "a {protocol:?} URL does not name a host")
            }
            Kind::NoLocalName => write!(f, "the local host needs at least one name"),
            Kind::BadKey => write!(f, "a key must be 64 lower-case hexadecimal digits"),
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
        let error = ParseError::from(Kind::BadHost { host: excerpt(&long) });
        let shown = error.to_string();
        assert!(!shown.contains('\n'));
        assert!(shown.len() < 200, "{shown}");
    }
}
