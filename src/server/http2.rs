//! HTTP/2 to a client (RFC 9113), and the limits of one connection.
//!
//! hyper and h2 enforce these rules. A request is reset if it has connection fields, bad
//! pseudo-fields, or a body whose length differs from the declared length. A header list that is
//! too large gets 431. A header block in too many pieces ends the connection. Many requests that
//! are cancelled before they are accepted also end it (`ENHANCE_YOUR_CALM`). Frames that need an
//! answer (PING, SETTINGS) are not read faster than the answers can be written.
//!
//! Interim responses (1xx) are dropped, because hyper cannot send them over HTTP/2.

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

use super::client_io::ClientIo;
use super::connection::MAX_REQUEST_FIELDS;
use super::resets::ResetCounter;
use super::service::Service;
use super::slots::RequestSlot;
use super::streams::{PacedBody, Streams, remember_slot};
use crate::base::presence::Presence;
use crate::base::statistics::ResponseCounter;
use crate::proxy::client_connection::ClientConnection;
use crate::proxy::{self, Client, reply};
use crate::server::context::ServerContext;

/// The maximum number of simultaneous streams of a connection. RFC 9113 §6.5.2 recommends at least
/// this number, and browsers expect it.
const MAX_STREAMS: u32 = 100;

/// The maximum size of a request's header list, in bytes as HTTP/2 counts them. Up to a hundred
/// lists may be in memory at once. Browsers send a few thousand bytes.
const MAX_HEADER_LIST: u32 = 64 * 1024;

/// The maximum size of an accepted frame in bytes. It is the smallest value that RFC 9113 §6.5.2
/// allows for this setting.
const MAX_FRAME: u32 = 16 * 1024;

/// The maximum unread part of one request body, in bytes.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The maximum unread part of all request bodies of a connection, in bytes.
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The maximum unsent part of one response, in bytes.
const MAX_SEND_BUFFER: usize = 64 * 1024;

/// The number of requests that may be cancelled before they are accepted.
const MAX_RESET_BEFORE_ACCEPTED: usize = 20;

/// The number of streams that may be reset because of errors of the client.
const MAX_RESET_FOR_ERRORS: usize = 128;

/// The time within which a connection without streams must close after GOAWAY.
const GOODBYE: Duration = Duration::from_secs(5);

/// Speaks HTTP/2 on `stream` until the client leaves or has no stream for too long. If the daemon
/// stops, the running requests are answered first. Dropping the future closes the connection.
///
/// # Errors
///
/// The error that ended the connection, unless the client closed it in order.
pub(super) async fn serve<T>(
    context: &Arc<ServerContext>,
    stream: T,
    connection: ClientConnection,
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
        counted.count_request();
        answer(Arc::clone(&handler), connection.clone(), request)
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
        // A replayed response is the same each time.
        .auto_date_header(context.proxy.traffic.fixture.is_none())
        .enable_connect_protocol();
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    tokio::select! {
        served = connection.as_mut() => return served,
        () = streams.abused() => return Ok(()),
        () = streams.idle(config.options.idle_timeout) => {}
        () = context.base.tasks.stopping() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        served = connection => served,
        () = streams.abused() => Ok(()),
        // The client does not answer the GOAWAY, or does not read the end of its last response.
        () = streams.idle(GOODBYE) => Ok(()),
    }
}

/// Answers the request of one stream when a request slot is free. Refuses the request if it has too
/// many fields, or if no slot becomes free in time.
async fn answer(
    context: Arc<ServerContext>,
    connection: ClientConnection,
    request: Request<Incoming>,
) -> Result<Response<PacedBody>, Infallible> {
    if request.headers().len() > MAX_REQUEST_FIELDS {
        let refused = reply::plain(431, "the request has more fields than are accepted");
        return Ok(refused.map(|body| PacedBody::new(body, connection, None)));
    }
    let patience = context.base.config().options.head_timeout;
    let (connection, mut response) = match context.slots.take(&request, patience).await {
        Some(slot) => {
            let slot = Arc::new(slot);
            remember_slot(&slot);
            let connection = connection.in_stream(slot);
            let server = Arc::new(Service(Arc::clone(&context)));
            let presence = Presence::default();
            let client =
                Client { interims: None, presence, connection: connection.clone(), server };
            (connection, proxy::handle(Arc::clone(&context.proxy), client, request).await)
        }
        None => (connection, reply::plain(503, RequestSlot::NONE)),
    };
    let given = response.extensions_mut().remove::<ResponseCounter>();
    Ok(response.map(|body| PacedBody::new(body, connection, given)))
}
