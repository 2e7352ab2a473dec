//! HTTP/2 in front of an [`Origin`](super::Origin): each stream becomes an HTTP/1.1 request on a
//! separate connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{Request, Response, ext};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The field that marks requests to the origin that arrived over HTTP/2.
pub(crate) const CAME_OVER: &str = "X-Came-Over";

/// Counters of the HTTP/2 streams.
#[derive(Default)]
pub(crate) struct Streams {
    active: AtomicUsize,
    most: AtomicUsize,
}

impl Streams {
    /// The largest number of concurrent streams.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// Serves HTTP/2 on a connection until it ends.
pub(crate) async fn serve<S>(
    stream: S,
    to: SocketAddr,
    max_streams: Option<u32>,
    streams: Arc<Streams>,
) -> Result<(), h2::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = h2::server::Builder::new();
    max_streams.map(|max| builder.max_concurrent_streams(max));
    let mut connection = builder.handshake::<_, Bytes>(stream).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        let streams = Arc::clone(&streams);
        tokio::spawn(async move {
            let active = streams.active.fetch_add(1, Ordering::SeqCst) + 1;
            streams.most.fetch_max(active, Ordering::SeqCst);
            answer(request, respond, to).await;
            streams.active.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(())
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, to: SocketAddr) {
    let respond_to = Arc::new(Mutex::new(Vec::<Response<()>>::new()));
    let request = inside(request, &respond_to);
    let stream = TcpStream::connect(to).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(drop)?;
        for interim in std::mem::take(&mut *respond_to.lock().unwrap()) {
            respond.send_informational(interim).map_err(drop)?;
        }
        let (mut parts, mut body) = answer.into_parts();
        parts.version = hyper::Version::HTTP_2;
        for name in [CONNECTION, TRANSFER_ENCODING, HeaderName::from_static("keep-alive")] {
            parts.headers.remove(name);
        }
        let is_empty = body.is_end_stream();
        let mut out =
            respond.send_response(Response::from_parts(parts, ()), is_empty).map_err(drop)?;
        while let Some(frame) = body.frame().await {
            match frame.map_err(drop)?.into_data() {
                Ok(mut data) => {
                    while !data.is_empty() {
                        out.reserve_capacity(data.len());
                        let room = poll_fn(|cx| out.poll_capacity(cx)).await.ok_or(())?;
                        let piece = data.split_to(room.map_err(drop)?.min(data.len()));
                        out.send_data(piece, false).map_err(drop)?;
                    }
                }
                Err(frame) => {
                    return out.send_trailers(frame.into_trailers().unwrap()).map_err(drop);
                }
            }
        }
        if is_empty { Ok(()) } else { out.send_data(Bytes::new(), true).map_err(drop) }
    };
    let ended = exchange.await;
    if ended.is_err() {
        respond.send_reset(Reason::INTERNAL_ERROR);
    }
    drop(sender);
    connection.abort();
}

/// Converts the request to HTTP/1.1.
fn inside(
    request: Request<RecvStream>,
    interims: &Arc<Mutex<Vec<Response<()>>>>,
) -> Request<UnsyncBoxBody<Bytes, h2::Error>> {
    let (mut parts, body) = request.into_parts();
    assert_eq!(parts.uri.scheme_str(), Some("https"));
    let authority = parts.uri.authority().unwrap().to_string();
    assert!(!parts.headers.contains_key(HOST));
    parts.headers.insert(HOST, HeaderValue::try_from(authority).unwrap());
    parts.headers.insert(
        HeaderName::from_bytes(CAME_OVER.as_bytes()).unwrap(),
        HeaderValue::from_static("h2"),
    );
    parts.uri = parts.uri.path_and_query().unwrap().as_str().parse().unwrap();
    parts.version = hyper::Version::HTTP_11;
    let body = Incoming { body }.boxed_unsync();
    let mut request = Request::from_parts(parts, body);
    let heard = Arc::clone(interims);
    ext::on_informational(&mut request, move |interim| {
        let mut copy = Response::new(());
        *copy.status_mut() = interim.status();
        *copy.headers_mut() = interim.headers().clone();
        heard.lock().unwrap().push(copy);
    });
    request
}

struct Incoming {
    body: RecvStream,
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        self.body.poll_data(cx).map(|data| {
            data.map(|data| {
                let data = data?;
                self.body.flow_control().release_capacity(data.len())?;
                Ok(Frame::data(data))
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_end_stream() { SizeHint::with_exact(0) } else { SizeHint::default() }
    }
}
