//! HTTP/2 inside intercepted connections. Responses are stored and available offline, with the same
//! bytes as over HTTP/1.1.

use crate::harness::daemon::AS_PERSON;
use crate::harness::http2::{Http2, secure, tls, tunnel};
use crate::harness::{After, Answer, Authority, Daemon, Gate, TlsOrigin, eventually, site};

/// A daemon, a TLS site that the daemon trusts, and the daemon's own authority.
pub(crate) struct Stage {
    pub(crate) daemon: Daemon,
    pub(crate) site: TlsOrigin,
    pub(crate) trust: Vec<u8>,
}

impl Stage {
    #[track_caller]
    pub(crate) fn set(config: &str) -> Self {
        let authority = Authority::new();
        let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
        let daemon = authority.daemon(config);
        let trust = daemon.page("/ca.crt").body;
        Self { daemon, site, trust }
    }

    pub(crate) fn host(&self) -> String {
        self.site.addr.to_string()
    }

    #[track_caller]
    pub(crate) fn client(&self) -> Http2 {
        Http2::inside(self.daemon.addr(), &self.host(), &self.trust)
    }
}

/// The fields that a browser sends when a person opens a page.
pub(crate) fn as_person() -> Vec<(String, String)> {
    let lines = AS_PERSON.split("\r\n").filter_map(|line| line.split_once(": "));
    lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
}

#[test]
fn each_client_gets_the_protocol_it_offers() {
    let stage = Stage::set("");
    let h2: &[u8] = b"h2";
    for (offered, want) in [
        (&[h2, b"http/1.1"][..], Some(h2)),
        (&[b"http/1.1", h2], Some(h2)),
        (&[h2], Some(h2)),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let stream = tunnel(stage.daemon.addr(), &stage.host());
        let secured = secure(stream, "127.0.0.1", tls(&stage.trust, offered)).unwrap();
        assert_eq!(secured.conn.alpn_protocol(), want, "{offered:?}");
    }
}

#[test]
fn a_client_of_http_2_that_rejects_our_certificate_is_remembered() {
    let stage = Stage::set("");
    let stream = tunnel(stage.daemon.addr(), &stage.host());
    assert!(secure(stream, "127.0.0.1", tls(&[], &[b"h2"])).is_err());
    eventually("it is in the log", || stage.daemon.log().contains("rejects our"));
}

#[test]
#[ignore = "slow"]
fn stored_responses_are_served_byte_for_byte() {
    let stage = Stage::set("");
    let paths: Vec<String> = site::paths().iter().take(40).map(ToString::to_string).collect();
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        let client = stage.client();
        for (path, response) in paths.iter().zip(client.get_all(&paths)) {
            let response = response.whole();
            let want = site::answer(path).unwrap();
            assert_eq!(response.status, want.status, "{mode} {path}");
            assert!(response.body == want.body, "{mode} {path}");
        }
        stage.daemon.settle();
    }
}

#[test]
#[ignore = "slow"]
fn responses_are_valid_http_2() {
    let stage = Stage::set("");
    let origin = &stage.site.origin;
    let text = "0123456789".repeat(10_000);
    origin.say(
        "/page",
        Answer::new(200, "text/plain", text.clone())
            .field("ETag", "\"one\"")
            .field("Keep-Alive", "timeout=5")
            .field("Proxy-Connection", "keep-alive")
            .field("X-Hop", "mine")
            .field("Connection", "X-Hop"),
    );
    origin.say("/chunked", Answer::new(200, "text/plain", text.clone()).chunked());
    origin.say("/closed", Answer::new(200, "text/plain", text.clone()).until_close());
    origin.say("/nothing", Answer::new(204, "text/plain", ""));
    origin.say("/missing", Answer::new(404, "text/plain", "no such page"));
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        let client = stage.client();
        let not_one: &[(&str, &str)] = &[("if-none-match", "\"one\"")];
        let want = [
            ("GET", "/page", &[][..], 200, text.as_str()),
            ("GET", "/page", not_one, 304, ""),
            ("HEAD", "/page", &[], 200, ""),
            ("GET", "/chunked", &[], 200, &text),
            ("GET", "/closed", &[], 200, &text),
        ];
        for (method, path, fields, status, body) in want {
            let response = client.ask(method, path, fields, None).whole();
            assert_eq!(response.status, status, "{mode} {method} {path}");
            assert!(response.text() == body, "{mode} {method} {path}");
            for name in
                ["connection", "keep-alive", "proxy-connection", "x-hop", "transfer-encoding"]
            {
                assert!(!response.fields.has(name), "{mode} {method} {path}: {name}");
            }
            assert!(response.field("via").contains("wwwoffle-"), "{:?}", response.fields);
            if path == "/page" && status == 200 {
                assert_eq!(response.field("content-length"), "100000", "{mode} {method}");
            }
            stage.daemon.settle();
        }
        if mode == "online" {
            for (path, status) in [("/nothing", 204), ("/missing", 404)] {
                assert_eq!(client.get(path, &[]).whole().status, status);
            }
            let part = client.get("/page", &[("range", "bytes=10-19")]).whole();
            assert!([200, 206].contains(&part.status), "{:?}", part.head);
        }
    }
}

