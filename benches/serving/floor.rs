//! The least that a storing proxy with hyper and one file for each page costs: a peer in the rows of
//! misses, which says how much of a miss is ours to save.
//!
//! It forwards each request on a pooled connection, reads the body whole, computes its SHA-256, writes
//! head and body to a new file with one call, renames the file into a directory, and answers. It looks
//! nothing up, syncs nothing, and judges nothing: it is no cache that anyone could use.
//!
//! ```text
//! floor PORT ORIGIN DIRECTORY
//! ```
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::convert::Infallible;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};

/// The number of directories.
const DIRECTORIES: u64 = 256;

struct Floor {
    origin: String,
    directory: PathBuf,
    idle: Mutex<Vec<SendRequest<Empty<Bytes>>>>,
    next: AtomicU64,
}

impl Floor {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let mut connection = self.connection().await;
        let path = request.uri().path_and_query().unwrap().as_str().parse::<Uri>().unwrap();
        let asked = Request::get(path).header("Host", &self.origin).body(Empty::new()).unwrap();
        let (head, body) = connection.send_request(asked).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        self.idle.lock().unwrap().push(connection);
        let (stored, fields) = (body.clone(), format!("{:?}", head.headers));
        let floor = Arc::clone(&self);
        tokio::task::spawn_blocking(move || floor.store(&fields, &stored)).await.unwrap();
        let mut response = Response::new(Full::new(body));
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        response
    }

    async fn connection(&self) -> SendRequest<Empty<Bytes>> {
        loop {
            let idle = self.idle.lock().unwrap().pop();
            let Some(idle) = idle else { break };
            if idle.is_ready() {
                return idle;
            }
        }
        let stream = TcpStream::connect(&self.origin).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (send, run) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(run);
        send
    }

    fn store(&self, fields: &str, body: &[u8]) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut content = Vec::with_capacity(fields.len() + body.len() + 64);
        content.extend_from_slice(fields.as_bytes());
        write!(content, "{:x?}", Sha256::digest(body)).unwrap();
        content.extend_from_slice(body);
        let new = self.directory.join(format!("tmp/{number}"));
        std::fs::File::create_new(&new).unwrap().write_all(&content).unwrap();
        let place = self.directory.join(format!("{}/{number}", number % DIRECTORIES));
        std::fs::rename(new, place).unwrap();
    }
}

#[tokio::main]
async fn main() {
    let [port, origin, directory] = std::env::args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let directory = PathBuf::from(directory);
    std::fs::create_dir_all(directory.join("tmp")).unwrap();
    for number in 0..DIRECTORIES {
        std::fs::create_dir_all(directory.join(number.to_string())).unwrap();
    }
    let (idle, next) = (Mutex::default(), AtomicU64::new(0));
    let floor = Arc::new(Floor { origin, directory, idle, next });
    let listener = TcpListener::bind(("127.0.0.1", port.parse().unwrap())).await.unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let floor = Arc::clone(&floor);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let floor = Arc::clone(&floor);
                async move { Ok::<_, Infallible>(floor.answer(request).await) }
            });
            let _ended = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
