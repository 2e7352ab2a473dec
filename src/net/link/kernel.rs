//! The kernel's view of the routes, by netlink if the system has it. A message only signals a
//! change; then the new state is read.

use std::io;
use std::time::Duration;

pub(super) use inner::Changes;
use inner::read_connectivity_blocking;

use super::judge::route_text;
use crate::base::shown;
use crate::base::text::{Text, tr};

/// The connection of this machine to networks, as the kernel reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connectivity {
    /// The state is unknown, because the kernel cannot be queried or the configuration forbids it.
    Unknown,
    /// There is a default route.
    Up {
        /// The interface of the route. The name may be empty.
        interface: String,
    },
    /// There is no usable default route, for this reason.
    Down(Gap),
}

impl Connectivity {
    /// The text for pages.
    #[must_use]
    pub fn text(&self) -> Text {
        match self {
            Self::Unknown => tr("the state of the network is unknown"),
            Self::Up { interface } => route_text(interface),
            Self::Down(gap) => gap.text(),
        }
    }
}

/// The reason for a missing default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// There is no default route.
    NoRoute,
    /// The interface of the default route is not connected.
    NoCarrier(String),
}

impl Gap {
    /// The text for pages.
    pub(super) fn text(&self) -> Text {
        match self {
            Self::NoRoute => tr("not connected: there is no default route"),
            Self::NoCarrier(interface) => tr("the interface {interface} is not connected")
                .with("interface", shown::text(interface)),
        }
    }
}

/// The delay after a change, so that related changes are handled together.
pub(super) const TOGETHER: Duration = Duration::from_millis(50);

/// Whether this machine has a usable default route now. False if the kernel cannot be queried.
#[must_use]
pub fn has_default_route() -> bool {
    matches!(read_connectivity_blocking(), Ok(Connectivity::Up { .. }))
}

/// Calls [`read_connectivity_blocking`] outside the threads of the runtime.
pub(super) async fn read_connectivity() -> io::Result<Connectivity> {
    crate::base::blocking::blocking(read_connectivity_blocking).await
}

#[cfg(target_os = "linux")]
mod inner {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::io::Errno;
    use rustix::net::{RecvFlags, SocketFlags, recv};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::Connectivity;
    use crate::net::link::routes::{KernelObjects, Rest, Table, request};
    use crate::net::netlink::{open, send};

    /// Changes of interfaces, of addresses and of routes (`RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR`,
    /// `RTMGRP_IPV4_ROUTE`, `RTMGRP_IPV6_IFADDR`, `RTMGRP_IPV6_ROUTE`).
    const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

    /// The maximum size of a datagram of an answer, in bytes. The kernel sends no larger ones.
    const DATAGRAM: usize = 64 * 1024;

    /// The maximum number of datagrams that are read for one answer. Default routes are sent first,
    /// so this is enough even with a full Internet routing table.
    const MAX_DATAGRAMS: usize = 4_096;

    /// The maximum number of changes handled together.
    const MAX_CHANGES: usize = 256;

    /// The subscription to changes of interfaces, addresses and routes.
    #[derive(Debug)]
    pub(in crate::net::link) struct Changes(AsyncFd<OwnedFd>);

    impl Changes {
        /// Starts to listen.
        pub(in crate::net::link) fn listen() -> io::Result<Self> {
            let socket = open(SocketFlags::NONBLOCK, GROUPS)?;
            #[expect(deprecated, reason = "the descriptor is owned, so it stays open for as long")]
            let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
            Ok(Self(socket))
        }

        /// Waits for the next change. Dropping the future loses no change.
        pub(in crate::net::link) async fn next(&self) -> io::Result<()> {
            let mut ready = self.0.readable().await?;
            let mut bytes = [0; 1024];
            for _ in 0..MAX_CHANGES {
                // The content of the message does not matter, so a lost message does not matter
                // either.
                match recv(self.0.get_ref(), &mut bytes, RecvFlags::empty()) {
                    Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => {}
                    Err(Errno::AGAIN) => {
                        ready.clear_ready();
                        break;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }
    }

    /// Reads how the machine is connected now. Blocks until the kernel answers.
    pub(super) fn read_connectivity_blocking() -> io::Result<Connectivity> {
        let socket = open(SocketFlags::empty(), 0)?;
        let mut table = Table::default();
        for (what, sequence) in [(KernelObjects::Interfaces, 1), (KernelObjects::Routes, 2)] {
            send(&socket, &request(what, sequence))?;
            read_all(&socket, &mut table, sequence)?;
        }
        Ok(table.connectivity())
    }

    fn read_all(socket: &OwnedFd, table: &mut Table, sequence: u32) -> io::Result<()> {
        let mut bytes = vec![0; DATAGRAM];
        for _ in 0..MAX_DATAGRAMS {
            let (_, length) = recv(socket, &mut *bytes, RecvFlags::empty())?;
            match table.take(bytes.get(..length).unwrap_or_default(), sequence) {
                Rest::More => {}
                Rest::Done => return Ok(()),
                Rest::Refused => return Err(io::Error::other("the kernel refuses the request")),
            }
        }
        // The part of the answer that was read so far is enough.
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod inner {
    use std::io;

    use super::Connectivity;

    /// The subscription to changes of interfaces, addresses and routes.
    #[derive(Debug)]
    pub(in crate::net::link) struct Changes;

    impl Changes {
        /// Starts to listen.
        pub(in crate::net::link) fn listen() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Waits for the next change. Dropping the future loses no change.
        pub(in crate::net::link) async fn next(&self) -> io::Result<()> {
            std::future::pending().await
        }
    }

    /// Reads how the machine is connected now. Blocks until the kernel answers.
    pub(super) fn read_connectivity_blocking() -> io::Result<Connectivity> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_connectivity_is_read_from_the_kernel() {
        assert_ne!(read_connectivity_blocking().unwrap(), Connectivity::Unknown);
    }
}
