//! Inward addresses: the addresses of this machine and of its own network link. A client on another
//! machine must not reach them through us, because it would have the rights of a local client.
//!
//! An address is judged after the name lookup, so a name cannot hide it. An IPv6 address that
//! contains an IPv4 address is judged as both, because a translator on the network may convert it.

mod route;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use arc_swap::ArcSwap;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;
use wwwoffle_config::Config;
use wwwoffle_spool::RequesterLocation;
use wwwoffle_url::{canonicalise_host, is_this_machine};

use self::route::is_delivered_locally;
use super::{Failure, Origin};

/// The addresses that the requests of a client may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// All addresses: the client is on this machine and can reach them without us.
    All,
    /// No inward addresses: the client is on another machine, or unknown.
    #[default]
    Outward,
}

impl Reach {
    /// The reach of a client that connects from `peer`.
    #[must_use]
    pub fn of(peer: IpAddr) -> Self {
        if peer.to_canonical().is_loopback() { Self::All } else { Self::Outward }
    }
}

impl From<RequesterLocation> for Reach {
    /// The reach of a queued request.
    fn from(asked_from: RequesterLocation) -> Self {
        match asked_from {
            RequesterLocation::Here => Self::All,
            RequesterLocation::Elsewhere => Self::Outward,
        }
    }
}

impl From<Reach> for RequesterLocation {
    /// The reach as recorded with a queued request.
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::All => Self::Here,
            Reach::Outward => Self::Elsewhere,
        }
    }
}

/// The protection of inward addresses from clients of other machines.
#[derive(Debug, Default)]
pub(super) struct InwardGuard {
    /// The configuration, which may allow some inward hosts.
    pub(super) in_force: Arc<ArcSwap<Config>>,
    /// The addresses on which the daemon listens.
    pub(super) listening: Vec<SocketAddr>,
}

impl InwardGuard {
    /// Whether the client may reach `origin`, judged by its host.
    pub(super) fn may_reach(&self, origin: &Origin) -> bool {
        origin.reach == Reach::All
            || named_address(&origin.host)
                .is_none_or(|ip| self.permits(origin, SocketAddr::new(ip, origin.port)))
    }

    /// Returns the `addresses` of `origin` that the client may reach.
    ///
    /// # Errors
    ///
    /// [`Failure::Inward`] if there are `addresses`, but the client may reach none of them.
    pub(super) fn reachable_addresses(
        &self,
        origin: &Origin,
        mut addresses: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if origin.reach == Reach::All || addresses.is_empty() {
            return Ok(addresses);
        }
        addresses.retain(|address| self.permits(origin, *address));
        if addresses.is_empty() {
            return Err(Failure::Inward { authority: origin.to_string() });
        }
        Ok(addresses)
    }

    /// Whether clients of other machines may reach this address of `origin`. The configuration
    /// cannot allow a port of the daemon, because such a client would have the rights of a local
    /// client there.
    fn permits(&self, origin: &Origin, address: SocketAddr) -> bool {
        let ip = address.ip();
        !is_own_port(address, &self.listening)
            && (self.is_opened(origin) || !is_inward(ip) && !is_ours(ip))
    }

    /// Whether the configuration allows this inward host to clients of other machines.
    fn is_opened(&self, origin: &Origin) -> bool {
        let config = self.in_force.load();
        let inside = &config.allowed_hosts.inside;
        !inside.is_empty()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| inside.contains(&host))
    }
}

/// The address that `host`, as spelled in a canonical URL, names without a lookup: a literal
/// address, or a name for this machine.
fn named_address(host: &str) -> Option<IpAddr> {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
    literal.ok().or_else(|| is_this_machine(host).then_some(Ipv4Addr::LOCALHOST.into()))
}

/// Whether `address` leads to an address on which we are `listening`, or has the same port and
/// belongs to this machine.
fn is_own_port(address: SocketAddr, listening: &[SocketAddr]) -> bool {
    let is_at = |at: &SocketAddr| {
        let leads_here = |ip: IpAddr| ip == at.ip() || ip.is_loopback() || ip.is_unspecified();
        at.port() == address.port()
            && (forms(address.ip()).any(leads_here) || is_ours(address.ip()))
    };
    listening.iter().any(is_at)
}

/// Whether an address belongs to this machine (loopback, "this network") or to its network link.
fn is_inward(address: IpAddr) -> bool {
    forms(address).any(|form| match form {
        // RFC 1122 §3.2.1.3: 0 and 127; RFC 3927: 169.254.
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.octets().starts_with(&[0]),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local(),
    })
}

