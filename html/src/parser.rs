//! Replacing an HTML parser that has reached its memory bound by a new one at the same tag.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many bytes are passed to a parser at once.
pub(crate) const STEP: usize = 16 * 1024;

/// How many bytes of element names a parser may see before it is replaced: it does not count them
/// as memory.
pub(crate) const MAX_NAMES: usize = 4 << 20;

/// How many unread bytes a replacement parser may get at once. There are more if a single tag is
/// too long.
pub(crate) const MAX_UNREAD: usize = 1 << 20;

/// The output of a parser.
pub(crate) type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// Stops a parser at a tag, which a new parser reads again.
#[derive(Debug, thiserror::Error)]
#[error("the parser is replaced")]
pub(crate) struct Restart;

/// Locks state that the handlers of a parser share. Handlers do not panic while they hold a lock,
/// and the data is consistent at any point.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
