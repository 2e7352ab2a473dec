//! The cost of HTTPS: hits inside intercepted connections compared with plain ones, and handshakes.
//!
//! ```text
//! cargo bench --bench https              the table, in the form of docs/performance.md
//! cargo bench --bench https -- 10        ten seconds for each row instead of three
//! ```
//!
//! The daemon is the real one, offline, with one stored page. The clients are threads of this
//! process, so they share the machine with it. Requests per second are the throughput of both
//! together, and the processor time is that of the daemon alone. Only the ratio can be compared
//! between machines.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a benchmark fails by panicking, and uses a part of what the tests stand on"
)]

#[path = "../tests"]
mod tests {
    pub(crate) mod harness;
}
mod shared;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use shared::processor_time;
use tests::harness;
use tests::harness::{Answer, Daemon, Stage};

/// The number of concurrent connections.
const CLIENTS: usize = 8;

/// Plain and intercepted hits are measured alternately in this many rounds. The round with the
/// median ratio counts.
const ROUNDS: usize = 3;

/// Body sizes in bytes: a typical page, and a data file.
const SIZES: [usize; 2] = [10 * 1024, 1024 * 1024];

/// A connection with or without TLS.
trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// Requests `target` and reads the response to its end.
fn get(stream: &mut dyn Stream, target: &str, host: &str, buffer: &mut Vec<u8>) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    buffer.resize(256 * 1024, 0);
    let (mut filled, end) = (0, b"\r\n\r\n");
    let head = loop {
        let read = stream.read(&mut buffer[filled..]).unwrap();
        assert!(read > 0, "the connection ended");
        filled += read;
        if let Some(at) = buffer[..filled].windows(end.len()).position(|window| window == end) {
            break at + end.len();
        }
    };
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    assert!(text.starts_with("http/1.1 200 ") && text.contains("hit"), "{text}");
    let length = text.split("content-length: ").nth(1).expect("a length").lines().next().unwrap();
    let mut left = length.trim().parse::<usize>().unwrap() + head - filled;
    while left > 0 {
        let read = stream.read(buffer).unwrap();
        assert!(read > 0, "the body ended");
        left -= read;
    }
}

fn open(proxy: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(proxy).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Opens a tunnel with CONNECT and completes a handshake inside.
fn secure(
    proxy: SocketAddr,
    target: &str,
    config: &Arc<ClientConfig>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = open(proxy);
    write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    let name = target.rsplit_once(':').unwrap().0.to_owned().try_into().unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream
}

/// The results for one kind of request.
struct Figures {
    per_second: f64,
    /// Processor time of the daemon per request, in microseconds.
    each: f64,
}

/// Runs the work that `begin` creates for each client, in all clients at once for the given time.
fn measure<W: FnMut()>(
    daemon: &Daemon,
    how_long: Duration,
    begin: impl Fn(usize) -> W + Sync,
) -> Figures {
    let done = AtomicU64::new(0);
    let (used, from) = (processor_time(daemon), Instant::now());
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (begin, done) = (&begin, &done);
            scope.spawn(move || {
                let mut work = begin(client);
                while from.elapsed() < how_long {
                    work();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (took, used) = (from.elapsed(), processor_time(daemon).saturating_sub(used));
    let done = done.load(Ordering::Relaxed) as f64;
    Figures { per_second: done / took.as_secs_f64(), each: used.as_secs_f64() * 1e6 / done }
}

fn row(name: &str, figures: &Figures, plain: &Figures) {
    println!(
        "| {name} | {:.0} | {:.2} | {:.0} µs | {:.2} |",
        figures.per_second,
        figures.per_second / plain.per_second,
        figures.each,
        figures.each / plain.each
    );
}

/// Measures both alternately, so that other load slows both equally. Returns the round with the
/// median ratio.
fn in_turn(
    mut plain: impl FnMut() -> Figures,
    mut inside: impl FnMut() -> Figures,
) -> (Figures, Figures) {
    let mut rounds: Vec<_> = (0..ROUNDS).map(|_| (plain(), inside())).collect();
    rounds.sort_by(|(plain, inside), (other_plain, other_inside)| {
        let ratio = inside.per_second / plain.per_second;
        ratio.total_cmp(&(other_inside.per_second / other_plain.per_second))
    });
    rounds.swap_remove(ROUNDS / 2)
}

fn client_config(stage: &Stage) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(stage.trust.der.clone().into()).unwrap();
    let provider = wwwoffle::tls::provider::provider();
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(3);
    let how_long = Duration::from_secs(seconds);
    let stage = Stage::set();
    let (proxy, host) = (stage.daemon.addr(), stage.host());
    let (plain, config) = (stage.site.origin.url(""), client_config(&stage));
    for size in SIZES {
        let path = format!("/{size}");
        stage.site.origin.say(&path, Answer::html("x".repeat(size)));
        stage.daemon.get(&format!("{plain}{path}"));
        stage.daemon.get(&stage.site.url(&path));
    }
    stage.daemon.settle();
    stage.daemon.ok(&["offline"]);
    println!("| {CLIENTS} clients | a second | ratio | processor, each | ratio |");
    println!("|---|--:|--:|--:|--:|");
    for size in SIZES {
        let kib = size / 1024;
        let (path, url) = (format!("/{size}"), format!("{plain}/{size}"));
        let plain = || {
            measure(&stage.daemon, how_long, |_| {
                let (mut stream, mut buffer) = (open(proxy), Vec::new());
                let (url, host) = (&url, &host);
                move || get(&mut stream, url, host, &mut buffer)
            })
        };
        let inside = || {
            measure(&stage.daemon, how_long, |_| {
                let (mut stream, mut buffer) = (secure(proxy, &host, &config), Vec::new());
                let (path, host) = (&path, &host);
                move || get(&mut stream, path, host, &mut buffer)
            })
        };
        let (base, inside) = in_turn(plain, inside);
        row(&format!("plain hits, {kib} KiB"), &base, &base);
        row(&format!("intercepted hits, {kib} KiB"), &inside, &base);
    }
    let (path, url) = (format!("/{}", SIZES[0]), format!("{plain}/{}", SIZES[0]));
    let base = measure(&stage.daemon, how_long, |_| {
        || get(&mut open(proxy), &url, &host, &mut Vec::new())
    });
    row("plain connection and a hit", &base, &base);
    let again = measure(&stage.daemon, how_long, |_| {
        || get(&mut secure(proxy, &host, &config), &path, &host, &mut Vec::new())
    });
    row("handshake and a hit", &again, &base);
    let number = AtomicU64::new(0);
    let new = measure(&stage.daemon, how_long, |_| {
        || {
            let number = number.fetch_add(1, Ordering::Relaxed);
            drop(secure(proxy, &format!("h{number}.example:443"), &config));
        }
    });
    row("handshake with a host never seen", &new, &base);
}