/// The ends of names that mean another host at each site or in a network of their own, beside names
/// without a dot (RFC 6761, RFC 6762, RFC 7686, RFC 8375, ICANN SAC 105 and common habits).
const INNER_NAMES: [&str; 16] = [
    "local",
    "localhost",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "home.arpa",
    "lan",
    "mail",
    "domain",
    "workgroup",
    "in-addr.arpa",
    "onion",
    "i2p",
];

/// Whether a host names another machine at each site: a private address, a name without a dot, or
/// one that is only known there.
pub(crate) fn is_inner_host(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse() {
        return is_private(address);
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_below = |end: &&str| {
        host.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !host.contains('.') || is_this_machine(&host) || INNER_NAMES.iter().any(is_below)
}

/// Whether an address, or an IPv4 address in it, can mean different machines at different sites (the
/// IANA registries of special-purpose addresses; RFC 6890).
pub(crate) fn is_private(address: IpAddr) -> bool {
    is_inward(address)
        || forms(address).any(|form| match form {
            IpAddr::V4(v4) => {
                let [first, second, third, _] = v4.octets();
                v4.is_private()
                    || v4.is_broadcast()
                    || first >= 224
                    // RFC 6598, RFC 6890 §2.2.2, RFC 2544.
                    || first == 100 && second & 0xc0 == 64
                    || [first, second, third] == [192, 0, 0]
                    || first == 198 && second & 0xfe == 18
            }
            IpAddr::V6(v6) => {
                let first = v6.segments().first().copied().unwrap_or_default();
                // RFC 3879: site-local. RFC 8215: local translators.
                v6.is_unique_local()
                    || v6.is_multicast()
                    || first & 0xffc0 == 0xfec0
                    || v6.segments().starts_with(&[0x64, 0xff9b, 1])
            }
        })
}

/// The address, and the IPv4 addresses to which a translator may convert it.
fn forms(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let carried = match address {
        IpAddr::V4(_) => [None; 4],
        IpAddr::V6(v6) => embedded_ipv4(v6),
    };
    std::iter::once(address.to_canonical())
        .chain(carried.into_iter().flatten().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))))
}

fn embedded_ipv4(address: Ipv6Addr) -> [Option<u32>; 4] {
    let [first, second, third, _, _, sixth, high, low] = address.segments();
    let join = |high: u16, low: u16| (u32::from(high) << 16) | u32::from(low);
    let last = join(high, low);
    let is_any = address.is_unspecified() || address.is_loopback();
    let is_last = match [first, second] {
        // RFC 4291 §2.5.5: compatible and mapped. RFC 6052, RFC 8215: NAT64.
        [0, 0] => !is_any,
        [0x64, 0xff9b] => true,
        _ => false,
    };
    [
        is_last.then_some(last),
        // RFC 3056: 6to4.
        (first == 0x2002).then(|| join(second, third)),
        // RFC 4380 §4: Teredo stores the address with inverted bits.
        ([first, second] == [0x2001, 0]).then_some(!last),
        // RFC 5214 §6.1: ISATAP.
        (address.segments().get(4).is_some_and(|flags| flags & !0x0200 == 0) && sixth == 0x5efe)
            .then_some(last),
    ]
}

/// Whether `address` belongs to this machine now: an interface has it, or a local route leads to
/// it. If the kernel cannot be queried, every address counts as ours.
fn is_ours(address: IpAddr) -> bool {
    let Ok(interfaces) = getifaddrs() else { return true };
    let ours: Vec<_> = interfaces.filter_map(|interface| ip(&interface.address?)).collect();
    forms(address).any(|form| ours.contains(&form) || is_delivered_locally(form).unwrap_or(true))
}

/// The addresses by which other machines can reach this one: those of the interfaces that lead to
/// a network of machines. The address of the default route is first. Empty if the kernel cannot be
/// queried.
#[must_use]
pub fn reachable_addresses() -> Vec<IpAddr> {
    let interfaces = getifaddrs().into_iter().flatten();
    let outer = interfaces.filter(|interface| {
        let flags = interface.flags;
        flags.contains(InterfaceFlags::IFF_UP)
            && !flags.intersects(InterfaceFlags::IFF_LOOPBACK | InterfaceFlags::IFF_POINTOPOINT)
            && !is_virtual(&interface.interface_name)
    });
    let all = outer.filter_map(|interface| ip(&interface.address?));
    let mut ours: Vec<_> = all.filter(|address| !is_inward(*address)).collect();
    let first = default_source();
    // IPv4 next, because it is easier to type.
    ours.sort_by_key(|address| (Some(*address) != first, address.is_ipv6(), *address));
    ours.dedup();
    ours
}

