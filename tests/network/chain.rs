//! SOCKS parents, several parents in order, exceptions, and the proxies of the environment.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::harness::ftp::FtpServer;
use crate::harness::socks::Socks;
use crate::harness::tools::program;
use crate::harness::{Answer, Authority, Daemon, Origin, TlsOrigin, eventually};

/// The options for requests and tunnels through these parents.
pub(super) fn through(parents: &str) -> String {
    format!("[proxy]\nproxy = \"{parents}\"\nssl = \"{parents}\"\n")
}

/// An address on which no program listens.
pub(super) fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Fails if a file of the spool, the log or the status contains `secret`.
fn assert_hidden(daemon: &mut Daemon, secret: &str) {
    assert!(!daemon.status().to_string().contains(secret));
    daemon.down();
    for file in crate::harness::files(daemon.spool()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", file.display());
    }
    assert!(!daemon.whole_log().contains(secret));
}

#[test]
fn http_https_and_tunnels_go_through_a_socks_parent_that_looks_up_names() {
    let (socks, origin) = (Socks::with_login("ada", "hunter2"), Origin::start());
    let authority = Authority::new();
    let secure = TlsOrigin::start(authority.identity(&["secure.example"]));
    origin.say("/page", Answer::html("from afar"));
    secure.origin.say("/secure", Answer::html("over TLS"));
    let mut daemon = authority.daemon(&format!(
        "{}auth-username = \"ada\"\nauth-password = \"hunter2\"\n[tunnel]\nports = [\"1-65535\"]\n",
        through(&format!("socks5://{}", socks.addr))
    ));
    let port = origin.addr.port();
    let page = daemon.browse(&format!("http://site.example:{port}/page?a=b"));
    assert_eq!((page.status, page.text().as_str()), (200, "from afar"));
    assert_eq!(origin.seen()[0].target, "/page?a=b");
    assert!(!origin.seen()[0].head.contains("Proxy-"), "{}", origin.seen()[0].head);
    let url = secure.url_at("secure.example", "/secure");
    daemon.ok(&["get", &url]);
    let mut tunnel = daemon.client();
    let target = format!("tunnel.example:{port}");
    tunnel.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    assert_eq!(tunnel.receive("CONNECT").status, 200);
    tunnel.send("GET /page HTTP/1.1\r\nHost: tunnel.example\r\n\r\n");
    assert_eq!(tunnel.receive("GET").text(), "from afar");
    let secure_port = secure.url_at("", "").trim_start_matches("https://:").to_owned();
    let want = [
        format!("site.example:{port}"),
        format!("secure.example:{secure_port}"),
        format!("tunnel.example:{port}"),
    ];
    assert_eq!(socks.asked(), want);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.ok(&["cat", &url]), "over TLS");
    assert_eq!(daemon.browse(&format!("http://site.example:{port}/other")).status, 504);
    assert_eq!(socks.asked().len(), 3);
    assert_hidden(&mut daemon, "hunter2");
}

#[test]
fn ftp_uses_a_socks_parent_for_both_connections() {
    let (socks, server) = (Socks::start(), FtpServer::start());
    server.file("note.txt", "hello");
    let daemon = Daemon::configured(&through(&format!("socks5://{}", socks.addr)));
    let url = format!("ftp://files.example:{}/note.txt", server.addr.port());
    let seen = daemon.get(&url);
    assert_eq!((seen.status, seen.text().as_str()), (200, "hello"));
    let asked = socks.asked();
    assert!(
        asked.len() >= 2 && asked.iter().all(|one| one.starts_with("files.example:")),
        "{asked:?}"
    );
}

#[test]
fn a_socks_parent_that_refuses_the_login_is_reported() {
    let socks = Socks::with_login("ada", "right");
    let mut daemon = Daemon::configured(&format!(
        "{}auth-username = \"ada\"\nauth-password = \"hunter2\"\n",
        through(&format!("socks5://{}", socks.addr))
    ));
    let page = daemon.browse("http://site.example/");
    assert_eq!(page.status, 502);
    assert!(page.shown().contains("auth-username"), "{}", page.shown());
    assert_eq!(socks.asked(), [""; 0]);
    assert_hidden(&mut daemon, "hunter2");
}

