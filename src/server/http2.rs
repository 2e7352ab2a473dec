//! HTTP/2 towards a client (RFC 9113), and what one connection of it may cost.
//!
//! What hyper and h2 beneath it do by themselves: a request with fields of one connection, bad
//! pseudo-fields, or a body of another length than it said is reset; a header list that is too
//! large is answered 431, a header block in too many pieces ends the connection, as do many
//! requests that were taken back before they were looked at (`ENHANCE_YOUR_CALM`). Frames that ask
//! for an answer (PING, SETTINGS) are read no faster than the answers can be written.
//!
//! Interim answers (1xx) are left out: hyper has no way for them on HTTP/2.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::debug;

use super::client_io::ClientIo;
use super::connection::MAX_REQUEST_FIELDS;
use super::places::Place;
use super::resets::ResetCounter;
use super::service::Service;
use super::streams::{Paced, Streams, hold};
use crate::proxy::visitor::Visitor;
use crate::proxy::{self, Client, reply};
use crate::server::context::ServerContext;
use crate::storage::statistics::Given;

/// The most streams of one connection at once: as many as RFC 9113 §6.5.2 advises at least, and as
/// browsers count on.
const MAX_STREAMS: u32 = 100;

/// The largest header list of a request, in bytes, as HTTP/2 counts them. A hundred of them may be
/// held at once; browsers send a few thousand bytes.
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// The largest frame that is taken, in bytes: the least that can be said (RFC 9113 §6.5.2).
const MAX_FRAME: u32 = 16 * 1024;

/// How much of one request's body may come before somebody reads it, in bytes.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The same for all streams of a connection together.
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How much of an answer one stream holds that its client has not taken, in bytes.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// How many requests may be taken back before they were looked at.
const MAX_RESET_BEFORE_ACCEPTED: usize = 20;

/// How many streams may be reset because of what the client did wrong.
const MAX_RESET_FOR_ERRORS: usize = 128;

/// How long a connection that was told to end, and has no stream, may take to do so.
const GOODBYE: Duration = Duration::from_secs(5);

/// Speaks HTTP/2 on `stream` until its client leaves, has no stream for too long, or the daemon
/// stops and its requests under way are done. Dropping it closes the connection.
///
/// # Errors
///
/// What ended it, if not its client in good order.
pub(super) async fn serve<T>(
    context: &Arc<ServerContext>,
    stream: T,
    visitor: Visitor,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = context.base.config();
    let streams = Streams::new(context.base.tasks.clone(), config.options.socket_timeout);
    let resets = ResetCounter::new(streams.clone());
    let io = ClientIo::new(stream, config.options.socket_timeout).counting(resets);
    let (handler, counted) = (Arc::clone(context), streams.clone());
    let service = service_fn(move |request| {
        counted.asked();
        answer(Arc::clone(&handler), visitor.clone(), request)
    });
    let mut builder = http2::Builder::new(streams.clone());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_frame_size(MAX_FRAME)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_SEND_BUFFER)
        .max_pending_accept_reset_streams(MAX_RESET_BEFORE_ACCEPTED)
        .max_local_error_reset_streams(MAX_RESET_FOR_ERRORS)
        .enable_connect_protocol();
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    tokio::select! {
        served = connection.as_mut() => return served,
        () = streams.abused() => return given_up(),
        () = streams.idle(config.options.idle_timeout) => {}
        () = context.base.tasks.stopping() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        served = connection => served,
        () = streams.abused() => given_up(),
        // A client that does not answer the goodbye, or does not take the end of its last answer.
        () = streams.idle(GOODBYE) => Ok(()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands for the end of a connection")]
fn given_up() -> hyper::Result<()> {
    debug!("the client resets most of its streams");
    Ok(())
}

/// Answers the request of one stream, when there is a place for it.
async fn answer(
    context: Arc<ServerContext>,
    visitor: Visitor,
    request: Request<Incoming>,
) -> Result<Response<Paced>, Infallible> {
    if request.headers().len() > MAX_REQUEST_FIELDS {
        let refused = reply::plain(431, "the request has more fields than are taken");
        return Ok(refused.map(|body| Paced::new(body, visitor, None)));
    }
    let patience = context.base.config().options.head_timeout;
    let (visitor, mut response) = match context.places.take(&request, patience).await {
        Some(place) => {
            let place = Arc::new(place);
            hold(&place);
            let visitor = visitor.in_stream(place);
            let server = Arc::new(Service(Arc::clone(&context)));
            let client = Client { interims: None, visitor: visitor.clone(), server };
            (visitor, proxy::handle(Arc::clone(&context.proxy), client, request).await)
        }
        None => (visitor, reply::plain(503, Place::NONE)),
    };
    let given = response.extensions_mut().remove::<Given>();
    Ok(response.map(|body| Paced::new(body, visitor, given)))
}
