//! Which clients may use the proxy, by their addresses.
//!
//! A client shows its address and nothing else. What an address is called (a reverse look-up) is
//! said by whoever it belongs to, who can say any name; so a name is looked up the other way round,
//! for which somebody has to ask beforehand ([`Names`]), and a name with a `*` is no use at all.

use crate::{
    schema::Config,
    source::{Given, Source},
    value::{STRINGS, Value, elements},
    wildcard::Wildcard,
};
use ipnet::IpNet;
use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The addresses of names, as they were looked up last.
pub type Names = HashMap<String, Vec<IpAddr>>;

/// Clients, told by address, network or name: the first entry that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHosts(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    allows: bool,
    clients: Clients,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Clients {
    Network(IpNet),
    /// `*`, or an IPv4 address with stars.
    Like(Wildcard),
    Named(String),
}

impl ClientHosts {
    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in it, which are compared only once they are looked up.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|entry| match &entry.clients {
            Clients::Named(name) => Some(name.as_str()),
            Clients::Network(_) | Clients::Like(_) => None,
        })
    }

    /// Whether the first entry that matches `client` allows it. Without a match it is not allowed,
    /// and so it is with a name that is not in `names`.
    #[must_use]
    pub fn allows(&self, client: IpAddr, names: &Names) -> bool {
        let client = client.to_canonical();
        let first = self.0.iter().find(|entry| match &entry.clients {
            Clients::Network(network) => network.contains(&client),
            Clients::Like(pattern) => {
                pattern.as_str() == "*" || client.is_ipv4() && pattern.matches(&client.to_string())
            }
            Clients::Named(name) => names
                .get(name)
                .is_some_and(|found| found.iter().any(|address| address.to_canonical() == client)),
        });
        first.is_some_and(|entry| entry.allows)
    }
}

impl Entry {
    /// Reads an entry; the error says what to write instead.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (allows, host) = match text.strip_prefix('!') {
            Some(host) => (false, host),
            None => (true, text),
        };
        let clients = Clients::parse(host)?;
        if !allows && matches!(clients, Clients::Named(_)) {
            return Err("a look-up that fails would let it in; write its address or network");
        }
        Ok(Self { allows, clients })
    }
}

impl Clients {
    fn parse(host: &str) -> Result<Self, &'static str> {
        const NO_CLIENT: &str = "it is no address, network or name";
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Network(address.to_canonical().into()));
        }
        if host.contains('/') {
            let network: IpNet = host.parse().map_err(|_| "it is no network")?;
            return Ok(Self::Network(network.trunc()));
        }
        if host.contains('*') {
            let is_address = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'*');
            if host == "*" || (host.contains('.') && host.bytes().all(is_address)) {
                return Ok(Self::Like(Wildcard::new(host)));
            }
            return Err("what a client is called cannot be known; write its network");
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
An array of addresses, networks and names: `\"192.168.1.5\"`, `\"192.168.0.0/16\"`, `\"192.168.*\"`,
`\"fd00::/8\"`, `\"laptop.lan\"`, or `\"*\"` for all. `!` before one excludes it; the first match
decides. A name stands for the addresses that it was last looked up to have, which is done every
minute and not while offline; so it cannot have a `*` or `!`. Addresses are safer.";
    const EXPECTED: &'static str =
        "an array of addresses, networks and names, such as [\"192.168.0.0/16\", \"fd00::/8\"]";

    fn json() -> String {
        STRINGS.to_owned()
    }

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let entries = elements(given, source, Self::EXPECTED, |one, source| {
            let expected = "addresses, networks and names, such as \"192.168.0.0/16\"";
            match one.value.as_str().map(Entry::parse) {
                Some(Ok(entry)) => Some(entry),
                Some(Err(because)) => source.refuse(one, expected, because),
                None => source.refuse(one, expected, ""),
            }
        })?;
        Some(Self(entries))
    }
}

/// A listener that other machines can reach, and a setting that is missing for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenListener {
    /// Neither machines nor users are named.
    #[error(
        "other machines can reach {0}, but no setting says which of them may use the proxy: name \
         them in \"hosts\" of [allowed-connect-hosts], or users in \"users\" of \
         [allowed-connect-users] (`wwwoffle passwd USER` makes an entry); or listen on 127.0.0.1"
    )]
    NoClients(SocketAddr),
    /// There is no control password, and nothing says that none is wanted.
    #[error(
        "other machines can reach {0}, but there is no control password: make one with `wwwoffle \
         passwd` and put its line under [startup]; or set \"share-without-password\" there if \
         none is wanted; or listen on 127.0.0.1"
    )]
    NoPassword(SocketAddr),
}

