//! The known protocol of each https origin: its shared HTTP/2 connection, or that it speaks
//! HTTP/1.1.
//!
//! If several requests start together, one dials and the others wait for the result. If the result
//! is HTTP/1.1 or a failure, each of the others dials too.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::debug;

use super::adjustable::Adjustable;
use super::multiplexed::SharedConnection;
use super::tls::{Offer, server_name};
use super::{Failure, Origin};

/// The maximum number of origins that are remembered. Beyond it, the least recently used origin is
/// forgotten, and its protocol must be negotiated again.
const MAX_ORIGINS: usize = 4_096;

/// The time for which an origin's refusal of HTTP/2 is remembered.
const REFUSES_FOR: Duration = Duration::from_secs(60 * 60);

/// The known origins and their connections.
#[derive(Debug)]
pub(super) struct Registry {
    origins: Mutex<HashMap<Origin, OriginEntry>>,
    idle_timeout: Adjustable<Duration>,
}

#[derive(Debug)]
struct OriginEntry {
    shared: Option<SharedConnection>,
    /// The dial in progress, and its result.
    turn: Option<watch::Receiver<Option<FailedDial>>>,
    speaks_http1: bool,
    /// The time when the origin refused HTTP/2.
    refused: Option<Instant>,
    /// Whether the origin needs its own connection, because it refused to answer on a connection of
    /// another origin.
    alone: bool,
    used: Instant,
}

/// The failure of a dial for which other requests waited.
#[derive(Clone, Copy, Debug)]
struct FailedDial;

/// The way of a request to its origin.
#[derive(Debug)]
pub(super) enum OriginRoute<'a> {
    /// On an established connection.
    Shared(SharedConnection),
    /// On a new connection, with these protocols offered. If there is a turn, other requests wait
    /// for the result.
    Dial(Offer, Option<DialTurn<'a>>),
}

enum RouteLookup<'a> {
    Go(OriginRoute<'a>),
    Wait(watch::Receiver<Option<FailedDial>>),
}

/// The right to dial on behalf of all waiting requests. If it is dropped without a result, one of
/// them gets the right.
#[derive(Debug)]
pub(super) struct DialTurn<'a> {
    registry: &'a Registry,
    origin: Origin,
    tell: watch::Sender<Option<FailedDial>>,
}

impl DialTurn<'_> {
    /// Ends the turn: the origin speaks HTTP/1.1, so each request dials.
    pub(super) fn record_http1(self) {
        let mut origins = self.registry.lock();
        of(&mut origins, &self.origin).speaks_http1 = true;
        // Dropping the turn takes the lock again, so the lock is released first.
        drop(origins);
    }

    /// Ends the turn: the dial failed. Each waiting request tries on its own, so that the timeouts
    /// do not add up.
    pub(super) fn failed(self) {
        self.tell.send_replace(Some(FailedDial));
    }
}

impl Drop for DialTurn<'_> {
    fn drop(&mut self) {
        // The waiting requests see that `tell` is dropped, and check the registry again.
        if let Some(entry) = self.registry.lock().get_mut(&self.origin) {
            entry.turn = None;
        }
    }
}

impl Registry {
    pub(super) fn new(idle_timeout: Duration) -> Self {
        Self { origins: Mutex::new(HashMap::new()), idle_timeout: Adjustable::new(idle_timeout) }
    }

    pub(super) fn set_idle_timeout(&self, idle_timeout: Duration) {
        self.idle_timeout.set(idle_timeout);
    }