/// Whether the name of an interface is one of a network inside this machine, or of a tunnel.
fn is_virtual(name: &str) -> bool {
    const VIRTUAL: [&str; 15] = [
        "docker",
        "br-",
        "veth",
        "virbr",
        "vnet",
        "tun",
        "tap",
        "wg",
        "lxc",
        "lxd",
        "cni",
        "podman",
        "vmnet",
        "vboxnet",
        "tailscale",
    ];
    VIRTUAL.iter().any(|start| name.starts_with(start))
}

/// The IPv4 address from which this machine sends to the Internet. Sends nothing.
fn default_source() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // TEST-NET-1 (RFC 5737), the discard port: only the route is looked up.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_inward_address_is_recognized() {
        for (address, want) in [
            ("127.0.0.1", true),
            ("127.255.255.254", true),
            ("0.0.0.0", true),
            ("0.1.2.3", true),
            ("169.254.169.254", true),
            ("128.0.0.1", false),
            ("10.0.0.1", false),
            ("192.168.1.1", false),
            ("169.253.1.1", false),
            ("::1", true),
            ("::", true),
            ("fe80::1", true),
            ("febf::1", true),
            ("fec0::1", false),
            ("fd00::1", false),
            ("2001:db8::1", false),
            ("::ffff:127.0.0.1", true),
            ("::ffff:169.254.1.1", true),
            ("::ffff:0.0.0.0", true),
            ("::ffff:192.0.2.1", false),
            ("::127.0.0.1", true),
            ("::192.0.2.1", false),
            ("64:ff9b::127.0.0.1", true),
            ("64:ff9b::a9fe:a9fe", true),
            ("64:ff9b::192.0.2.1", false),
            ("64:ff9b:1::127.0.0.1", true),
            ("2002:7f00:1::", true),
            ("2002:a9fe:1::1", true),
            ("2002:c000:201::1", false),
            ("2001:0:1:2:3:4:80ff:fffe", true),
            ("2001:0:1:2:3:4:3fff:fdfe", false),
            ("2001:db8::5efe:127.0.0.1", true),
            ("2001:db8::200:5efe:127.0.0.1", true),
            ("2001:db8::5efe:192.0.2.1", false),
        ] {
            assert_eq!(is_inward(address.parse().unwrap()), want, "{address}");
            let host = if address.contains(':') { format!("[{address}]") } else { address.into() };
            assert_eq!(named_address(&host), address.parse().ok(), "{host}");
        }
        for (host, want) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("a.localhost", true),
            ("localhost.example", false),
            ("mylocalhost", false),
        ] {
            assert_eq!(named_address(host).is_some(), want, "{host}");
        }
    }

    #[test]
    fn addresses_with_another_meaning_elsewhere_are_private() {
        for address in [
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.254",
            "127.0.0.1",
            "169.254.1.1",
            "0.0.0.0",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "fd00::1",
            "fec0::1",
            "fe80::1",
            "::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:a00:1::",
            "2001:db8::5efe:192.168.1.1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in ["192.0.2.1", "100.63.0.1", "100.128.0.1", "198.20.0.1", "2001:db8::1"] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn our_own_ports_are_recognized_at_every_local_address() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        // No machine has an address of TEST-NET-1 (RFC 5737).
        for (address, by_all, by_one) in [
            ("192.0.2.7:8080", false, true),
            ("[::ffff:192.0.2.7]:8080", false, true),
            ("[64:ff9b::192.0.2.7]:8080", false, true),
            ("192.0.2.7:80", false, false),
            ("169.254.1.1:8080", false, false),
            ("127.1.2.3:8080", true, true),
            ("127.1.2.3:80", false, false),
            ("[::ffff:127.0.0.1]:8080", true, true),
            ("[::]:8080", true, true),
        ] {
            let address = at(address);
            assert_eq!(is_own_port(address, &[at("0.0.0.0:8080")]), by_all, "{address}");
            let listening = [at("198.51.100.1:1"), at("192.0.2.7:8080")];
            assert_eq!(is_own_port(address, &listening), by_one, "{address}");
        }
        assert!(is_ours(IpAddr::from([127, 0, 0, 1])));
        assert!(!is_ours(IpAddr::from([192, 0, 2, 7])));
    }

    #[test]
    fn networks_inside_the_machine_and_tunnels_are_known_by_name() {
        for name in ["docker0", "br-1a2b", "veth12", "virbr0", "tun0", "tap1", "wg0", "tailscale0"]
        {
            assert!(is_virtual(name), "{name}");
        }
        for name in ["eth0", "enp3s0", "wlan0", "wlp2s0", "br0", "bond0", "usb0"] {
            assert!(!is_virtual(name), "{name}");
        }
        for address in reachable_addresses() {
            assert!(is_ours(address) && !is_inward(address), "{address}");
        }
    }
}
