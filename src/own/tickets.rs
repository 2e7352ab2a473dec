//! Forms that a person sent offline and has not confirmed yet. They are in memory alone: what is
//! not confirmed is not kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use wwwoffle_spool::Outgoing;

/// How many forms may wait for their confirmation; a further one takes the place of the oldest.
const MAX_TICKETS: usize = 32;

/// How long a form may be confirmed.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// A form that waits for its confirmation.
#[derive(Debug)]
pub struct Ticket {
    /// The request that will be queued.
    pub outgoing: Outgoing,
}

/// All forms that wait, by the random name of their ticket.
#[derive(Debug)]
pub struct Tickets<T = Ticket> {
    waiting: Mutex<HashMap<String, (SystemTime, T)>>,
}

impl<T> Default for Tickets<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<T> Tickets<T> {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a form and returns the name under which it is confirmed.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn issue(&self, ticket: T, now: SystemTime) -> Result<String, getrandom::Error> {
        let mut name = [0; 16];
        getrandom::fill(&mut name)?;
        let name = hex::encode(name);
        let mut waiting = self.lock();
        forget_old(&mut waiting, now);
        if waiting.len() >= MAX_TICKETS
            && let Some(oldest) =
                waiting.iter().min_by_key(|(_, (issued, _))| *issued).map(|(name, _)| name.clone())
        {
            waiting.remove(&oldest);
        }
        waiting.insert(name.clone(), (now, ticket));
        Ok(name)
    }

    /// Takes the form of a ticket; each works once, and for an hour.
    pub fn redeem(&self, name: &str, now: SystemTime) -> Option<T> {
        let mut waiting = self.lock();
        forget_old(&mut waiting, now);
        waiting.remove(name).map(|(_, ticket)| ticket)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (SystemTime, T)>> {
        // Each change of the map is one call.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old<T>(waiting: &mut HashMap<String, (SystemTime, T)>, now: SystemTime) {
    waiting.retain(|_, (issued, _)| now.duration_since(*issued).is_ok_and(|age| age < LIFETIME));
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wwwoffle_spool::{Place, RequestKind};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn ticket() -> Ticket {
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let place = Place::of(&url);
        let head = b"POST / HTTP/1.1\r\n\r\n".to_vec();
        Ticket { outgoing: Outgoing::new(place, head, RequestKind::Post, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn a_ticket_works_once_and_for_an_hour() {
        let (tickets, now) = (Tickets::new(), SystemTime::UNIX_EPOCH);
        let first = tickets.issue(ticket(), now).unwrap();
        assert!(tickets.redeem("rubbish", now).is_none());
        assert!(tickets.redeem(&first, now + LIFETIME / 2).is_some());
        assert!(tickets.redeem(&first, now).is_none());
        let late = tickets.issue(ticket(), now).unwrap();
        assert!(tickets.redeem(&late, now + LIFETIME).is_none());
    }

    #[test]
    fn the_oldest_makes_room() {
        let tickets = Tickets::new();
        let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let names: Vec<_> = (0..33).map(|n| tickets.issue(ticket(), at(n)).unwrap()).collect();
        assert!(tickets.redeem(&names[0], at(33)).is_none());
        assert!(tickets.redeem(&names[1], at(33)).is_some());
        assert!(tickets.redeem(&names[32], at(33)).is_some());
    }
}
