//! A client of HTTP/2.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use hyper::{Request, Response as HttpResponse};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tokio::runtime::Runtime;
use wwwoffle::tls::provider::provider;

use super::PATIENCE;
use super::client::{Client, Head, Response};
use super::wire::{Broken, Fields};

/// A client configuration with the trusted authority in DER and the offered protocols.
pub(crate) fn tls(authority: &[u8], alpn: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if !authority.is_empty() {
        roots.add(authority.to_vec().into()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

/// A TLS connection, made directly or through CONNECT. Each call blocks for at most [`PATIENCE`].
pub(crate) type Secured = StreamOwned<ClientConnection, TcpStream>;

/// Starts TLS on `stream`, with `name` as the server name.
pub(crate) fn secure(
    mut stream: TcpStream,
    name: &str,
    config: Arc<ClientConfig>,
) -> io::Result<Secured> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let name = name.to_owned().try_into().unwrap();
    let mut connection = ClientConnection::new(config, name).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// A TCP connection to `target`, opened with CONNECT.
#[track_caller]
pub(crate) fn tunnel(proxy: SocketAddr, target: &str) -> TcpStream {
    let mut plain = Client::connect(proxy);
    plain.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    let head = plain.head().ok().flatten().expect("a response to CONNECT");
    assert_eq!(head.status, 200, "CONNECT {target}");
    plain.into_tcp()
}

/// An HTTP/2 connection.
pub(crate) struct Http2 {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    authority: String,
}

impl Http2 {
    /// Connects through the proxy to `target`, trusting `authority`.
    #[track_caller]
    pub(crate) fn inside(proxy: SocketAddr, target: &str, authority: &[u8]) -> Self {
        Self::over(tunnel(proxy, target), target, authority)
    }

    /// Starts HTTP/2 on `stream`. The peer is `host_port`.
    #[track_caller]
    pub(crate) fn over(stream: TcpStream, host_port: &str, authority: &[u8]) -> Self {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(1 << 20).initial_connection_window_size(1 << 24);
        Self::built(stream, host_port, authority, &builder)
    }

    /// Like [`over`](Self::over), with the settings of `builder`.
    #[track_caller]
    pub(crate) fn built(
        stream: TcpStream,
        host_port: &str,
        authority: &[u8],
        builder: &h2::client::Builder,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let name = host_port.rsplit_once(':').unwrap().0.to_owned().try_into().unwrap();
        let config = tls(authority, &[b"h2"]);
        let (sender, connection) = runtime.block_on(async {
            stream.set_nonblocking(true).unwrap();
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let tls = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.unwrap();
            assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            builder.handshake::<_, Bytes>(tls).await.unwrap()
        });
        // The streams report how the connection ends, so the result is not needed.
        runtime.spawn(async move { drop(connection.await) });
        Self { runtime, sender, authority: host_port.to_owned() }
    }

    /// Runs `work` on the runtime of the connection, for at most [`PATIENCE`].
    #[track_caller]
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await }).unwrap()
    }

    /// A request for a path of this connection's host.
    pub(crate) fn request(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Request<()> {
        let uri = format!("https://{}{path}", self.authority);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    /// Starts a request. If `end`, it has no body.
    pub(crate) async fn begin(
        &self,
        request: Request<()>,
        end: bool,
    ) -> Result<(h2::client::ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut sender = self.sender.clone().ready().await?;
        sender.send_request(request, end)
    }

    /// Sends a GET and returns the response, which may be truncated.
    #[track_caller]
    pub(crate) fn get(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.ask("GET", path, fields, None)
    }

    /// Sends a request and returns the response, which may be truncated.
    #[track_caller]
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Response {
        self.exchange(self.request(method, path, fields), body).unwrap()
    }

    /// Sends a request. Returns the response, which may be truncated, or the error of its stream.
    pub(crate) fn exchange(
        &self,
        request: Request<()>,
        body: Option<&[u8]>,
    ) -> Result<Response, h2::Error> {
        self.run(async {
            let (answer, mut stream) = self.begin(request, body.is_none()).await?;
            if let Some(body) = body {
                send(&mut stream, body).await?;
            }
            Ok(receive(answer.await?).await)
        })
    }

    /// Sends a GET for each path without waiting for responses. Returns the responses in order.
    #[track_caller]
    pub(crate) fn get_all(&self, paths: &[String]) -> Vec<Response> {
        self.run(async {
            let mut answers = Vec::new();
            for path in paths {
                answers.push(self.begin(self.request("GET", path, &[]), true).await.unwrap().0);
            }
            let mut whole = Vec::new();
            for answer in answers {
                whole.push(receive(answer.await.unwrap()).await);
            }
            whole
        })
    }
}

/// Sends a whole body as fast as the flow-control window permits.
async fn send(stream: &mut SendStream<Bytes>, mut body: &[u8]) -> Result<(), h2::Error> {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let free = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap()?;
        let (piece, rest) = body.split_at(free.min(body.len()));
        stream.send_data(Bytes::copy_from_slice(piece), false)?;
        body = rest;
    }
    stream.send_data(Bytes::new(), true)
}

fn fields(map: &hyper::HeaderMap) -> Fields {
    let text = |value: &hyper::header::HeaderValue| {
        value.as_bytes().iter().map(|byte| char::from(*byte)).collect()
    };
    Fields(map.iter().map(|(name, value)| (name.to_string(), text(value))).collect())
}

/// Reads a response to its end.
pub(crate) async fn receive(answer: HttpResponse<RecvStream>) -> Response {
    let (parts, mut stream) = answer.into_parts();
    let head = Head { status: parts.status.as_u16(), fields: fields(&parts.headers) };
    let (mut body, mut whole) = (Vec::new(), Ok(()));
    while let Some(piece) = stream.data().await {
        match piece {
            Ok(piece) => {
                let _gone = stream.flow_control().release_capacity(piece.len());
                body.extend_from_slice(&piece);
            }
            Err(error) => {
                whole = Err(Broken::Syntax(error.to_string()));
                break;
            }
        }
    }
    let trailers = match stream.trailers().await {
        Ok(Some(trailers)) => fields(&trailers),
        _ => Fields::default(),
    };
    Response {
        status: head.status,
        fields: head.fields.clone(),
        head,
        body,
        trailers,
        interim: Vec::new(),
        whole,
    }
}
