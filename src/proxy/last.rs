//! The action for the last request of each person for a URL, so that a page can explain it.
//!
//! The records are in memory only, and bounded: old ones are discarded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hyper::{Method, StatusCode};
use wwwoffle_url::Key;

use super::ask::ProxyRequest;
use super::status::CacheStatus;
use crate::base::owner::Owner;

/// Number of shards, each with its own lock.
const PARTS: usize = 16;

/// Maximum number of records in each half of a shard: 4,096 in all.
const MAX_HALF: usize = 128;

/// The action for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAction {
    /// When it was answered.
    pub at: SystemTime,
    /// The method of the request.
    pub method: Method,
    /// The status of the response.
    pub answer: StatusCode,
    /// The action.
    pub status: CacheStatus,
}

/// The owner and the URL of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LastKey {
    key: Key,
    owner: Owner,
}

impl LastKey {
    /// The owner and the URL of `ask`; a login in it is ignored.
    #[must_use]
    pub(super) fn of(ask: &ProxyRequest) -> Self {
        Self::new(ask.places.public.key(), ask.owner.clone())
    }

    /// A request of `owner` for the URL with this key.
    #[must_use]
    pub fn new(key: Key, owner: Owner) -> Self {
        Self { key, owner }
    }
}

/// The last responses. Each person sees only their own.
///
/// A shard has two halves. New records go to the young half. If it is full, it becomes the old
/// half, and the former old half is discarded. So recent records are always present, without any
/// sorting.
#[derive(Debug, Default)]
pub struct LastAnswers {
    parts: [Mutex<LastShard>; PARTS],
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct LastShard {
    young: HashMap<LastKey, LastAction>,
    old: HashMap<LastKey, LastAction>,
}

impl LastAnswers {
    /// Records an action.
    pub fn note(&self, asked: LastKey, last: LastAction) {
        let mut part = self.part(&asked);
        if part.young.len() >= MAX_HALF && !part.young.contains_key(&asked) {
            part.old = std::mem::take(&mut part.young);
        }
        part.young.insert(asked, last);
    }

    /// The last action, if it is still recorded.
    #[must_use]
    pub fn of(&self, asked: &LastKey) -> Option<LastAction> {
        let part = self.part(asked);
        part.young.get(asked).or_else(|| part.old.get(asked)).cloned()
    }

    fn part(&self, asked: &LastKey) -> MutexGuard<'_, LastShard> {
        let [byte, ..] = self.hasher.hash_one(asked.key).to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        let at = (usize::from(byte) % PARTS).checked_sub(1);
        let part = at.and_then(|at| rest.get(at)).unwrap_or(first);
        // A panic cannot leave the records inconsistent.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(at: u32, owner: Owner) -> LastKey {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&at.to_le_bytes());
        LastKey::new(Key::from_bytes(bytes), owner)
    }

    fn last(status: CacheStatus) -> LastAction {
        let at = SystemTime::UNIX_EPOCH;
        LastAction { at, method: Method::GET, answer: StatusCode::OK, status }
    }

    #[test]
    fn each_person_finds_their_own() {
        let all = LastAnswers::default();
        let ada = Owner::User("ada".into());
        all.note(asked(1, Owner::Local), last(CacheStatus::Queued));
        all.note(asked(1, Owner::Local), last(CacheStatus::Failed));
        assert_eq!(all.of(&asked(1, Owner::Local)), Some(last(CacheStatus::Failed)));
        assert_eq!(all.of(&asked(1, ada)), None);
        assert_eq!(all.of(&asked(2, Owner::Local)), None);
    }

    #[test]
    fn so_many_are_held_and_what_came_last_is_among_them() {
        let all = LastAnswers::default();
        for at in 0..20_000 {
            all.note(asked(at, Owner::Local), last(CacheStatus::Queued));
            assert!(all.of(&asked(at, Owner::Local)).is_some());
        }
        let held = all.parts.iter().map(|part| {
            let part = part.lock().unwrap();
            part.young.len() + part.old.len()
        });
        let held: usize = held.sum();
        assert!((2_048..=4_096).contains(&held), "{held}");
    }
}
