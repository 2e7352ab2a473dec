//! A pattern for hosts: a name, a name with wildcards, an address or a network.

use super::{
    spec::parse_host,
    wildcard::{Wildcard, WildcardShape},
};
use ipnet::IpNet;
use std::{fmt, net::IpAddr, str::FromStr};

/// A pattern for hosts: `www.example.org`, `*.example.org`, `192.168.1.1` or `192.168.0.0/16`, with
/// a `!` before it if it negates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSpec {
    negated: bool,
    hosts: HostPattern,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Like(Wildcard),
    In(IpNet),
}

/// The reason why a text is not a pattern for hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseHostSpecError {
    /// The text is neither a name nor an address.
    #[error("it is not a host; a name may contain \"*\", and a port is not allowed")]
    Host,
    /// A text with a `/` that is not a network.
    #[error("it is not a network, such as \"192.168.0.0/16\" or \"fd00::/8\"")]
    Network,
    /// A network whose address has bits set after its prefix.
    #[error("its address has bits set beyond the length of the network")]
    HostBits,
}

impl HostSpec {
    /// Whether the pattern matches a canonical host, ignoring its `!`.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        match &self.hosts {
            HostPattern::Like(pattern) => pattern.matches(host),
            HostPattern::In(network) => {
                address(host).is_some_and(|address| network.contains(&address))
            }
        }
    }

    /// The only host that the pattern matches, if the pattern is a name or an address.
    pub(crate) fn exact(&self) -> Option<&str> {
        match &self.hosts {
            HostPattern::Like(pattern) => match pattern.shape() {
                WildcardShape::Exactly(host) => Some(host),
                _ => None,
            },
            HostPattern::In(_) => None,
        }
    }

    /// Whether the pattern begins with `!`. In a list, such a pattern excludes the hosts that it
    /// matches.
    #[must_use]
    pub fn negated(&self) -> bool {
        self.negated
    }
}

impl FromStr for HostSpec {
    type Err = ParseHostSpecError;

    fn from_str(text: &str) -> Result<Self, ParseHostSpecError> {
        let (negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let hosts = if text.contains('/') {
            HostPattern::In(network(text)?)
        } else if let Ok(IpAddr::V6(address)) = text.parse() {
            HostPattern::Like(Wildcard::new(&format!("[{address}]")))
        } else if has_port(text) {
            return Err(ParseHostSpecError::Host);
        } else {
            HostPattern::Like(parse_host(text).map_err(|_| ParseHostSpecError::Host)?)
        };
        Ok(Self { negated, hosts })
    }
}

impl fmt::Display for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let negated = if self.negated { "!" } else { "" };
        match &self.hosts {
            HostPattern::Like(pattern) => write!(f, "{negated}{pattern}"),
            HostPattern::In(network) => write!(f, "{negated}{network}"),
        }
    }
}

/// Whether there is a colon outside brackets.
pub(crate) fn has_port(host: &str) -> bool {
    host.rsplit(']').next().is_some_and(|rest| rest.contains(':'))
}

fn network(text: &str) -> Result<IpNet, ParseHostSpecError> {
    let (address, bits) = text.split_once('/').ok_or(ParseHostSpecError::Network)?;
    let address = address.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    // A sign is not allowed.
    let digits = bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits = bits.parse().ok().filter(|_| digits);
    let network = address.zip(bits).and_then(|(address, bits)| IpNet::new(address, bits).ok());
    let network = network.ok_or(ParseHostSpecError::Network)?;
    if network == network.trunc() { Ok(network) } else { Err(ParseHostSpecError::HostBits) }
}

/// Parses the host of a URL as an address.
fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::{HostSpec, ParseHostSpecError};

    #[test]
    fn hosts_match_as_the_table_says() {
        for (spec, host, want) in [
            ("localhost", "localhost", true),
            ("LocalHost", "localhost", true),
            ("*.lan", "nas.lan", true),
            ("*.lan", "lan", false),
            ("192.168.1.1", "192.168.1.1", true),
            ("192.168.0.0/16", "192.168.255.1", true),
            ("192.168.0.0/16", "192.169.0.1", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "[2001:db8::1]", false),
            ("10.0.0.1/32", "10.0.0.1", true),
            ("10.0.0.1/32", "10.0.0.2", false),
            ("fd00::/8", "[fd12::1]", true),
            ("fd00::/8", "[fe80::1]", false),
            ("::/0", "[fe80::1]", true),
            ("::1", "[::1]", true),
            ("[::1]", "[::1]", true),
            ("192.168.0.0/16", "[::ffff:192.168.1.1]", true),
            ("192.168.0.0/16", "192.168.lan", false),
        ] {
            let parsed: HostSpec = spec.parse().expect(spec);
            assert_eq!(parsed.matches(host), want, "{spec} {host}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{spec}");
        }
    }

    #[test]
    fn an_invalid_pattern_is_refused_with_the_reason() {
        for (spec, want) in [
            ("", ParseHostSpecError::Host),
            ("a b", ParseHostSpecError::Host),
            ("h:80", ParseHostSpecError::Host),
            ("10.0.0.0/33", ParseHostSpecError::Network),
            ("10.0.0.0/", ParseHostSpecError::Network),
            ("10.0.0.0/+8", ParseHostSpecError::Network),
            ("lan/8", ParseHostSpecError::Network),
            ("10.0.0.1/8", ParseHostSpecError::HostBits),
        ] {
            assert_eq!(spec.parse::<HostSpec>(), Err(want), "{spec}");
        }
    }
}
