//! HTTPS to origins: pages are stored, served offline, followed and revalidated like HTTP pages.

use crate::harness::{After, Answer, Authority, Daemon, Manners, Origin, TlsOrigin};

fn start() -> (Daemon, TlsOrigin) {
    let authority = Authority::new();
    let origin = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    (authority.daemon(""), origin)
}

#[test]
fn a_page_fetched_by_command_is_served_offline_after_a_restart() {
    let (mut daemon, mut origin) = start();
    let url = origin.url_at("localhost", "/secure?q=1");
    origin.origin.say("/secure", Answer::html("kept over TLS"));
    daemon.ok(&["get", &url]);
    let seen = origin.origin.asked("/secure?q=1");
    assert_eq!(seen.len(), 1);
    let host = format!("localhost:{}", origin.addr.port());
    assert_eq!(seen[0].fields.all("Host"), [&host]);
    assert_eq!(origin.named(), [(Some("localhost".to_owned()), Some(b"http/1.1".to_vec()))]);
    assert_eq!(daemon.ok(&["cat", &url]), "kept over TLS");
    let files = crate::harness::files(&daemon.spool().join("https"));
    assert_eq!(files.len(), 1, "{files:?}");

    origin.stop();
    daemon.ok(&["offline"]);
    let page = daemon.browse(&url);
    assert_eq!((page.status, &*page.text()), (200, "kept over TLS"));
    assert!(page.field("Cache-Status").contains("hit"), "{:?}", page.fields);
    daemon.restart();
    assert_eq!(daemon.get(&url).text(), "kept over TLS");
    assert_eq!(daemon.ok(&["ls", "https"]).trim().lines().count(), 1);
    assert_eq!(daemon.ok(&["ls", "http"]), "");
}

#[test]
fn the_same_path_over_http_is_another_page() {
    let (daemon, origin) = start();
    let plain = Origin::start();
    origin.origin.say("/p", Answer::html("secure"));
    plain.say("/p", Answer::html("plain"));
    for _ in 0..2 {
        assert_eq!(daemon.get(&origin.url("/p")).text(), "secure");
        assert_eq!(daemon.get(&plain.url("/p")).text(), "plain");
        daemon.settle();
        daemon.ok(&["offline"]);
    }
}

#[test]
fn connections_are_reused_and_pages_revalidated() {
    let (daemon, origin) = start();
    origin.origin.say(
        "/tagged",
        Answer::html("tagged").field("ETag", "\"one\"").field("Cache-Control", "no-cache"),
    );
    for (number, want) in [(1, 200), (2, 200), (3, 200)] {
        let page = daemon.get(&origin.url("/tagged"));
        assert_eq!((page.status, &*page.text()), (want, "tagged"), "{number}");
        daemon.settle();
    }
    let asked = origin.origin.asked("/tagged");
    assert_eq!(asked.len(), 3);
    assert!(!asked[0].fields.has("If-None-Match"));
    assert!(asked[1..].iter().all(|seen| seen.fields.get("If-None-Match") == Some("\"one\"")));
    assert_eq!(origin.handshakes(), 1, "one connection for all");
    // An IP address is not sent as the server name (SNI).
    assert_eq!(origin.named()[0].0, None);

    let at = |host| daemon.get(&origin.url_at(host, "/tagged"));
    assert_eq!(at("localhost").text(), "tagged");
    assert_eq!(origin.handshakes(), 2, "a connection was used for another host");
}

#[test]
fn a_connection_closed_while_idle_is_replaced() {
    let (daemon, origin) = start();
    for path in ["/page/1.html", "/page/2.html", "/page/3.html", "/page/4.html"] {
        let page = daemon.get(&origin.url(path));
        assert_eq!(page.body, crate::harness::site::answer(path).unwrap().body, "{path}");
        daemon.settle();
    }
    // Every third page of the site closes the connection.
    assert_eq!(origin.handshakes(), 2);
}

#[test]
fn queued_offline_and_fetched_over_tls() {
    let (daemon, origin) = start();
    origin.origin.say("/later", Answer::html("came later"));
    daemon.ok(&["offline"]);
    assert!(daemon.browse(&origin.url("/later")).status >= 300);
    assert_eq!(daemon.queued(), [origin.url("/later")]);
    assert_eq!(origin.handshakes(), 0);
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&origin.url("/later")).text(), "came later");
    assert!(daemon.queue().is_empty());
}

