//! In what order requests go, and how a person changes it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use wwwoffle_url::Key;

use super::{Queue, RequestLookup};
use crate::error::Result;
use crate::fs::parallel::lock;
use crate::queue::outgoing::{Outgoing, OutgoingSummary};

/// What a person has said of when a request goes. What goes first is the least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before all others.
    First,
    /// Nobody has said anything.
    #[default]
    Usual,
    /// After all others.
    Last,
}

/// A text that is no [`Priority`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsePriorityError;

/// The place of a request among those that may go: the least goes first. Of requests with one priority
/// it is their kind that counts ([`crate::RequestKind::rank`]), of those of one kind how long they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePosition {
    /// What a person has said.
    pub priority: Priority,
    /// The rank of its kind.
    pub rank: u8,
    /// When it was asked for.
    pub queued: Timestamp,
    /// Its key, which no other one has.
    pub key: Key,
}

impl Priority {
    /// All there are, in their order.
    pub const ALL: [Priority; 3] = [Priority::First, Priority::Usual, Priority::Last];

    /// As it is written.
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

impl fmt::Display for ParsePriorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a priority is first, usual or last")
    }
}

impl std::error::Error for ParsePriorityError {}

impl OutgoingSummary {
    /// Its place among those that may go.
    #[must_use]
    pub fn turn(&self) -> QueuePosition {
        let (rank, key) = (self.kind.rank(), self.place.key());
        QueuePosition { priority: self.priority, rank, queued: self.queued, key }
    }
}

impl Queue {
    /// Gives these requests a priority, durably one after the other; those that are not there are passed
    /// over. Returns how many have it now.
    ///
    /// # Errors
    ///
    /// If the disk fails; those before it have it.
    pub fn prioritize(&self, keys: &[Key], priority: Priority) -> Result<u64> {
        let mut count = 0;
        for key in keys {
            let _changing = lock(&self.tree.outbox.changing);
            let Some(known) = self.summary(key) else { continue };
            if known.priority != priority {
                // What cannot be read is set aside by whoever fetches it.
                let RequestLookup::Request(mut request) = self.read(key)? else { continue };
                request.priority = priority;
                self.write(&request)?;
            }
            count += 1;
        }
        Ok(count)
    }
}

/// The priority that a request has when it is asked for again: that of what a person wants first lifts it,
/// and nothing else changes what a person has said of it.
pub(super) fn raised(known: Priority, new: Priority) -> Priority {
    match new.cmp(&Priority::Usual) {
        Ordering::Less => new,
        Ordering::Equal | Ordering::Greater => known,
    }
}

/// Gives a request that was read some time ago the priority that it has by now.
pub(super) fn as_it_is_now(request: &Outgoing, known: &OutgoingSummary) -> Option<Outgoing> {
    (request.priority != known.priority)
        .then(|| Outgoing { priority: known.priority, ..request.clone() })
}