#[test]
fn a_hostile_socks_parent_ends_in_a_message() {
    for (answer, want) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), "its response is not SOCKS 5"),
        (b"\x05\x00\x05\x04\x00\x01", "it refuses to connect: the host is unreachable"),
        (b"\x05\x00\x05\x00\x00\x09\x00\x00", "its response is not SOCKS 5"),
        (b"\x05\xff", "auth-username"),
    ] {
        let socks = Socks::hostile(answer);
        let daemon = Daemon::configured(&through(&format!("socks5://{socks}")));
        let page = daemon.browse("http://site.example/");
        assert_eq!(page.status, 502, "{want}");
        assert!(page.shown().contains(want), "{want}: {}", page.shown());
    }
}

#[test]
#[ignore = "slow"]
fn a_silent_socks_parent_is_given_up() {
    let socks = Socks::hostile(b"\x05");
    let timeout = "[options]\nconnect-timeout = \"1s\"\n";
    let config = format!("{timeout}{}", through(&format!("socks5://{socks}")));
    let daemon = Daemon::configured(&config);
    let page = daemon.browse("http://site.example/");
    assert_eq!(page.status, 502);
    assert!(page.shown().contains("in time"), "{}", page.shown());
}

#[test]
fn the_next_parent_is_used_while_one_fails() {
    let (origin, second) = (Origin::start(), Socks::start());
    for page in ["/a", "/b", "/form"] {
        origin.say(page, Answer::html(page));
    }
    let first = closed();
    // The first port belongs to no program for a moment only if no other test takes it.
    let parents = format!("{first}, socks5://{}", second.addr);
    let daemon = Daemon::configured(&format!("{}avoid-for = \"1h\"\n", through(&parents)));
    let port = origin.addr.port();
    assert_eq!(daemon.browse(&format!("http://site.example:{port}/a")).text(), "/a");
    assert_eq!(origin.seen()[0].target, "/a");
    let failing = &daemon.status()["failing_parents"][0];
    assert_eq!(failing["parent"], first.to_string());
    assert!(failing["reason"].as_str().unwrap().contains("no connection"), "{failing}");
    daemon.tells("a parent proxy does not work and is avoided");
    assert!(daemon.ok(&["status"]).contains(&format!("parent proxy {first} is avoided until")));
    // While it is avoided, the first is not asked, although it would work again.
    let works_again = Socks::start_at(&first.to_string(), None);
    assert_eq!(daemon.browse(&format!("http://site.example:{port}/b")).text(), "/b");
    assert_eq!(works_again.asked(), [""; 0]);
    // A form is sent through the second too, once.
    let mut client = daemon.client();
    client.send(format!(
        "POST http://site.example:{port}/form HTTP/1.1\r\nHost: site.example:{port}\r\n\
         Content-Length: 3\r\n\r\na=b"
    ));
    assert_eq!(client.receive("POST").text(), "/form");
    assert_eq!(origin.count("/form"), 1);
}

#[test]
#[ignore = "slow"]
fn a_parent_is_tried_again_after_its_time() {
    let (origin, second) = (Origin::start(), Socks::start());
    origin.say("/a", Answer::html("a").field("Cache-Control", "no-store"));
    let first = closed();
    let parents = format!("socks5://{first}, socks5://{}", second.addr);
    let daemon = Daemon::configured(&format!("{}avoid-for = \"1s\"\n", through(&parents)));
    let url = format!("http://site.example:{}/a", origin.addr.port());
    assert_eq!(daemon.browse(&url).text(), "a");
    let first = Socks::start_at(&first.to_string(), None);
    eventually("the first is used again", || {
        assert_eq!(daemon.browse(&url).text(), "a");
        !first.asked().is_empty()
    });
    daemon.tells("a parent proxy works again");
    assert_eq!(daemon.status()["failing_parents"].as_array().unwrap().len(), 0);
}

