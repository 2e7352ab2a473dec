//! The names of clients, for patterns such as `*.lan` in `[allowed-connect-hosts]`.
//!
//! The name of an address comes from its owner, who can return any name. So a name counts only if
//! its own addresses include that of the client (forward-confirmed reverse DNS).

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::debug;

use super::tries::network;
use crate::net::upstream::{Dialer, Failure};

/// Maximum number of clients whose names are known. One more replaces the client that was used
/// least recently.
const MAX_CLIENTS: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// Maximum number of clients whose names are looked up at the same time, one of each network.
/// Further unknown clients are refused, so that they cannot occupy all connections.
const MAX_LOOKUPS: usize = 16;

/// The time after which a name is looked up again at the next connection.
const GOOD_FOR: Duration = Duration::from_secs(600);

/// The same for a client without a confirmed name.
const NAMELESS_FOR: Duration = Duration::from_secs(60);

/// The same after a lookup failed, for example because no name server answered.
const FAILED_FOR: Duration = Duration::from_secs(10);

/// The longest wait for the lookups of other clients of the same network. Then an earlier name
/// counts.
const TURN_WITHIN: Duration = Duration::from_secs(10);

/// The names of clients.
#[derive(Debug)]
pub struct ClientNames {
    known: Mutex<LruCache<IpAddr, KnownName>>,
    turns: Semaphore,
    /// The networks with a lookup, running or waiting. Lookups of one network take turns.
    networks: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// The result of a lookup.
#[derive(Clone, Debug)]
struct KnownName {
    /// The confirmed name in lower case; `None` if the client has none.
    name: Option<Arc<str>>,
    /// When the name is looked up again.
    until: Instant,
}

impl Default for ClientNames {
    fn default() -> Self {
        Self {
            known: Mutex::new(LruCache::new(MAX_CLIENTS)),
            turns: Semaphore::new(MAX_LOOKUPS),
            networks: Mutex::default(),
        }
    }
}

impl ClientNames {
    /// The confirmed name of `client`, from the last lookup.
    pub(super) fn of(&self, client: IpAddr) -> Option<Arc<str>> {
        lock(&self.known).get(&client.to_canonical())?.name.clone()
    }

    /// Whether the name of `client` was looked up recently.
    pub(super) fn is_recent(&self, client: IpAddr, now: Instant) -> bool {
        lock(&self.known).peek(&client.to_canonical()).is_some_and(|known| now < known.until)
    }

    /// Looks up the name of `client`. If too many lookups are running, or a lookup fails, an earlier
    /// name stays.
    ///
    /// Waits while another lookup of the same network runs. So a client occupies one lookup, and a
    /// browser that opens many connections needs one.
    pub async fn look_up(&self, dialer: &Dialer, client: IpAddr) {
        let client = client.to_canonical();
        let of_network = self.of_network(client);
        let Ok(Ok(_alone)) = timeout(TURN_WITHIN, of_network.acquire()).await else { return };
        if self.is_recent(client, Instant::now()) {
            return;
        }
        let Ok(_turn) = self.turns.try_acquire() else { return };
        let (name, good_for) = match confirmed_name(dialer, client).await {
            Ok(name) => {
                debug!(%client, name, "the name of a client was looked up");
                let good_for = if name.is_some() { GOOD_FOR } else { NAMELESS_FOR };
                (name.map(Arc::from), good_for)
            }
            // Nothing was asked, so a lookup can begin as soon as the mode changes.
            Err(Failure::Offline) => return,
            Err(failure) => {
                debug!(%client, error = failure.chain(), "the name of a client is unknown");
                (self.of(client), FAILED_FOR)
            }
        };
        lock(&self.known).put(client, KnownName { name, until: Instant::now() + good_for });
    }

