//! Finger.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::read;
use crate::harness::Daemon;

#[test]
fn an_answer_is_stored_and_read_offline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            write!(stream, "asked for {line:?}\r\n\x1b[2J<b>\r\n").unwrap();
        }
    });
    let allowed = format!("[dont-get]\nallowed-ports = [{}]\n", addr.port());
    let daemon = Daemon::configured(&allowed);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let seen = daemon.get(&format!("finger://{addr}/ada"));
        let want = (200, "asked for \"ada\\r\\n\"\n[2J<b>\n".to_owned());
        assert_eq!((seen.status, seen.text()), want, "{mode}");
        assert_eq!(seen.field("Content-Type"), "text/plain; charset=utf-8");
        let shown = read(&daemon, &format!("/finger/{addr}/ada"));
        assert_eq!(shown.status, 200, "{mode}: {}", shown.text());
    }
    assert_eq!(daemon.get(&format!("finger://{addr}/ada%0d%0ax")).status, 504);
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&format!("finger://{addr}/ada%0d%0ax")).status, 400);
}

/// A finger request is a line of the requester's choice, which a server of another protocol could
/// execute.
#[test]
fn other_ports_get_no_finger_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    let daemon = Daemon::start();
    assert_eq!(daemon.get(&format!("finger://{addr}/FLUSHALL")).status, 403);
    assert_eq!(read(&daemon, &format!("/finger/{addr}/FLUSHALL")).status, 403);
    assert!(listener.accept().is_err(), "a connection was made");
}
