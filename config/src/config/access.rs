//! Safe listeners, and the clients that are served.

use crate::{error::OpenListener, schema::Config, values::clients::ResolvedNames};
use std::net::{IpAddr, SocketAddr};

impl Config {
    /// Checks that it is safe to listen on these addresses. It is safe if only this machine reaches
    /// them. For other addresses, the configuration must name the hosts or users that may use the
    /// proxy, and set a control password or `share-without-password`.
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
    /// [`OpenListener`] names the first unsafe address and the remedy.
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

    /// Whether a client may use the proxy, according to its address. `ours` is the address to which
    /// it connected; `names` has the resolved addresses of the names in the configuration, and
    /// `own_name` is the confirmed name of the client, if it is known.
    ///
    /// As in 2.9, this machine is always served: a client at 127.0.0.1 or `::1`, or at the same
    /// address as `ours`.
    #[must_use]
    pub fn serves(
        &self,
        client: IpAddr,
        ours: IpAddr,
        names: &ResolvedNames,
        own_name: Option<&str>,
    ) -> bool {
        let (client, ours) = (client.to_canonical(), ours.to_canonical());
        let hosts = &self.allowed_hosts.hosts;
        let is_us = client == ours || client == LOCALHOST_V4 || client == LOCALHOST_V6;
        if is_us || !hosts.is_empty() {
            return is_us || hosts.allows(client, names, own_name);
        }
        // No hosts are listed. If no users are listed either, only this machine is served. Other
        // machines may still reach a listener, because the configuration can change after the
        // listeners were checked.
        client.is_loopback() || !self.allowed_users.users.is_empty()
    }
}

const LOCALHOST_V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const LOCALHOST_V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

#[cfg(test)]
mod tests {
    use super::{IpAddr, ResolvedNames};
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
        let names =
            ResolvedNames::from([("laptop.lan".to_owned(), vec![ip("10.1.1.1"), ip("fd00::7")])]);
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
                config.allowed_hosts.hosts.allows(ip(client), &names, None),
                want,
                "{entries:?} {client}"
            );
        }
    }

    #[test]
    fn a_pattern_of_names_matches_the_confirmed_name_of_a_client() {
        for (entries, name, want) in [
            (&["*.LAN"][..], Some("laptop.lan"), true),
            (&["*.lan"], Some("lan"), false),
            (&["*.lan"], Some("laptop.lan.example"), false),
            (&["*.lan"], None, false),
            (&["pc-*.lan"], Some("pc-7.lan"), true),
            (&["!10.0.0.0/8", "*.lan"], Some("laptop.lan"), false),
            (&["*.lan", "!10.0.0.0/8"], Some("laptop.lan"), true),
        ] {
            let config = hosts(entries);
            assert!(config.allowed_hosts.hosts.has_name_patterns());
            let (client, ours, names) = (ip("10.0.0.1"), ip("10.0.0.2"), ResolvedNames::new());
            assert_eq!(config.serves(client, ours, &names, name), want, "{entries:?} {name:?}");
        }
        assert!(!hosts(&["laptop.lan", "192.168.*"]).allowed_hosts.hosts.has_name_patterns());
    }

    #[test]
    fn local_clients_are_always_served_and_others_if_configured() {
        let hash = crate::values::password::tests::HASH;
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
            assert_eq!(
                config.serves(ip(client), ip(ours), &ResolvedNames::new(), None),
                want,
                "{client} {ours}"
            );
        }
    }
}
