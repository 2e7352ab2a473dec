//! HTTPS sites through the proxy with common clients: pages are stored online and available
//! offline.

use crate::harness::daemon::AS_PERSON;
use crate::harness::{After, Answer, Authority, Client, Stage, Tls, TlsOrigin};

#[test]
fn requests_inside_a_tunnel_behave_as_on_a_plain_connection() {
    let stage = Stage::set();
    let origin = &stage.site.origin;
    let hinted = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nAlt-Svc: h3=\":443\"";
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
        assert!(response.interim.iter().all(|head| !head.fields.has("Alt-Svc")));
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
fn a_page_missing_offline_is_fetched_by_https_later() {
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
fn an_unverified_site_is_reported_inside_the_connection() {
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