impl Config {
    /// Checks that it is safe to listen on these addresses: only this machine reaches them, or the
    /// configuration says who may use the proxy and who may control it.
    ///
    /// ```
    /// let config = wwwoffle_config::Config::default();
    /// assert!(config.may_listen(&["127.0.0.1:8080".parse()?]).is_ok());
    /// assert!(config.may_listen(&["0.0.0.0:8080".parse()?]).is_err());
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`OpenListener`] names the first address that is not safe, and the remedy.
    pub fn may_listen(&self, addresses: &[SocketAddr]) -> Result<(), OpenListener> {
        let is_open = |address: &&SocketAddr| !address.ip().to_canonical().is_loopback();
        let Some(&open) = addresses.iter().find(is_open) else { return Ok(()) };
        if self.allowed_hosts.hosts.is_empty() && self.allowed_users.users.is_empty() {
            return Err(OpenListener::NoClients(open));
        }
        if self.startup.password.hash().is_none() && !self.startup.share_without_password {
            return Err(OpenListener::NoPassword(open));
        }
        Ok(())
    }

    /// Whether a client may use the proxy, by its address alone; `ours` is the address at which it
    /// reached us, `names` what names are known to mean.
    ///
    /// This machine always may, as in 2.9: from 127.0.0.1 and `::1`, or from the very address that
    /// it connects to.
    #[must_use]
    pub fn serves(&self, client: IpAddr, ours: IpAddr, names: &Names) -> bool {
        let (client, ours) = (client.to_canonical(), ours.to_canonical());
        let hosts = &self.allowed_hosts.hosts;
        let is_us = client == ours || client == LOCALHOST_V4 || client == LOCALHOST_V6;
        if is_us || !hosts.is_empty() {
            return is_us || hosts.allows(client, names);
        }
        // The file may have changed since the listening was found safe.
        client.is_loopback() || !self.allowed_users.users.is_empty()
    }
}

const LOCALHOST_V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const LOCALHOST_V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

#[cfg(test)]
mod tests {
    use super::{Entry, IpAddr, Names};
    use crate::Config;
    use std::path::Path;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("test.conf")).unwrap()
    }

    fn hosts(hosts: &[&str]) -> Config {
        config(&format!("[allowed-connect-hosts]\nhosts = {hosts:?}"))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_entry_that_matches_decides() {
        let names = Names::from([("laptop.lan".to_owned(), vec![ip("10.1.1.1"), ip("fd00::7")])]);
        for (entries, client, want) in [
            (&["192.168.1.5"][..], "192.168.1.5", true),
            (&["192.168.1.5"], "192.168.1.6", false),
            (&["192.168.1.5"], "::ffff:192.168.1.5", true),
            (&["::ffff:192.168.1.5"], "192.168.1.5", true),
            (&["192.168.0.0/16"], "192.168.255.255", true),
            (&["192.168.0.0/16"], "192.169.0.0", false),
            (&["192.168.7.9/24"], "192.168.7.1", true),
            (&["0.0.0.0/0"], "8.8.8.8", true),
            (&["0.0.0.0/0"], "fd00::1", false),
            (&["fd00::/8"], "fd12::1", true),
            (&["[fd00::1]"], "fd00::1", true),
            (&["*"], "2001:db8::1", true),
            (&["192.168.*"], "192.168.3.4", true),
            (&["192.168.*"], "192.16.8.3", false),
            (&["1*.2"], "fd00::1", false),
            (&["!192.168.1.5", "192.168.1.0/24"], "192.168.1.5", false),
            (&["!192.168.1.5", "192.168.1.0/24"], "192.168.1.4", true),
            (&["192.168.1.0/24", "!192.168.1.5"], "192.168.1.5", true),
            (&["!192.168.1.5"], "192.168.1.4", false),
            (&["Laptop.LAN"], "10.1.1.1", true),
            (&["laptop.lan"], "fd00::7", true),
            (&["laptop.lan"], "10.1.1.2", false),
            (&["unknown.lan"], "10.1.1.1", false),
            (&["127.0.0.8/32"], "127.0.0.2", false),
        ] {
            let config = hosts(entries);
            assert_eq!(
                config.allowed_hosts.hosts.allows(ip(client), &names),
                want,
                "{entries:?} {client}"
            );
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        for text in [
            "",
            "!",
            "*.lan",
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
            assert!(Entry::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn this_machine_is_always_served_and_others_when_someone_says_so() {
        let hash = crate::password::tests::HASH;
        let none = config("");
        let users = config(&format!("[allowed-connect-users]\nusers = [\"ada:{hash}\"]"));
        let network = hosts(&["!127.0.0.0/8", "10.0.0.0/8"]);
        for (config, client, ours, want) in [
            (&none, "127.0.0.1", "127.0.0.1", true),
            (&none, "127.0.0.2", "127.0.0.1", true),
            (&none, "::1", "::1", true),
            (&none, "10.0.0.1", "10.0.0.2", false),
            (&users, "10.0.0.1", "10.0.0.2", true),
            (&network, "10.0.0.1", "10.0.0.2", true),
            (&network, "11.0.0.1", "10.0.0.2", false),
            (&network, "11.0.0.1", "11.0.0.1", true),
            (&network, "::ffff:127.0.0.1", "127.0.0.1", true),
            (&network, "127.0.0.1", "127.0.0.1", true),
            (&network, "::1", "::1", true),
            (&network, "127.0.0.2", "127.0.0.1", false),
        ] {
            assert_eq!(config.serves(ip(client), ip(ours), &Names::new()), want, "{client} {ours}");
        }
    }
}
