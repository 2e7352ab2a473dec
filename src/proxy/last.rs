//! The action taken for the last request of each person for a URL, so that a page can explain it.
//!
//! The records are in memory only, and their number is limited: old records are discarded.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::{Method, StatusCode};
use lru::LruCache;
use wwwoffle_url::Key;

use super::ask::ProxyRequest;
use super::status::CacheStatus;
use crate::base::owner::Owner;

const MAX_RECORDS: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();

/// The action taken for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAction {
    /// The time of the response.
    pub at: SystemTime,
    /// The method of the request.
    pub method: Method,
    /// The status of the response.
    pub answer: StatusCode,
    /// The time from the request to the head of the response.
    pub took: Duration,
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
    /// The owner and the URL of `ask`. A login in the URL is ignored.
    #[must_use]
    pub(super) fn of(ask: &ProxyRequest) -> Self {
        Self::new(ask.places.public.key(), ask.owner.clone())
    }

    /// Identifies the last request of `owner` for the URL with this key.
    #[must_use]
    pub fn new(key: Key, owner: Owner) -> Self {
        Self { key, owner }
    }
}

/// The actions taken for the last requests. Each person sees only their own.
#[derive(Debug)]
pub struct LastAnswers(Mutex<LruCache<LastKey, LastAction>>);

impl Default for LastAnswers {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_RECORDS)))
    }
}

impl LastAnswers {
    /// Records an action.
    pub fn note(&self, asked: LastKey, last: LastAction) {
        self.lock().put(asked, last);
    }

    /// The last action, if it is still recorded.
    #[must_use]
    pub fn of(&self, asked: &LastKey) -> Option<LastAction> {
        self.lock().peek(asked).cloned()
    }

    /// Whether an action for a request of this owner is recorded.
    #[must_use]
    pub fn has_any_of(&self, owner: &Owner) -> bool {
        self.lock().iter().any(|(asked, _)| asked.owner == *owner)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<LastKey, LastAction>> {
        // A panic cannot leave the records inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        LastAction { at, method: Method::GET, answer: StatusCode::OK, took: Duration::ZERO, status }
    }

    #[test]
    fn each_person_finds_their_own() {
        let all = LastAnswers::default();
        let ada = Owner::User("ada".into());
        all.note(asked(1, Owner::Local), last(CacheStatus::Queued));
        all.note(asked(1, Owner::Local), last(CacheStatus::Failed));
        assert_eq!(all.of(&asked(1, Owner::Local)), Some(last(CacheStatus::Failed)));
        assert!(all.has_any_of(&Owner::Local) && !all.has_any_of(&ada));
        assert_eq!(all.of(&asked(1, ada)), None);
        assert_eq!(all.of(&asked(2, Owner::Local)), None);
    }

    #[test]
    fn the_number_of_records_is_limited() {
        let all = LastAnswers::default();
        for at in 0..20_000 {
            all.note(asked(at, Owner::Local), last(CacheStatus::Queued));
            assert!(all.of(&asked(at, Owner::Local)).is_some());
        }
        assert_eq!(all.lock().len(), MAX_RECORDS.get());
    }
}
