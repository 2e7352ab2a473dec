//! The clients that may use the proxy, by their addresses.
//!
//! Only the address of a client is known. A name is resolved to addresses in advance, before it is
//! compared ([`ResolvedNames`]). For a name with a `*`, the name of the address is looked up (a
//! reverse look-up). It comes from the owner of the address, who can return any name. So it counts
//! only if it resolves to the same address.

use crate::{
    pattern::wildcard::Wildcard,
    source::{
        RawValue, ValueSource,
        value::{STRINGS, Value, elements},
    },
};
use ipnet::IpNet;
use std::{collections::HashMap, net::IpAddr};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The addresses of names, from their last resolution.
pub type ResolvedNames = HashMap<String, Vec<IpAddr>>;

/// Clients, given by address, network or name. The first entry that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHosts(Vec<ClientEntry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ClientEntry {
    allows: bool,
    clients: ClientPattern,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ClientPattern {
    Network(IpNet),
    /// `*`, or an IPv4 address with stars.
    Like(Wildcard),
    Named(String),
    /// A name with stars.
    NamedLike(Wildcard),
}

impl ClientHosts {
    /// Whether the list has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in the list, which match only after they are resolved.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|entry| match &entry.clients {
            ClientPattern::Named(name) => Some(name.as_str()),
            ClientPattern::Network(_) | ClientPattern::Like(_) | ClientPattern::NamedLike(_) => {
                None
            }
        })
    }

    /// Whether an entry is compared with the names of clients.
    #[must_use]
    pub fn has_name_patterns(&self) -> bool {
        self.0.iter().any(|entry| matches!(entry.clients, ClientPattern::NamedLike(_)))
    }

    /// Whether the first entry that matches `client` allows it. A client without a match is not
    /// allowed. A name that is missing in `names` matches no client. `own_name` is the confirmed
    /// name of the client, in lower case.
    #[must_use]
    pub fn allows(&self, client: IpAddr, names: &ResolvedNames, own_name: Option<&str>) -> bool {
        let client = client.to_canonical();
        let first = self.0.iter().find(|entry| match &entry.clients {
            ClientPattern::Network(network) => network.contains(&client),
            ClientPattern::Like(pattern) => {
                pattern.as_str() == "*" || client.is_ipv4() && pattern.matches(&client.to_string())
            }
            ClientPattern::Named(name) => names
                .get(name)
                .is_some_and(|found| found.iter().any(|address| address.to_canonical() == client)),
            ClientPattern::NamedLike(pattern) => own_name.is_some_and(|name| pattern.matches(name)),
        });
        first.is_some_and(|entry| entry.allows)
    }
}

impl ClientEntry {
    /// Parses an entry. The error is the reason, or says what to write instead.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (allows, host) = match text.strip_prefix('!') {
            Some(host) => (false, host),
            None => (true, text),
        };
        let clients = ClientPattern::parse(host)?;
        if !allows && matches!(clients, ClientPattern::Named(_) | ClientPattern::NamedLike(_)) {
            return Err("a failed look-up would allow it; write its address or network");
        }
        Ok(Self { allows, clients })
    }
}

impl ClientPattern {
    fn parse(host: &str) -> Result<Self, &'static str> {
        const NO_CLIENT: &str = "it is not an address, network or name";
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Network(address.to_canonical().into()));
        }
        if host.contains('/') {
            let network: IpNet = host.parse().map_err(|_| "it is not a network")?;
            return Ok(Self::Network(network.trunc()));
        }
        if host.contains('*') {
            let is_address = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'*');
            if host == "*" || (host.contains('.') && host.bytes().all(is_address)) {
                return Ok(Self::Like(Wildcard::new(host)));
            }
            let is_name =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'*');
            let domain = host.rsplit('*').next().unwrap_or_default();
            if host.bytes().all(is_name)
                && domain.contains('.')
                && domain.contains(char::is_alphabetic)
            {
                return Ok(Self::NamedLike(Wildcard::new(&host.to_ascii_lowercase())));
            }
            return Err("a name with a `*` ends in a domain, such as \"*.lan\"");
        }
        let url = CanonicalUrl::parse(&format!("http://{host}/"), &LocalHost::default());
        let url = url.map_err(|_| NO_CLIENT)?;
        if host.contains([':', '@', '?', '#', '\\']) {
            return Err(NO_CLIENT);
        }
        match url.host().parse::<IpAddr>() {
            Ok(address) => Ok(Self::Network(address.into())),
            Err(_) => Ok(Self::Named(url.host().to_owned())),
        }
    }
}

impl Value for ClientHosts {
    const KIND: &'static str = "clients";
    const MEANING: &'static str = "\
An array of addresses, networks and names: `\"192.168.1.5\"`, `\"192.168.0.0/16\"`,
`\"192.168.*\"`, `\"fd00::/8\"`, `\"laptop.lan\"`, `\"*.lan\"`, or `\"*\"` for all. A `!` in front
excludes an address or network; the first match decides. A name stands for its addresses, which are
looked up every minute. For `\"*.lan\"`, the name of the client is looked up, and counts only if it
leads back to its address. Nothing is looked up while offline. Addresses are safer.";
    const EXPECTED: &'static str =
        "an array of addresses, networks and names, such as [\"192.168.0.0/16\", \"fd00::/8\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let entries = elements(given, source, Self::EXPECTED, |one, source| {
            let expected = "addresses, networks and names, such as \"192.168.0.0/16\"";
            let read = one.value.as_str().map_or(Err(""), ClientEntry::parse);
            read.map_or_else(|because| source.refuse(one, expected, because), Some)
        })?;
        Some(Self(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::ClientEntry;

    #[test]
    fn an_incomparable_client_entry_is_refused() {
        for text in [
            "",
            "!",
            "*lan",
            "*.l_n",
            "!*.lan",
            "lap*",
            "fd00::*",
            "1.2.3.4/33",
            "1.2.3.4:80",
            "a b",
            "lan:80",
            "!laptop.lan",
            "u@h",
            "a/b",
            "http://a/",
            "1*",
            "[::1",
            "a?b",
        ] {
            assert!(ClientEntry::parse(text).is_err(), "{text:?}");
        }
    }
}
