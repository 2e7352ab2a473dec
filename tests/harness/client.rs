//! The client's end of a connection: sends bytes, reads responses, and limits every wait.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::PATIENCE;
use super::wire::{Broken, Fields, Framing, Reader};

/// A response without its body.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
}

/// A response, as far as it arrived.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: Head,
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Fields,
    /// The 1xx responses before the final response.
    pub(crate) interim: Vec<Head>,
    /// `Ok` if the body is as long as its framing says.
    pub(crate) whole: Result<(), Broken>,
}

impl Response {
    /// The first value of a field, or an empty string.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of a page as shown, with character references decoded.
    pub(crate) fn shown(&self) -> String {
        super::form::unescape(&self.text())
    }

    /// Returns the response. If it is incomplete, the test fails.
    #[track_caller]
    pub(crate) fn whole(self) -> Self {
        assert!(self.whole.is_ok(), "broken response {:?}: {:?}", self.head, self.whole);
        self
    }
}

/// One direction of a connection.
pub(crate) trait Half: Read + Write + Send {}
impl<T: Read + Write + Send> Half for T {}

pub(crate) struct Client {
    writer: Box<dyn Half>,
    pub(crate) reader: Reader<Box<dyn Half>>,
    tcp: Option<TcpStream>,
}

impl Client {
    /// Connects to a port. Every wait on the connection ends after [`PATIENCE`].
    #[track_caller]
    pub(crate) fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)
            .unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"));
        Self::over(stream)
    }

    /// Connects to a port from another address of this machine.
    #[track_caller]
    pub(crate) fn connect_from(from: IpAddr, to: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
        socket
            .connect_timeout(&to.into(), PATIENCE)
            .unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"));
        Self::over(socket.into())
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        let me = Self {
            writer: Box::new(stream.try_clone().unwrap()),
            reader: Reader::new(Box::new(stream.try_clone().unwrap())),
            tcp: Some(stream),
        };
        me.patience(PATIENCE);
        me
    }

    /// Connects to a Unix socket.
    #[track_caller]
    pub(crate) fn unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path)
            .unwrap_or_else(|error| panic!("cannot connect to {}: {error}", path.display()));
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let writer = Box::new(stream.try_clone().unwrap());
        Self { writer, reader: Reader::new(Box::new(stream)), tcp: None }
    }

    /// Returns the underlying TCP stream. Bytes that were read ahead are lost.
    #[track_caller]
    pub(crate) fn into_tcp(self) -> TcpStream {
        self.tcp.expect("it is a TCP connection")
    }

    /// Sets the maximum duration of one read or write. Has no effect on a Unix socket or on TLS.
    pub(crate) fn patience(&self, limit: Duration) {
        if let Some(tcp) = &self.tcp {
            tcp.set_read_timeout(Some(limit)).unwrap();
            tcp.set_write_timeout(Some(limit)).unwrap();
        }
    }

    /// Sends bytes unchanged.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the proxy accepts the request");
    }

    /// Sends bytes unchanged. Returns an error if the peer has closed.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.writer.write_all(bytes.as_ref())?;
        self.writer.flush()
    }

    /// Closes the sending direction.
    pub(crate) fn finish_sending(&self) {
        if let Some(tcp) = &self.tcp {
            tcp.shutdown(Shutdown::Write).unwrap();
        }
    }

    /// Ends the connection with a reset instead of a close.
    pub(crate) fn reset(self) {
        if let Some(tcp) = &self.tcp {
            socket2::SockRef::from(tcp).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }

    /// Sends a GET in absolute form with further field lines.
    #[track_caller]
    pub(crate) fn ask(&mut self, url: &str, fields: &str) {
        self.send(request("GET", url, fields));
    }

    /// Sends a GET and returns the response, which may be truncated.
    #[track_caller]
    pub(crate) fn get(&mut self, url: &str) -> Response {
        self.get_with(url, "")
    }

    /// Sends a GET with further field lines (each with its line end) and returns the response,
    /// which may be truncated.
    #[track_caller]
    pub(crate) fn get_with(&mut self, url: &str, fields: &str) -> Response {
        self.ask(url, fields);
        self.receive("GET")
    }

    /// Reads the next head, 1xx or final. `None` if the connection ended.
    pub(crate) fn head(&mut self) -> Result<Option<Head>, Broken> {
        let Some(bytes) = self.reader.until(b"\r\n\r\n")? else { return Ok(None) };
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let (line, fields) = text.split_once("\r\n").unwrap_or((&text, ""));
        let mut words = line.splitn(3, ' ');
        let version = words.next().unwrap_or_default();
        let status = words.next().and_then(|word| word.parse().ok());
        match status {
            Some(status) if version.starts_with("HTTP/1.") => {
                Ok(Some(Head { status, fields: Fields::parse(fields)? }))
            }
            _ => Err(Broken::Syntax(format!("not a status line: {line:?}"))),
        }
    }

    /// Reads the interim heads (1xx) and the final head. A 101 counts as final.
    pub(crate) fn final_head(&mut self) -> Result<(Vec<Head>, Head), Broken> {
        let mut interim = Vec::new();
        loop {
            let head = self.head()?.ok_or(Broken::Eof)?;
            if head.status >= 200 || head.status == 101 {
                return Ok((interim, head));
            }
            interim.push(head);
        }
    }

    /// The framing of the body after `head` in a response to `method`.
    pub(crate) fn framing(method: &str, head: &Head) -> Framing {
        let none = method == "HEAD" || head.status < 200 || matches!(head.status, 204 | 304);
        if none { Framing::Length(0) } else { head.fields.framing(Framing::Close) }
    }

    /// Reads a response to `method`. If there is none, the test fails.
    #[track_caller]
    pub(crate) fn receive(&mut self, method: &str) -> Response {
        match self.try_receive(method) {
            Ok(response) => response,
            Err(broken) => panic!("no response to {method}: {broken:?}"),
        }
    }

    /// Reads a response to `method`. A truncated body is reported in the response.
    pub(crate) fn try_receive(&mut self, method: &str) -> Result<Response, Broken> {
        let mut body = Vec::new();
        let mut response = self.try_stream(method, |piece| body.extend_from_slice(piece))?;
        response.body = body;
        Ok(response)
    }

    /// Reads a response to `method` and passes its body to `take`, piece by piece. A truncated body
    /// is reported in the response.
    pub(crate) fn try_stream(
        &mut self,
        method: &str,
        take: impl FnMut(&[u8]),
    ) -> Result<Response, Broken> {
        let (interim, head) = self.final_head()?;
        let framing = Self::framing(method, &head);
        let (trailers, whole) = match self.reader.body(framing, take) {
            Ok(trailers) => (trailers, Ok(())),
            Err(broken) => (Fields::default(), Err(broken)),
        };
        let (status, fields) = (head.status, head.fields.clone());
        Ok(Response { head, status, fields, body: Vec::new(), trailers, interim, whole })
    }
}

