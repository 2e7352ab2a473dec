//! What of an answer waits for its client to take it.
//!
//! hyper asks a body for more until as much waits as the head of a request may be long, a mebibyte, and has one setting for both.
//! A client that does not read would hold all that: so a body is asked for more only once most of what it gave has been sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

/// How much may wait before a body is asked for more, in bytes: what comes then may be as much again.
const ENOUGH: usize = 128 * 1024;

/// The pieces of one body that have been given to a connection and are not sent yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<State>);

#[derive(Debug, Default)]
struct State {
    bytes: AtomicUsize,
    /// Who wants to give more.
    waker: AtomicWaker,
}

/// One of them, until it has been sent.
struct Piece {
    bytes: Bytes,
    waiting: Waiting,
}

impl Waiting {
    /// Resolves when so little waits that there is room for another piece.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.0.waker.register(cx.waker());
        // A piece may have been sent between the look and the registration.
        if self.has_room() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// `piece`, which waits for as long as somebody has it.
    pub(super) fn count(&self, piece: Bytes) -> Bytes {
        self.0.bytes.fetch_add(piece.len(), Ordering::AcqRel);
        Bytes::from_owner(Piece { bytes: piece, waiting: self.clone() })
    }

    fn has_room(&self) -> bool {
        self.0.bytes.load(Ordering::Acquire) < ENOUGH
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.waiting.0.bytes.fetch_sub(self.bytes.len(), Ordering::AcqRel);
        self.waiting.0.waker.wake();
    }
}
