//! Limits the part of a response that waits for its client.
//!
//! hyper has one setting for the length of a request head and for the unsent bytes of a response:
//! more than one mebibyte. A client that does not read would hold all of that memory. So the next
//! piece is only requested when most of the earlier pieces were sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

/// The number of unsent bytes below which another piece is requested. That piece, read from a file,
/// may be as large again.
const ENOUGH: usize = 128 * 1024;

/// The pieces of one body that have been given to a connection and are not sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<WaitingState>);

#[derive(Debug, Default)]
struct WaitingState {
    bytes: AtomicUsize,
    /// The task that waits for space.
    waker: AtomicWaker,
}

/// A piece of a body until it has been sent.
struct WaitingPiece {
    bytes: Bytes,
    waiting: Waiting,
}

impl Waiting {
    /// Resolves when another piece may be given.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.0.waker.register(cx.waker());
        // A piece may have been sent between the check and the registration of the waker, so this
        // checks again.
        if self.has_room() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Wraps `piece`, which counts as unsent until it is dropped.
    pub(super) fn count(&self, piece: Bytes) -> Bytes {
        self.0.bytes.fetch_add(piece.len(), Ordering::AcqRel);
        Bytes::from_owner(WaitingPiece { bytes: piece, waiting: self.clone() })
    }

    fn has_room(&self) -> bool {
        self.0.bytes.load(Ordering::Acquire) < ENOUGH
    }
}

impl AsRef<[u8]> for WaitingPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for WaitingPiece {
    fn drop(&mut self) {
        self.waiting.0.bytes.fetch_sub(self.bytes.len(), Ordering::AcqRel);
        self.waiting.0.waker.wake();
    }
}
