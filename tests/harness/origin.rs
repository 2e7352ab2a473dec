//! The web server of the tests, on loopback. It serves a site tree and scripts, writes every byte
//! itself, and records all requests.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::wire::{Fields, Framing, Reader};
use super::{PATIENCE, site};

/// What happens to a connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

type Handler = Arc<dyn Fn(&mut Exchange<'_>) -> io::Result<After> + Send + Sync>;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// The request target, byte for byte.
    pub(crate) target: String,
    /// The whole request head, byte for byte.
    pub(crate) head: String,
    pub(crate) fields: Fields,
}

/// One request and its connection.
pub(crate) struct Exchange<'a> {
    pub(crate) seen: Seen,
    stream: &'a mut TcpStream,
    pub(crate) reader: &'a mut Reader<TcpStream>,
    body: Option<Vec<u8>>,
}

impl Exchange<'_> {
    /// Reads the whole request body.
    pub(crate) fn body(&mut self) -> io::Result<&[u8]> {
        if self.body.is_none() {
            let mut body = Vec::new();
            let framing = self.seen.fields.framing(Framing::Length(0));
            let read = self.reader.body(framing, |piece| body.extend_from_slice(piece));
            read.map_err(|broken| io::Error::other(format!("{broken:?}")))?;
            self.body = Some(body);
        }
        Ok(self.body.as_deref().unwrap_or_default())
    }

    /// Writes bytes unchanged and flushes them.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())?;
        self.stream.flush()
    }

    /// Reads the request body and writes a response. If the validators of the request match, writes
    /// a 304.
    pub(crate) fn answer(&mut self, answer: &Answer) -> io::Result<After> {
        self.body()?;
        let answer =
            if answer.unchanged_for(&self.seen.fields) { &answer.not_modified() } else { answer };
        let bytes = answer.bytes(&self.seen.method);
        self.send(bytes)?;
        let close = answer.framing == Framing::Close || wants_close(&self.seen.fields);
        Ok(if close { After::Close } else { After::Keep })
    }

    /// Makes the end of the connection a reset instead of a close.
    pub(crate) fn reset(&mut self) -> io::Result<After> {
        socket2::SockRef::from(&*self.stream).set_linger(Some(Duration::ZERO))?;
        Ok(After::Close)
    }

    /// The connection itself, for protocols other than HTTP.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.stream
    }
}

fn wants_close(fields: &Fields) -> bool {
    fields.all("Connection").iter().any(|value| value.to_ascii_lowercase().contains("close"))
}

/// A scripted response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    framing: Framing,
    trailers: Vec<(String, String)>,
    interim: String,
}

impl Answer {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let (body, trailers, interim) = (body.into(), Vec::new(), String::new());
        let framing = Framing::Length(body.len() as u64);
        let answer = Self { status, fields: Vec::new(), body, framing, trailers, interim };
        if kind.is_empty() { answer } else { answer.field("Content-Type", kind) }
    }

    /// A 200 response with an HTML body.
    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::new(status, "text/plain", format!("see {to}")).field("Location", to)
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same response with its body in chunks.
    pub(crate) fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }

    /// The same response, whose body ends when the connection is closed.
    pub(crate) fn until_close(mut self) -> Self {
        self.framing = Framing::Close;
        self
    }

    /// The same response with its body in chunks and a trailer.
    pub(crate) fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self.chunked()
    }

    /// The same response after an interim head, which is given without its empty line.
    pub(crate) fn after(mut self, interim: &str) -> Self {
        self.interim.push_str(interim);
        self.interim.push_str("\r\n\r\n");
        self
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn unchanged_for(&self, asked: &Fields) -> bool {
        if self.status != 200 {
            return false;
        }
        match (asked.get("If-None-Match"), self.value("ETag")) {
            (Some(tags), Some(tag)) => tags.split(',').any(|found| found.trim() == tag),
            (Some(_), None) => false,
            (None, _) => {
                let since = asked.get("If-Modified-Since");
                since.is_some() && since == self.value("Last-Modified")
            }
        }
    }

    fn not_modified(&self) -> Self {
        let mut answer = Self::new(304, "", "");
        answer.fields.clone_from(&self.fields);
        answer.fields.retain(|(name, _)| name == "ETag" || name == "Last-Modified");
        answer
    }

    /// The bytes of the response to a request with this method.
    pub(crate) fn bytes(&self, method: &str) -> Vec<u8> {
        let date = httpdate::fmt_http_date(SystemTime::now());
        let mut out = format!("{}HTTP/1.1 {} Said\r\nDate: {date}\r\n", self.interim, self.status);
        for (name, value) in &self.fields {
            out += &format!("{name}: {value}\r\n");
        }
        let bodiless = matches!(self.status, 204 | 304);
        match self.framing {
            _ if bodiless => {}
            Framing::Length(length) => out += &format!("Content-Length: {length}\r\n"),
            Framing::Chunked => out += "Transfer-Encoding: chunked\r\n",
            Framing::Close => out += "Connection: close\r\n",
        }
        let mut out = (out + "\r\n").into_bytes();
        if method == "HEAD" || bodiless {
            return out;
        }
        if self.framing != Framing::Chunked {
            out.extend_from_slice(&self.body);
            return out;
        }
        // Each chunk is longer than the previous one, so a long response has chunks of many sizes.
        let (mut rest, mut size) = (self.body.as_slice(), 1);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
            (rest, size) = (after, size * 3);
        }
        out.extend_from_slice(b"0\r\n");
        for (name, value) in &self.trailers {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out
    }
}

