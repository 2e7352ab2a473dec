//! Asks the kernel whether it delivers packets for an address to this machine (rtnetlink(7)).

use std::io;
use std::net::IpAddr;

use crate::net::netlink::{NLM_F_REQUEST, RTM_GETROUTE, RTM_NEWROUTE, attribute, framed, message};

/// The length of the fixed part of a route message, and the offset of the route type in it, in
/// bytes.
const ROUTE: usize = 12;
const TYPE: usize = 7;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const RTA_DST: u16 = 1;
const RTN_LOCAL: u8 = 2;
const RTN_ANYCAST: u8 = 4;

/// The message that asks for the route to `address`.
fn request(address: IpAddr) -> Vec<u8> {
    let (family, prefix, octets) = match address {
        IpAddr::V4(v4) => (AF_INET, 32, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, 128, v6.octets().to_vec()),
    };
    let mut route = vec![family, prefix];
    route.resize(ROUTE, 0);
    route.extend(attribute(RTA_DST, &octets));
    framed(RTM_GETROUTE, NLM_F_REQUEST, 0, &route)
}

/// Whether this answer has a route to this machine. An error of the kernel means that there is no
/// route.
fn is_local(answer: &[u8]) -> bool {
    let is_here = |kind: &u8| matches!(*kind, RTN_LOCAL | RTN_ANYCAST);
    message(answer).is_some_and(|(kind, _, route, _)| {
        kind == RTM_NEWROUTE && route.get(TYPE).is_some_and(is_here)
    })
}

/// Whether packets for `address` are delivered on this machine, as `ip route add local` can arrange
/// for whole networks. Sends no packet to the address.
///
/// # Errors
///
/// If the kernel cannot be queried.
#[cfg(target_os = "linux")]
pub(super) fn is_delivered_locally(address: IpAddr) -> io::Result<bool> {
    use rustix::net::{RecvFlags, SocketFlags, recv};

    use crate::net::netlink::{open, send};

    /// The maximum size of an answer in bytes. An answer about one route is shorter.
    const ANSWER: usize = 4096;

    let socket = open(SocketFlags::empty(), 0)?;
    send(&socket, &request(address))?;
    let mut answer = vec![0; ANSWER];
    let (_, length) = recv(&socket, &mut *answer, RecvFlags::empty())?;
    Ok(is_local(answer.get(..length).unwrap_or_default()))
}

/// Returns false, because other systems have no local routes for networks.
///
/// # Errors
///
/// Never fails.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_delivered_locally(_: IpAddr) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_route_shows_local_delivery() {
        for (message, kind, want) in [
            (RTM_NEWROUTE, RTN_LOCAL, true),
            (RTM_NEWROUTE, RTN_ANYCAST, true),
            (RTM_NEWROUTE, 1, false),
            // An error of the kernel, for example that there is no route.
            (2, RTN_LOCAL, false),
        ] {
            let mut route = [0; ROUTE];
            route[TYPE] = kind;
            assert_eq!(is_local(&framed(message, 0, 0, &route)), want, "{message} {kind}");
        }
        assert!(!is_local(&[]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_recognizes_local_addresses() {
        for (address, want) in [("127.0.0.1", true), ("127.99.99.99", true), ("192.0.2.1", false)] {
            assert_eq!(is_delivered_locally(address.parse().unwrap()).unwrap(), want, "{address}");
        }
    }
}
