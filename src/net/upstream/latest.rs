//! The addresses from which the latest connections were opened. If the firewall redirects one of
//! them to the daemon itself, it is recognised as a loop.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a connection is remembered. One that is redirected arrives at once.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);

/// The maximum number of remembered connections.
const MAX_CONNECTIONS: usize = 4_096;

/// Our ends of the latest connections, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct LatestConnections(Mutex<VecDeque<(Instant, SocketAddr)>>);

impl LatestConnections {
    /// Remembers a connection that was opened from `own`.
    pub(super) fn add(&self, own: SocketAddr) {
        let (mut latest, now) = (self.lock(), Instant::now());
        let is_old = |(since, _): &(Instant, _)| now.duration_since(*since) > REMEMBERED_FOR;
        while latest.len() >= MAX_CONNECTIONS || latest.front().is_some_and(is_old) {
            latest.pop_front();
        }
        latest.push_back((now, canonical(own)));
    }

    /// Whether a connection was opened from `peer` a moment ago.
    pub(super) fn contains(&self, peer: SocketAddr) -> bool {
        let peer = canonical(peer);
        let is_recent = |since: &Instant| since.elapsed() <= REMEMBERED_FOR;
        self.lock().iter().rev().any(|(since, own)| *own == peer && is_recent(since))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, SocketAddr)>> {
        // A panic under the lock cannot leave the list half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address without the scope of IPv6, which the two ends see differently.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_connections_are_known() {
        let latest = LatestConnections::default();
        let own = |number: u16| SocketAddr::from(([192, 0, 2, 1], number));
        for number in 0..=4_096 {
            latest.add(own(number));
        }
        assert!(!latest.contains(own(0)));
        assert!(latest.contains(own(1)) && latest.contains(own(4_096)));
        assert!(!latest.contains(SocketAddr::from(([192, 0, 2, 2], 1))));
        assert_eq!(latest.lock().len(), MAX_CONNECTIONS);
    }
}
