//! Bounds the part of a response that waits for its client.
//!
//! hyper requests more of a body until as much waits as a request head may be long, one mebibyte:
//! it has one setting for both. A client that does not read would hold all of that. So the next
//! piece is only requested when most of the earlier ones were sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

/// The unsent bytes up to which another piece is requested. That piece may have as many bytes
/// again.
const ENOUGH: usize = 128 * 1024;

/// The pieces of one body that have been given to a connection and are not sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<WaitingState>);

#[derive(Debug, Default)]
struct WaitingState {
    bytes: AtomicUsize,
    /// The task that waits to give more.
    waker: AtomicWaker,
}

/// A piece of a body until it has been sent.
struct WaitingPiece {
    bytes: Bytes,
    waiting: Waiting,
}

impl Waiting {
    /// Resolves when there is room for another piece.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.0.waker.register(cx.waker());
        // A piece may have been sent between the check and the registration.
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
