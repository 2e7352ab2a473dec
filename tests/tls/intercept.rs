//! Intercepted HTTPS: certificates, stored and queued pages, and connections that are forwarded
//! without being read.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::harness::daemon::AS_PERSON;
use crate::harness::{Client, Daemon, Tls, Trust, eventually, heavy};

const LIMIT: Duration = Duration::from_secs(60);

/// An offline daemon with further configuration.
#[track_caller]
fn offline(config: &str) -> Daemon {
    let daemon = Daemon::configured(config);
    daemon.ok(&["offline"]);
    daemon
}

#[track_caller]
fn connect(daemon: &Daemon, target: &str) -> u16 {
    let mut client = daemon.client();
    client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    client.head().unwrap().unwrap().status
}

#[test]
fn offline_a_page_of_https_is_queued_as_https() {
    let daemon = offline("");
    let trust = Trust::of(&daemon);
    let mut client =
        Client::connect_tls(daemon.addr(), "h.example:443", "h.example", trust.tls()).unwrap();
    for path in ["/a?b", "/c"] {
        let response = client.get_path("h.example", path, AS_PERSON).whole();
        assert!(response.shown().contains(&format!("https://h.example{path}")));
        assert!(response.field("Cache-Status").contains("wwwoffle"), "{:?}", response.head);
    }
    assert_eq!(daemon.queued(), ["https://h.example/a?b", "https://h.example/c"]);
    assert_eq!(daemon.status()["outward_refused"], 0, "a connection was tried");
}

#[test]
fn names_addresses_and_ports_each_have_their_certificate() {
    let daemon = offline("");
    let trust = Trust::of(&daemon);
    for (target, name, host, url) in [
        ("h.example:443", "h.example", "h.example", "https://h.example/"),
        ("H.Example:8443", "h.example", "h.example:8443", "https://h.example:8443/"),
        ("xn--bcher-kva.example:443", "xn--bcher-kva.example", "xn--bcher-kva.example", ""),
        ("192.0.2.7:443", "192.0.2.7", "192.0.2.7", "https://192.0.2.7/"),
        ("[2001:db8::7]:443", "2001:db8::7", "[2001:db8::7]", "https://[2001:db8::7]/"),
        // The final dot of an absolute name is never sent in the handshake (RFC 6066 §3).
        ("h.example.:443", "h.example", "h.example.", "https://h.example./"),
        // Some clients resolve the name first and connect to the address. They verify the name that
        // they request.
        ("192.0.2.8:443", "named.example", "named.example", "https://named.example/"),
    ] {
        let mut client = Client::connect_tls(daemon.addr(), target, name, trust.tls()).unwrap();
        let response = client.get_path(host, "/", AS_PERSON).whole();
        assert!(response.shown().contains(url), "{target}: {}", response.shown());
    }
    // There is no certificate for a host other than the one in the CONNECT.
    let wrong = Client::connect_tls(daemon.addr(), "192.0.2.9:443", "192.0.2.10", trust.tls());
    assert!(wrong.is_err());
}

#[test]
fn an_intercepted_connection_serves_one_site_only() {
    let daemon = offline("");
    let trust = Trust::of(&daemon);
    let open =
        || Client::connect_tls(daemon.addr(), "h.example:443", "h.example", trust.tls()).unwrap();
    for host in ["i.example", "h.example:8443", "localhost:8080", &daemon.addr().to_string()] {
        assert_eq!(open().get_path(host, "/", "").status, 421, "{host}");
    }
    let mut client = open();
    client.send("GET https://i.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n");
    assert_eq!(client.receive("GET").status, 421);
    let mut client = open();
    client.send("CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\n\r\n");
    assert_eq!(client.receive("GET").status, 400);
    assert!(daemon.queued().is_empty());
}

#[test]
#[ignore = "slow"]
fn the_authority_survives_a_restart_and_can_be_downloaded() {
    let mut daemon = Daemon::start();
    let trust = Trust::of(&daemon);
    daemon.restart();
    assert_eq!(Trust::of(&daemon).der, trust.der, "the same after a restart");
    let page = daemon.page("/ca");
    let shown = daemon.ok(&["ca", "show"]);
    let fingerprint = shown.lines().find_map(|line| line.strip_prefix("SHA-256")).unwrap().trim();
    assert!(page.shown().contains(fingerprint), "{}", page.shown());
    assert!(daemon.page("/").shown().contains("/ca\""));
    for (path, want) in [("/ca.pem", std::fs::read(&trust.pem).unwrap()), ("/ca.crt", trust.der)] {
        let got = daemon.page(path);
        assert_eq!(got.field("Content-Type"), "application/x-x509-ca-cert");
        assert!(got.body == want, "{path}");
    }
    let key = daemon.spool().join("ca/authority.pem");
    let secret = std::fs::read_to_string(&key).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&key.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let line = secret.lines().nth(1).unwrap();
    assert!(!daemon.log().contains(line) && !page.text().contains(line));

    daemon.ok(&["ca", "renew"]);
    assert!(daemon.page("/ca").shown().contains(fingerprint), "until the next start");
    daemon.restart();
    assert!(!daemon.page("/ca").shown().contains(fingerprint));
    daemon.down();
    std::fs::write(&key, "rubbish").unwrap();
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 73, "{refused:?}");
    assert!(refused.err.contains("authority.pem is damaged"), "{}", refused.err);
    assert!(refused.err.contains("wwwoffle ca renew"), "{}", refused.err);
    assert_eq!(std::fs::read(&key).unwrap(), b"rubbish");
    daemon.ok(&["ca", "renew"]);
    daemon.up();
}

