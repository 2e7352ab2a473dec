//! Limits the number of connections of each client on another machine.
//!
//! Without the limit, one client could occupy the slots of all others. Clients on this machine have
//! no limit: a proxy on this machine may forward the requests of many people, and the users of this
//! machine can stop the daemon anyway.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tries::network;

/// The number of connections of each client.
#[derive(Debug, Default)]
pub struct Crowd(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A connection of a client, counted until it is dropped.
#[derive(Debug)]
pub struct CountedConnection {
    crowd: Arc<Mutex<HashMap<IpAddr, usize>>>,
    /// The address or network under which the client is counted. `None` for a client on this
    /// machine.
    client: Option<IpAddr>,
}

impl Crowd {
    /// Counts one more connection of `client`. `None` if the client already has `most` connections.
    /// All addresses of an IPv6 network (/64) count as one client.
    #[must_use]
    pub fn enter(&self, client: IpAddr, most: usize) -> Option<CountedConnection> {
        let client = client.to_canonical();
        let client = (!client.is_loopback()).then(|| network(client));
        if let Some(client) = client {
            let mut connections = lock(&self.0);
            let count = connections.get(&client).copied().unwrap_or(0);
            if count >= most {
                return None;
            }
            connections.insert(client, count + 1);
        }
        Some(CountedConnection { crowd: Arc::clone(&self.0), client })
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut connections = lock(&self.crowd);
        match connections.get_mut(&client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(connections.remove(&client)),
        }
    }
}

fn lock(connections: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    // A panic cannot leave the map inconsistent.
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_per_client_except_local_ones() {
        let crowd = Crowd::default();
        let enter = |client: &str| crowd.enter(client.parse().unwrap(), 2);
        let (first, second) = (enter("192.0.2.1"), enter("::ffff:192.0.2.1"));
        assert!(first.is_some() && second.is_some() && enter("192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some(), "another one");
        drop(first);
        let third = enter("192.0.2.1");
        assert!(third.is_some() && enter("192.0.2.1").is_none());
        let one_network = (enter("2001:db8::1"), enter("2001:db8::2"));
        assert!(one_network.1.is_some() && enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::1").is_some());
        let here: Vec<_> = (0..10).map(|_| enter("127.0.0.1")).collect();
        assert!(here.iter().all(Option::is_some));
        drop((second, third, one_network, here));
        assert!(lock(&crowd.0).is_empty(), "nobody is remembered");
    }
}
