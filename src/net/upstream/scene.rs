//! For tests: an HTTP/2 origin that sends scripted frames, and a client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Dialer, Failure, Origin, Outbound, Scheme, Tls, TlsDetails, Upstream, UpstreamLimits};
use crate::base::mode::{Mode, ModeSwitch};
use crate::base::tasks::Tasks;
use crate::tls::provider::provider;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// `:status: 200` in the static table (RFC 7541 §A).
pub(super) const OK: u8 = 0x88;

/// A body size, in bytes, that exceeds the initial window of an origin.
pub(super) const LARGE: usize = 1 << 20;

/// In a script: the origin closes the connection.
pub(super) const CLOSE: &[u8] = b"<close>";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A literal field without indexing (RFC 7541 §6.2.2).
pub(super) fn field(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    let lengths = [name.len(), value.len()].map(|length| u8::try_from(length).unwrap());
    assert!(lengths.iter().all(|length| *length < 127));
    [&[0, lengths[0]], name, &[lengths[1]], value].concat()
}

pub(super) fn status(code: &str) -> Vec<u8> {
    [&[8, 3], code.as_bytes()].concat()
}

/// A complete response.
pub(super) fn whole(stream: u32) -> Vec<u8> {
    [frame(HEADERS, END_HEADERS, stream, &[OK]), frame(DATA, END_STREAM, stream, b"fine")].concat()
}

pub(super) fn only(code: &str, stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &status(code))
}

pub(super) fn reset(stream: u32, reason: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &reason.to_be_bytes())
}

pub(super) fn go_away(last: u32, reason: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), reason.to_be_bytes()].concat())
}

/// A received request: the number of its connection, its number among all requests, and its stream.
#[derive(Clone, Copy)]
pub(super) struct SceneRequest {
    pub(super) connection: usize,
    pub(super) number: usize,
    pub(super) stream: u32,
}

pub(super) type Script = Box<dyn Fn(SceneRequest) -> Vec<u8> + Send + Sync>;

/// A scripted origin, and its observations.
pub(super) struct SceneOrigin {
    script: Script,
    acceptor: TlsAcceptor,
    connections: AtomicUsize,
    requests: AtomicUsize,
    protocols: Mutex<Vec<String>>,
    /// The writers to the clients, by connection.
    writers: tokio::sync::Mutex<HashMap<usize, WriteHalf<TlsStream<TcpStream>>>>,
    port: u16,
}

impl SceneOrigin {
    async fn serve(self: Arc<Self>, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = self.acceptor.accept(stream).await?;
        let connection = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let protocol = stream.get_ref().1.alpn_protocol().unwrap_or_default().to_vec();
        let name = stream.get_ref().1.server_name().unwrap_or_default().to_owned();
        let spoken = format!("{name} {}", String::from_utf8_lossy(&protocol));
        self.protocols.lock().unwrap().push(spoken);
        if protocol != b"h2" {
            stream.read_buf(&mut Vec::with_capacity(4096)).await?;
            self.requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold").await?;
            return stream.flush().await;
        }
        let (mut stream, writer) = split(stream);
        self.writers.lock().await.insert(connection, writer);
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).await?;
        self.write(connection, &frame(SETTINGS, 0, 0, &[])).await?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let mut payload = vec![0; length.try_into().unwrap()];
            stream.read_exact(&mut payload).await?;
            let bytes = match (head[3], head[4]) {
                (SETTINGS, 0) => frame(SETTINGS, ACK, 0, &[]),
                (PING, 0) => frame(PING, ACK, 0, &payload),
                (HEADERS, _) => {
                    let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
                    (self.script)(SceneRequest { connection, number, stream: id })
                }
                _ => continue,
            };
            self.write(connection, bytes.strip_suffix(CLOSE).unwrap_or(&bytes)).await?;
            if bytes.ends_with(CLOSE) {
                let writer = self.writers.lock().await.remove(&connection);
                return writer.expect("a connection").shutdown().await;
            }
        }
    }

    /// Writes to a connection by its number.
    async fn write(&self, connection: usize, bytes: &[u8]) -> std::io::Result<()> {
        let mut writers = self.writers.lock().await;
        let writer = writers.get_mut(&connection).expect("a connection");
        writer.write_all(bytes).await?;
        writer.flush().await
    }
}

pub(super) fn limits(patience: Duration) -> UpstreamLimits {
    UpstreamLimits {
        head_timeout: patience,
        socket_timeout: patience,
        idle_timeout: patience,
        per_origin: 16,
    }
}

/// An origin with a certificate, a client that sends requests to it, and the mode of the client.
pub(super) struct Scene {
    there: Arc<SceneOrigin>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) mode: ModeSwitch,
}

impl Scene {
    pub(super) async fn new(
        script: impl Fn(SceneRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::for_names(&["a.test", "b.test", "elsewhere.test"], script).await
    }

    pub(super) async fn for_names(
        names: &[&str],
        script: impl Fn(SceneRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::patient(Duration::from_secs(20), names, script).await
    }

    pub(super) async fn patient(
        patience: Duration,
        names: &[&str],
        script: impl Fn(SceneRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let mut root = CertificateParams::new(Vec::new()).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(root, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &*root).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = config.with_single_cert(vec![leaf.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tasks = Tasks::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let there = Arc::new(SceneOrigin {
            script: Box::new(script),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            protocols: Mutex::default(),
            writers: tokio::sync::Mutex::default(),
            port,
        });
        // The same origin at a second address.
        let other = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
        for listener in [listener, other] {
            let (accepting, serving) = (tasks.clone(), Arc::clone(&there));
            tasks.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let serving = Arc::clone(&serving);
                    accepting.spawn(async move { drop(serving.serve(stream).await) });
                }
            });
        }
        let mode = ModeSwitch::new(Mode::Online);
        let dialer = Dialer::new(mode.clone(), patience, patience);
        let tls = Tls::new(&[root.der().clone()], patience).unwrap();
        Self { there, upstream: Upstream::new(dialer, tls, tasks, limits(patience)), mode }
    }

    pub(super) async fn ask(&self, host: &str, method: Method) -> Result<(u16, String), Failure> {
        let origin = Origin::here(Scheme::Https, host, self.there.port);
        let body = match method {
            Method::POST => Outbound::Whole(Bytes::from_static(b"form")),
            Method::PUT => Outbound::Whole(Bytes::from(vec![0; LARGE])),
            _ => Outbound::Empty,
        };
        let head = Request::builder().method(method).uri("/p?q").header("Host", host);
        let answer = self.upstream.send(&origin, head.body(()).unwrap(), body, None).await?;
        let secured = answer.extensions().get::<Arc<TlsDetails>>().unwrap();
        assert_eq!(secured.chain.len(), 1);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// The response to one request, as text.
    pub(super) async fn request(&self, host: &str, method: Method) -> String {
        match self.ask(host, method).await {
            Ok((status, body)) => format!("{status} {body}"),
            Err(failure) => failure.chain(),
        }
    }

    /// Makes the origin write to a connection, without a request.
    pub(super) async fn say(&self, connection: usize, bytes: &[u8]) {
        self.there.write(connection, bytes).await.unwrap();
    }

    /// Waits until this number of requests has arrived.
    pub(super) async fn until(&self, requests: usize) {
        while self.requests() < requests {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn requests(&self) -> usize {
        self.there.requests.load(Ordering::SeqCst)
    }

    pub(super) fn spoken(&self) -> Vec<String> {
        self.there.protocols.lock().unwrap().clone()
    }
}
