//! The bytes on the connection: the bytes of the client and of the origin pass unchanged, except
//! that hop-by-hop fields are not forwarded.

use std::sync::{Arc, Mutex};

use crate::harness::wire::Framing;
use crate::harness::{After, Answer, Daemon, Gate, Origin, site};

#[test]
fn the_origin_gets_the_clients_own_spelling() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let targets = [
        "/a%7eb?x=%2f&amp;y",
        "/A%2Fb/../c/./d",
        "//double//slashes/",
        "/?",
        "/?q=a+b%20c&&=&z",
        "/sig?X-Amz-Credential=AK%2f20%2Fs3&Sig=%e4%E4",
        "/semi;colon;v=1,2/!$'()*@:",
        "/tilde~%7E",
        "/x?a=1?b=2",
    ];
    let mut client = daemon.client();
    for target in targets {
        client.get(&origin.url(target)).whole();
        let seen: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
        assert_eq!(seen.last().map(String::as_str), Some(target));
    }
}

#[test]
fn hop_by_hop_fields_are_not_forwarded() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let answer = Answer::html("hops")
        .field("Connection", "X-Hop, keep-alive")
        .field("X-Hop", "1")
        .field("Keep-Alive", "timeout=5")
        .field("Proxy-Authenticate", "Basic")
        .field("X-Kept", "yes")
        .field("X-Twice", "one")
        .field("X-Twice", "two");
    origin.say("/hops", answer);
    let fields = "Connection: X-Mine, close\r\nX-Mine: 1\r\nProxy-Connection: keep-alive\r\n\
        Proxy-Authorization: Basic YTpi\r\nKeep-Alive: 300\r\nTE: gzip\r\nX-Sent: yes\r\n\
        X-Both: 1\r\nX-Both: 2\r\nUser-Agent: Tests/1.0\r\n";
    let response = daemon.client().get_with(&origin.url("/hops"), fields).whole();
    for name in ["X-Hop", "Keep-Alive", "Proxy-Authenticate"] {
        assert!(!response.fields.has(name), "{name} was forwarded: {:?}", response.fields);
    }
    assert_eq!(response.field("X-Kept"), "yes");
    assert_eq!(response.fields.all("X-Twice"), ["one", "two"]);
    let asked = &origin.asked("/hops")[0];
    for name in ["X-Mine", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive"] {
        assert!(!asked.fields.has(name), "{name} was forwarded:\n{}", asked.head);
    }
    assert!(!asked.fields.get("TE").unwrap_or_default().contains("gzip"), "{}", asked.head);
    assert_eq!(asked.fields.get("X-Sent"), Some("yes"));
    assert_eq!(asked.fields.get("User-Agent"), Some("Tests/1.0"));
    assert_eq!(asked.fields.all("X-Both").join(","), "1,2");
    assert_eq!(asked.fields.all("Host"), [origin.addr.to_string()]);
}

#[test]
fn via_date_and_age_are_sent() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/dateless", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nVia: 1.0 far\r\n\r\nok")?;
        Ok(After::Keep)
    });
    let fields = "Via: 1.1 near\r\n";
    let response = daemon.client().get_with(&origin.url("/dateless"), fields).whole();
    let via = response.fields.all("Via").join(", ");
    assert!(via.starts_with("1.0 far, 1.1 "), "{via}");
    assert!(httpdate::parse_http_date(response.field("Date")).is_ok(), "{:?}", response.fields);
    let asked = &origin.asked("/dateless")[0];
    let via = asked.fields.all("Via").join(", ");
    assert!(via.starts_with("1.1 near, 1.1 "), "{via}");
    daemon.settle();
    daemon.ok(&["offline"]);
    let kept = daemon.get(&origin.url("/dateless"));
    assert_eq!(kept.field("Date"), response.field("Date"));
    assert!(kept.field("Age").parse::<u64>().is_ok_and(|age| age < 60), "{:?}", kept.fields);
    assert_eq!(kept.fields.all("Age").len(), 1);
}

#[test]
fn early_hints_reach_the_client() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let response = daemon.get(&origin.url("/hinted/1.html"));
    assert_eq!(response.interim.len(), 1, "{:?}", response.interim);
    let hint = &response.interim[0];
    assert_eq!(hint.status, 103);
    assert_eq!(hint.fields.get("Link"), Some("</style/0.css>; rel=preload"));
    let mut old = daemon.client();
    old.send(format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nCache-Control: no-cache\r\n\r\n",
        origin.url("/hinted/2.html"),
        origin.addr
    ));
    assert_eq!(old.receive("GET").interim.len(), 0, "HTTP/1.0 has no 1xx");
}

