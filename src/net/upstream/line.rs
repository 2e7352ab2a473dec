//! A TCP connection whose state can be checked while another task owns it.
//!
//! An HTTP/1.1 response does not name its request. So unsolicited bytes of an origin would be taken
//! for the response to the next request. The task that runs the connection sees such bytes only
//! when the runtime polls it. On a busy machine that may be after the next request was written. But
//! the operating system knows at once that such bytes have arrived.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, Join, ReadBuf, join};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The connection, for the task that runs it.
pub(super) type ProbedStream = Join<SharedReader, OwnedWriteHalf>;

/// The half of the connection that the task reads.
#[derive(Debug)]
pub(super) struct SharedReader(Arc<Mutex<OwnedReadHalf>>);

/// A weak reference to the connection, to check whether it may be used. It does not keep the
/// connection open.
#[derive(Clone, Debug)]
pub(super) struct StreamProbe(Weak<Mutex<OwnedReadHalf>>);

/// Prepares a connection for its task, with the reference to check it.
pub(super) fn probed(stream: TcpStream) -> (ProbedStream, StreamProbe) {
    let (inward, outward) = stream.into_split();
    let inward = Arc::new(Mutex::new(inward));
    let probe = StreamProbe(Arc::downgrade(&inward));
    (join(SharedReader(inward), outward), probe)
}

impl StreamProbe {
    /// Whether the connection is open, and has neither unread bytes nor an end of stream.
    pub(super) fn is_quiet(&self) -> bool {
        let Some(inward) = self.0.upgrade() else { return false };
        let mut byte = [MaybeUninit::uninit()];
        let seen = SockRef::from(lock(&inward).as_ref()).peek(&mut byte);
        seen.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

fn lock(inward: &Mutex<OwnedReadHalf>) -> MutexGuard<'_, OwnedReadHalf> {
    // A panic cannot leave a socket half changed.
    inward.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for SharedReader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_read(cx, buffer)
    }
}
