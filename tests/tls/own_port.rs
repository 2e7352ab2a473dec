//! Our own port over TLS: it serves our pages and the proxy.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use bytes::Bytes;

use crate::harness::daemon::{Ran, run};
use crate::harness::http2::Http2;
use crate::harness::{Answer, Client, Daemon, Tls, eventually, form, heavy};
use crate::site::browser::{browser, dom_with, furnish};
use crate::tls::http2::Stage;

/// An HTTP/1.1 connection to the port over TLS, with `name` as the server name.
fn secured(daemon: &Daemon, name: &str, trust: &[u8]) -> std::io::Result<Client> {
    let stream = TcpStream::connect(daemon.addr()).unwrap();
    Client::secured(stream, name, Tls { authority: trust, alpn: &[b"http/1.1"] })
}

fn curl(daemon: &Daemon, arguments: &[&str]) -> Ran {
    let pem = daemon.home().join("ca.pem");
    std::fs::write(&pem, daemon.ok(&["ca", "export"])).unwrap();
    let pem = pem.to_str().unwrap();
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--cacert", pem, "--proxy-cacert", pem]).args(arguments);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy"] {
        curl.env_remove(name);
    }
    run(curl, None)
}

#[test]
#[ignore = "needs curl"]
fn own_pages_are_served_to_curl_over_tls() {
    let daemon = Daemon::start();
    let port = daemon.addr().port();
    for (version, want) in [("--http2", "2"), ("--http1.1", "1.1")] {
        for host in ["localhost", "127.0.0.1"] {
            let url = format!("https://{host}:{port}/");
            let ran = curl(&daemon, &[version, "--write-out", "|%{http_version}", &url]);
            assert_eq!(ran.status, 0, "{url}: {}", ran.err);
            let (page, version) = ran.out.rsplit_once('|').unwrap();
            assert_eq!(version, want, "{url}");
            assert!(page.contains("<title>") && page.contains("wwwoffle"), "{page}");
        }
    }
}

#[test]
#[ignore = "needs curl"]
fn a_client_that_uses_it_as_its_proxy_reaches_everything() {
    let stage = Stage::set("");
    stage.site.origin.say("/page", Answer::html("kept"));
    let proxy = format!("https://localhost:{}", stage.daemon.addr().port());
    let (secure, plain) = (stage.site.url("/page"), stage.site.origin.url("/page"));
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        for url in [&secure, &plain] {
            let ran = curl(&stage.daemon, &["--noproxy", "", "--proxy", &proxy, url]);
            assert_eq!((ran.status, ran.out.as_str()), (0, "kept"), "{mode} {url}: {}", ran.err);
        }
        stage.daemon.settle();
    }
}

#[test]
fn the_tls_port_is_a_proxy_over_http_2() {
    let stage = Stage::set("");
    stage.site.origin.say("/page", Answer::html("kept"));
    let (proxy, origin) = (stage.daemon.addr(), stage.site.origin.addr);
    let own = format!("localhost:{}", proxy.port());
    let client = Http2::over(TcpStream::connect(proxy).unwrap(), &own, &stage.trust);
    assert_eq!(client.get("/queue/", &[]).whole().status, 200);
    let plain = hyper::Request::get(stage.site.origin.url("/page")).body(()).unwrap();
    assert_eq!(client.exchange(plain, None).unwrap().text(), "kept");
    assert!(stage.site.origin.asked("/page")[0].fields.get("Via").unwrap().starts_with("2.0 "));

    // A tunnel inside an HTTP/2 stream. Its target does not use TLS, so the bytes are forwarded
    // without being read.
    client.run(async {
        let request = hyper::Request::connect(origin.to_string()).body(()).unwrap();
        let (answer, mut send) = client.begin(request, false).await.unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        let asked = format!("GET /page HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n");
        send.send_data(Bytes::from(asked), false).unwrap();
        let (mut body, mut got) = (answer.into_body(), Vec::new());
        while let Some(Ok(piece)) = body.data().await {
            got.extend_from_slice(&piece);
        }
        assert!(got.ends_with(b"kept"), "{}", String::from_utf8_lossy(&got));
    });
    for (target, want) in [("h.example:25", 403), ("h.example:0", 400)] {
        let request = hyper::Request::connect(target).body(()).unwrap();
        assert_eq!(client.exchange(request, None).unwrap().status, want, "{target}");
    }
}