#[derive(Default)]
struct Shared {
    routes: Mutex<HashMap<String, Handler>>,
    seen: Mutex<Vec<Seen>>,
    open: Mutex<BTreeMap<u64, TcpStream>>,
    connections: AtomicU64,
    active: AtomicUsize,
    most_active: AtomicUsize,
}

/// The server. Dropping it stops the server.
pub(crate) struct Origin {
    pub(crate) addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<Arc<AtomicBool>>,
}

/// The fields that a browser sends when it opens a page in a window.
pub(crate) const NAVIGATES: &str = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";

impl Origin {
    /// Starts on a free port. Every path that has no script is served from the site tree.
    pub(crate) fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// Starts at another address of this machine. To the daemon it is a different host.
    pub(crate) fn start_at(host: &str) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let mut origin = Self { addr, shared: Arc::default(), stop: None };
        origin.accept(listener);
        origin
    }

    /// Closes the port and every connection, and listens again on the same port.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.accept(TcpListener::bind(self.addr).expect("the port is free again"));
    }

    /// Closes the port and every connection.
    pub(crate) fn stop(&mut self) {
        let Some(stop) = self.stop.take() else { return };
        stop.store(true, Ordering::SeqCst);
        // `accept` returns for this connection, and then the thread checks the flag.
        drop(TcpStream::connect(self.addr));
        super::eventually("the origin's port is closed", || TcpStream::connect(self.addr).is_err());
        for stream in self.shared.open.lock().unwrap().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn accept(&mut self, listener: TcpListener) {
        let (stop, shared) = (Arc::new(AtomicBool::new(false)), Arc::clone(&self.shared));
        self.stop = Some(Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else { continue };
                std::thread::spawn(move || shared.serve(stream));
            }
        });
    }

    /// The fields that a browser sends to the daemon with a form from a page of this origin.
    pub(crate) fn sends(&self) -> String {
        format!("Origin: http://{}\r\nSec-Fetch-Site: cross-site\r\n{NAVIGATES}", self.addr)
    }

    /// The URL of a path on this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Sets the script of a path. `*` stands for every path that has no script.
    pub(crate) fn on(
        &self,
        path: &str,
        script: impl Fn(&mut Exchange<'_>) -> io::Result<After> + Send + Sync + 'static,
    ) {
        self.shared.routes.lock().unwrap().insert(path.to_owned(), Arc::new(script));
    }

    /// Sets a constant response for a path.
    pub(crate) fn say(&self, path: &str, answer: Answer) {
        self.on(path, move |exchange| exchange.answer(&answer));
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The requests for one target so far.
    pub(crate) fn asked(&self, target: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.target == target).collect()
    }

    /// The number of requests for a target.
    pub(crate) fn count(&self, target: &str) -> usize {
        self.asked(target).len()
    }

    /// The number of connections accepted so far.
    pub(crate) fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The largest number of concurrent requests.
    pub(crate) fn most_at_once(&self) -> usize {
        self.shared.most_active.load(Ordering::SeqCst)
    }

    /// The number of requests in progress.
    pub(crate) fn active(&self) -> usize {
        self.shared.active.load(Ordering::SeqCst)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let number = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
        let Ok(copy) = stream.try_clone() else { return };
        self.open.lock().unwrap().insert(number, copy);
        // An error means that the client has closed the connection. The test checks the reaction of
        // the client.
        let _ = self.requests(&mut stream);
        self.open.lock().unwrap().remove(&number);
    }

    fn requests(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE * 4))?;
        stream.set_write_timeout(Some(PATIENCE * 4))?;
        let mut reader = Reader::new(stream.try_clone()?);
        while let Ok(Some(head)) = reader.until(b"\r\n\r\n") {
            let head: String = head.iter().map(|byte| char::from(*byte)).collect();
            let (line, fields) = head.split_once("\r\n").unwrap_or_default();
            let mut words = line.split(' ').map(str::to_owned);
            let (method, target) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let Ok(fields) = Fields::parse(fields) else { break };
            let seen = Seen { method, target, fields, head: head.clone() };
            self.seen.lock().unwrap().push(seen.clone());
            let handler = self.handler(&seen.target);
            let active = self.active.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_active.fetch_max(active, Ordering::SeqCst);
            let mut exchange = Exchange { seen, stream, reader: &mut reader, body: None };
            let after = handler(&mut exchange);
            self.active.fetch_sub(1, Ordering::SeqCst);
            if after? == After::Close {
                break;
            }
        }
        Ok(())
    }

    fn handler(&self, target: &str) -> Handler {
        let routes = self.routes.lock().unwrap();
        let path = target.split('?').next().unwrap_or_default();
        match routes.get(target).or_else(|| routes.get(path)).or_else(|| routes.get("*")) {
            Some(handler) => Arc::clone(handler),
            None => Arc::new(site::serve),
        }
    }
}
