//! Many clients, slow clients, endless origins and big bodies. Other clients are served at the same
//! time.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::site::{self, Check, Pattern};
use crate::harness::wire::Framing;
use crate::harness::{After, Answer, Client, Daemon, Gate, Origin, eventually, faults, heavy};

/// The number of silent clients.
const IDLE: usize = 2_000;

/// The number of files that the daemon may have had open temporarily at the first count.
const PASSING: usize = 64;

/// Size of the download whose memory is measured, in bytes.
const GIB: u64 = 1 << 30;

/// The number of bytes between two measurements of the daemon's memory.
const SAMPLE: u64 = 4 << 20;

/// The maximum wait for the disk, which also takes what other programs write.
const DISK: Duration = Duration::from_secs(300);

/// The memory that the download may use in addition to an earlier small download, in KiB.
const ADDED: u64 = 8 * 1024;

/// Limit of the daemon's peak memory with a few clients, in KiB.
const MEMORY: u64 = 16 * 1024;

/// The number of clients that request a big body and read nothing of it.
const DEAF: u64 = 64;

/// The memory per such client, in KiB. A waiting piece holds the buffer into which it was received.
const EACH: u64 = 768;

/// Raises the limit of open files of this process.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
#[ignore = "slow"]
fn idle_slow_and_stuck_peers_do_not_block_others() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::start(), Origin::start());
    raise_open_files();
    origin.on("/endless", faults::endless_head);
    let files = daemon.open_files();
    let mut idle = Vec::new();
    // The system may silently drop a connection for which the accept queue has no space.
    while idle.len() < IDLE {
        idle.extend((0..100).map(|_| TcpStream::connect(daemon.addr()).unwrap()));
        eventually("they are accepted", || daemon.open_files() + PASSING >= files + idle.len());
    }

    // A client that sends one byte per second. It may take the whole test to send its head.
    let over = Arc::new(AtomicBool::new(false));
    let (mut slow, done) = (daemon.client(), Arc::clone(&over));
    let head = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/page/1.html"));
    let sender = std::thread::spawn(move || {
        for byte in head.bytes() {
            if done.load(Ordering::SeqCst) || slow.try_send([byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    // A client that never reads its response, and a client whose origin sends a head without an
    // end.
    let mut deaf = daemon.client();
    deaf.ask(&origin.url("/big/30000000"), "");
    let mut waiting = daemon.client();
    waiting.ask(&origin.url("/endless"), "");
    eventually("both are in progress", || {
        origin.count("/endless") >= 1 && origin.count("/big/30000000") == 1
    });

    for path in site::paths().iter().take(100) {
        let response = daemon.get(&origin.url(path));
        assert!(response.body == site::answer(path).unwrap().body, "{path}");
    }
    assert_eq!(daemon.page("/").status, 200);
    daemon.ok(&["status"]);
    let memory = daemon.peak_kib();
    eprintln!("{IDLE} idle connections and the rest: {memory} KiB at most");
    assert!(memory < 8 * MEMORY, "{memory} KiB");
    over.store(true, Ordering::SeqCst);
    drop((idle, deaf, waiting));
    sender.join().unwrap();
    eventually("their sockets are closed", || daemon.open_files() < files + 100);
}

#[test]
#[ignore = "slow"]
fn a_head_without_end_is_cut_off() {
    let config = "[options]\nhead-timeout = \"2s\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    origin.on("/endless", faults::endless_head);
    origin.on("/flood", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\n")?;
        loop {
            exchange.send("X-More: and more and more and more\r\n".repeat(100))?;
        }
    });
    for path in ["/endless", "/flood"] {
        let page = daemon.browse(&origin.url(path));
        assert!([502, 504].contains(&page.status), "{path}: {:?}", page.head);
    }
    assert!(daemon.peak_kib() < MEMORY * 3, "{} KiB", daemon.peak_kib());
}

#[test]
fn clients_above_the_limit_wait_and_are_served_later() {
    let (daemon, origin) =
        (Daemon::configured("[startup]\nmax-connections = 8\n"), Origin::start());
    let mut clients: Vec<Client> = (0..8).map(|_| daemon.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get(&origin.url("/page/1.html")).whole().status, 200);
    }
    let mut late = daemon.client();
    late.ask(&origin.url("/page/1.html"), "");
    drop(clients);
    assert_eq!(late.receive("GET").whole().status, 200);
}

#[test]
#[ignore = "slow"]
fn a_gibibyte_is_forwarded_in_little_memory() {
    let _alone = heavy();
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for (mode, from) in [("online", "fwd="), ("offline", "hit")] {
        daemon.ok(&[mode]);
        // Parts of the program are loaded into memory on first use, so smaller downloads come
        // first.
        for _ in 0..2 {
            assert_eq!(daemon.get(&origin.url("/big/20000000")).whole().status, 200);
        }
        let before = daemon.memory_kib();
        let (mut client, mut check, mut most) = (daemon.client(), Check::new(), 0);
        client.patience(DISK);
        client.ask(&origin.url(&format!("/big/{GIB}")), "");
        let response = client.try_stream("GET", |piece| {
            let measured = check.seen / SAMPLE;
            check.take(piece);
            if check.seen / SAMPLE > measured {
                most = daemon.memory_kib().max(most);
            }
        });
        let response = response.unwrap().whole();
        assert_eq!((check.seen, check.wrong), (GIB, None), "{mode}");
        assert!(response.field("Cache-Status").contains(from), "{mode}: {:?}", response.head);
        eprintln!("1 GiB {mode}: {most} KiB at most, {before} KiB before");
        assert!((1..before + ADDED).contains(&most), "{mode}: {most} KiB");
        daemon.settle_within(DISK);
    }
}

#[test]
#[ignore = "slow"]
fn a_slow_reader_does_not_fill_memory() {
    const LENGTH: u64 = 24_000_000;
    let (daemon, origin, all_are_here) = (Daemon::start(), Origin::start(), Gate::new());
    let begins = Arc::clone(&all_are_here);
    origin.on("/shared", move |exchange| {
        exchange.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n"))?;
        begins.wait();
        Pattern::new().pieces(LENGTH, |piece| exchange.send(piece))?;
        Ok(After::Keep)
    });
    let mut clients: Vec<Client> = (0..DEAF).map(|_| daemon.client()).collect();
    for client in &mut clients {
        client.ask(&origin.url("/shared"), "");
        assert_eq!(client.final_head().unwrap().1.status, 200);
    }
    // The clients do not continue to read, but the download is completed.
    all_are_here.open();
    daemon.settle();
    assert_eq!(origin.count("/shared"), 1, "all of them share the download");
    let memory = daemon.memory_kib();
    eprintln!("{DEAF} clients that read nothing: {memory} KiB");
    assert!(memory < MEMORY + DEAF * EACH, "{memory} KiB");
    for client in &mut clients {
        let mut check = Check::new();
        client.reader.body(Framing::Length(LENGTH), |piece| check.take(piece)).unwrap();
        assert_eq!((check.seen, check.wrong), (LENGTH, None));
    }
}

/// A response above the size limit reaches a client that reads it, and is not stored. If no client
/// reads an endless response, it does not fill the disk.
#[test]
#[ignore = "slow"]
fn a_response_above_the_size_limit_is_not_stored() {
    let config = "[options]\nmax-body = \"1 MB\"\n[fetch-options]\nretry-delay = \"1ms\"\n";
    let (daemon, origin) = (Daemon::configured(config), Origin::start());
    let body = site::noise(5, 3_000_000);
    let answer = || Answer::new(200, "application/octet-stream", body.clone());
    origin.say("/told", answer());
    origin.say("/chunked", answer().chunked());
    origin.say("/until-close", answer().until_close());
    origin.say("/small", Answer::new(200, "text/plain", "small"));
    let paths = ["/told", "/chunked", "/until-close"];
    for path in paths {
        let got = daemon.get(&origin.url(path)).whole();
        assert!(got.body == body, "{path}: {} bytes", got.body.len());
    }
    assert_eq!(daemon.get(&origin.url("/small")).text(), "small");
    origin.on("/endless", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n")?;
        loop {
            exchange.send([b'x'; 16 * 1024])?;
        }
    });
    let mut leaving = daemon.client();
    leaving.ask(&origin.url("/endless"), "");
    leaving.final_head().unwrap();
    drop(leaving);
    eventually("the connection to the origin is closed", || {
        origin.count("/endless") == 1 && daemon.status()["downloads"].as_array().unwrap().is_empty()
    });
    let ran = daemon.run(&["get", &origin.url("/endless")]);
    assert!(ran.status != 0 && format!("{}{}", ran.out, ran.err).contains("max-body"), "{ran:?}");
    daemon.settle();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/small")).text(), "small");
    for path in paths.into_iter().chain(["/endless"]) {
        assert_eq!(daemon.get(&origin.url(path)).status, 504, "{path}");
    }
}