#[test]
fn tunnels_are_refused_with_their_reason_before_they_open() {
    let daemon =
        offline("[https]\ntunnel = [\"*://t.example/*\"]\nrefuse = [\"*://r.example/*\"]\n");
    for (target, want) in [
        ("www.paypal.com:443", 504),
        ("t.example:443", 504),
        ("r.example:443", 403),
        ("h.example:443", 200),
        ("h.example:25", 403),
    ] {
        assert_eq!(connect(&daemon, target), want, "{target}");
    }
    let off = offline("[https]\nintercept = false\n");
    assert_eq!(connect(&off, "h.example:443"), 504);
}

/// Returns the first bytes of the next connection.
fn first_bytes(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut bytes = vec![0; 4096];
    let read = stream.read(&mut bytes).unwrap();
    bytes.truncate(read);
    bytes
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap();
    (listener, there)
}

#[test]
fn a_client_that_rejects_our_certificate_passes_unread_at_its_next_try() {
    let daemon = Daemon::start();
    let (listener, there) = listen();
    let untrusting = || {
        let tls = Tls { authority: &[], alpn: &[] };
        Client::connect_tls(daemon.addr(), &there.to_string(), "127.0.0.1", tls)
    };
    assert!(untrusting().is_err(), "it does not trust us");
    eventually("the rejection is in the log", || daemon.log().contains("rejects our"));
    let heard = std::thread::spawn(move || first_bytes(&listener));
    assert!(untrusting().is_err(), "the port does not use TLS");
    assert_eq!(heard.join().unwrap()[..2], [22, 3], "the origin got the client's own ClientHello");
    assert!(daemon.page("/ca").shown().contains("127.0.0.1"));
    assert_eq!(connect(&daemon, "h.example:443"), 200, "another host is still intercepted");

    // Offline, no tunnel is possible. A client that trusts our authority by then is intercepted.
    daemon.ok(&["offline"]);
    let trust = Trust::of(&daemon);
    let mut client =
        Client::connect_tls(daemon.addr(), &there.to_string(), "127.0.0.1", trust.tls()).unwrap();
    assert_eq!(client.get_path(&there.to_string(), "/", AS_PERSON).status, 504);
    assert_eq!(daemon.queued(), [format!("https://{there}/")]);
}

#[test]
fn a_refused_host_is_not_reached_by_its_address() {
    use std::io::Write;
    let daemon = Daemon::configured("[https]\nrefuse = [\"*://r.example/*\"]\n");
    for alpn in [&[][..], &[&b"h2"[..]]] {
        let (listener, there) = listen();
        let heard = std::thread::spawn(move || first_bytes(&listener));
        let tls = Tls { authority: &[], alpn };
        assert!(Client::connect_tls(daemon.addr(), &there.to_string(), "r.example", tls).is_err());
        let mut ours = std::net::TcpStream::connect(there).unwrap();
        ours.write_all(b"nobody else").unwrap();
        assert_eq!(heard.join().unwrap(), b"nobody else", "{alpn:?}");
    }
}

#[test]
#[ignore = "slow"]
fn other_protocols_are_tunnelled_unread() {
    let daemon = Daemon::start();
    for alpn in [&[&b"imap"[..]][..], &[b"acme-tls/1"]] {
        let (listener, there) = listen();
        let heard = std::thread::spawn(move || first_bytes(&listener));
        let tls = Tls { authority: &[], alpn };
        let opened = Client::connect_tls(daemon.addr(), &there.to_string(), "127.0.0.1", tls);
        assert!(opened.is_err());
        assert_eq!(heard.join().unwrap()[..2], [22, 3]);
    }
    // A silent client. In its protocol the origin may send first.
    let (listener, there) = listen();
    let heard = std::thread::spawn(move || {
        use std::io::Write;
        listener.accept().unwrap().0.write_all(b"220 hello\r\n").unwrap();
    });
    let mut client = daemon.client();
    client.send(format!("CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n"));
    assert_eq!(client.head().unwrap().unwrap().status, 200);
    assert_eq!(client.reader.until(b"\r\n").unwrap().unwrap(), b"220 hello\r\n");
    heard.join().unwrap();
}

#[test]
#[ignore = "slow"]
fn many_hosts_do_not_fill_the_memory() {
    let _alone = heavy();
    let daemon = offline("");
    let trust = Trust::of(&daemon);
    let visit = |number: usize| {
        let host = format!("h{number}.example");
        let target = format!("{host}:443");
        let mut client = Client::connect_tls(daemon.addr(), &target, &host, trust.tls()).unwrap();
        // Nothing is queued, since the queue is in memory and would distort the measurement.
        let fields = "Cache-Control: only-if-cached\r\n";
        assert_eq!(client.get_path(&host, "/", fields).status, 504);
    };
    // The cache has room for fewer certificates than these hosts need, so it is full from here on.
    (0..300).for_each(visit);
    let before = daemon.memory_kib();
    (300..800).for_each(visit);
    let half = daemon.memory_kib();
    (800..1_300).for_each(visit);
    let after = daemon.memory_kib();
    eprintln!("300 hosts: {before} KiB; 800: {half} KiB; 1300: {after} KiB");
    assert!(after.saturating_sub(before) < 8 * 1024, "1000 more hosts: {before} to {after} KiB");
    assert!(after.saturating_sub(half) < 2 * 1024, "the last 500: {half} to {after} KiB");
    eventually("all connections have ended", || daemon.status()["connections"] == 0);
}
