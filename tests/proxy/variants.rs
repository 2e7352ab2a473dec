//! Several responses for one URL are stored side by side. Tests the effect on them of a `304`, of a
//! HEAD, and of a change at the origin.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::harness::client::request;
use crate::harness::origin::Seen;
use crate::harness::{After, Answer, Client, Daemon, Origin, Response};
use crate::proxy::caching::{counted, date, page, status};

const GERMAN: &str = "Accept-Language: de, en;q=0.5\r\n";
const ENGLISH: &str = "Accept-Language: en\r\n";

/// A page in two languages, each with its own `ETag`.
fn two_languages(origin: &Origin, path: &str) {
    origin.on(path, |exchange| {
        let asked = exchange.seen.fields.get("Accept-Language").unwrap_or_default();
        let language = if asked.to_ascii_lowercase().starts_with("de") { "de" } else { "en" };
        let answer = Answer::html(format!("<p>{language}"))
            .field("Vary", "Accept-Language")
            .field("Content-Language", language)
            .field("ETag", &format!("\"{language}\""));
        exchange.answer(&answer)
    });
}

fn get(daemon: &Daemon, url: &str, fields: &str) -> Response {
    daemon.client().get_with(url, fields).whole()
}

/// Sends a request with a small body.
fn send(daemon: &Daemon, method: &str, url: &str) -> Response {
    let mut client: Client = daemon.client();
    client.send(request(method, url, "Content-Length: 3\r\n") + "abc");
    client.receive(method).whole()
}

fn head(daemon: &Daemon, url: &str) -> Response {
    let mut client = daemon.client();
    client.send(request("HEAD", url, ""));
    client.receive("HEAD")
}

/// The value of the field `name` in each request for `path` that the origin received, `-` if it was
/// missing.
fn told(origin: &Origin, path: &str, name: &str) -> Vec<String> {
    let told = |seen: &Seen| seen.fields.get(name).unwrap_or("-").to_owned();
    origin.asked(path).iter().map(told).collect()
}

#[test]
fn a_partial_response_is_not_served_as_the_page() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/page", |exchange| {
        let body = exchange.seen.fields.get("RSC").map_or("page", |_| "part");
        exchange.answer(&Answer::html(body).field("Cache-Control", "max-age=600"))
    });
    let url = origin.url("/page");
    for (fields, body) in [("RSC: 1\r\n", "part"), ("", "page"), ("RSC: 1\r\n", "part")] {
        assert_eq!(get(&daemon, &url, fields).text(), body);
        daemon.settle();
    }
    assert_eq!(origin.count("/page"), 2);
}

#[test]
fn two_language_variants_are_stored() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    two_languages(&origin, "/page");
    let url = origin.url("/page");
    for (language, body) in [(GERMAN, "<p>de"), (ENGLISH, "<p>en"), (GERMAN, "<p>de")] {
        assert_eq!(get(&daemon, &url, language).text(), body);
        daemon.settle();
    }
    let about = told(&origin, "/page", "If-None-Match");
    assert_eq!(about, ["-", "\"de\"", "\"de\", \"en\""], "its own variant first, then the others");
    origin.stop();
    daemon.ok(&["offline"]);
    for restarted in [false, true] {
        if restarted {
            daemon.restart();
        }
        for (language, body) in [
            (GERMAN, "<p>de"),
            (ENGLISH, "<p>en"),
            ("Accept-Language: EN;q=0.5 ,de\r\n", "<p>de"),
            // No stored request matches, so the preferred language decides.
            ("Accept-Language: fr, en;q=0.2, de;q=0.1\r\n", "<p>en"),
            ("Accept-Language: fr, en;q=0.1, de;q=0.2\r\n", "<p>de"),
        ] {
            let response = get(&daemon, &url, language);
            assert_eq!(response.text(), body, "{language}");
            assert!(response.field("Cache-Status").contains("hit"), "{}", response.shown());
        }
        assert_eq!(get(&daemon, &url, "").status, 200, "any variant is better than an error");
    }
}

