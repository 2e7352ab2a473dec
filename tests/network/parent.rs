//! A proxy between this proxy and the origins.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use crate::harness::{Answer, Authority, Daemon, Origin, TlsOrigin, eventually};

fn through(parent: &str) -> String {
    format!("[proxy]\nproxy = \"{parent}\"\nssl = \"{parent}\"\n")
}

#[test]
fn http_is_fetched_through_the_parent_proxy_and_stored() {
    let (parent, origin) = (Daemon::start(), Origin::start());
    origin.say("/page", Answer::html("from afar"));
    let daemon = Daemon::configured(&through(&parent.addr().to_string()));
    let page = daemon.browse(&origin.url("/page?a=b"));
    assert_eq!((page.status, page.text().as_str()), (200, "from afar"));
    let seen = &origin.seen()[0];
    assert_eq!(seen.target, "/page?a=b");
    assert_eq!(seen.fields.all("Via").join(",").matches("wwwoffle-").count(), 2);
    daemon.settle();
    daemon.ok(&["offline"]);
    let refused = daemon.status()["outward_refused"].as_u64();
    assert_eq!(daemon.browse(&origin.url("/page?a=b")).text(), "from afar");
    assert_eq!(daemon.browse(&origin.url("/queued")).status, 504);
    assert_eq!(origin.seen().len(), 1);
    assert_eq!(daemon.status()["outward_refused"].as_u64(), refused);
    daemon.ok(&["online"]);
    eventually("the queue uses the parent proxy, too", || origin.count("/queued") == 1);
    assert_eq!(
        origin.asked("/queued")[0].fields.all("Via").join(",").matches("wwwoffle-").count(),
        2
    );
}

#[test]
fn https_is_fetched_through_tunnels_of_the_parent_proxy() {
    let authority = Authority::new();
    let origin = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    origin.origin.say("/secure", Answer::html("kept over TLS"));
    let parent = Daemon::configured("[https]\nintercept = false\n");
    let daemon = authority.daemon(&through(&parent.addr().to_string()));
    let url = origin.url_at("localhost", "/secure");
    daemon.ok(&["get", &url]);
    assert_eq!(daemon.ok(&["cat", &url]), "kept over TLS");
    parent.ok(&["offline"]);
    let page = daemon.browse(&origin.url_at("127.0.0.1", "/secure"));
    assert_eq!(page.status, 502);
    assert!(page.shown().contains("refuses to connect, with status 504"), "{}", page.shown());
}

#[test]
fn a_parent_proxy_that_refuses_or_is_missing_is_reported() {
    let parent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = parent.local_addr().unwrap();
    let asked = std::thread::spawn(move || {
        let heads = parent.incoming().take(2).map(|stream| {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let answer = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\
                          Content-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            String::from_utf8(head).unwrap()
        });
        heads.collect::<Vec<_>>()
    });
    let mut daemon = Daemon::configured(&format!(
        "{}auth-username = \"ada\"\nauth-password = \"hunter2\"\n[https]\nintercept = false",
        through(&addr.to_string())
    ));
    let page = daemon.browse("http://origin.example/page");
    assert_eq!((page.status, page.field("Proxy-Authenticate")), (502, ""));
    assert!(page.shown().contains("auth-username"), "{}", page.shown());
    let mut tunnel = daemon.client();
    tunnel.send("CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\n\r\n");
    let refused = tunnel.receive("GET");
    assert_eq!(refused.status, 502);
    let heads = asked.join().unwrap();
    assert!(heads[0].starts_with("GET http://origin.example/page HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[1].starts_with("CONNECT origin.example:443 HTTP/1.1\r\n"), "{}", heads[1]);
    for head in &heads {
        assert!(head.contains("Proxy-Authorization: Basic YWRhOmh1bnRlcjI="), "{head}");
    }
    // For a moment, a process that another test starts inherits every socket and keeps the port
    // open.
    eventually("the port is closed", || TcpStream::connect(addr).is_err());
    let page = daemon.browse("http://origin.example/page");
    assert_eq!(page.status, 502);
    assert!(page.shown().contains("there is no connection to it"), "{}", page.shown());
    daemon.down();
    for file in crate::harness::files(daemon.spool()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("aHVudGVyMg"), "{}", file.display());
    }
    assert!(!daemon.log().contains("hunter2"));
}

#[test]
fn a_loop_through_the_parent_proxy_is_detected() {
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let text = through(&format!("127.0.0.1:{port}"));
    let mut daemon = Daemon::prepare(Some(&text));
    daemon.up_at(&format!("127.0.0.1:{port}"));
    assert_eq!(daemon.browse("http://origin.example/").status, 508);
}