#[test]
fn trailers_reach_the_client_online_and_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let fields = "TE: trailers\r\n";
        let response = daemon.client().get_with(&origin.url("/trailer/1.txt"), fields).whole();
        assert_eq!(response.trailers.get("X-Sum"), Some("sum-1"), "{mode}: {:?}", response.head);
        daemon.settle();
    }
}

#[test]
fn every_method_is_forwarded_with_its_body() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/method", |exchange| {
        let body = exchange.body()?.to_vec();
        let said = format!("{} {}", exchange.seen.method, String::from_utf8_lossy(&body));
        exchange.answer(&Answer::html(said))
    });
    let mut client = daemon.client();
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let body = if matches!(method, "GET" | "HEAD" | "OPTIONS") { "" } else { "the body" };
        let length = if body.is_empty() { String::new() } else { "Content-Length: 8\r\n".into() };
        client.send(format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\n{length}\r\n{body}",
            origin.url("/method"),
            origin.addr
        ));
        let response = client.receive(method).whole();
        let want = if method == "HEAD" { String::new() } else { format!("{method} {body}") };
        assert_eq!((response.status, response.text()), (200, want));
        assert_eq!(origin.seen().last().unwrap().method, method);
    }
}

#[test]
fn request_bodies_are_streamed() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let body = site::noise(3, 300_000);
    for chunked in [false, true] {
        let (half, got) = (Gate::new(), Arc::new(Mutex::new(Vec::new())));
        let (seen_half, all) = (Arc::clone(&half), Arc::clone(&got));
        origin.on("/upload", move |exchange| {
            let framing = exchange.seen.fields.framing(Framing::Length(0));
            let read = exchange.reader.body(framing, |piece| {
                let mut got = all.lock().unwrap();
                got.extend_from_slice(piece);
                if got.len() >= 100_000 {
                    seen_half.open();
                }
            });
            read.map_err(|broken| std::io::Error::other(format!("{broken:?}")))?;
            exchange.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")?;
            Ok(After::Keep)
        });
        let how = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 300000" };
        let mut client = daemon.client();
        let url = origin.url("/upload");
        client.send(format!("PUT {url} HTTP/1.1\r\nHost: {}\r\n{how}\r\n\r\n", origin.addr));
        let mut send = |piece: &[u8]| {
            if chunked {
                client.send(format!("{:x}\r\n", piece.len()));
            }
            client.send(piece);
            if chunked {
                client.send("\r\n");
            }
        };
        send(&body[..100_000]);
        half.wait();
        assert!(
            got.lock().unwrap().len() >= 100_000,
            "the first half did not arrive before the second"
        );
        send(&body[100_000..]);
        if chunked {
            client.send("0\r\n\r\n");
        }
        assert_eq!(client.receive("PUT").whole().status, 201);
        assert!(*got.lock().unwrap() == body, "chunked: {chunked}");
    }
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/expect", |exchange| {
        exchange.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::html(body))
    });
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        origin.url("/expect"),
        origin.addr
    ));
    assert_eq!(client.head().unwrap().unwrap().status, 100);
    client.send("hello");
    assert_eq!(client.receive("POST").whole().text(), "hello");
}

#[test]
#[ignore = "slow"]
fn pipelined_requests_are_answered_in_their_order() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let paths: Vec<_> = (0..30)
        .map(|n| match n % 3 {
            0 => format!("/page/{n}.html"),
            1 => format!("/image/{n}.png"),
            _ => format!("/gone/{}.html", n % 10),
        })
        .collect();
    for _ in 0..2 {
        let mut client = daemon.client();
        for path in &paths {
            client.ask(&origin.url(path), "");
        }
        for path in &paths {
            let (response, want) = (client.receive("GET").whole(), site::answer(path).unwrap());
            assert_eq!(response.status, want.status, "{path}");
            assert!(response.body == want.body, "{path}");
        }
    }
}

