//! Pages that were visited online are available offline: every byte of them, marked as stored
//! copies.

use std::collections::BTreeMap;

use crate::harness::site::{self, BIG, Check};
use crate::harness::{Answer, Client, Daemon, Origin, Response, heavy};
use crate::proxy::caching::status;

/// The fields that a browser sends with every request.
const BROWSER: &str = "Accept: */*\r\nAccept-Encoding: gzip, deflate, br\r\nTE: trailers\r\n";

/// The fields that belong to the response itself. All other fields depend on connections and
/// caches.
const LASTING: [&str; 6] =
    ["Content-Type", "Content-Encoding", "Location", "ETag", "Last-Modified", "Date"];

type Seen = BTreeMap<String, (u16, Vec<String>, Vec<u8>, Vec<(String, String)>)>;

/// Requests every page of the site over a few connections, like a browser.
fn browse(daemon: &Daemon, origin: &Origin, check: impl Fn(&str, &Response)) -> Seen {
    let mut clients: Vec<Client> = (0..4).map(|_| daemon.client()).collect();
    let mut seen = Seen::new();
    for (number, path) in site::paths().into_iter().enumerate() {
        let count = clients.len();
        let response = clients[number % count].get_with(&origin.url(&path), BROWSER).whole();
        check(&path, &response);
        let lasting = |name| response.field(name).to_owned();
        let fields = LASTING.into_iter().map(lasting).collect();
        seen.insert(path, (response.status, fields, response.body, response.trailers.0));
    }
    seen
}

/// Downloads the big file and verifies it piece by piece.
fn download_big(daemon: &Daemon, origin: &Origin) -> Response {
    let (mut client, mut check) = (daemon.client(), Check::new());
    client.ask(&origin.url(&format!("/big/{BIG}")), BROWSER);
    let response = client.try_stream("GET", |piece| check.take(piece)).unwrap().whole();
    assert_eq!((response.status, check.seen, check.wrong), (200, BIG, None));
    response
}

#[track_caller]
fn assert_same(online: &Seen, offline: &Seen) {
    let differs = |path: &&String| online[*path] != offline[*path];
    let wrong: Vec<_> = online.keys().filter(differs).collect();
    for path in wrong.iter().take(5) {
        let (was, is) = (&online[*path], &offline[*path]);
        eprintln!("{path}: {} {:?} {:?}, then {} {:?} {:?}", was.0, was.1, was.3, is.0, is.1, is.3);
    }
    assert!(wrong.is_empty(), "{} pages differ: {wrong:?}", wrong.len());
}

#[test]
#[ignore = "slow"]
fn two_hundred_pages_read_online_are_the_same_offline() {
    let _alone = heavy();
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    assert!(site::paths().len() >= 200);
    let online = browse(&daemon, &origin, |path, response| {
        let want = site::answer(path).unwrap();
        assert_eq!(response.status, want.status, "{path}");
        assert!(response.body == want.body, "{path} was changed");
        let from = response.field("Cache-Status");
        assert!(from.contains("fwd="), "{path} came from the origin and reports {from:?}");
    });
    download_big(&daemon, &origin);
    daemon.settle();

    daemon.ok(&["offline"]);
    origin.stop();
    let from_spool = |path: &str, response: &Response| {
        let from = response.field("Cache-Status");
        assert!(from.contains("hit"), "{path} came from the spool and reports {from:?}");
        assert!(response.fields.has("Age"), "{path} has an age");
        assert!(!response.fields.has("Set-Cookie"), "{path}: the browser may have a newer one");
    };
    assert_same(&online, &browse(&daemon, &origin, from_spool));
    assert!(download_big(&daemon, &origin).field("Cache-Status").contains("hit"));

    daemon.restart();
    assert!(daemon.ready.contains("mode offline"), "the mode survives: {:?}", daemon.ready);
    assert_same(&online, &browse(&daemon, &origin, from_spool));
    download_big(&daemon, &origin);

    daemon.kill9();
    daemon.up();
    assert_same(&online, &browse(&daemon, &origin, from_spool));
}

#[test]
fn a_stored_page_serves_head_without_a_body() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/page/5.html");
    let page = daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let mut client = daemon.client();
    client.send(format!("HEAD {url} HTTP/1.1\r\nHost: {}\r\n\r\n", origin.addr));
    let head = client.receive("HEAD");
    assert_eq!((head.status, head.field("Content-Type")), (200, page.field("Content-Type")));
    assert_eq!(head.field("Content-Length"), page.body.len().to_string());
    // The client has read the response exactly to its end.
    assert_eq!(client.get(&url).whole().body, page.body);
}

