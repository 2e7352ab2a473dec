//! Interfaces and routes, parsed from netlink messages (rtnetlink(7)). Pure: bytes in, a
//! [`Connectivity`] out.

use std::collections::HashMap;

use super::kernel::{Connectivity, Gap};
use crate::net::netlink::{
    NLM_F_DUMP, NLM_F_REQUEST, RTM_GETROUTE, RTM_NEWROUTE, aligned, attributes, framed, message,
    u16_at, u32_at,
};

/// The largest number of interfaces and of default routes read.
const MAX_SEEN: usize = 4_096;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;

const IFF_UP: u32 = 0x1;
const IFF_LOOPBACK: u32 = 0x8;
const IFF_RUNNING: u32 = 0x40;
const IFLA_IFNAME: u16 = 3;

const RTN_UNICAST: u8 = 1;
const RTA_OIF: u16 = 4;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;

/// The longest prefix of a default route, in bits: some tunnels add two `/1` routes instead of one
/// `/0` route.
const SHORT_PREFIX: u8 = 1;

/// The kind of objects that a message requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelObjects {
    Interfaces,
    Routes,
}

/// Returns the message that requests all objects of this kind.
pub(super) fn request(what: KernelObjects, sequence: u32) -> Vec<u8> {
    let (kind, body): (u16, &[u8]) = match what {
        KernelObjects::Interfaces => (RTM_GETLINK, &[0; 16]),
        KernelObjects::Routes => (RTM_GETROUTE, &[0; 12]),
    };
    framed(kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, body)
}

/// Whether an answer continues after a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// More datagrams follow.
    More,
    /// The answer is complete.
    Done,
    /// The kernel refused, or the datagram is invalid.
    Refused,
}

/// The interfaces and default routes received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    interfaces: HashMap<u32, Interface>,
    ways: Vec<DefaultRoute>,
}

#[derive(Clone, Debug)]
struct Interface {
    name: String,
    is_up: bool,
    is_loopback: bool,
}

#[derive(Clone, Copy, Debug)]
struct DefaultRoute {
    metric: u32,
    /// The number of the interface. `None` if the route has none.
    interface: Option<u32>,
}

impl Table {
    /// Parses one datagram of the answer to request `sequence`. Messages with other sequence
    /// numbers are ignored.
    pub(super) fn take(&mut self, mut bytes: &[u8], sequence: u32) -> Rest {
        while let Some((kind, asked, body, rest)) = message(bytes) {
            bytes = rest;
            match kind {
                _ if asked != sequence => {}
                NLMSG_DONE => return Rest::Done,
                NLMSG_ERROR => return Rest::Refused,
                // Malformed objects are ignored.
                RTM_NEWLINK => _ = self.interface(body),
                RTM_NEWROUTE => _ = self.route(body),
                _ => {}
            }
        }
        if bytes.is_empty() { Rest::More } else { Rest::Refused }
    }

    fn interface(&mut self, body: &[u8]) -> Option<()> {
        let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
        let name = attributes(body.get(16..)?).find(|(kind, _)| *kind == IFLA_IFNAME)?.1;
        let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next()?).into_owned();
        let is_up = flags & IFF_UP != 0 && flags & IFF_RUNNING != 0;
        let is_loopback = flags & IFF_LOOPBACK != 0;
        if self.interfaces.len() < MAX_SEEN {
            self.interfaces.insert(index, Interface { name, is_up, is_loopback });
        }
        Some(())
    }

    fn route(&mut self, body: &[u8]) -> Option<()> {
        let (prefix, kind) = (*body.get(1)?, *body.get(7)?);
        if prefix > SHORT_PREFIX || kind != RTN_UNICAST {
            return None;
        }
        let (mut metric, mut interfaces) = (0, Vec::new());
        for (kind, value) in attributes(body.get(12..)?) {
            match kind {
                RTA_OIF => interfaces.extend(u32_at(value, 0)),
                RTA_PRIORITY => metric = u32_at(value, 0)?,
                RTA_MULTIPATH => interfaces.extend(hops(value)),
                _ => {}
            }
        }
        let room = MAX_SEEN.saturating_sub(self.ways.len());
        if interfaces.is_empty() {
            self.ways.extend(Some(DefaultRoute { metric, interface: None }).filter(|_| room > 0));
        } else {
            let ways =
                interfaces.into_iter().map(|one| DefaultRoute { metric, interface: Some(one) });
            self.ways.extend(ways.take(room));
        }
        Some(())
    }

    /// The state that follows from the interfaces and routes.
    pub(super) fn connectivity(&self) -> Connectivity {
        let mut ways = self.ways.clone();
        ways.sort_by_key(|way| way.metric);
        let mut without_carrier = None;
        for way in ways {
            let Some(index) = way.interface else {
                return Connectivity::Up { interface: String::new() };
            };
            match self.interfaces.get(&index) {
                Some(interface) if interface.is_loopback => {}
                Some(interface) if interface.is_up => {
                    return Connectivity::Up { interface: interface.name.clone() };
                }
                Some(interface) => {
                    without_carrier.get_or_insert_with(|| interface.name.clone());
                }
                None => {}
            }
        }
        Connectivity::Down(match without_carrier {
            Some(name) => Gap::NoCarrier(name),
            None => Gap::NoRoute,
        })
    }
}