#[test]
fn without_direct_no_origin_is_connected_to_directly() {
    let origin = Origin::start();
    origin.say("/a", Answer::html("a"));
    let url = origin.url("/a");
    let daemon = Daemon::configured(&through(&format!("{}, socks5://{}", closed(), closed())));
    assert_eq!(daemon.browse(&url).status, 502);
    assert_eq!(origin.seen().len(), 0);
    let daemon = Daemon::configured(&through(&format!("socks5://{}, direct", closed())));
    assert_eq!(daemon.browse(&url).text(), "a");
    let daemon = Daemon::configured(&format!(
        "{}except = [\"127.0.0.0/8\"]\n",
        through(&closed().to_string())
    ));
    assert_eq!(daemon.browse(&url).text(), "a");
}

#[test]
fn a_login_in_the_address_is_refused_without_showing_it() {
    let daemon = Daemon::prepare(Some("[proxy]\nproxy = \"socks5://me:hunter2@127.0.0.1:1\"\n"));
    let checked = daemon.run(&["config", "check"]);
    assert_ne!(checked.status, 0);
    assert!(checked.err.contains("the login belongs in auth-username"), "{}", checked.err);
    assert!(!format!("{checked:?}").contains("hunter2"), "{checked:?}");
}

#[test]
fn the_environment_names_parents_only_if_an_option_asks() {
    let (socks, origin) = (Socks::with_login("ada", "hunter2"), Origin::start());
    origin.say("/a", Answer::html("a"));
    let (url, port) = (origin.url("/a"), origin.addr.port());
    let all = format!("socks5h://ada:hunter2@{}/", socks.addr);
    let prepared = |config: &str, all: &str| {
        let daemon = Daemon::prepare(Some(config)).with_variable("ALL_PROXY", all);
        daemon.with_variable("no_proxy", "localhost, .direct.example,127.0.0.2")
    };
    let mut daemon = prepared("", &all);
    daemon.up();
    assert_eq!((daemon.browse(&url).status, socks.asked().len()), (200, 0));
    let mut daemon = prepared("[proxy]\nenvironment = true\n", &all);
    daemon.up();
    assert_eq!(daemon.browse(&url).text(), "a");
    assert_eq!(daemon.browse(&format!("http://site.example:{port}/a")).text(), "a");
    assert_eq!(daemon.browse(&format!("http://localhost:{port}/a")).status, 200);
    assert_eq!(socks.asked(), [format!("127.0.0.1:{port}"), format!("site.example:{port}")]);
    assert_hidden(&mut daemon, "hunter2");
    let daemon = prepared("[proxy]\nenvironment = true\n", "https://ada:hunter2@proxy.example");
    let refused = daemon.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 64);
    assert!(refused.err.contains("the environment variable all_proxy is not"), "{}", refused.err);
    assert!(!refused.err.contains("hunter2"), "{}", refused.err);
}

/// A program that ends with the test.
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

#[test]
#[ignore = "needs microsocks"]
fn a_real_socks_server_works() {
    let (origin, addr) = (Origin::start(), closed());
    origin.say("/a", Answer::html("a"));
    let mut command = Command::new(program(&["microsocks"]));
    command.args(["-i", "127.0.0.1", "-p", &addr.port().to_string(), "-u", "ada", "-P", "right"]);
    let _server = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    eventually("the server listens", || TcpStream::connect(addr).is_ok());
    let config = |password: &str| {
        let parent = through(&format!("socks5://{addr}"));
        format!("{parent}auth-username = \"ada\"\nauth-password = \"{password}\"\n")
    };
    let url = format!("http://localhost:{}/a", origin.addr.port());
    assert_eq!(Daemon::configured(&config("right")).browse(&url).text(), "a");
    let page = Daemon::configured(&config("wrong")).browse(&url);
    assert_eq!(page.status, 502);
    assert!(page.shown().contains("auth-username"), "{}", page.shown());
}
