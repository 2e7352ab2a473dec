//! What was done with the last request for a URL, for each person: so that a page can say why.
//!
//! It is in memory alone and bounded; of what was asked long ago nothing is known.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hyper::{Method, StatusCode};
use wwwoffle_url::Key;

use super::ask::Ask;
use super::status::CacheStatus;
use crate::base::owner::Owner;

/// So many parts have a lock of their own.
const PARTS: usize = 16;

/// The most that each half of a part holds: 4,096 in all.
const MAX_HALF: usize = 128;

/// What was done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// When it was answered.
    pub at: SystemTime,
    /// Its method.
    pub method: Method,
    /// The status of the answer.
    pub answer: StatusCode,
    /// What was done.
    pub status: CacheStatus,
}

/// Who asked what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    key: Key,
    owner: Owner,
}

impl Asked {
    /// What `ask` is for; a login in it makes no difference.
    #[must_use]
    pub(super) fn of(ask: &Ask) -> Self {
        Self::new(ask.places.public.key(), ask.owner.clone())
    }

    /// That `owner` asked for what has this key.
    #[must_use]
    pub fn new(key: Key, owner: Owner) -> Self {
        Self { key, owner }
    }
}

/// The last answers. Each person finds their own alone.
///
/// A part has two halves: what is noted goes to the young one, and when that is full, it becomes the old one, whose
/// content is forgotten. So what was asked lately is always there, and nothing has to be put in order.
#[derive(Debug, Default)]
pub struct LastAnswers {
    parts: [Mutex<Part>; PARTS],
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Part {
    young: HashMap<Asked, Last>,
    old: HashMap<Asked, Last>,
}

impl LastAnswers {
    /// Notes what was done.
    pub fn note(&self, asked: Asked, last: Last) {
        let mut part = self.part(&asked);
        if part.young.len() >= MAX_HALF && !part.young.contains_key(&asked) {
            part.old = std::mem::take(&mut part.young);
        }
        part.young.insert(asked, last);
    }

    /// What was done the last time, if that is known still.
    #[must_use]
    pub fn of(&self, asked: &Asked) -> Option<Last> {
        let part = self.part(asked);
        part.young.get(asked).or_else(|| part.old.get(asked)).cloned()
    }

    fn part(&self, asked: &Asked) -> MutexGuard<'_, Part> {
        let [byte, ..] = self.hasher.hash_one(asked.key).to_le_bytes();
        let [first, rest @ ..] = &self.parts;
        let at = (usize::from(byte) % PARTS).checked_sub(1);
        let part = at.and_then(|at| rest.get(at)).unwrap_or(first);
        // Whatever panicked, what was noted was done.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(at: u32, owner: Owner) -> Asked {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&at.to_le_bytes());
        Asked::new(Key::from_bytes(bytes), owner)
    }

    fn last(status: CacheStatus) -> Last {
        let at = SystemTime::UNIX_EPOCH;
        Last { at, method: Method::GET, answer: StatusCode::OK, status }
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
