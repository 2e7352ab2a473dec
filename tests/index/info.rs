//! The information about a stored page: the page `/info/`, the API and the command line.

use serde_json::Value;

use crate::harness::client::Client;
use crate::harness::form::encode;
use crate::harness::{Answer, Authority, Daemon, Identity, Origin, TlsOrigin, eventually};
use crate::security::owners;

/// The page about a URL, as text.
fn about(daemon: &Daemon, url: &str) -> String {
    let page = daemon.page(&format!("/info/?{}", encode(url)));
    assert_eq!(page.status, 200, "{}", page.text());
    page.shown()
}

#[track_caller]
fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing:\n{text}");
    }
}

#[test]
fn the_information_page_shows_certificates_offline() {
    let authority = Authority::new();
    let identity = authority.identity_with_root(&["127.0.0.1", "www.example.org"]);
    let sha256 = identity.sha256();
    let colons = wwwoffle::net::certificates::with_colons(&sha256);
    let origin = TlsOrigin::start(identity);
    let answer = Answer::html("<p>kept</p>")
        .field("Set-Cookie", "id=hunter2")
        .field("X-Odd", "<script>alert(1)</script>");
    origin.origin.say("/p", answer);
    let url = origin.url("/p");
    let daemon = authority.daemon("");
    let mut client = daemon.client();
    client.get_with(&url, "Cookie: a=hunter2\r\nX-Mine: yes\r\n");
    daemon.settle();
    eventually("the index can be read", || about(&daemon, &url).contains("Pages that refer to it"));
    let words: &[&str] = &[
        "Saved copy",
        "text/html",
        "TLSv1.3",
        "TLS_AES_",
        &colons,
        "127.0.0.1",
        "www.example.org",
        "CN=Root of a test",
        "x-odd",
        "<script>alert(1)</script>",
        "x-mine",
        "set-cookie",
        "not shown",
    ];
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let text = about(&daemon, &url);
        has(&text, words);
        assert!(!text.contains("hunter2"), "{text}");
        let raw = daemon.page(&format!("/info/?{}", encode(&url))).text();
        assert!(!raw.contains("<script"), "{raw}");
        assert_eq!(daemon.page(&format!("/info/?url={}", encode(&url))).shown(), text);

        let told = daemon.api("GET", &format!("/api/info?url={}", encode(&url)), "");
        assert_eq!(told.status, 200);
        let told: serde_json::Value = serde_json::from_str(&told.text()).unwrap();
        let kept = &told["kept"];
        assert_eq!((&told["url"], &kept["status"]), (&url.as_str().into(), &200.into()));
        let connection = &kept["connection"];
        assert_eq!(connection["version"], "TLSv1.3");
        assert_eq!(connection["by_fingerprint"], false);
        let chain = connection["chain"]["certificates"].as_array().unwrap();
        assert_eq!(chain.len(), 2);
        assert_eq!(chain[0]["sha256"], sha256.as_str());
        assert_eq!(chain[1]["subject"], "CN=Root of a test");

        let json = daemon.ok(&["info", "--json", &url]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), told);
        let plain = daemon.ok(&["info", &url]);
        has(&plain, &["status      200", &sha256, "signed by CN=Root of a test", "(not shown)"]);
        assert!(!plain.contains("hunter2"), "{plain}");
    }
    assert_eq!(origin.origin.count("/p"), 1, "reading the page has changed something");
}

