//! Requests that a person has to confirm, such as forms sent offline or in the gateway. They exist
//! in memory only, because unconfirmed forms must not be stored.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use wwwoffle_spool::{AddOutcome, Error, Outgoing, Spool};

use crate::base::clock;
use crate::base::owner::Owner;
use crate::proxy::context::ProxyContext;

/// Maximum number of forms that wait for confirmation. One more replaces the oldest form of the
/// owner with the most forms. So a page that sends many forms affects no other owner.
const MAX_TICKETS: usize = 32;

/// The time for which a form may wait for confirmation.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// All waiting forms, by the random name of their ticket.
#[derive(Debug)]
pub struct Tickets<T> {
    waiting: Mutex<HashMap<String, WaitingForm<T>>>,
}

#[derive(Debug)]
struct WaitingForm<T> {
    since: SystemTime,
    owner: Owner,
    form: T,
}

impl<T> Default for Tickets<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<T> Tickets<T> {
    /// Records a form of `owner` and returns the name of its ticket.
    ///
    /// # Errors
    ///
    /// If the system cannot provide random numbers.
    pub fn issue(
        &self,
        form: T,
        owner: Owner,
        now: SystemTime,
    ) -> Result<String, getrandom::Error> {
        let mut name = [0; 16];
        getrandom::fill(&mut name)?;
        let name = hex::encode(name);
        forget_old(&mut self.lock(), now);
        self.store_form(name.clone(), WaitingForm { since: now, owner, form });
        Ok(name)
    }

    /// Takes the form of a ticket. A ticket works once, within an hour; `None` if it does not exist
    /// or has expired.
    pub fn redeem(&self, name: &str, now: SystemTime) -> Option<T> {
        let mut waiting = self.lock();
        forget_old(&mut waiting, now);
        waiting.remove(name).map(|waiting| waiting.form)
    }

    /// Uses the form of a ticket. From the start of the use the ticket is invalid, so that it is
    /// not used twice. If the use fails, the ticket becomes valid again. Returns `None` if the
    /// ticket does not exist or has expired.
    pub fn redeem_by<R, E>(
        &self,
        name: &str,
        now: SystemTime,
        using: impl FnOnce(&T) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        let taken = {
            let mut waiting = self.lock();
            forget_old(&mut waiting, now);
            waiting.remove(name)?
        };
        let done = using(&taken.form);
        if done.is_err() {
            self.store_form(name.to_owned(), taken);
        }
        Some(done)
    }

    fn store_form(&self, name: String, form: WaitingForm<T>) {
        let mut waiting = self.lock();
        if waiting.len() >= MAX_TICKETS
            && let Some(least) = least(&waiting)
        {
            waiting.remove(&least);
        }
        waiting.insert(name, form);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, WaitingForm<T>>> {
        // A panic cannot leave the map inconsistent.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the form of a ticket to the queue. Returns `None` if the ticket does not exist or has
/// expired. If the queue or the disk fails, the form can be confirmed again.
pub(crate) async fn queue(
    context: &Arc<ProxyContext>,
    name: &str,
) -> Result<Option<AddOutcome>, Error> {
    let (own, name) = (Arc::clone(context), name.to_owned());
    // The change runs in one blocking call, which completes even if the caller has left.
    let call = move |spool: &Spool| {
        let add = |outgoing: &Outgoing| spool.queue().add(outgoing);
        own.confirmations.tickets.redeem_by(&name, clock::now(), add).transpose()
    };
    context.storage.store.run(call).await
}

/// The ticket of the form that is discarded if there are too many forms.
fn least<T>(waiting: &HashMap<String, WaitingForm<T>>) -> Option<String> {
    let of = |owner: &Owner| waiting.values().filter(|one| one.owner == *owner).count();
    let rank = |one: &WaitingForm<T>| (Reverse(of(&one.owner)), one.since);
    waiting.iter().min_by_key(|(_, one)| rank(one)).map(|(name, _)| name.clone())
}

fn forget_old<T>(waiting: &mut HashMap<String, WaitingForm<T>>, now: SystemTime) {
    waiting.retain(|_, one| now.duration_since(one.since).is_ok_and(|age| age < LIFETIME));
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wwwoffle_spool::{Place, RequestKind};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn form() -> Outgoing {
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let place = Place::of(&url);
        let head = b"POST / HTTP/1.1\r\n\r\n".to_vec();
        Outgoing::new(place, head, RequestKind::Post, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_ticket_is_valid_once_and_for_an_hour() {
        let (tickets, now) = (Tickets::default(), SystemTime::UNIX_EPOCH);
        let first = tickets.issue(form(), Owner::Local, now).unwrap();
        assert!(tickets.redeem("rubbish", now).is_none());
        assert!(tickets.redeem(&first, now + LIFETIME / 2).is_some());
        assert!(tickets.redeem(&first, now).is_none());
        let late = tickets.issue(form(), Owner::Local, now).unwrap();
        assert!(tickets.redeem(&late, now + LIFETIME).is_none());
    }

    #[test]
    fn a_ticket_is_valid_again_only_after_a_failed_use() {
        let (tickets, now) = (Tickets::default(), SystemTime::UNIX_EPOCH);
        let name = tickets.issue(form(), Owner::Local, now).unwrap();
        let redeem = |at, done: Result<(), ()>| {
            tickets.redeem_by(&name, at, |_| {
                assert!(tickets.redeem(&name, at).is_none(), "it is used already");
                done
            })
        };
        assert_eq!(redeem(now, Err(())), Some(Err(())));
        assert_eq!(redeem(now + LIFETIME / 2, Err(())), Some(Err(())));
        assert_eq!(redeem(now + LIFETIME / 2, Ok(())), Some(Ok(())));
        assert_eq!(redeem(now + LIFETIME / 2, Ok(())), None);
        let name = tickets.issue(form(), Owner::Local, now).unwrap();
        assert!(tickets.redeem_by(&name, now, |_| Err::<(), _>(())).is_some());
        assert!(tickets.redeem(&name, now + LIFETIME).is_none(), "it is no younger than before");
    }

    #[test]
    fn the_oldest_ticket_is_removed_first() {
        let tickets = Tickets::default();
        let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let names: Vec<_> =
            (0..33).map(|n| tickets.issue(form(), Owner::Local, at(n)).unwrap()).collect();
        assert!(tickets.redeem(&names[0], at(33)).is_none());
        assert!(tickets.redeem(&names[1], at(33)).is_some());
        assert!(tickets.redeem(&names[32], at(33)).is_some());
    }

    #[test]
    fn owner_with_many_tickets_displaces_only_their_own() {
        let tickets = Tickets::default();
        let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let ada = tickets.issue(form(), Owner::User("ada".into()), at(0)).unwrap();
        let many = |n| tickets.issue(form(), Owner::Local, at(n)).unwrap();
        let names: Vec<_> = (1..100).map(many).collect();
        let bob = tickets.issue(form(), Owner::User("bob".into()), at(100)).unwrap();
        for name in [&ada, &bob, &names[98], &names[69]] {
            assert!(tickets.redeem(name, at(101)).is_some(), "{name}");
        }
        assert!(tickets.redeem(&names[68], at(101)).is_none());
    }
}
