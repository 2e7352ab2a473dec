//! Answers repeated requests of one connection from the complete responses.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use super::{Exchange, Ready, ReplayScope};
use crate::base::clock;
use crate::proxy::admit;
use crate::proxy::client_connection::ClientConnection;
use crate::server::context::ServerContext;

/// The longest request that is remembered, in bytes.
const MAX_REQUEST: usize = 8 * 1024;

/// The number of responses that a connection gets before other connections are served. Without this
/// limit, a fast client would delay the others. Switching after each response would cost more.
const TURN: u8 = 4;

/// The last bytes of every request without a body.
const END: &[u8] = b"\r\n\r\n";

/// The part of a connection that answers repeated requests.
#[derive(Debug)]
pub(in crate::server) struct Replayer {
    context: Arc<ServerContext>,
    connection: ClientConnection,
    scope: ReplayScope,
    exchange: Arc<Exchange>,
    /// The number of responses that hyper has written completely.
    flushed: usize,
    /// The time when hyper last received a request. hyper ends a connection without requests after
    /// some time.
    passed: Instant,
    /// The maximum time during which hyper receives no request.
    patience: Duration,
    /// The response that is being sent.
    answering: Option<RunningReplay>,
    /// The number of responses sent since this connection got its turn (see `TURN`).
    turn: u8,
}

#[derive(Debug)]
struct RunningReplay {
    ready: Arc<Ready>,
    written: usize,
}

impl Replayer {
    /// Creates the replayer of a new connection.
    pub(in crate::server) fn new(
        context: Arc<ServerContext>,
        connection: ClientConnection,
    ) -> Self {
        let scope = ReplayScope::of(&connection);
        let patience = context.base.config().options.idle_timeout / 4;
        let (exchange, passed) = (Arc::default(), Instant::now());
        let (flushed, answering, turn) = (0, None, 0);
        Self { context, connection, scope, exchange, flushed, passed, patience, answering, turn }
    }

    /// The values that the service of the connection needs.
    pub(in crate::server) fn exchange(&self) -> (ReplayScope, Arc<Exchange>) {
        (self.scope.clone(), Arc::clone(&self.exchange))
    }

    /// Records that hyper has written everything.
    pub(in crate::server) fn flushed(&mut self) {
        self.flushed = self.exchange.answered_count();
    }

    /// Whether hyper has answered all `heads` requests so far and waits for another.
    pub(in crate::server) fn is_idle(&self, heads: usize) -> bool {
        self.flushed == heads && self.exchange.answered_count() == heads
    }

    /// Takes `fresh`, the bytes of the request after `heads` others, if a complete response for it
    /// is available. Returns true in this case, and hyper does not receive the bytes.
    pub(in crate::server) fn take(&mut self, heads: usize, fresh: &[u8]) -> bool {
        // hyper still has an earlier request, or is writing a response.
        if fresh.is_empty() || !self.is_idle(heads) {
            return false;
        }
        self.exchange.set_request(None);
        if fresh.len() > MAX_REQUEST || !fresh.ends_with(END) {
            return false;
        }
        if self.passed.elapsed() < self.patience
            && let Some(ready) =
                self.context.replays.get(&self.context, &self.scope, fresh, clock::now())
            && admit::may_still_serve(&self.context.proxy, &self.connection)
        {
            ready.count();
            self.answering = Some(RunningReplay { ready, written: 0 });
            self.turn += 1;
            return true;
        }
        self.exchange.set_request(Some(Bytes::copy_from_slice(fresh)));
        self.passed = Instant::now();
        false
    }

    /// Whether the turn of this connection has ended. If so, the next turn starts when the
    /// connection is polled again.
    pub(in crate::server) fn ends_its_turn(&mut self) -> bool {
        let is_over = self.turn >= TURN;
        if is_over {
            self.turn = 0;
        }
        is_over
    }

    /// Whether a response is being sent.
    pub(in crate::server) fn is_answering(&self) -> bool {
        self.answering.is_some()
    }

    /// Sends the next bytes.
    pub(in crate::server) fn poll_step<T: AsyncWrite>(
        &mut self,
        inner: Pin<&mut T>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(RunningReplay { ready, written }) = &mut self.answering else {
            return Poll::Ready(Ok(()));
        };
        let head = ready.head.get(*written..).unwrap_or_default();
        let body = written.saturating_sub(ready.head.len());
        let body = ready.body.get(body..).unwrap_or_default();
        if head.is_empty() && body.is_empty() {
            ready!(inner.poll_flush(cx))?;
            self.answering = None;
            return Poll::Ready(Ok(()));
        }
        let pieces = [IoSlice::new(head), IoSlice::new(body)];
        let pieces = if head.is_empty() { pieces.get(1..).unwrap_or_default() } else { &pieces };
        match ready!(inner.poll_write_vectored(cx, pieces))? {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            more => {
                *written += more;
                Poll::Ready(Ok(()))
            }
        }
    }
}