#[test]
fn a_conditional_request_gets_304_offline() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/tagged/3.txt");
    daemon.get(&url);
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let rows = [
        ("If-None-Match: \"tag-3\"\r\n", 304),
        ("If-None-Match: W/\"tag-3\"\r\n", 304),
        ("If-None-Match: \"x\", \"tag-3\"\r\n", 304),
        ("If-None-Match: *\r\n", 304),
        ("If-None-Match: \"other\"\r\n", 200),
        ("If-Modified-Since: Sat, 01 Nov 2025 10:00:00 GMT\r\n", 304),
        ("If-Modified-Since: Sun, 02 Nov 2025 10:00:00 GMT\r\n", 304),
        ("If-Modified-Since: Fri, 31 Oct 2025 10:00:00 GMT\r\n", 200),
        ("If-None-Match: \"other\"\r\nIf-Modified-Since: Sun, 02 Nov 2025 10:00:00 GMT\r\n", 200),
    ];
    let mut client = daemon.client();
    for (fields, status) in rows {
        let response = client.get_with(&url, fields).whole();
        assert_eq!(response.status, status, "{fields}");
        assert_eq!(response.body.is_empty(), status == 304, "{fields}");
        assert_eq!(response.field("ETag"), "\"tag-3\"", "{fields}");
    }
}

#[test]
fn stored_pages_of_any_age_are_served_offline() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let old = Answer::html("old")
        .field("Cache-Control", "max-age=0, must-revalidate")
        .field("Expires", "Thu, 01 Jan 1970 00:00:00 GMT");
    origin.say("/old", old);
    assert_eq!(daemon.get(&origin.url("/old")).text(), "old");
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    let response = daemon.get(&origin.url("/old"));
    assert_eq!((response.status, response.text().as_str()), (200, "old"));
}

#[test]
fn one_resource_has_one_entry_however_it_is_spelled() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.say("/a~b", Answer::html("tilde"));
    let port = origin.addr.port();
    daemon.get(&format!("http://127.0.0.1:{port}/a~b"));
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    // Other spellings of the same URL. The last one has an empty query, which is the same as no
    // query (README.URL of WWWOFFLE 2.9, "arguments").
    for spelling in ["/a%7Eb", "/a%7eb", "/./a~b", "/x/../a~b", "/a~b#part", "/a~b?"] {
        let url = format!("http://127.0.0.1:{port}{spelling}");
        assert_eq!(daemon.get(&url).text(), "tilde", "{spelling}");
    }
    assert_eq!(daemon.get(&format!("HTTP://127.0.0.1:{port}/a~b")).text(), "tilde");
    assert_eq!(daemon.get(&format!("http://127.0.0.1:{port}/a~b?x")).status, 504);
}

#[test]
fn responses_for_other_credentials_are_not_mixed() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.on("/mine", |exchange| {
        let who = exchange.seen.fields.get("Authorization").unwrap_or("nobody").to_owned();
        exchange.answer(&Answer::html(who))
    });
    let url = origin.url("/mine");
    let rows = [
        ("", "nobody"),
        ("Authorization: Basic YTpi\r\n", "Basic YTpi"),
        ("Authorization: Basic Yzpk\r\n", "Basic Yzpk"),
    ];
    for (fields, body) in rows {
        assert_eq!(daemon.client().get_with(&url, fields).whole().text(), body);
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    for (fields, body) in rows {
        assert_eq!(daemon.client().get_with(&url, fields).whole().text(), body, "offline");
    }
    let stranger = daemon.client().get_with(&url, "Authorization: Basic ZTpm\r\n").whole();
    assert_eq!(stranger.status, 401);
    let listed = daemon.ok(&["ls"]);
    assert!(!listed.contains("a:b") && !listed.contains("YTpi"), "a password is shown: {listed}");
}

#[test]
fn a_failing_spool_is_not_blamed_on_the_origin() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    // A file replaces the directory of the queue.
    let queue = daemon.spool().join("outgoing");
    std::fs::rename(&queue, daemon.spool().join("moved")).unwrap();
    std::fs::write(&queue, "").unwrap();
    let answer = daemon.browse(&origin.url("/page/1.html"));
    assert_eq!((answer.status, status(&answer)), (500, "detail=spool-failed"));
}

#[test]
fn an_event_stream_is_not_queued() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let referer = format!("Referer: {}\r\n", origin.url("/"));
    for fields in [
        "Accept: text/event-stream\r\nCache-Control: no-cache\r\nSec-Fetch-Dest: empty\r\n",
        "Accept: text/event-stream\r\n",
        "Accept: application/json, text/event-stream;q=0.9\r\n",
    ] {
        let fields = format!("{fields}{referer}");
        let answer = daemon.client().get_with(&origin.url("/events"), &fields).whole();
        assert_eq!(answer.status, 504);
        assert_eq!(answer.field("Cache-Status"), "wwwoffle; detail=only-online", "{fields}");
    }
    assert!(daemon.queued().is_empty(), "{:?}", daemon.queued());
}
