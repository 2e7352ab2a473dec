//! Priorities, and the order of requests.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_url::Key;

use super::Queue;
use super::files::RequestFile;
use crate::error::Result;
use crate::fs::parallel::lock;
use crate::queue::outgoing::OutgoingSummary;

/// The priority that a person gave a request. Requests with the least value are fetched first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before all others.
    First,
    /// No priority was given.
    #[default]
    Usual,
    /// After all others.
    Last,
}

/// A text that is not a [`Priority`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a priority is first, usual or last")]
pub struct ParsePriorityError;

/// The position of a request in the queue. The request with the least position is fetched first.
/// The order is by priority, then by kind ([`crate::RequestKind::rank`]), then by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePosition {
    /// The given priority.
    pub priority: Priority,
    /// The rank of the request's kind.
    pub rank: u8,
    /// When the request was made.
    pub queued: Timestamp,
    /// The unique key of the request.
    pub key: Key,
}

impl Priority {
    /// All priorities, highest first.
    pub const ALL: [Priority; 3] = [Priority::First, Priority::Usual, Priority::Last];

    /// Whether no priority was given.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Priority::Usual
    }

    /// The name in files and commands.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Priority::First => "first",
            Priority::Usual => "usual",
            Priority::Last => "last",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Priority {
    type Err = ParsePriorityError;

    fn from_str(text: &str) -> Result<Priority, ParsePriorityError> {
        Priority::ALL.into_iter().find(|one| one.as_str() == text).ok_or(ParsePriorityError)
    }
}

impl OutgoingSummary {
    /// The position in the queue.
    #[must_use]
    pub fn position(&self) -> QueuePosition {
        let (rank, key) = (self.kind.rank(), self.place.key());
        QueuePosition { priority: self.priority, rank, queued: self.queued, key }
    }
}

impl Queue {
    /// Sets the priority of requests, durably, one after the other. Missing requests are skipped.
    /// Returns the number of requests that now have this priority.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full; earlier requests keep the new priority.
    pub fn prioritize(&self, keys: &[Key], priority: Priority) -> Result<u64> {
        let mut count = 0;
        for key in keys {
            let _changing = lock(&self.tree.outbox.changing);
            let Some(known) = self.summary(key) else { continue };
            if known.priority != priority {
                // An unreadable file is set aside when the request is fetched.
                let RequestFile::Valid(mut request) = self.read(key)? else { continue };
                request.summary.priority = priority;
                self.write(&request)?;
            }
            count += 1;
        }
        Ok(count)
    }
}

/// The priority of a request that is made again. Only a new request with priority `first` changes
/// it.
pub(super) fn raised_priority(known: Priority, new: Priority) -> Priority {
    match new.cmp(&Priority::Usual) {
        Ordering::Less => new,
        Ordering::Equal | Ordering::Greater => known,
    }
}
