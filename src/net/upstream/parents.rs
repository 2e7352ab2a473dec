//! The parent proxies that do not work, and the order in which the ways to an origin are tried.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tracing::{info, warn};

use super::{Origin, ParentFault, Via};
use crate::base::clock;
use crate::base::error_chain::error_chain;

/// The maximum number of failing parents that are remembered. Beyond it, the one that is avoided
/// for the shortest time is forgotten.
const MAX_FAILING: usize = 64;

/// A parent proxy that failed, and is tried only after others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingParent {
    /// The parent, without its login.
    pub parent: String,
    /// The reason.
    pub reason: String,
    /// When it failed first.
    pub since: SystemTime,
    /// How long it is still avoided.
    pub remaining: Duration,
}

/// The parents that have failed and not worked since.
#[derive(Debug, Default)]
pub struct ParentHealth {
    failing: Mutex<HashMap<String, Failing>>,
}

#[derive(Debug)]
struct Failing {
    reason: String,
    /// Whether it accepted the connection, and failed afterwards.
    is_reached: bool,
    since: SystemTime,
    until: Instant,
}

impl ParentHealth {
    /// The ways to `origin`, in the order in which they are tried: first those that work, then the
    /// parents that are avoided. There is at least one.
    pub(super) fn ways<'a>(&self, origin: &'a Origin) -> Vec<Cow<'a, Origin>> {
        let Some(via) = origin.via.as_ref() else { return vec![Cow::Borrowed(origin)] };
        let mut ways = via.ways();
        if ways.len() > 1 {
            let (failing, now) = (self.lock(), Instant::now());
            let is_avoided = |via: &Arc<Via>| {
                failing.get(&via.to_string()).is_some_and(|failing| failing.until > now)
            };
            ways.sort_by_key(|way| way.as_ref().is_some_and(is_avoided));
        }
        ways.into_iter().map(|via| Cow::Owned(Origin { via, ..origin.clone() })).collect()
    }

    /// Records a `fault` of the parent `via`. It is avoided for this time.
    pub(super) fn failed(&self, via: &Via, fault: &ParentFault, avoid_for: Duration) {
        let (parent, reason, now) = (via.to_string(), error_chain(fault), Instant::now());
        let mut failing = self.lock();
        let known = failing.get(&parent);
        let is_new = known.is_none_or(|known| known.until <= now);
        let since = known.map_or_else(clock::now, |known| known.since);
        if failing.len() >= MAX_FAILING && known.is_none() {
            let first = failing.iter().min_by_key(|(_, failing)| failing.until);
            let first = first.map(|(parent, _)| parent.clone());
            first.map(|first| failing.remove(&first));
        }
        if is_new {
            let seconds = avoid_for.as_secs();
            warn!(%parent, reason, seconds, "a parent proxy does not work and is avoided");
            let is_reached = !matches!(fault, ParentFault::Connect(_));
            failing.insert(parent, Failing { reason, is_reached, since, until: now + avoid_for });
        }
    }

    /// Records that the parent `via` works, or only that it accepts connections: that does not disprove
    /// a fault that came later, such as a refused login.
    pub(super) fn works(&self, via: &Via, has_opened: bool) {
        let mut failing = self.lock();
        // Most of the time nothing fails, and then no text is made.
        if failing.is_empty() {
            return;
        }
        let parent = via.to_string();
        if failing.get(&parent).is_some_and(|failing| has_opened || !failing.is_reached) {
            failing.remove(&parent);
            info!(%parent, "a parent proxy works again");
        }
    }

    /// The parents that are avoided now, by name.
    #[must_use]
    pub fn avoided(&self) -> Vec<FailingParent> {
        let (failing, now) = (self.lock(), Instant::now());
        let mut avoided: Vec<_> = failing
            .iter()
            .map(|(parent, failing)| FailingParent {
                parent: parent.clone(),
                reason: failing.reason.clone(),
                since: failing.since,
                remaining: failing.until.saturating_duration_since(now),
            })
            .filter(|failing| !failing.remaining.is_zero())
            .collect();
        avoided.sort_by(|one, other| one.parent.cmp(&other.parent));
        avoided
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Failing>> {
        // A panic under the lock cannot leave the map half changed.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::upstream::{ParentRoute, Scheme};
    use wwwoffle_config::ParentProtocol;

    fn via(host: &str) -> Arc<Via> {
        let (protocol, host, port) = (ParentProtocol::Socks5, host.to_owned(), 1);
        let (login, pseudonym, route) = (None, String::new(), ParentRoute::default());
        Arc::new(Via { protocol, host, port, login, pseudonym, route })
    }

    fn order(health: &ParentHealth, via: Option<Arc<Via>>) -> String {
        let origin = Origin { via, ..Origin::here(Scheme::Http, "h.test", 80) };
        let ways = health.ways(&origin);
        let name =
            |way: &Cow<'_, Origin>| way.via.as_ref().map_or("-".into(), |via| via.host.clone());
        ways.iter().map(name).collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn failing_parents_are_tried_last_until_their_time_is_over() {
        let health = ParentHealth::default();
        let [a, b] = [via("a"), via("b")];
        let many = ParentRoute::first(vec![Some(Arc::clone(&a)), Some(Arc::clone(&b)), None]);
        assert_eq!(order(&health, None), "-");
        assert_eq!(order(&health, Some(Arc::clone(&a))), "a");
        assert_eq!(order(&health, many.clone()), "a b -");
        let minute = Duration::from_secs(60);
        health.failed(&a, &ParentFault::Login, minute);
        assert_eq!(order(&health, many.clone()), "b - a");
        assert_eq!(order(&health, Some(Arc::clone(&a))), "a");
        health.failed(&b, &ParentFault::NotSocks, minute);
        assert_eq!(order(&health, many.clone()), "- a b");
        let avoided = health.avoided();
        assert_eq!(avoided[0].parent, "socks5://a:1");
        assert_eq!(avoided[1].reason, "its response is not SOCKS 5");
        health.works(&a, false);
        assert_eq!(order(&health, many.clone()), "- a b", "it still refuses the login");
        health.works(&a, true);
        assert_eq!(order(&health, many.clone()), "a - b");
        health.works(&b, true);
        health.failed(&a, &ParentFault::Login, Duration::ZERO);
        assert_eq!((order(&health, many).as_str(), health.avoided().len()), ("a b -", 0));
    }

    #[test]
    fn the_number_of_remembered_parents_is_limited() {
        let health = ParentHealth::default();
        for number in 0..MAX_FAILING + 10 {
            let via = via(&number.to_string());
            health.failed(&via, &ParentFault::Login, Duration::from_secs(60));
        }
        assert_eq!(health.avoided().len(), MAX_FAILING);
    }
}
