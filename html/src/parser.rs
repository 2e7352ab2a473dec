//! Limits and types for replacing an HTML parser that has reached its memory limit. The new parser
//! continues at the same tag.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of bytes that are passed to a parser at once.
pub(crate) const STEP: usize = 16 * 1024;

/// The number of bytes of element names after which a parser is replaced, because it does not count
/// these bytes against its memory limit.
pub(crate) const MAX_NAMES: usize = 4 << 20;

/// The number of unread bytes that a replacement parser may get at once. If there are more, a
/// single tag is too long.
pub(crate) const MAX_UNREAD: usize = 1 << 20;

/// The output of a parser.
pub(crate) type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// An error that stops a parser at a tag. A new parser reads this tag again.
#[derive(Debug, thiserror::Error)]
#[error("the parser is replaced")]
pub(crate) struct Restart;

/// Locks the state that the handlers of a parser share. Handlers do not panic while they hold a
/// lock, and the data is always consistent.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
