//! A port that looks like an origin and forwards through the proxy, for clients that cannot use a
//! proxy.
//!
//! It changes each request line from origin-form to absolute-form and leaves every other byte
//! unchanged. So a test of such a client tests the proxy.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::wire::Reader;

/// The port. Dropping it closes the port. Open connections continue.
pub(crate) struct Absolute {
    pub(crate) addr: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Absolute {
    /// Opens a port. Every request to it is sent to `origin` through `proxy`.
    pub(crate) fn to(proxy: SocketAddr, origin: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                // The client sees a failure as a closed connection.
                std::thread::spawn(move || drop(forward(proxy, origin, &stream)));
            }
        });
        Self { addr, over }
    }
}

impl Drop for Absolute {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // `accept` returns for this connection, and then the thread checks the flag.
        drop(TcpStream::connect(self.addr));
    }
}

fn forward(proxy: SocketAddr, origin: SocketAddr, client: &TcpStream) -> io::Result<()> {
    let server = TcpStream::connect(proxy)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    let downward = std::thread::spawn(move || {
        let done = io::copy(&mut from, &mut to);
        to.shutdown(Shutdown::Both).and(done)
    });
    let mut reader = Reader::new(client.try_clone()?);
    while let Ok(Some(head)) = reader.until(b"\r\n\r\n") {
        (&server).write_all(&absolute(&head, origin)?)?;
        let body = reader.exactly(length(&head)?).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        (&server).write_all(&body)?;
    }
    server.shutdown(Shutdown::Write)?;
    downward.join().expect("copying does not panic").map(drop)
}

/// Rewrites the target in a head to absolute-form, for `origin`.
fn absolute(head: &[u8], origin: SocketAddr) -> io::Result<Vec<u8>> {
    let slash = head.iter().position(|byte| *byte == b' ').map(|blank| blank + 1);
    let slash =
        slash.filter(|at| head.get(*at) == Some(&b'/')).ok_or(io::ErrorKind::InvalidData)?;
    let mut line = head[..slash].to_vec();
    line.extend_from_slice(format!("http://{origin}").as_bytes());
    line.extend_from_slice(&head[slash..]);
    Ok(line)
}

/// The length of the body, 0 if the head does not declare one. A body in chunks is an error.
fn length(head: &[u8]) -> io::Result<usize> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if head.contains("\r\ntransfer-encoding:") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let length = head.split("\r\ncontent-length:").nth(1).and_then(|rest| rest.lines().next());
    length.map_or(Ok(0), |length| length.trim().parse().map_err(io::Error::other))
}