#[test]
fn a_request_reaches_its_origin_as_over_http_1_1() {
    let stage = Stage::set("");
    let origin = &stage.site.origin;
    origin.say("/plain", Answer::html("plain"));
    origin.on("/form", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::new(200, "text/plain", body))
    });
    let (client, host) = (stage.client(), stage.host());
    let crumbs = [("cookie", "a=b"), ("cookie", "c=d"), ("te", "trailers")];
    assert_eq!(client.get("/plain", &crumbs).whole().text(), "plain");
    let seen = &origin.asked("/plain")[0];
    assert_eq!(seen.fields.all("Cookie"), ["a=b; c=d"]);
    assert_eq!(seen.fields.all("Host"), [host.as_str()]);
    assert!(seen.fields.get("Via").unwrap().starts_with("2.0 wwwoffle-"), "{}", seen.head);

    // Bodies with and without a declared length, small and large.
    let large = vec![b'x'; 3_000_000];
    for (body, told) in [(&b"a=b"[..], true), (b"a=b", false), (&large, false), (&large, true)] {
        let length = body.len().to_string();
        let fields = [("content-length", length.as_str()), ("expect", "100-continue")];
        let fields = if told { &fields[..] } else { &fields[1..] };
        let response = client.ask("POST", "/form", fields, Some(body)).whole();
        assert_eq!(response.status, 200);
        assert!(response.body == body, "{} bytes, {told}", body.len());
        let seen = origin.asked("/form").pop().unwrap();
        assert!(!seen.fields.has("Expect"));
        assert_eq!(seen.fields.has("Content-Length"), told, "{}", seen.head);
        assert_eq!(seen.fields.has("Transfer-Encoding"), !told, "{}", seen.head);
    }
    // A GET with a body is not treated as a page.
    let asked = client.ask("GET", "/form", &[], Some(b"query")).whole();
    assert_eq!(asked.text(), "query");
    assert!(!asked.field("cache-status").contains("stored"), "{:?}", asked.fields);
}

#[test]
fn a_request_for_another_host_is_misdirected() {
    let stage = Stage::set("");
    let (client, host) = (stage.client(), stage.host());
    let other = |uri: &str, host: Option<&str>| {
        let mut request = hyper::Request::get(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        client.exchange(request.body(()).unwrap(), None).unwrap().status
    };
    stage.site.origin.say("/", Answer::html("here"));
    let here = format!("https://{host}/");
    assert_eq!(other(&here, Some(&host)), 200);
    assert_eq!(other(&here, Some("other.example")), 400);
    assert_eq!(other("https://other.example/", None), 421);
    assert_eq!(other(&format!("http://{host}/"), None), 421);
    assert_eq!(other(&format!("https://{}/", stage.daemon.addr()), None), 421);
    assert_eq!(other(&format!("https://user@{host}/"), None), 400);
}

#[test]
#[ignore = "slow"]
fn a_hundred_streams_share_one_connection() {
    let stage = Stage::set("");
    for number in 0..100 {
        stage.site.origin.say(&format!("/n/{number}"), Answer::html(format!("page {number}")));
    }
    let paths: Vec<String> = (0..100).map(|number| format!("/n/{number}")).collect();
    for mode in ["online", "offline"] {
        stage.daemon.ok(&[mode]);
        let client = stage.client();
        for (number, response) in client.get_all(&paths).into_iter().enumerate() {
            assert_eq!(response.whole().text(), format!("page {number}"), "{mode}");
        }
        assert!(stage.daemon.status()["connections"].as_u64().unwrap() <= 2);
        stage.daemon.settle();
    }
}

#[test]
#[ignore = "slow"]
fn a_download_continues_when_its_client_leaves() {
    let stage = Stage::set("");
    let (length, door) = (20 * 1024 * 1024, Gate::new());
    let path = format!("/big/{length}");
    let origin_door = std::sync::Arc::clone(&door);
    stage.site.origin.on("/slow", move |exchange| {
        exchange
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nhalf")?;
        origin_door.wait();
        exchange.send("half")?;
        Ok(After::Close)
    });
    let client = stage.client();
    client.run(async {
        let (answer, _) = client.begin(client.request("GET", "/slow", &[]), true).await.unwrap();
        let mut stream = answer.await.unwrap().into_body();
        assert_eq!(stream.data().await.unwrap().unwrap(), "half");
    });
    drop(client);
    eventually("the client is gone", || stage.daemon.status()["connections"] == 0);
    door.open();
    stage.daemon.settle();
    let big = stage.client().get(&path, &[]).whole();
    assert_eq!(big.body.len(), length);
    stage.daemon.settle();
    stage.daemon.ok(&["offline"]);
    let client = stage.client();
    assert_eq!(client.get("/slow", &[]).whole().text(), "halfhalf");
    let kept = client.get(&path, &[]).whole();
    assert!(kept.body == big.body);
}

#[test]
fn a_missing_page_is_queued_as_https() {
    let stage = Stage::set("");
    stage.daemon.ok(&["offline"]);
    let person = as_person();
    let fields: Vec<_> =
        person.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let page = stage.client().get("/later", &fields).whole();
    assert_eq!(page.status, 504, "{}", page.shown());
    assert_eq!(stage.daemon.queued(), [stage.site.url("/later")]);
}