    /// The turns of the network of `client`.
    fn of_network(&self, client: IpAddr) -> Arc<Semaphore> {
        let mut networks = lock(&self.networks);
        networks.retain(|_, turns| Arc::strong_count(turns) > 1);
        let turns = networks.entry(network(client)).or_insert_with(|| Arc::new(Semaphore::new(1)));
        Arc::clone(turns)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave a map inconsistent.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of `client`, if it resolves to this address. `None` if the client has no such name.
async fn confirmed_name(dialer: &Dialer, client: IpAddr) -> Result<Option<String>, Failure> {
    let Some(name) = dialer.name_of(client).await? else { return Ok(None) };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_confirmed = match dialer.addresses_of(&name).await {
        Ok(addresses) => addresses.iter().any(|address| address.to_canonical() == client),
        Err(Failure::UnknownHost { may_pass: false, .. }) => false,
        Err(failure) => return Err(failure),
    };
    Ok(is_confirmed.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mode::{Mode, ModeSwitch};

    fn dialer(mode: Mode) -> Dialer {
        let patience = Duration::from_secs(10);
        Dialer::new(ModeSwitch::new(mode), patience, patience)
    }

    /// The dialer of tests knows these names: 127.0.0.2 is elsewhere.test, and 127.0.0.3 pretends to
    /// be so too.
    #[tokio::test]
    async fn only_a_confirmed_name_counts() {
        let (names, online) = (ClientNames::default(), dialer(Mode::Online));
        for (client, want) in [
            ("127.0.0.2", Some("elsewhere.test")),
            ("::ffff:127.0.0.2", Some("elsewhere.test")),
            ("127.0.0.3", None),
            ("127.0.0.4", None),
        ] {
            let client = client.parse().unwrap();
            names.look_up(&online, client).await;
            assert_eq!(names.of(client).as_deref(), want, "{client}");
            let now = Instant::now();
            assert!(names.is_recent(client, now), "{client}");
            assert_eq!(names.is_recent(client, now + NAMELESS_FOR), want.is_some(), "{client}");
            assert!(!names.is_recent(client, now + GOOD_FOR), "{client}");
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_keeps_the_earlier_name() {
        let names = ClientNames::default();
        let client = IpAddr::from([127, 0, 0, 2]);
        names.look_up(&dialer(Mode::Offline), client).await;
        assert!(!names.is_recent(client, Instant::now()), "offline nothing is looked up");
        names.look_up(&dialer(Mode::Online), client).await;
        lock(&names.known).get_mut(&client).unwrap().until = Instant::now();
        names.look_up(&dialer(Mode::Offline), client).await;
        assert_eq!(names.of(client).as_deref(), Some("elsewhere.test"));
    }

    /// The dialer of tests cannot look up the name of 127.0.0.5.
    #[tokio::test]
    async fn a_failed_lookup_is_repeated_after_a_pause() {
        let (names, online) = (ClientNames::default(), dialer(Mode::Online));
        let client = IpAddr::from([127, 0, 0, 5]);
        names.look_up(&online, client).await;
        let now = Instant::now();
        assert!(names.is_recent(client, now) && !names.is_recent(client, now + FAILED_FOR));
        assert_eq!(names.of(client), None);
    }

    #[tokio::test]
    async fn clients_and_lookups_are_limited() {
        let (names, online) = (ClientNames::default(), dialer(Mode::Online));
        let client = IpAddr::from([127, 0, 0, 2]);
        {
            let _all = names.turns.acquire_many(u32::try_from(MAX_LOOKUPS).unwrap()).await.unwrap();
            names.look_up(&online, client).await;
            assert_eq!(names.of(client), None);
        }
        for number in 0..=u32::try_from(MAX_CLIENTS.get()).unwrap() {
            let client = IpAddr::from(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number));
            let known = KnownName { name: None, until: Instant::now() };
            lock(&names.known).put(client, known);
        }
        assert_eq!(lock(&names.known).len(), MAX_CLIENTS.get());
    }

    #[tokio::test]
    async fn one_network_has_one_lookup_at_a_time() {
        let (names, online) = (ClientNames::default(), dialer(Mode::Online));
        let (client, other) = (IpAddr::from([127, 0, 0, 2]), IpAddr::from([127, 0, 0, 4]));
        let running = names.of_network(client);
        let turn = running.acquire().await.unwrap();
        let many = (0..=MAX_LOOKUPS).map(|_| names.look_up(&online, client));
        let mut many = Box::pin(futures_util::future::join_all(many));
        assert!(futures_util::FutureExt::now_or_never(many.as_mut()).is_none());
        names.look_up(&online, other).await;
        assert!(names.is_recent(other, Instant::now()), "others do not wait");
        assert_eq!(names.of(client), None);
        drop(turn);
        many.await;
        assert_eq!(names.of(client).as_deref(), Some("elsewhere.test"));
        drop(running);
        drop(names.of_network(other));
        assert_eq!(lock(&names.networks).len(), 1, "networks without a lookup are forgotten");
    }
}
