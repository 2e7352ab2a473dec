//! Whether the client of a request may have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a client has closed its half of the connection. Such a client may have left, or may wait
/// for its response. Only a failed write shows which.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<AtomicBool>);

impl Presence {
    /// Records that the client has closed its half.
    pub fn set_half_closed(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the client may have left.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