#[test]
fn a_304_can_select_another_variant() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    two_languages(&origin, "/page");
    let url = origin.url("/page");
    for language in [GERMAN, ENGLISH] {
        get(&daemon, &url, language);
        daemon.settle();
    }
    // No stored request matches, and the origin's 304 selects one of our stored variants.
    let response = get(&daemon, &url, "Accept-Language: de-AT\r\n");
    assert_eq!((response.status, response.text().as_str()), (200, "<p>de"));
    assert_eq!(response.field("Cache-Status"), "wwwoffle; fwd=vary-miss; fwd-status=304");
    let about = told(&origin, "/page", "If-None-Match");
    assert!(about[2].contains("\"de\"") && about[2].contains("\"en\""), "{about:?}");
}

#[test]
fn an_unmatched_304_is_repeated_without_conditions() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let odd = AtomicUsize::new(0);
    origin.on("/odd", move |exchange| {
        if exchange.seen.fields.get("If-None-Match").is_some_and(|tags| tags.contains(',')) {
            return exchange.answer(&Answer::new(304, "", "").field("ETag", "\"nobody's\""));
        }
        let number = odd.fetch_add(1, Ordering::SeqCst);
        let answer = Answer::html(format!("<p>{number}"))
            .field("Vary", "X-Way")
            .field("ETag", &format!("\"{number}\""));
        exchange.send(answer.bytes("GET")).map(|()| After::Keep)
    });
    let url = origin.url("/odd");
    for (way, body) in [("X-Way: 1\r\n", "<p>0"), ("X-Way: 2\r\n", "<p>1")] {
        assert_eq!(get(&daemon, &url, way).text(), body);
        daemon.settle();
    }
    let response = get(&daemon, &url, "X-Way: 1\r\n");
    assert_eq!((response.status, response.text().as_str()), (200, "<p>2"));
    let about = told(&origin, "/odd", "If-None-Match");
    assert_eq!(about, ["-", "\"0\"", "\"0\", \"1\"", "-"]);
}

#[test]
fn the_fields_of_a_304_are_stored() {
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    let asked = AtomicUsize::new(0);
    origin.on("/page", move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst).to_string();
        let answer = match exchange.seen.fields.get("If-None-Match") {
            None => Answer::html("<p>body").field("X-Only", "first"),
            Some(_) => Answer::new(304, "", "").field("Content-Length", "7"),
        };
        let answer = answer.field("ETag", "\"a\"").field("X-Number", &number);
        exchange.send(answer.bytes("GET")).map(|()| After::Keep)
    });
    let url = origin.url("/page");
    assert_eq!(get(&daemon, &url, "").field("X-Number"), "0");
    daemon.settle();
    assert_eq!(get(&daemon, &url, "").field("X-Number"), "1");
    origin.stop();
    daemon.ok(&["offline"]);
    for restarted in [false, true] {
        if restarted {
            daemon.restart();
        }
        let response = get(&daemon, &url, "");
        assert_eq!(response.text(), "<p>body");
        let fields = ["X-Number", "X-Only", "ETag"].map(|name| response.field(name));
        assert_eq!(fields, ["1", "first", "\"a\""], "restarted: {restarted}");
    }
}

