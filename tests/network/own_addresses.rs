//! The addresses on which the daemon listens. They belong to the daemon, and no service answers
//! there before the daemon is ready.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;

use crate::harness::{Client, Daemon, eventually};
use crate::security::logins::users;

fn ask(at: SocketAddr, host: &str, target: &str) -> u16 {
    let mut client = Client::connect(at);
    client.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    client.receive("GET").whole().status
}

#[test]
fn a_listening_address_is_one_of_our_own_names() {
    let mut daemon = Daemon::prepare(None);
    daemon.up_at("127.0.0.5:0");
    let (at, port) = (daemon.addr(), daemon.addr().port());
    assert_eq!(ask(at, &at.to_string(), "/api/status"), 200);
    assert_eq!(ask(at, &at.to_string(), &format!("http://{at}/api/status")), 200);
    assert_eq!(ask(at, &format!("localhost:{port}"), "/api/status"), 200);
    // 127.0.0.6 does not belong to the daemon, so the request is forwarded. No server listens
    // there.
    assert_ne!(ask(at, &format!("127.0.0.6:{port}"), "/api/status"), 200);
}

#[test]
fn browser_setup_files_need_no_login() {
    let mut daemon = Daemon::prepare(Some(&users()));
    daemon.up_at("127.0.0.5:0");
    let at = daemon.addr();
    for path in ["/proxy.pac", "/wpad.dat", "/ca", "/ca.pem", "/ca.crt"] {
        for target in [path.to_owned(), format!("http://{at}{path}")] {
            assert_eq!(ask(at, &at.to_string(), &target), 200, "{target}");
        }
    }
    assert_eq!(ask(at, &at.to_string(), "/queue/"), 401);
}

#[test]
#[ignore = "slow"]
fn a_ready_port_implies_a_ready_control_socket() {
    for _ in 0..5 {
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let daemon = Daemon::prepare(None);
        let mut command = daemon.command(&["serve", "--listen", &at.to_string(), "--rest", "0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while TcpStream::connect(at).is_err() {
            assert_eq!(child.try_wait().unwrap(), None, "it is running");
        }
        let status = daemon.run(&["status", "--json"]);
        assert_eq!(status.status, 0, "{status:?}");
        assert_eq!(daemon.run(&["stop"]).status, 0);
        eventually("it ends", || child.try_wait().unwrap().is_some());
    }
}
