//! HTTPS sites through the proxy, by the clients that people use: kept online, there offline.

use std::process::Command;

use crate::harness::daemon::{AS_PERSON, run};
use crate::harness::{After, Answer, Authority, Client, Stage, Tls, TlsOrigin};

#[test]
fn a_page_is_kept_and_there_offline_for_curl_and_python() {
    let mut stage = Stage::set();
    let page = "<!DOCTYPE html><title>Secure</title><p>kept over TLS";
    stage.site.origin.say("/page", Answer::html(page));
    let proxy = stage.proxy();
    let script = "import ssl, sys, urllib.request as u\n\
        context = ssl.create_default_context(cafile=sys.argv[1])\n\
        proxy = u.ProxyHandler({'https': sys.argv[2]})\n\
        opener = u.build_opener(proxy, u.HTTPSHandler(context=context))\n\
        sys.stdout.write(opener.open(sys.argv[3], timeout=30).read().decode())\n";
    for host in ["127.0.0.1", "localhost"] {
        let url = stage.site.url_at(host, "/page");
        let mut curl = Command::new("curl");
        curl.args([
            "-sS",
            "--fail",
            "--noproxy",
            "",
            "-x",
            &proxy,
            "--cacert",
            stage.trust.file(),
            &url,
        ]);
        let ran = run(curl, None);
        assert_eq!((ran.status, ran.out.as_str()), (0, page), "{}", ran.err);
    }
    stage.go_offline();
    // Another port after the restart.
    let proxy = stage.proxy();
    for host in ["127.0.0.1", "localhost"] {
        let url = stage.site.url_at(host, "/page");
        for mut command in [Command::new("curl"), Command::new("python3")] {
            if command.get_program() == "curl" {
                command.args(["-sS", "--fail", "--noproxy", "", "-x", &proxy]);
                command.args(["--cacert", stage.trust.file(), &url]);
            } else {
                command.args(["-c", script, stage.trust.file(), &proxy, &url]);
                command.env_remove("no_proxy").env_remove("NO_PROXY");
            }
            let ran = run(command, None);
            assert_eq!((ran.status, ran.out.as_str()), (0, page), "{host}: {}", ran.err);
        }
    }
    assert!(stage.daemon.ok(&["ls", "https"]).contains("https://localhost:"));
}

#[test]
fn inside_everything_is_as_on_a_plain_connection() {
    let stage = Stage::set();
    let origin = &stage.site.origin;
    let hinted = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload";
    origin.say(
        "/hinted",
        Answer::html("hinted")
            .after(hinted)
            .field("Alt-Svc", "h3=\":443\"; ma=86400")
            .field("Strict-Transport-Security", "max-age=60"),
    );
    origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "text/plain", body))
    });
    origin.on("/chat", |exchange| {
        exchange.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        )?;
        let piece = exchange.reader.exactly(4).unwrap();
        std::io::Write::write_all(exchange.stream(), &piece.to_ascii_uppercase())?;
        Ok(After::Close)
    });
    let (mut client, host) = (stage.client(), stage.host());
    for _ in 0..2 {
        let response = client.get_path(&host, "/hinted", "").whole();
        assert_eq!((response.status, response.text().as_str()), (200, "hinted"));
        assert_eq!(response.interim.first().map(|head| head.status), Some(103));
        assert!(!response.fields.has("Alt-Svc"), "{:?}", response.fields);
        assert_eq!(response.field("Strict-Transport-Security"), "max-age=60");
        assert!(response.field("Cache-Status").contains("stored"), "{:?}", response.fields);
    }
    client.send(format!("POST /form HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\na=b"));
    assert_eq!(client.receive("POST").whole().text(), "a=b");
    client.send(format!(
        "GET /chat HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nping"
    ));
    assert_eq!(client.head().unwrap().unwrap().status, 101);
    assert_eq!(client.reader.exactly(4).unwrap(), b"PING");

    stage.daemon.settle();
    stage.daemon.ok(&["offline"]);
    let kept = stage.client().get_path(&host, "/hinted", "").whole();
    assert_eq!((kept.status, kept.field("Alt-Svc")), (200, ""));
    assert_eq!(kept.field("Strict-Transport-Security"), "max-age=60");
}

#[test]
fn what_is_missing_offline_is_fetched_by_https_later() {
    let stage = Stage::set();
    stage.site.origin.say("/later", Answer::html("came later"));
    stage.daemon.ok(&["offline"]);
    let host = stage.host();
    let fields = format!("{AS_PERSON}Cookie: session=hunter2\r\n");
    assert_eq!(stage.client().get_path(&host, "/later", &fields).status, 504);
    assert_eq!(stage.daemon.queued(), [stage.site.url("/later")]);
    assert_eq!(stage.site.handshakes(), 0);
    stage.daemon.ok(&["online"]);
    stage.daemon.ok(&["fetch", "--wait"]);
    assert_eq!(stage.site.origin.asked("/later")[0].fields.get("Cookie"), Some("session=hunter2"));
    stage.daemon.ok(&["offline"]);
    let page = stage.client().get_path(&host, "/later", AS_PERSON).whole();
    assert_eq!((page.status, page.text().as_str()), (200, "came later"));
    assert!(!stage.daemon.log().contains("hunter2"));
}

#[test]
fn a_site_that_cannot_be_verified_is_told_inside() {
    let other = Authority::new();
    let stage = Stage::set();
    let bad = TlsOrigin::start(other.identity(&["127.0.0.1"]));
    let tls = Tls { authority: &stage.trust.der, alpn: &[] };
    let target = bad.addr.to_string();
    let mut client = Client::connect_tls(stage.daemon.addr(), &target, "127.0.0.1", tls).unwrap();
    let page = client.get_path(&target, "/", AS_PERSON).whole();
    assert_eq!(page.status, 502, "{}", page.shown());
    assert_eq!(bad.handshakes(), 0);
    assert_eq!(stage.daemon.ok(&["ls"]), "");
}

#[test]
fn a_large_download_is_kept_on_its_way() {
    let stage = Stage::set();
    let (length, host) = (20 * 1024 * 1024, stage.host());
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        let mut check = crate::harness::site::Check::new();
        let mut client = stage.client();
        client.send(format!("GET /big/{length} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let answer = client.try_stream("GET", |piece| check.take(piece)).unwrap();
        assert!(answer.whole.is_ok(), "{mode}: {:?}", answer.whole);
        assert_eq!((check.seen, check.wrong), (length, None), "{mode}");
        stage.daemon.settle();
    }
    assert_eq!(stage.site.origin.count(&format!("/big/{length}")), 1);
}
