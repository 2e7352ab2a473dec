//! Offline, a missing URL is served from a stored URL that names the same page, and from no other
//! URL.

use crate::harness::daemon::AS_PERSON;
use crate::harness::{Answer, Daemon, Origin};

/// The field that a browser sends with a request for a script.
const PART: &str = "Sec-Fetch-Dest: script\r\n";

#[test]
fn tracking_parameters_and_cache_busters_are_ignored_offline() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/p", Answer::html("the page"));
    origin.say("/p?id=1", Answer::html("page one"));
    origin.say("/to", Answer::redirect(302, "/p"));
    origin.say("/gone", Answer::new(404, "text/html", "gone"));
    for path in ["/p", "/p?id=1", "/to", "/gone"] {
        daemon.browse(&origin.url(path));
    }
    daemon.settle();
    // Online, each URL is a separate page.
    daemon.browse(&origin.url("/p?utm_source=online"));
    assert_eq!(origin.count("/p?utm_source=online"), 1);
    daemon.ok(&["offline"]);
    for (path, want) in [
        ("/p?utm_source=a&fbclid=b", "the page"),
        ("/p?_=1700000000123", "the page"),
        ("/p?id=1&gclid=x", "page one"),
    ] {
        for fields in [AS_PERSON, PART, ""] {
            let page = daemon.client().get_with(&origin.url(path), fields).whole();
            assert_eq!((page.status, page.text().as_str()), (200, want), "{path}");
            let status = page.field("Cache-Status");
            assert!(status.contains("hit; detail=near-arguments"), "{path}: {status}");
        }
    }
    assert!(daemon.queued().is_empty(), "{:?}", daemon.queued());
    for path in [
        "/p?id=2",
        "/p?id=2&utm_source=a",
        "/p?t=2",
        "/other?utm_source=a",
        "/to?utm_source=a",
        "/gone?utm_source=a",
    ] {
        assert_eq!(daemon.browse(&origin.url(path)).status, 504, "{path}");
    }
    let exact = daemon.browse(&origin.url("/p?utm_source=online"));
    assert!(exact.field("Cache-Status").contains("detail=offline"), "{exact:?}");
    // A request with a login does not get a page that was stored for requests without one.
    let fields = format!("{AS_PERSON}Authorization: Basic dTpw\r\n");
    assert_eq!(daemon.client().get_with(&origin.url("/p?utm_source=a"), &fields).status, 504);
}

#[test]
fn a_page_stored_with_tracking_parameters_is_found_without_them() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let marked = ["/p?utm_source=a", "/p?id=1&gclid=x", "/gone?utm_source=a"];
    origin.say(marked[0], Answer::html("the page"));
    origin.say(marked[1], Answer::html("page one"));
    origin.say(marked[2], Answer::new(404, "text/html", "gone"));
    for path in marked {
        daemon.browse(&origin.url(path));
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    for (path, want) in [
        ("/p", "the page"),
        ("/p?utm_source=b&fbclid=c", "the page"),
        ("/p?id=1", "page one"),
        ("/p?_=1700000000123&id=1", "page one"),
    ] {
        for fields in [AS_PERSON, PART, ""] {
            let page = daemon.client().get_with(&origin.url(path), fields).whole();
            assert_eq!((page.status, page.text().as_str()), (200, want), "{path}");
            let status = page.field("Cache-Status");
            assert!(status.contains("hit; detail=near-arguments"), "{path}: {status}");
        }
    }
    assert!(daemon.queued().is_empty(), "{:?}", daemon.queued());
    for path in ["/p?id=2", "/p?t=2", "/gone", "/other"] {
        assert_eq!(daemon.browse(&origin.url(path)).status, 504, "{path}");
    }
}

#[test]
fn rules_add_names_and_switch_it_off() {
    let origin = Origin::start();
    let daemon = Daemon::configured(&format!(
        "[offline-options]\n\
         [[offline-options.for]]\nurl = \"http://{0}/off*\"\nnear-answers = false\n\
         [[offline-options.for]]\nurl = \"http://{0}/more*\"\nnear-arguments = [\"ref\", \"track_*\"]\n",
        origin.addr
    ));
    for path in ["/off", "/more", "/p"] {
        origin.say(path, Answer::html("kept"));
        daemon.browse(&origin.url(path));
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    for (path, want) in [
        ("/off?utm_source=a", 504),
        ("/more?ref=a&track_b=c&utm_source=d", 200),
        ("/more?refs=a", 504),
        ("/p?ref=a", 504),
    ] {
        assert_eq!(daemon.browse(&origin.url(path)).status, want, "{path}");
    }
}

#[test]
fn a_directory_page_is_served_for_its_index_file() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let page = |text: &str| Answer::html(format!("<!DOCTYPE html><title>T</title>{text}"));
    let link = |path: &str| page(&format!("<link rel=canonical href={path}>"));
    // The stored URL, its response, the requested URL, and whether it is served.
    let rows = [
        ("/a/", link("index.html"), "/a/index.html", true),
        ("/b/index.html", link("/b/"), "/b/", true),
        ("/c/", page("").field("Content-Location", "index.html"), "/c/index.html", true),
        ("/d/", page("").field("Link", "</d/index.htm>; rel=canonical"), "/d/index.htm", true),
        ("/e/", page(""), "/e/index.html", false),
        ("/f/", link("/f/"), "/f/index.html", false),
        ("/g/", link("http://other.example/g/index.html"), "/g/index.html", false),
        ("/h/", link("index.html"), "/h/index.html?x=1", false),
    ];
    for (stored, answer, ..) in &rows {
        origin.say(stored, answer.clone());
        assert_eq!(daemon.get(&origin.url(stored)).status, 200);
    }
    daemon.settle();
    daemon.ok(&["offline"]);
    for (stored, answer, asked, is_served) in &rows {
        let response = daemon.get(&origin.url(asked)).whole();
        assert_eq!(response.status, if *is_served { 200 } else { 504 }, "{stored} for {asked}");
        if *is_served {
            let status = response.field("Cache-Status").to_owned();
            assert!(status.contains("hit; detail=near-index"), "{asked}: {status}");
            assert_eq!(response.body, answer.body, "{asked}");
        }
    }
}

#[test]
fn an_http_page_is_served_for_https_in_a_sandbox() {
    let parent = Origin::start();
    let config = format!("[proxy]\nproxy = \"{}\"\n", parent.addr);
    let daemon = Daemon::configured(&config);
    let answer = |request: &mut crate::harness::Exchange<'_>| {
        request.answer(&Answer::html("by plain HTTP").field("Content-Security-Policy", "img-src *"))
    };
    parent.on("http://h.example/p", answer);
    assert_eq!(daemon.browse("http://h.example/p").text(), "by plain HTTP");
    daemon.settle();
    daemon.ok(&["offline"]);
    let page = daemon.browse("https://h.example/p?utm_source=a");
    assert_eq!(page.text(), "by plain HTTP");
    assert!(page.field("Cache-Status").contains("detail=near-scheme"), "{page:?}");
    let policies = page.fields.all("Content-Security-Policy");
    assert!(policies.iter().any(|policy| policy.starts_with("sandbox ")), "{policies:?}");
    assert!(policies.contains(&"img-src *"), "{policies:?}");
    let part = daemon.client().get_with("https://h.example/p", PART).whole();
    assert_eq!(part.status, 504, "a script of plain HTTP was used for a secure page");
}