#[test]
fn the_fields_of_a_personal_304_do_not_change_shared_copies() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.on("/page", |exchange| {
        let answer = match exchange.seen.fields.get("If-None-Match") {
            None => Answer::html("<p>for all").field("Cache-Control", "public"),
            Some(_) => Answer::new(304, "", "")
                .field("Cache-Control", "public, max-age=0")
                .field("X-Name", exchange.seen.fields.get("Cookie").unwrap_or("nobody"))
                .field("Set-Cookie", "id=secret"),
        };
        exchange.send(answer.field("ETag", "\"a\"").bytes("GET")).map(|()| After::Keep)
    });
    let url = origin.url("/page");
    get(&daemon, &url, "");
    daemon.settle();
    for (cookie, name) in [("", "nobody"), ("Cookie: me=1\r\n", "me=1")] {
        let own = get(&daemon, &url, cookie);
        assert_eq!((own.field("X-Name"), own.field("Set-Cookie")), (name, "id=secret"));
        daemon.settle();
    }
    origin.stop();
    daemon.ok(&["offline"]);
    let kept = get(&daemon, &url, "");
    assert_eq!(kept.text(), "<p>for all");
    assert_eq!((kept.field("X-Name"), kept.field("Set-Cookie")), ("nobody", ""));
    assert_eq!(kept.field("Cache-Control"), "public, max-age=0");
}

#[test]
fn a_head_response_invalidates_a_changed_page() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let tag = Arc::new(Mutex::new("\"a\""));
    let now = Arc::clone(&tag);
    origin.on("/page", move |exchange| {
        let tag = *now.lock().unwrap();
        exchange.answer(&Answer::html(format!("<p>{tag}")).field("ETag", tag).field("X-Tag", tag))
    });
    let url = origin.url("/page");
    get(&daemon, &url, "");
    daemon.settle();
    daemon.ok(&["autodial"]);
    assert_eq!(get(&daemon, &url, "").field("Cache-Status"), "wwwoffle; hit; detail=autodial");
    daemon.ok(&["online"]);
    assert_eq!(head(&daemon, &url).field("X-Tag"), "\"a\"");
    daemon.ok(&["autodial"]);
    assert_eq!(get(&daemon, &url, "").field("Cache-Status"), "wwwoffle; hit; detail=autodial");
    *tag.lock().unwrap() = "\"b\"";
    daemon.ok(&["online"]);
    assert_eq!(head(&daemon, &url).field("X-Tag"), "\"b\"");
    daemon.ok(&["autodial"]);
    assert_eq!(get(&daemon, &url, "").text(), "<p>\"b\"", "it is requested again");
}

#[test]
fn a_head_does_not_undo_a_change_without_a_tag() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/bare", Answer::html("<p>body"));
    origin.say("/tagged", Answer::html("<p>body").field("ETag", "\"a\""));
    for (path, is_hit) in [("/bare", false), ("/tagged", true)] {
        let url = origin.url(path);
        daemon.ok(&["online"]);
        get(&daemon, &url, "");
        daemon.settle();
        assert_eq!(send(&daemon, "DELETE", &url).status, 200);
        assert_eq!(head(&daemon, &url).field("Content-Length"), "7");
        daemon.ok(&["autodial"]);
        let response = get(&daemon, &url, "");
        assert_eq!(response.field("Cache-Status").contains("hit"), is_hit, "{path}");
    }
}

/// An origin whose pages contain the number of their GET requests. Its response to a change can
/// name another URL.
fn pages(origin: &Origin, path: &'static str, location: Option<(&'static str, String)>) {
    let asked = AtomicUsize::new(0);
    origin.on(path, move |exchange| {
        exchange.body()?;
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let answer = match (exchange.seen.method.as_str(), &location) {
            ("GET", _) | (_, None) => Answer::html(format!("<p>{number}")),
            (_, Some((name, to))) => Answer::html("<p>done").field(name, to),
        };
        exchange.answer(&answer)
    });
}

