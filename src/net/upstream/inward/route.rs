//! Asks the kernel where it delivers the packets for an address (rtnetlink(7)).

use std::io;
use std::net::IpAddr;

/// The length of a message header, in bytes.
const HEAD: usize = 16;

/// The length of the fixed part of a route, and the place of its type in it, in bytes.
const ROUTE: usize = 12;
const TYPE: usize = 7;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const NLM_F_REQUEST: u16 = 0x1;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTN_LOCAL: u8 = 2;
const RTN_ANYCAST: u8 = 4;

/// The message that asks for the route to `address`.
fn request(address: IpAddr) -> Vec<u8> {
    let (family, octets) = match address {
        IpAddr::V4(v4) => (AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, v6.octets().to_vec()),
    };
    let mut route = vec![family, u8::try_from(8 * octets.len()).unwrap_or_default()];
    route.resize(ROUTE, 0);
    let length = |length: usize| u16::try_from(length).unwrap_or_default();
    route.extend(length(4 + octets.len()).to_ne_bytes());
    route.extend(RTA_DST.to_ne_bytes());
    route.extend(octets);
    let mut message = u32::from(length(HEAD + route.len())).to_ne_bytes().to_vec();
    message.extend(RTM_GETROUTE.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(route);
    message
}

/// Whether this answer names a route to this machine. An error of the kernel says that there is no route.
fn is_local(answer: &[u8]) -> bool {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let is_here = |kind: &u8| matches!(*kind, RTN_LOCAL | RTN_ANYCAST);
    kind == Some(RTM_NEWROUTE) && answer.get(HEAD + TYPE).is_some_and(is_here)
}

/// Whether packets for `address` are delivered on this machine, as `ip route add local` does for whole
/// networks. Nothing is sent to it.
///
/// # Errors
///
/// When the kernel cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn leads_here(address: IpAddr) -> io::Result<bool> {
    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
    };
    use std::time::Duration;

    /// The timeout for an answer of the kernel.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// The largest answer, in bytes; that about one route is shorter.
    const ANSWER: usize = 4096;

    // The default protocol of netlink is that of routes.
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    sendto(&socket, &request(address), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; ANSWER];
    let (_, length) = recv(&socket, &mut *answer, RecvFlags::empty())?;
    Ok(is_local(answer.get(..length).unwrap_or_default()))
}

/// Other systems have no such routes.
///
/// # Errors
///
/// None.
#[cfg(not(target_os = "linux"))]
pub(super) fn leads_here(_: IpAddr) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_route_tells_where_it_leads() {
        for (message, kind, want) in [
            (RTM_NEWROUTE, RTN_LOCAL, true),
            (RTM_NEWROUTE, RTN_ANYCAST, true),
            (RTM_NEWROUTE, 1, false),
            // An error, such as that there is no route.
            (2, RTN_LOCAL, false),
        ] {
            let mut answer = vec![0; HEAD + ROUTE];
            answer[4..6].copy_from_slice(&message.to_ne_bytes());
            answer[HEAD + TYPE] = kind;
            assert_eq!(is_local(&answer), want, "{message} {kind}");
        }
        assert!(!is_local(&[]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_knows_its_own_addresses() {
        for (address, want) in [("127.0.0.1", true), ("127.99.99.99", true), ("192.0.2.1", false)] {
            assert_eq!(leads_here(address.parse().unwrap()).unwrap(), want, "{address}");
        }
    }
}