/// The interfaces of a multipath route (`struct rtnexthop`).
fn hops(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let interface = u32_at(bytes, 4).filter(|_| length >= 8)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some(interface)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::netlink::attribute;
    use proptest::prelude::*;

    const UP: u32 = IFF_UP | IFF_RUNNING;

    fn message_bytes(kind: u16, head: &[u8], attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = head.to_vec();
        for (kind, value) in attributes {
            body.extend(attribute(*kind, value));
        }
        framed(kind, 0, 7, &body)
    }

    fn interface(index: u32, name: &str, flags: u32) -> Vec<u8> {
        let mut head = vec![0; 4];
        head.extend(index.to_ne_bytes());
        head.extend(flags.to_ne_bytes());
        head.extend([0; 4]);
        message_bytes(RTM_NEWLINK, &head, &[(IFLA_IFNAME, format!("{name}\0").into_bytes())])
    }

    fn route(prefix: u8, kind: u8, attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
        message_bytes(RTM_NEWROUTE, &[2, prefix, 0, 0, 254, 0, 0, kind, 0, 0, 0, 0], attributes)
    }

    fn by(interface: u32, metric: u32) -> Vec<(u16, Vec<u8>)> {
        let bytes = |number: u32| number.to_ne_bytes().to_vec();
        vec![(RTA_OIF, bytes(interface)), (RTA_PRIORITY, bytes(metric))]
    }

    #[test]
    fn the_best_route_with_a_carrier_is_used() {
        let several: Vec<u8> = [8_u16.to_ne_bytes(), [0; 2]].concat();
        let several = [several, 2_u32.to_ne_bytes().to_vec()].concat();
        for (what, routes, want) in [
            ("none", vec![], "Down(NoRoute)"),
            ("one", vec![route(0, 1, &by(2, 0))], "Up { interface: \"eth0\" }"),
            ("half of all", vec![route(1, 1, &by(2, 0))], "Up { interface: \"eth0\" }"),
            ("a network", vec![route(24, 1, &by(2, 0))], "Down(NoRoute)"),
            ("refused", vec![route(0, 7, &by(2, 0))], "Down(NoRoute)"),
            ("loopback", vec![route(0, 1, &by(1, 0))], "Down(NoRoute)"),
            ("unplugged", vec![route(0, 1, &by(3, 0))], "Down(NoCarrier(\"eth1\"))"),
            (
                "the better one",
                vec![route(0, 1, &by(2, 200)), route(0, 1, &by(4, 100))],
                "Up { interface: \"wwan0\" }",
            ),
            (
                "the better one is unplugged",
                vec![route(0, 1, &by(3, 1)), route(0, 1, &by(2, 2))],
                "Up { interface: \"eth0\" }",
            ),
            (
                "several",
                vec![route(0, 1, &[(RTA_MULTIPATH, several)])],
                "Up { interface: \"eth0\" }",
            ),
            ("gone", vec![route(0, 1, &by(9, 0))], "Down(NoRoute)"),
            ("unnamed", vec![route(0, 1, &[])], "Up { interface: \"\" }"),
        ] {
            let mut table = Table::default();
            let links = [
                interface(1, "lo", UP | IFF_LOOPBACK),
                interface(2, "eth0", UP),
                interface(3, "eth1", IFF_UP),
                interface(4, "wwan0", UP),
            ];
            assert_eq!(table.take(&links.concat(), 7), Rest::More, "{what}");
            let done = message_bytes(NLMSG_DONE, &[0; 4], &[]);
            let answer: Vec<u8> = routes.into_iter().flatten().chain(done).collect();
            assert_eq!(table.take(&answer, 7), Rest::Done, "{what}");
            assert_eq!(format!("{:?}", table.connectivity()), want, "{what}");
        }
    }

    #[test]
    fn foreign_responses_and_errors_of_the_kernel_are_distinguished() {
        let mut table = Table::default();
        assert_eq!(table.take(&route(0, 1, &by(2, 0)), 8), Rest::More);
        assert!(table.ways.is_empty());
        assert_eq!(table.take(&message_bytes(NLMSG_ERROR, &[0; 20], &[]), 7), Rest::Refused);
        assert_eq!(table.take(b"short", 7), Rest::Refused);
        assert_eq!(request(KernelObjects::Routes, 7).len(), 28);
        assert_eq!(request(KernelObjects::Interfaces, 7).len(), 32);
    }

    proptest! {
        #[test]
        fn no_kernel_message_causes_a_panic(mut bytes: Vec<u8>, kind in 0..30_u16) {
            let mut message = message_bytes(kind, &bytes, &[]);
            message.append(&mut bytes);
            let mut table = Table::default();
            table.take(&message, 7);
            table.take(&bytes, 7);
            let _any = table.connectivity();
        }
    }
}