#[test]
fn redirects_lead_from_http_to_https_and_back() {
    let (daemon, origin) = start();
    let plain = Origin::start();
    plain.say("/start", Answer::redirect(301, &origin.url("/middle")));
    origin.origin.say("/middle", Answer::redirect(302, &plain.url("/end")));
    plain.say("/end", Answer::html("the end"));
    let secrets = "Cookie: a=b\r\nReferer: http://h.example/\r\n";
    daemon.ok(&["offline"]);
    let fields = format!("{}{secrets}", crate::harness::daemon::AS_PERSON);
    daemon.client().get_with(&plain.url("/start"), &fields).whole();
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    assert!(daemon.queue().is_empty(), "{:?}", daemon.queue());
    let middle = origin.origin.asked("/middle");
    assert_eq!(middle.len(), 1);
    assert!(!middle[0].fields.has("Cookie"), "a secret was sent to another origin");
    assert!(middle[0].fields.has("Referer"));
    let end = plain.asked("/end");
    assert_eq!(end.len(), 1);
    assert!(!end[0].fields.has("Referer"), "the URL of a secure page was sent unencrypted");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&plain.url("/end")).text(), "the end");
    assert_eq!(daemon.get(&origin.url("/middle")).status, 302);
}

#[test]
fn a_redirect_to_an_unfetchable_url_stays_queued() {
    let (daemon, origin) = start();
    origin.origin.say("/away", Answer::redirect(302, "ws://127.0.0.1/file"));
    assert_ne!(daemon.run(&["get", &origin.url("/away")]).status, 0);
    let queue = daemon.queue();
    assert_eq!(queue.len(), 1, "{queue:?}");
    assert_eq!(
        (&queue[0]["url"], &queue[0]["state"]),
        (&"ws://127.0.0.1/file".into(), &"failed".into())
    );
    assert!(queue[0]["error"].as_str().unwrap().contains("a redirect led here"), "{queue:?}");
}

#[test]
fn an_upgrade_works_inside_tls() {
    let (daemon, origin) = start();
    origin.origin.on("/upgrade", |exchange| {
        exchange.send("HTTP/1.1 101 Said\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")?;
        let said = exchange
            .reader
            .exactly(5)
            .map_err(|broken| std::io::Error::other(format!("{broken:?}")))?;
        exchange.send(said)?;
        Ok(After::Close)
    });
    let mut client = daemon.client();
    client.ask(&origin.url("/upgrade"), "Connection: upgrade\r\nUpgrade: echo\r\n");
    let (_, head) = client.final_head().unwrap();
    assert_eq!(head.status, 101);
    client.send("hello");
    assert_eq!(client.reader.exactly(5).unwrap(), b"hello");
}

#[test]
fn forms_and_large_bodies_are_forwarded() {
    let (daemon, origin) = start();
    origin.origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "text/plain", body))
    });
    let mut client = daemon.client();
    let body = "x=1&y=2";
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
        origin.url("/form"),
        origin.addr,
        body.len()
    ));
    assert_eq!(client.receive("POST").whole().text(), body);

    let length = 20 * 1024 * 1024;
    let mut check = crate::harness::site::Check::new();
    let mut client = daemon.client();
    client.ask(&origin.url(&format!("/big/{length}")), "");
    let answer = client.try_stream("GET", |piece| check.take(piece)).unwrap();
    assert!(answer.whole.is_ok(), "{:?}", answer.whole);
    assert_eq!((check.seen, check.wrong), (length, None));
}

#[test]
fn older_tls_and_intermediate_certificates_are_accepted() {
    let authority = Authority::new();
    let names = ["127.0.0.1"];
    let old = Manners { old: true, ..Manners::default() };
    let origins = [
        TlsOrigin::with_manners(authority.identity(&names), old),
        TlsOrigin::start(authority.indirect(&names, true)),
    ];
    let daemon = authority.daemon("");
    for origin in origins {
        origin.origin.say("/p", Answer::html("fine"));
        assert_eq!(daemon.get(&origin.url("/p")).text(), "fine");
    }
}

#[test]
fn connect_still_opens_a_tunnel() {
    let (daemon, origin) = start();
    let mut client = daemon.client();
    client.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin.addr));
    let (_, head) = client.final_head().unwrap();
    assert_eq!(head.status, 200);
    // These bytes are not TLS. The origin ends the connection with an alert.
    client.send("no TLS at all, and long enough for a record head");
    assert_eq!(client.reader.exactly(1).unwrap(), [0x15]);
    assert_eq!(daemon.ok(&["ls"]), "");
}