#[test]
#[ignore = "slow"]
fn an_unsafe_request_invalidates_its_url_and_location() {
    let (mut daemon, mut origin, other) = (Daemon::start(), Origin::start(), Origin::start());
    pages(&origin, "/location", None);
    pages(&origin, "/content", None);
    pages(&other, "/location", None);
    pages(&origin, "/form", Some(("Location", "location".to_owned())));
    pages(&origin, "/put", Some(("Content-Location", origin.url("/content"))));
    pages(&origin, "/delete", None);
    pages(&origin, "/search", Some(("Location", other.url("/location"))));
    let (form, put) = (origin.url("/form"), origin.url("/put"));
    let (delete, search) = (origin.url("/delete"), origin.url("/search"));
    let (location, content) = (origin.url("/location"), origin.url("/content"));
    let foreign = other.url("/location");
    let all = [&form, &put, &delete, &search, &location, &content, &foreign];
    for (method, url, ended) in [
        ("POST", &form, &[&form, &location][..]),
        ("PUT", &put, &[&put, &content]),
        ("DELETE", &delete, &[&delete]),
        ("MERGE", &search, &[&search]),
        ("OPTIONS", &delete, &[]),
    ] {
        daemon.ok(&["online"]);
        for url in all {
            get(&daemon, url, "");
        }
        daemon.settle();
        daemon.ok(&["autodial"]);
        for url in all {
            assert!(get(&daemon, url, "").field("Cache-Status").contains("hit"), "{url}");
        }
        assert_eq!(send(&daemon, method, url).status, 200);
        for url in all {
            let is_hit = get(&daemon, url, "").field("Cache-Status").contains("hit");
            assert_eq!(is_hit, !ended.contains(&url), "{method}: {url}");
        }
    }
    // Invalidated copies can still be used offline.
    daemon.settle();
    assert_eq!(send(&daemon, "DELETE", &delete).status, 200);
    origin.stop();
    daemon.ok(&["offline"]);
    daemon.restart();
    assert!(get(&daemon, &delete, "").field("Cache-Status").contains("hit"));
}

#[test]
fn a_failed_unsafe_request_invalidates_nothing() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/page", |exchange| {
        let is_get = exchange.seen.method == "GET";
        let answer = if is_get { Answer::html("<p>page") } else { Answer::new(500, "", "no") };
        exchange.answer(&answer.field("Location", "/page"))
    });
    let url = origin.url("/page");
    get(&daemon, &url, "");
    daemon.settle();
    daemon.ok(&["autodial"]);
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(send(&daemon, method, &url).status, 500);
        assert!(get(&daemon, &url, "").field("Cache-Status").contains("hit"), "{method}");
    }
}

#[test]
fn a_vary_star_response_is_revalidated_and_served_offline() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    let asked = AtomicUsize::new(0);
    origin.on("/any", move |exchange| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        exchange.answer(&Answer::html(format!("<p>{number}")).field("Vary", "Accept, *"))
    });
    let url = origin.url("/any");
    assert_eq!(get(&daemon, &url, "").text(), "<p>0");
    daemon.settle();
    daemon.ok(&["autodial"]);
    assert_eq!(get(&daemon, &url, "").text(), "<p>1");
    daemon.settle();
    origin.stop();
    assert_eq!(get(&daemon, &url, "").text(), "<p>1", "the origin cannot be asked");
    daemon.ok(&["offline"]);
    assert_eq!(get(&daemon, &url, "").text(), "<p>1");
}

#[test]
fn etags_are_sent_unless_disabled() {
    let text = "[[online-options.for]]\nurl = \"*://*/date/*\"\nvalidate-with-etag = false";
    let (daemon, origin) = (Daemon::configured(text), Origin::start());
    for (path, want) in [("/tag/a", true), ("/date/a", false)] {
        let modified = date(-10);
        counted(&origin, path, move |number| {
            let fields = [("ETag", "\"a\"".to_owned()), ("Last-Modified", modified.clone())];
            page(number, &fields).field("Cache-Control", "no-cache")
        });
        let url = origin.url(path);
        daemon.get(&url).whole();
        daemon.settle();
        assert_eq!(status(&daemon.get(&url)), "fwd=stale; fwd-status=304");
        let seen = origin.asked(path);
        let asked = &seen.last().unwrap().fields;
        assert_eq!(asked.get("If-None-Match").is_some(), want, "{path}");
        assert!(asked.get("If-Modified-Since").is_some(), "{path}");
    }
}
