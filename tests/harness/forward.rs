//! A port that forwards through the proxy to one host, for TLS clients that cannot use `CONNECT`.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::wire::Reader;

/// The port. Dropping it closes the port. Open connections continue.
pub(crate) struct Forward {
    pub(crate) addr: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Forward {
    /// Opens a port. Every connection to it is forwarded to `target` (`host:port`) through `proxy`.
    pub(crate) fn to(proxy: SocketAddr, target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (over, target) = (Arc::new(AtomicBool::new(false)), target.to_owned());
        let stop = Arc::clone(&over);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let target = target.clone();
                // The client sees a failure as a closed connection.
                std::thread::spawn(move || drop(forward(proxy, &target, &stream)));
            }
        });
        Self { addr, over }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // `accept` returns for this connection, and then the thread checks the flag.
        drop(TcpStream::connect(self.addr));
    }
}

fn forward(proxy: SocketAddr, target: &str, client: &TcpStream) -> std::io::Result<()> {
    let server = TcpStream::connect(proxy)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    std::io::Write::write_all(
        &mut &server,
        format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes(),
    )?;
    let mut reader = Reader::new(server.try_clone()?);
    match reader.until(b"\r\n\r\n") {
        // In TLS the client sends first, so no byte after the head has been read.
        Ok(Some(head)) if head.starts_with(b"HTTP/1.1 200 ") && reader.waiting().is_empty() => {}
        _ => return client.shutdown(Shutdown::Both),
    }
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    let upward = std::thread::spawn(move || pump(&from, &to));
    let done = pump(&server, client);
    let _ = upward.join();
    done
}

fn pump(mut from: &TcpStream, mut to: &TcpStream) -> std::io::Result<()> {
    std::io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}