#[test]
fn the_information_page_reports_plain_http_and_missing_entries() {
    let (origin, daemon) = (Origin::start(), Daemon::start());
    let (kept, missing) = (origin.url("/page/1.html"), origin.url("/missing"));
    daemon.get(&kept);
    daemon.settle();
    has(&about(&daemon, &kept), &["Plain HTTP", "Saved copy"]);
    has(&about(&daemon, &missing), &["It is not saved"]);
    let told = daemon.run(&["info", &missing]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("it is not stored"), "{told:?}");
    assert!(origin.count("/missing") == 0 && daemon.queue().is_empty());
    for (path, status) in [
        ("/info/", 200),
        ("/info/?http://a:99999/", 400),
        ("/api/info", 400),
        ("/api/info?url=", 400),
    ] {
        assert_eq!(daemon.page(path).status, status, "{path}");
    }
    // A request that names another host is not answered with the page.
    let mut client = daemon.client();
    client.send("GET /info/?http://a.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_ne!(client.receive("GET").status, 200);
    let mut client = daemon.client();
    client.send(
        "POST /info/?http://a.example/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    );
    assert_ne!(client.receive("POST").status, 200);
}

#[test]
fn a_revalidated_page_keeps_its_recorded_certificates() {
    let authority = Authority::new();
    let identity = authority.identity(&["127.0.0.1"]);
    let sha256 = identity.sha256();
    let origin = TlsOrigin::start(identity);
    let answer = Answer::html("x").field("Cache-Control", "no-cache").field("ETag", "\"1\"");
    origin.origin.say("/p", answer);
    let url = origin.url("/p");
    let daemon = authority.daemon("");
    daemon.get(&url);
    daemon.settle();
    // The `Date` is left out: the `304` has a later one, which replaces it.
    let told = || {
        let told: Value = serde_json::from_str(&daemon.ok(&["info", "--json", &url])).unwrap();
        let mut kept = told["kept"].clone();
        kept["response"].as_array_mut().unwrap().retain(|field| field["name"] != "date");
        kept
    };
    let before = told();
    assert!(before.to_string().contains(&sha256), "{before}");
    daemon.get(&url);
    daemon.settle();
    assert_eq!(told(), before);
}

#[test]
fn a_page_over_an_allowed_certificate_is_marked() {
    let identity = Identity::self_signed(&["127.0.0.1"], false);
    let sha256 = identity.sha256();
    let origin = TlsOrigin::start(identity);
    let host = origin.addr;
    let daemon = Daemon::configured(&format!(
        "[https]\nallowed-certificates = [{{ host = \"{host}\", sha256 = \"{sha256}\" }}]\n"
    ));
    let url = origin.url("/page/1.html");
    daemon.get(&url);
    daemon.settle();
    has(&about(&daemon, &url), &["allows this certificate by its fingerprint", "itself"]);
}

/// Requests a file that one of our pages offers.
fn file(daemon: &Daemon, path: &str, url: &str) -> crate::harness::client::Response {
    daemon.page(&format!("{path}?{}", encode(url))).whole()
}

#[test]
fn a_text_source_is_shown_and_other_types_are_downloaded() {
    let origin = Origin::start();
    let html = "<script>alert(1)</script>\u{e9}";
    let latin: Vec<u8> = html.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    origin.say("/p", Answer::new(200, "text/html; charset=iso-8859-1", latin));
    origin.say("/i", Answer::new(200, "image/png", "\u{0}png"));
    let daemon = Daemon::configured("");
    let mut client = daemon.client();
    for path in ["/p", "/i"] {
        assert_eq!(client.get(&origin.url(path)).status, 200);
    }
    daemon.settle();
    let source = file(&daemon, "/info/source", &origin.url("/p"));
    assert_eq!((source.status, source.text()), (200, html.to_owned()));
    assert_eq!(source.field("Content-Type"), "text/plain; charset=utf-8");
    assert_eq!(source.field("X-Content-Type-Options"), "nosniff");
    assert!(source.field("Content-Security-Policy").starts_with("sandbox"));
    let image = file(&daemon, "/info/source", &origin.url("/i"));
    assert_eq!(image.field("Content-Disposition"), "attachment");
    assert_eq!(image.field("Content-Type"), "application/octet-stream");
    let absent = file(&daemon, "/info/source", &origin.url("/absent"));
    assert_eq!(absent.status, 404);
    assert!(absent.shown().contains("No saved copy of this address"), "{}", absent.shown());
    assert!(absent.shown().contains("Status 404"), "{}", absent.shown());
    assert_eq!(file(&daemon, "/info/source", "no url").status, 400);
}

#[test]
fn the_records_are_a_warc_without_secrets() {
    let origin = Origin::start();
    let answer = Answer::html("<p>kept</p>").field("Set-Cookie", "id=hunter2");
    origin.say("/p", answer.field("Location", "http://me:hunter2@a.example/"));
    let daemon = Daemon::configured("");
    daemon.client().get_with(&origin.url("/p"), "Cookie: a=hunter2\r\n");
    daemon.settle();
    let warc = file(&daemon, "/info/warc", &origin.url("/p"));
    assert_eq!((warc.status, warc.field("Content-Type")), (200, "application/warc"));
    assert!(warc.field("Content-Disposition").starts_with("attachment; filename="));
    let mut plain = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(&*warc.body);
    std::io::Read::read_to_end(&mut reader, &mut plain).unwrap();
    let plain = String::from_utf8(plain).unwrap();
    has(&plain, &["WARC-Type: response", "WARC-Type: request", "<p>kept</p>", "http://a.example/"]);
    assert!(!plain.contains("hunter2"), "{plain}");
    assert_eq!(file(&daemon, "/info/warc", &origin.url("/absent")).status, 404);
}

#[test]
#[ignore = "slow"]
fn decisions_about_a_url_are_explained_to_its_requester() {
    let origin = Origin::start();
    origin.say("/p", Answer::html("<a href=/q>q</a>"));
    let daemon = owners::daemon();
    let (page, absent) = (origin.url("/p"), origin.url("/q"));
    owners::get(&daemon, "ada", &page, "");
    daemon.settle();
    daemon.ok(&["offline"]);
    owners::get(&daemon, "ada", &page, "");
    owners::get(&daemon, "ada", &absent, "");
    let about = |user: &str, path: &str| {
        let mut client = daemon.client();
        let login = owners::login("Authorization", user);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{login}\r\n", daemon.addr()));
        client.receive("GET").whole()
    };
    let told = |user: &str, url: &str| about(user, &format!("/info/?{}", encode(url))).shown();
    has(&told("ada", &page), &["the mode was offline", "wwwoffle; hit; detail=offline"]);
    has(&told("ada", &page), &["If you open it now", "The saved copy would be served"]);
    has(&told("ada", &absent), &["was put on the queue", "It would be put on the queue"]);
    has(&told("bob", &page), &["No request of yours is recorded"]);
    crate::harness::eventually("the referring pages are shown", || {
        let text = told("ada", &absent);
        text.split("Pages that refer to it").nth(1).is_some_and(|rest| rest.contains(&page))
    });
    let shown = about("ada", &format!("/info/request?{}", encode(&page)));
    let text = shown.shown();
    assert_eq!(shown.status, 200, "{text}");
    has(
        &text,
        &["Headers that your browser sent", "authorization", "not shown", "GET /p HTTP/1.1", "via"],
    );
    assert!(!text.contains("Basic "), "{text}");
    for path in ["/info/url", "/info/content"] {
        assert_eq!(about("ada", &format!("{path}?{}", encode(&page))).status, 200);
    }
}

/// Each page source is in memory as a whole until its client has received it, so their number is
/// limited.
#[test]
#[ignore = "slow"]
fn the_number_of_concurrent_page_sources_is_limited() {
    let (origin, daemon) = (Origin::start(), Daemon::configured(""));
    let long = "a line of a long text\n".repeat(350_000);
    origin.say("/long", Answer::new(200, "text/plain", long.clone()));
    daemon.get(&origin.url("/long"));
    daemon.settle();
    let path = format!("/info/source?{}", encode(&origin.url("/long")));
    let slow = |_| {
        let mut client = daemon.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.addr()));
        assert_eq!(client.final_head().unwrap().1.status, 200);
        client
    };
    let mut clients: Vec<Client> = (0..4).map(slow).collect();
    assert_eq!(daemon.page(&path).status, 503);
    // When a client leaves, another source can be shown. The other clients get the complete source.
    clients.pop();
    eventually("there is room again", || daemon.page(&path).status == 200);
    assert_eq!(daemon.page(&path).whole().text(), long);
}
