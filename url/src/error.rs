//! The reason why a text was refused as a URL.

/// The reason why a text has no canonical form.
///
/// The message never quotes user, password or port. The text that is read as a port may be the
/// start of a password: a raw `/` in a password ends the authority early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct ParseError(#[from] UrlFault);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlFault {
    #[error("the URL is {length} bytes long, above the limit of {limit}")]
    TooLong { length: usize, limit: usize },
    #[error("the host is {length} bytes long, above the limit of {limit}")]
    HostTooLong { length: usize, limit: usize },
    #[error("the URL has no host")]
    NoHost,
    #[error("{host:?} is not a host name")]
    BadHost { host: String },
    #[error("{host:?} ends in a number but is not an IPv4 address")]
    BadIpv4 { host: String },
    #[error("{host:?} is not an IPv6 address in brackets")]
    BadIpv6 { host: String },
    #[error("the port is not a decimal number from 0 to 65535")]
    BadPort,
    #[error("the protocol is not a letter followed by letters, digits, \"+\", \"-\" and \".\"")]
    BadProtocol,
    #[error("a {protocol:?} URL does not name a host")]
    NotHierarchical { protocol: String },
    #[error("the local host needs at least one name")]
    NoLocalName,
    #[error("a key must be 64 lower-case hexadecimal digits")]
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