/// A request head in absolute form, with `Host` and `fields` (each line with its end).
pub(crate) fn request(method: &str, url: &str, fields: &str) -> String {
    format!("{method} {url} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", authority(url))
}

/// `host:port` of an absolute URL.
pub(crate) fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

/// One direction of a TLS connection. Both directions share one state, which each call locks.
struct TlsHalf(Arc<Mutex<super::http2::Secured>>);

impl Read for TlsHalf {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().read(buffer)
    }
}

impl Write for TlsHalf {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap().flush()
    }
}

/// The trusted authority and the offered protocols of a TLS client.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tls<'a> {
    /// The only trusted authority, in DER. If empty, no authority is trusted.
    pub(crate) authority: &'a [u8],
    /// The protocols that the client offers with ALPN.
    pub(crate) alpn: &'a [&'a [u8]],
}

impl Client {
    /// Opens a tunnel to `target` (`host:port`) with CONNECT and starts TLS inside, with `name` as
    /// the server name.
    pub(crate) fn connect_tls(
        proxy: SocketAddr,
        target: &str,
        name: &str,
        tls: Tls<'_>,
    ) -> std::io::Result<Self> {
        Self::connect_tls_with(proxy, target, name, tls, "")
    }

    /// Like [`connect_tls`](Self::connect_tls), with further field lines in the CONNECT.
    pub(crate) fn connect_tls_with(
        proxy: SocketAddr,
        target: &str,
        name: &str,
        tls: Tls<'_>,
        fields: &str,
    ) -> std::io::Result<Self> {
        let mut plain = Self::connect(proxy);
        plain.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{fields}\r\n"));
        let head = plain.head().ok().flatten().expect("a response to CONNECT");
        assert_eq!(head.status, 200, "CONNECT {target}");
        Self::secured(plain.into_tcp(), name, tls)
    }

    /// Starts TLS on `stream`, with `name` as the server name.
    pub(crate) fn secured(stream: TcpStream, name: &str, tls: Tls<'_>) -> std::io::Result<Self> {
        let config = super::http2::tls(tls.authority, tls.alpn);
        let both = Arc::new(Mutex::new(super::http2::secure(stream, name, config)?));
        let writer = Box::new(TlsHalf(Arc::clone(&both)));
        Ok(Self { writer, reader: Reader::new(Box::new(TlsHalf(both))), tcp: None })
    }

    /// Sends a GET in origin form and returns the response, which may be truncated.
    #[track_caller]
    pub(crate) fn get_path(&mut self, host: &str, path: &str, fields: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"));
        self.receive("GET")
    }
}
