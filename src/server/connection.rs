//! HTTP on the connection of a client.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tracing::debug;

use super::client_io::ClientIo;
use super::http2;
use super::parking::{LentStream, PARK_AFTER, ParkingTimer, next_bytes};
use super::repeat::{ExchangeBody, Replayer};
use super::service::Service;
use crate::base::statistics::ResponseCounter;
use crate::proxy::client_connection::{ClientConnection, HttpVersion};
use crate::proxy::{self, Client};
use crate::server::context::ServerContext;

/// The maximum size of a request head with its fields, in bytes. The length of a URL has no other
/// limit.
const MAX_REQUEST_HEAD: usize = 1024 * 1024 + 64 * 1024;

/// The maximum number of fields of a request.
pub(super) const MAX_REQUEST_FIELDS: usize = 256;

/// Speaks HTTP on `stream` until the client leaves or times out. If the daemon stops, the running
/// request is answered first. Dropping the future closes the connection.
///
/// # Errors
///
/// The error that ended the connection, unless the client closed it in order.
pub(crate) async fn speak<T>(
    context: &Arc<ServerContext>,
    stream: T,
    version: HttpVersion,
    connection: ClientConnection,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    match version {
        HttpVersion::Http1 => speak_http1(context, stream, Bytes::new(), connection).await,
        HttpVersion::Http2 => Box::pin(http2::serve(context, stream, connection)).await,
    }
}

/// Speaks HTTP/1.1, like [`speak`]. The bytes `first` were read from the stream before. Parks the connection while it waits for its next request.
///
/// # Errors
///
/// Those of [`speak`].
pub(super) async fn speak_http1<T>(
    context: &Arc<ServerContext>,
    mut stream: T,
    mut first: Bytes,
    connection: ClientConnection,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    loop {
        let (lent, mut returned, timer) = LentStream::new(stream, first);
        // Boxed, so that a parked connection does not need its memory.
        Box::pin(answer_requests(context, lent, timer, connection.clone())).await?;
        let Ok(parked) = returned.try_recv() else { return Ok(()) };
        debug!("the connection is parked");
        stream = parked;
        let patience = context.base.config().options.idle_timeout.saturating_sub(PARK_AFTER);
        let next = tokio::select! {
            next = timeout(patience, next_bytes(&mut stream)) => next.unwrap_or_default(),
            () = context.base.tasks.stopping() => Bytes::new(),
        };
        if next.is_empty() {
            // The client has left, or has been idle for too long, or the daemon stops.
            let patience = context.base.config().options.socket_timeout;
            let _ = timeout(patience, stream.shutdown()).await;
            return Ok(());
        }
        first = next;
    }
}

/// Answers the requests of a client until it leaves or is parked.
async fn answer_requests<T>(
    context: &Arc<ServerContext>,
    stream: LentStream<T>,
    timer: ParkingTimer,
    connection: ClientConnection,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = &context.base.config().options;
    let replayer = Replayer::new(Arc::clone(context), connection.clone());
    let (scope, exchange) = replayer.exchange();
    let io = ClientIo::new(stream, options.socket_timeout)
        .with_gate()
        .with_replayer(replayer)
        .parked_by(timer)
        .half_closed_for(options.head_timeout.max(options.socket_timeout));
    let service = Arc::new(Service(Arc::clone(context)));
    let (interims, presence) = (Some(io.interims()), io.presence());
    let client = Client { interims, presence, connection, server: service };
    let (handler, scope) = (Arc::clone(context), Arc::new(scope));
    let service = service_fn(move |request| {
        let (context, client) = (Arc::clone(&handler), client.clone());
        let (scope, exchange, asked) =
            (Arc::clone(&scope), Arc::clone(&exchange), exchange.take_request());
        async move {
            // hyper reserves memory for this future while the connection exists, so it is boxed.
            let answering = Box::pin(proxy::handle(Arc::clone(&context.proxy), client, request));
            let mut response = answering.await;
            let given = response.extensions_mut().remove::<ResponseCounter>();
            if let Some(asked) = asked {
                context.replays.remember(&scope, asked, given.as_ref(), &mut response);
            }
            Ok::<_, Infallible>(response.map(|body| ExchangeBody::new(body, exchange, given)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.idle_timeout)
        .max_headers(MAX_REQUEST_FIELDS)
        .max_buf_size(MAX_REQUEST_HEAD)
        .title_case_headers(true)
        // A replayed response is the same each time.
        .auto_date_header(context.proxy.traffic.fixture.is_none())
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        served = connection.as_mut() => return served,
        () = context.base.tasks.stopping() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