    /// Chooses a connection for `origin`. Waits at most `patience` for a dial in progress.
    pub(super) async fn route(
        &self,
        origin: &Origin,
        patience: Duration,
    ) -> Result<OriginRoute<'_>, Failure> {
        let found = timeout(patience, async {
            loop {
                let mut turn = match self.look_up_route(origin) {
                    RouteLookup::Go(route) => return route,
                    RouteLookup::Wait(turn) => turn,
                };
                if turn.wait_for(Option::is_some).await.is_ok() {
                    return OriginRoute::Dial(Offer::Either, None);
                }
            }
        });
        found.await.map_err(|_| Failure::Busy { authority: origin.to_string() })
    }

    fn look_up_route(&self, origin: &Origin) -> RouteLookup<'_> {
        let mut origins = self.lock();
        let entry = of(&mut origins, origin);
        entry.used = Instant::now();
        if entry.refused.is_some_and(|since| since.elapsed() < REFUSES_FOR) {
            return RouteLookup::Go(OriginRoute::Dial(Offer::Http1, None));
        }
        entry.shared.take_if(|shared| !shared.is_usable());
        if let Some(shared) = &entry.shared {
            return RouteLookup::Go(OriginRoute::Shared(shared.clone()));
        }
        if entry.speaks_http1 {
            return RouteLookup::Go(OriginRoute::Dial(Offer::Either, None));
        }
        if let Some(turn) = &entry.turn {
            return RouteLookup::Wait(turn.clone());
        }
        let (tell, turn) = watch::channel(None);
        entry.turn = Some(turn);
        let turn = DialTurn { registry: self, origin: origin.clone(), tell };
        RouteLookup::Go(OriginRoute::Dial(Offer::Either, Some(turn)))
    }

    /// Shares a new connection with all requests for `origin`, if `is_wanted` returns true. Returns
    /// the connection to use: `shared`, or the connection of a dial that was faster.
    pub(super) fn share(
        &self,
        origin: &Origin,
        shared: SharedConnection,
        is_wanted: impl FnOnce() -> bool,
    ) -> SharedConnection {
        let mut origins = self.lock();
        // Checked under the lock. If connections become unwanted later, `close_idle` finds this
        // connection in the registry.
        if !is_wanted() {
            return shared;
        }
        let entry = of(&mut origins, origin);
        entry.speaks_http1 = false;
        entry.shared.take_if(|shared| !shared.is_usable());
        entry.shared.get_or_insert(shared).clone()
    }

    /// A connection to another origin that can serve `origin` too (RFC 9113 §9.1.1): its remote
    /// address is one of the `addresses`, and its certificate is valid for the host of `origin`.
    pub(super) fn coalesce(
        &self,
        origin: &Origin,
        addresses: &[SocketAddr],
    ) -> Option<SharedConnection> {
        let mut origins = self.lock();
        if of(&mut origins, origin).alone || is_address(origin) {
            return None;
        }
        let shared = origins
            .values()
            .filter_map(|entry| entry.shared.as_ref())
            .find(|shared| addresses.contains(&shared.peer()) && is_good_for(shared, origin))?;
        debug!(%origin, over = %shared.origin(), "a connection is used for another origin too");
        Some(shared.clone())
    }

    /// Remembers that `origin` does not answer on connections of other origins (RFC 9110 §15.5.20).
    pub(super) fn require_own_connection(&self, origin: &Origin) {
        let mut origins = self.lock();
        let entry = of(&mut origins, origin);
        entry.alone = true;
        entry.shared.take_if(|shared| shared.origin() != origin);
    }

    /// Remembers that `origin` requires HTTP/1.1 (RFC 9113 §7).
    pub(super) fn refuses_http2(&self, origin: &Origin) {
        of(&mut self.lock(), origin).refused = Some(Instant::now());
    }

    /// Closes connections that were idle for too long or accept no requests.
    pub(super) fn sweep(&self) {
        for entry in self.lock().values_mut() {
            entry.shared.take_if(|shared| {
                let is_old = shared.idle_for().is_some_and(|idle| idle >= self.idle_timeout.get());
                is_old || !shared.is_usable()
            });
        }
    }

    /// Closes every connection after its running exchanges, because the mode became offline or the
    /// daemon stops.
    pub(super) fn close_idle(&self) {
        for entry in self.lock().values_mut() {
            entry.shared = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, OriginEntry>> {
        // A panic under the lock cannot leave the map half changed.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of `origin`, created if missing.
fn of<'origins>(
    origins: &'origins mut HashMap<Origin, OriginEntry>,
    origin: &Origin,
) -> &'origins mut OriginEntry {
    if origins.len() >= MAX_ORIGINS && !origins.contains_key(origin) {
        let unused = |entry: &OriginEntry| entry.shared.is_none() && entry.turn.is_none();
        let oldest = origins.iter().filter(|(_, entry)| unused(entry));
        let oldest = oldest.min_by_key(|(_, entry)| entry.used).map(|(origin, _)| origin.clone());
        oldest.map(|oldest| origins.remove(&oldest));
    }
    origins.entry(origin.clone()).or_insert_with(|| OriginEntry {
        shared: None,
        turn: None,
        speaks_http1: false,
        refused: None,
        alone: false,
        used: Instant::now(),
    })
}

/// Whether the connection can serve `origin` too: it is usable, it leads to the same port without a
/// parent proxy, and its verified certificate is valid for the host.
fn is_good_for(shared: &SharedConnection, origin: &Origin) -> bool {
    let secured = shared.secured();
    let own = shared.origin();
    // With a parent proxy, only the parent knows the address.
    if own.via.is_some()
        || secured.by_exception
        || own.port != origin.port
        || is_address(own)
        || !shared.is_usable()
    {
        return false;
    }
    let Some(name) = server_name(&origin.host) else { return false };
    // The chain was verified when the connection was made.
    secured.chain.first().is_some_and(|leaf| {
        webpki::EndEntityCert::try_from(leaf)
            .is_ok_and(|leaf| leaf.verify_is_valid_for_subject_name(&name).is_ok())
    })
}

/// Whether the host of the origin is an IP address. A connection to an address is made without SNI,
/// so the origin may have sent any certificate.
fn is_address(origin: &Origin) -> bool {
    origin.host.starts_with('[') || origin.host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::net::upstream::Scheme;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn origin(port: u16) -> Origin {
        Origin::here(Scheme::Https, "h.test", port)
    }

    async fn turn<'a>(registry: &'a Registry, origin: &Origin) -> DialTurn<'a> {
        match registry.route(origin, PATIENCE).await {
            Ok(OriginRoute::Dial(Offer::Either, Some(turn))) => turn,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_requests_wait_for_one_dial() {
        type Row = (&'static str, fn(DialTurn<'_>), &'static str);
        let rows: [Row; 3] = [
            ("it left", |turn| drop(turn), "Dial(Either, Some("),
            ("it found nothing", |turn| turn.failed(), "Dial(Either, None)"),
            ("it found HTTP/1.1", |turn| turn.record_http1(), "Dial(Either, None)"),
        ];
        for (what, end, want) in rows {
            let (registry, origin) = (Registry::new(PATIENCE), origin(1));
            let first = turn(&registry, &origin).await;
            let mut second = pin!(registry.route(&origin, PATIENCE));
            let mut third = pin!(registry.route(&origin, PATIENCE));
            tokio::select! {
                biased;
                _ = &mut second => panic!("{what}: it did not wait"),
                _ = &mut third => panic!("{what}: it did not wait"),
                () = tokio::task::yield_now() => {}
            }
            end(first);
            let found = format!("{:?}", second.await.unwrap());
            assert!(found.starts_with(want), "{what}: {found}");
            let found = format!("{:?}", third.await.unwrap());
            assert!(found.starts_with(want), "{what}: {found}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_connection_times_out() {
        let (registry, origin) = (Registry::new(PATIENCE), origin(1));
        let _first = turn(&registry, &origin).await;
        let second = registry.route(&origin, PATIENCE).await;
        assert!(matches!(second, Err(Failure::Busy { .. })));
    }

    #[tokio::test]
    async fn an_origin_that_refuses_http2_is_not_offered_it() {
        let (registry, origin) = (Registry::new(PATIENCE), origin(1));
        registry.refuses_http2(&origin);
        let route = registry.route(&origin, PATIENCE).await.unwrap();
        assert!(matches!(route, OriginRoute::Dial(Offer::Http1, None)));
    }

    #[tokio::test]
    async fn the_number_of_remembered_origins_is_limited() {
        let registry = Registry::new(PATIENCE);
        for port in 1..=u16::try_from(MAX_ORIGINS + 100).unwrap() {
            turn(&registry, &origin(port)).await.record_http1();
        }
        assert_eq!(registry.lock().len(), MAX_ORIGINS);
        assert!(registry.lock().contains_key(&origin(u16::try_from(MAX_ORIGINS + 100).unwrap())));
    }
}
