//! Addresses that lead back to this machine, or no further than its own link: what a client of another
//! machine must not reach through us, for whoever can be talked into asking would be inside then.
//!
//! An address is judged after its name was looked up, so that no name hides one. An address of IPv6 that
//! carries one of IPv4 is judged by both, wherever a translator may be: what it would be turned into
//! is decided by machines that we do not know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use wwwoffle_config::Config;
use wwwoffle_spool::AskedFrom;
use wwwoffle_url::canonicalise_host;

use super::{Failure, Origin};

/// How far the requests of a client may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Whoever asks sits at this machine, which reaches all that is here by itself.
    All,
    /// Whoever asks is elsewhere, or it is not known where.
    #[default]
    Outward,
}

impl Reach {
    /// How far somebody's requests may go who comes from `peer`.
    #[must_use]
    pub fn of(peer: IpAddr) -> Self {
        if peer.to_canonical().is_loopback() { Self::All } else { Self::Outward }
    }
}

impl From<AskedFrom> for Reach {
    /// How far a queued request may go.
    fn from(asked_from: AskedFrom) -> Self {
        match asked_from {
            AskedFrom::Here => Self::All,
            AskedFrom::Elsewhere => Self::Outward,
        }
    }
}

impl From<Reach> for AskedFrom {
    /// As it is recorded with a request that waits.
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::All => Self::Here,
            Reach::Outward => Self::Elsewhere,
        }
    }
}

/// Keeps clients of other machines from what is inward.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// What the configuration opens to them.
    pub(super) in_force: Arc<ArcSwap<Config>>,
    /// The addresses that the daemon itself listens on.
    pub(super) listening: Vec<SocketAddr>,
}

impl Guard {
    /// Whether whoever asks may reach `origin`, as far as its host tells by itself.
    pub(super) fn may_reach(&self, origin: &Origin) -> bool {
        origin.reach == Reach::All || !is_named(&origin.host) || self.is_opened(origin)
    }

    /// Those of the `addresses` of `origin` that whoever asks may reach.
    ///
    /// # Errors
    ///
    /// [`Failure::Inward`] when it is none of them.
    pub(super) fn outward(
        &self,
        origin: &Origin,
        mut addresses: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Failure> {
        if origin.reach == Reach::All || addresses.is_empty() || self.is_opened(origin) {
            return Ok(addresses);
        }
        addresses.retain(|address| !leads_inward(*address, &self.listening));
        if addresses.is_empty() {
            return Err(Failure::Inward { authority: origin.to_string() });
        }
        Ok(addresses)
    }

    /// Whether the configuration opens an inward host to clients of other machines.
    fn is_opened(&self, origin: &Origin) -> bool {
        let config = self.in_force.load();
        let inside = &config.allowed_hosts.inside;
        !inside.is_empty()
            && canonicalise_host(origin.host.as_bytes()).is_ok_and(|host| inside.contains(&host))
    }
}

/// Whether `host`, as a canonical URL spells it, names something inward by itself: an address, or a name
/// that means this machine everywhere (RFC 6761 §6.3).
fn is_named(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return is_inward(address) || is_ours(address);
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether `address` is inward, one of this machine's own, or one of the ports that we are `listening` on.
fn leads_inward(address: SocketAddr, listening: &[SocketAddr]) -> bool {
    let is_listening = |ip| listening.iter().any(|at| (at.ip(), at.port()) == (ip, address.port()));
    is_inward(address.ip()) || is_ours(address.ip()) || forms(address.ip()).any(is_listening)
}

/// Whether an address is this machine (loopback, "this network"), or on its link alone.
fn is_inward(address: IpAddr) -> bool {
    forms(address).any(|form| match form {
        // RFC 1122 §3.2.1.3: 0 and 127; RFC 3927: 169.254.
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.octets().starts_with(&[0]),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local(),
    })
}

/// The address, and those of IPv4 that it may be turned into.
fn forms(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let carried = match address {
        IpAddr::V4(_) => [None; 4],
        IpAddr::V6(v6) => carried(v6),
    };
    std::iter::once(address.to_canonical())
        .chain(carried.into_iter().flatten().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))))
}

fn carried(address: Ipv6Addr) -> [Option<u32>; 4] {
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
        // RFC 4380 §4: Teredo has it inverted.
        ([first, second] == [0x2001, 0]).then_some(!last),
        // RFC 5214 §6.1: ISATAP.
        (address.segments().get(4).is_some_and(|flags| flags & !0x0200 == 0) && sixth == 0x5efe)
            .then_some(last),
    ]
}

/// Whether an interface of this machine has `address` now. If the interfaces cannot be read, each
/// address counts as one of ours.
fn is_ours(address: IpAddr) -> bool {
    let Ok(interfaces) = getifaddrs() else { return true };
    let ours: Vec<_> = interfaces.filter_map(|interface| ip(&interface.address?)).collect();
    forms(address).any(|form| ours.contains(&form))
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_inward_address_is_known() {
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
            assert_eq!(is_named(&host), want, "{host}");
        }
        for (host, want) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("a.localhost", true),
            ("localhost.example", false),
            ("mylocalhost", false),
        ] {
            assert_eq!(is_named(host), want, "{host}");
        }
    }

    #[test]
    fn our_own_ports_are_inward_at_whatever_address_of_ours() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (all, one) = ([at("0.0.0.0:8080")], [at("192.0.2.7:8080")]);
        // Nobody has an address of TEST-NET-1 (RFC 5737).
        assert!(!leads_inward(at("192.0.2.7:8080"), &all));
        assert!(leads_inward(at("192.0.2.7:8080"), &one));
        assert!(leads_inward(at("[::ffff:192.0.2.7]:8080"), &one));
        assert!(leads_inward(at("[64:ff9b::192.0.2.7]:8080"), &one));
        assert!(!leads_inward(at("192.0.2.7:80"), &one));
        assert!(is_ours(IpAddr::from([127, 0, 0, 1])));
        assert!(!is_ours(IpAddr::from([192, 0, 2, 7])));
    }
}
