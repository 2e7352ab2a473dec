//! Counts the wrong passwords of each client, and computes its waiting time.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use lru::LruCache;

/// Number of wrong passwords before a client has to wait.
const FREE: u32 = 5;

/// The wait after `FREE` wrong passwords. Each further wrong password doubles it, up to
/// `LONGEST_WAIT`.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait. It is short, so that a person who mistypes, or who shares an address with an
/// attacker, is not locked out.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Time without a wrong password after which the count is reset.
const FORGET_AFTER: Duration = Duration::from_secs(15 * 60);

/// Maximum number of counted clients; beyond it, the least recent ones are discarded.
const MAX_CLIENTS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The number of wrong passwords of each client.
#[derive(Debug)]
pub(super) struct GuessCounter(LruCache<IpAddr, FailedLogins>);

impl Default for GuessCounter {
    fn default() -> Self {
        Self(LruCache::new(MAX_CLIENTS))
    }
}

#[derive(Clone, Copy, Debug)]
struct FailedLogins {
    count: u32,
    last: Instant,
}

impl FailedLogins {
    /// The remaining wait of the client.
    fn wait(self, now: Instant) -> Duration {
        let Some(more) = self.count.checked_sub(FREE) else { return Duration::ZERO };
        let wait = FIRST_WAIT.saturating_mul(1 << more.min(16)).min(LONGEST_WAIT);
        wait.saturating_sub(now.saturating_duration_since(self.last))
    }
}

impl GuessCounter {
    /// Counts an attempt as wrong before it is checked, so that simultaneous attempts count like
    /// consecutive ones. If the client has to wait, counts nothing and returns the waiting time as
    /// an error.
    pub(super) fn begin(&mut self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let client = network(client);
        let guesses = self.0.get_or_insert_mut(client, || FailedLogins { count: 0, last: now });
        if now.saturating_duration_since(guesses.last) > FORGET_AFTER {
            guesses.count = 0;
        }
        match guesses.wait(now) {
            Duration::ZERO => {
                *guesses = FailedLogins { count: guesses.count.saturating_add(1), last: now };
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// Stops counting an attempt, because its password was correct. Earlier wrong passwords stay
    /// counted: otherwise a client with one valid password could guess that of another user without
    /// limit.
    pub(super) fn record_success(&mut self, client: IpAddr) {
        let client = network(client);
        if let Some(guesses) = self.0.peek_mut(&client) {
            guesses.count = guesses.count.saturating_sub(1);
            if guesses.count == 0 {
                self.0.pop(&client);
            }
        }
    }

    /// Whether no wrong password is counted.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The network from which one client can choose its address: for IPv6 a /64, for IPv4 the address
/// alone.
pub(super) fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_sixth_wrong_password_and_each_after_it_waits() {
        let (mut tries, mut now) = (GuessCounter::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(tries.begin(ip("10.0.0.1"), now), Ok(()));
        }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            assert_eq!(tries.begin(ip("10.0.0.1"), now), Err(Duration::from_secs(wait)));
            assert_eq!(tries.begin(ip("10.0.0.2"), now), Ok(()), "another client");
            tries.record_success(ip("10.0.0.2"));
            now += Duration::from_secs(wait);
            assert_eq!(tries.begin(ip("10.0.0.1"), now), Ok(()));
        }
        now += FORGET_AFTER + Duration::from_secs(1);
        for _ in 0..5 {
            assert_eq!(tries.begin(ip("10.0.0.1"), now), Ok(()));
        }
        assert!(tries.begin(ip("10.0.0.1"), now).is_err());
    }

    #[test]
    fn a_correct_password_resets_only_its_own_attempt() {
        let (mut tries, now) = (GuessCounter::default(), Instant::now());
        for _ in 0..20 {
            assert_eq!(tries.begin(ip("::1"), now), Ok(()));
            tries.record_success(ip("::1"));
        }
        assert!(tries.0.is_empty());
        for _ in 0..5 {
            assert_eq!(tries.begin(ip("::1"), now), Ok(()));
        }
        assert!(tries.begin(ip("::1"), now).is_err());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let (mut tries, now) = (GuessCounter::default(), Instant::now());
        for host in 1..=5 {
            assert_eq!(tries.begin(ip(&format!("2001:db8::{host}")), now), Ok(()));
        }
        assert!(tries.begin(ip("2001:db8::ffff:6"), now).is_err());
        assert_eq!(tries.begin(ip("2001:db8:0:1::1"), now), Ok(()));
    }

    #[test]
    fn the_number_of_remembered_clients_is_limited() {
        let (mut tries, now) = (GuessCounter::default(), Instant::now());
        for host in 0..10_000_u32 {
            let at = now + Duration::from_millis(host.into());
            tries.begin(IpAddr::V4(host.into()), at).unwrap();
        }
        assert_eq!(tries.0.len(), MAX_CLIENTS.get());
        assert!(tries.0.contains(&IpAddr::V4(9_999.into())));
    }
}