#[test]
fn an_origin_form_request_with_a_host_is_a_proxy_request() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut client = daemon.client();
    client.send(format!("GET /page/3.html HTTP/1.1\r\nHost: {}\r\n\r\n", origin.addr));
    let response = client.receive("GET").whole();
    assert!(response.body == site::answer("/page/3.html").unwrap().body);
    daemon.settle();
    daemon.ok(&["offline"]);
    assert!(daemon.get(&origin.url("/page/3.html")).body == response.body, "one entry for both");
}

#[test]
fn http_1_0_clients_get_no_chunked_body() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for path in ["/page/0.html", "/page/1.html", "/page/2.html"] {
        let mut client = daemon.client();
        client.send(format!("GET {} HTTP/1.0\r\n\r\n", origin.url(path)));
        let response = client.receive("GET").whole();
        assert!(!response.fields.has("Transfer-Encoding"), "{path}: {:?}", response.fields);
        assert!(response.body == site::answer(path).unwrap().body, "{path}");
    }
}

#[test]
fn ambiguous_requests_are_refused_and_never_sent_on() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (url, host) = (origin.url("/target"), origin.addr);
    let rows = [
        format!(
            "POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!(
            "POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
        ),
        format!("POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: +3\r\n\r\nabc"),
        format!(
            "POST {url} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"
        ),
        format!("GET {url} HTTP/1.1\r\nHost : {host}\r\n\r\n"),
        format!("GET {url} HTTP/1.1\r\nHost: {host}\r\nHost: other.example\r\n\r\n"),
        format!("GET {url} HTTP/1.1\r\n\r\n"),
        format!("GET {url} x HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: two hosts\r\n\r\n".to_owned(),
        "GET http:///nowhere HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "GET http://127.0.0.1:99999/ HTTP/1.1\r\nHost: 127.0.0.1:99999\r\n\r\n".to_owned(),
    ];
    for row in rows {
        let mut client = daemon.client();
        client.send(&row);
        let status = client.receive("GET").status;
        assert!([400, 501].contains(&status), "{status} for {row:?}");
    }
    assert_eq!(origin.seen().len(), 0, "{:?}", origin.seen());
}

#[test]
fn a_get_with_a_body_reaches_its_origin_with_the_body() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/search", |exchange| {
        let body = exchange.body()?.to_vec();
        exchange.answer(&Answer::html([b"found ", body.as_slice()].concat()))
    });
    let (url, host) = (origin.url("/search"), origin.addr);
    let mut client = daemon.client();
    for body in ["{\"q\":1}", "{\"q\":2}"] {
        let length = body.len();
        client.send(format!(
            "GET {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(client.receive("GET").whole().text(), format!("found {body}"));
        client.send(format!(
            "GET {url} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n\
             {length:x}\r\n{body}\r\n0\r\n\r\n"
        ));
        assert_eq!(client.receive("GET").whole().text(), format!("found {body}"));
    }
    assert_eq!(client.get(&origin.url("/page/1.html")).whole().status, 200);
    let targets: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/search", "/search", "/search", "/search", "/page/1.html"]);
}

#[test]
#[ignore = "slow"]
fn a_stalled_form_times_out() {
    let (daemon, origin) =
        (Daemon::configured("[options]\nsocket-timeout = \"1s\"\n"), Origin::start());
    let mut client = daemon.client();
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: 10\r\n\r\none",
        origin.url("/form"),
        origin.addr
    ));
    client.patience(std::time::Duration::from_secs(10));
    assert_eq!(client.receive("POST").status, 408);
    assert_eq!(origin.count("/form"), 0);
}

#[test]
fn interim_responses_lose_their_hop_by_hop_fields() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: X-Hop\r\nX-Hop: 1";
    origin.say("/hint", Answer::html("page").after(hint));
    let answer = daemon.get(&origin.url("/hint"));
    let fields = &answer.interim[0].fields;
    assert_eq!(fields.get("Link"), Some("</a.css>"));
    assert!(!fields.has("Connection") && !fields.has("X-Hop"), "{fields:?}");
}

#[test]
#[ignore = "slow"]
fn an_origin_that_sends_only_interim_responses_times_out() {
    let daemon = Daemon::configured("[options]\nhead-timeout = \"1s\"\n");
    let origin = Origin::start();
    origin.on("/soon", |exchange| {
        loop {
            exchange.send("HTTP/1.1 102 Processing\r\n\r\n")?;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let mut client = daemon.client();
    client.patience(std::time::Duration::from_secs(15));
    client.send(format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/soon")));
    assert_eq!(client.receive("GET").status, 502);
}