#[test]
fn forms_are_accepted_only_from_our_own_pages_over_tls() {
    let daemon = Daemon::start();
    let trust = daemon.page("/ca.crt").body;
    let host = format!("localhost:{}", daemon.addr().port());
    let page = secured(&daemon, "localhost", &trust).unwrap().get_path(&host, "/", "").whole();
    assert!(
        page.field("content-security-policy").contains(&format!("form-action https://{host};"))
    );
    let form = form::form(&page.text(), "/control/offline");
    let body = form.body();
    for (origin, want) in [
        (format!("https://{host}"), 303),
        (format!("http://{host}"), 403),
        ("https://evil.example".to_owned(), 403),
        ("null".to_owned(), 403),
    ] {
        daemon.ok(&["online"]);
        let mut client = secured(&daemon, "localhost", &trust).unwrap();
        client.send(format!(
            "POST /control/offline HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(client.receive("POST").status, want, "{origin}");
        let mode = if want == 303 { "offline" } else { "online" };
        assert_eq!(daemon.status()["mode"], mode, "{origin}");
    }
    // A foreign name that resolves to this address, without and with the port.
    let mut client = secured(&daemon, "localhost", &trust).unwrap();
    assert_eq!(client.get_path("evil.example", "/", "").status, 421);
    let port = daemon.addr().port();
    assert_eq!(client.get_path(&format!("evil.example:{port}"), "/", "").status, 421);
}

#[test]
fn no_other_name_gets_a_certificate() {
    let daemon = Daemon::start();
    let trust = daemon.page("/ca.crt").body;
    for name in ["localhost", "LOCALHOST", "127.0.0.1"] {
        assert!(secured(&daemon, name, &trust).is_ok(), "{name}");
    }
    for name in ["www.example.org", "localhost.example.org"] {
        let error = secured(&daemon, name, &trust).err().expect("it is refused").to_string();
        assert!(error.contains("AccessDenied") && error.contains("alert"), "{name}: {error}");
    }
}

#[test]
#[ignore = "slow"]
fn a_slow_tls_handshake_is_closed() {
    let daemon = Daemon::configured("[options]\nidle-timeout = \"1s\"\n");
    let ends = |first: &[u8]| {
        let mut stream = TcpStream::connect(daemon.addr()).unwrap();
        stream.set_read_timeout(Some(crate::harness::PATIENCE)).unwrap();
        stream.write_all(first).unwrap();
        let mut said = Vec::new();
        let _reset = stream.read_to_end(&mut said);
        said
    };
    assert_eq!(ends(b""), b"");
    assert_eq!(ends(&[22]), b"");
    assert_eq!(ends(&[22, 3, 1, 0, 200, 1]), b"");
    assert_eq!(ends(&[22, 3, 1, 0, 3, 99, 99, 99]), b"");
    eventually("no client is connected", || daemon.status()["connections"] == 0);
}

#[test]
fn own_pages_are_served_over_tls_through_the_proxy_port() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    let trust = daemon.page("/ca.crt").body;
    let port = daemon.addr().port();
    for name in ["localhost", "127.0.0.1"] {
        let target = format!("{name}:{port}");
        let tls = Tls { authority: &trust, alpn: &[b"http/1.1"] };
        let mut client = Client::connect_tls(daemon.addr(), &target, name, tls).unwrap();
        assert_eq!(client.get_path(&target, "/queue/", "").whole().status, 200);
        // CONNECT is not possible inside this connection.
        client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
        assert_eq!(client.receive("CONNECT").status, 400);
        let inside = Http2::inside(daemon.addr(), &target, &trust);
        assert_eq!(inside.get("/queue/", &[]).whole().status, 200);
    }
    // A connection without TLS works too.
    let mut client = daemon.client();
    let target = format!("localhost:{port}");
    client.send(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    assert_eq!(client.head().unwrap().unwrap().status, 200);
    assert_eq!(client.get_path(&target, "/queue/", "").whole().status, 200);
}

#[test]
#[ignore = "needs chromium"]
fn a_browser_sees_our_pages_and_uses_it_as_its_proxy() {
    let program = browser();
    let _alone = heavy();
    let stage = Stage::set("");
    furnish(&stage.site.origin);
    let shown = stage.daemon.ok(&["ca", "show"]);
    let key = shown.lines().find_map(|line| line.strip_prefix("public key")).unwrap().trim();
    let own = format!("https://localhost:{}", stage.daemon.addr().port());
    let trusting = format!("--ignore-certificate-errors-spki-list={key}");
    let through = [trusting.clone(), format!("--proxy-server={own}")];
    for options in [&through[..1], &through] {
        let page = dom_with(&program, &stage.daemon, options, &format!("{own}/queue/"));
        assert!(page.contains("<form") || page.contains("queue"), "{page}");
        let shop = dom_with(&program, &stage.daemon, options, &stage.site.url("/shop/"));
        for text in ["script ran", "rgb(1, 2, 3)", "image 31", "<title>Full shop</title>"] {
            assert!(shop.contains(text), "{text:?}:\n{shop}");
        }
    }
}
