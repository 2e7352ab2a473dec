//! A daemon that may open only few files, or has many idle clients.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::harness::{Daemon, Origin};

/// The shell command that sets the limit of open files. Version 2.9 works with this limit.
const FEW: &str = "ulimit -n 64";

/// The number of idle clients: more than the limit of open files, and more than the limit of
/// clients.
const IDLE: usize = 100;

#[test]
#[ignore = "slow"]
fn stored_pages_are_served_with_few_descriptors() {
    let origin = Origin::start();
    let mut daemon = Daemon::prepare(None).with_setup(FEW);
    daemon.up();
    // These bodies are too long to be read together with their heads, so each response needs an
    // open file.
    let bodies = 100_000..100_000 + IDLE as u64;
    let get = |length: u64| {
        let url = origin.url(&format!("/big/{length}"));
        let answer = daemon.get(&url);
        (answer.status, answer.body.len() as u64)
    };
    for length in bodies.clone() {
        assert_eq!(get(length), (200, length));
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    for _ in 0..2 {
        for length in bodies.clone() {
            assert_eq!(get(length), (200, length), "offline");
        }
    }
    assert_eq!(daemon.page("/").status, 200);
    daemon.ok(&["status"]);
}

#[test]
fn the_control_socket_answers_every_connection() {
    let mut daemon = Daemon::prepare(None).with_setup(FEW);
    daemon.up();
    let clients: Vec<_> = (0..IDLE).map(|_| TcpStream::connect(daemon.addr()).unwrap()).collect();
    daemon.ok(&["status"]);
    drop(clients);
    daemon.down();

    let mut daemon = Daemon::start();
    let socket = daemon.spool().join("control");
    let programs: Vec<_> = (0..IDLE).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    daemon.ok(&["status"]);
    drop(programs);

    let follow = || {
        let mut program = UnixStream::connect(&socket).unwrap();
        program.write_all(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        program
    };
    let programs: Vec<_> = (0..IDLE).map(|_| follow()).collect();
    daemon.ok(&["status"]);
    drop(programs);
    assert!(daemon.down().success());
}
