//! What a node has pushed and pulled, for its status.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counts since the start, and of the shared queue.
#[derive(Debug, Default)]
pub(super) struct PushCounts {
    pushed: AtomicU64,
    skipped: AtomicU64,
    pulled: AtomicU64,
    /// The requests of this node that others may fetch now.
    given: AtomicUsize,
    /// The requests of others that this node fetches now.
    taken: AtomicUsize,
}

impl PushCounts {
    pub(super) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::Relaxed)
    }

    pub(super) fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    pub(super) fn pulled(&self) -> u64 {
        self.pulled.load(Ordering::Relaxed)
    }

    pub(super) fn given(&self) -> usize {
        self.given.load(Ordering::Relaxed)
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn set_requests(&self, given: usize, taken: usize) {
        self.given.store(given, Ordering::Relaxed);
        self.taken.store(taken, Ordering::Relaxed);
    }

    pub(super) fn add_pulled(&self) {
        self.pulled.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn add_pushed(&self) {
        self.pushed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }
}
