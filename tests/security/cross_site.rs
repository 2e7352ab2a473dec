//! What pages of other sites may do with the daemon's own addresses: they may open a page in a
//! window and load public files. If they could do more, they would learn which URLs are stored.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::chromium::Chromium;
use crate::harness::client::Response;
use crate::harness::{Answer, Daemon, Origin, heavy};
use crate::security::logins::control;
use crate::security::routes::routes;
use crate::site::browser::browser;

/// Addresses for which there is no route.
const UNKNOWN: [&str; 2] = ["/no/such/page", "/api/none"];

/// The fields that browsers send, and whether the request opens a window.
const FROM_ANOTHER_SITE: [(&str, bool); 8] = [
    (
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
        true,
    ),
    ("Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", true),
    ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n", false),
    ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n", false),
    ("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n", false),
    ("Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n", false),
    (
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: document\r\n",
        false,
    ),
    ("Sec-Fetch-Site: cross-site\r\n", false),
];

/// The fields by which an old browser tells that a page of another site made the request.
const OLD: [&str; 2] = ["Referer: http://evil.test/\r\n", "Origin: null\r\n"];

fn ask(daemon: &Daemon, method: &str, path: &str, fields: &str) -> Response {
    let mut client = daemon.client();
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\n{fields}Content-Length: 0\r\n\r\n",
        daemon.addr()
    ));
    client.receive(method)
}

#[test]
#[ignore = "slow"]
fn other_sites_may_open_pages_and_load_public_files_only() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let url = origin.url("/stored");
    daemon.get(&url);
    for path in routes().iter().map(|route| route.path).chain(UNKNOWN).collect::<BTreeSet<_>>() {
        let is_public = has_guard(path, "public") || has_guard(path, "sandboxed");
        let is_download = has_guard(path, "download");
        let opens = !path.starts_with("/api/") && !is_download;
        for path in [path.to_owned(), format!("{path}?{url}"), format!("{path}?url={url}")] {
            for method in ["GET", "POST"] {
                let policy = if is_public { "cross-origin" } else { "same-origin" };
                let isolates = |response: &Response, fields: &str| {
                    let told = ["Resource", "Opener"].map(|what| {
                        response.field(&format!("Cross-Origin-{what}-Policy")).to_owned()
                    });
                    assert_eq!(told, [policy, "same-origin"], "{method} {path}\n{fields}");
                };
                for (fields, is_window) in FROM_ANOTHER_SITE {
                    let response = ask(&daemon, method, &path, fields);
                    isolates(&response, fields);
                    let is_let_in = is_public || (opens && is_window);
                    if !is_let_in {
                        assert_eq!(response.status, 403, "{method} {path}\n{fields}");
                    } else if method == "GET" && !path.starts_with("/api/pins") {
                        assert_ne!(response.status, 403, "{method} {path}\n{fields}");
                    }
                }
                for fields in OLD.iter().filter(|_| is_download) {
                    let response = ask(&daemon, method, &path, fields);
                    assert_eq!(response.status, 403, "{method} {path}\n{fields}");
                }
            }
            // A page of ours may request every address, except those for administrators.
            if !path.starts_with("/api/events") {
                let response = ask(&daemon, "GET", &path, "Sec-Fetch-Site: same-origin\r\n");
                let is_for_administrators = path.starts_with("/api/pins");
                assert_eq!(response.status == 403, is_for_administrators, "{path}");
            }
        }
    }
}

fn has_guard(path: &str, guard: &str) -> bool {
    routes().iter().any(|route| route.path == path && route.guard == guard)
}

/// The properties of a response that a page of another site could observe if it opens the response
/// in a window.
fn outcome(response: &Response) -> String {
    let disposition = response.field("Content-Disposition").split(';').next().unwrap_or_default();
    let stays = matches!(response.status, 204 | 205);
    format!("{} {disposition} {stays}", response.field("Content-Type"))
}

/// A route whose response is a file, or a page that depends on the stored entries, has the guard
/// `download`.
#[test]
#[ignore = "slow"]
fn windows_show_other_sites_the_same_whether_or_not_a_url_is_stored() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let window = FROM_ANOTHER_SITE[0].0;
    origin.say("/a.zip", Answer::new(200, "application/zip", "PK"));
    let (stored, missing) = (origin.url("/a.zip"), origin.url("/b.zip"));
    daemon.get(&stored);
    daemon.ok(&["offline"]);
    for route in routes().iter().filter(|route| route.method == "GET") {
        let path = route.path;
        if path.starts_with("/api/") {
            continue;
        }
        let of = |url: &str, query: &str, fields: &str| {
            ask(&daemon, "GET", &format!("{path}?{query}{url}"), fields)
        };
        for query in ["", "url="] {
            let seen = [&stored, &missing].map(|url| outcome(&of(url, query, window)));
            assert_eq!(seen[0], seen[1], "{path}?{query}");
            if route.guard == "download" {
                let pages = [&stored, &missing].map(|url| {
                    let page = of(url, query, window).text();
                    assert!(
                        page.contains(&format!("{path}?{query}{url}\"")),
                        "a link to it: {page}"
                    );
                    page.replace(url.as_str(), "")
                });
                assert_eq!(pages[0], pages[1], "{path}?{query}");
            }
        }
    }
    let source = format!("/info/source?url={stored}");
    for fields in ["", "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n"] {
        let response = ask(&daemon, "GET", &source, fields);
        assert_eq!((response.status, response.text().as_str()), (200, "PK"), "{fields}");
    }
    // Addresses of the gateway do not show either whether a URL is stored.
    let at = |path: &str| format!("/http/{}{path}", origin.addr);
    for fields in [window, &format!("Accept: text/html\r\n{}", OLD[0])] {
        let [there, not] = ["/a.zip", "/b.zip"].map(|path| ask(&daemon, "GET", &at(path), fields));
        assert_eq!(outcome(&there), outcome(&not), "{fields}");
        assert_eq!(there.status, 403);
        assert!(there.text().contains(&format!("{}\"", at("/a.zip"))), "a link to it");
        assert_eq!(there.field("Cross-Origin-Opener-Policy"), "same-origin");
    }
    let ours =
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let saved = ask(&daemon, "GET", &at("/a.zip"), ours);
    assert_eq!((saved.status, saved.field("Cache-Control")), (200, "no-store"));
}

#[test]
fn a_login_request_has_the_same_security_fields() {
    let daemon = Daemon::configured(&control());
    let response = ask(&daemon, "GET", "/metrics", "");
    let policy = response.field("Cross-Origin-Resource-Policy");
    assert_eq!((response.status, policy), (401, "same-origin"));
    let (fields, _) = FROM_ANOTHER_SITE[4];
    assert_eq!(ask(&daemon, "GET", "/metrics", fields).status, 403, "before a login is asked for");
}

#[test]
fn gateway_pages_and_messages_are_closed_to_other_sites() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (there, cross_site) = (origin.addr, FROM_ANOTHER_SITE[4].0);
    origin.say("/i.png", Answer::new(200, "image/png", "x"));
    for (path, policy) in [
        (format!("/http/{there}/page/1.html"), "same-origin"),
        (format!("/http/{there}/none"), "same-origin"),
        (format!("/http/{there}/i.png"), "cross-origin"),
        ("/http/never.test:25/".to_owned(), "same-origin"),
        ("/http/localhost:1/".to_owned(), "same-origin"),
        ("/http/".to_owned(), "same-origin"),
        ("/gateway/send".to_owned(), "same-origin"),
    ] {
        for fields in ["", cross_site] {
            let response = ask(&daemon, "GET", &path, fields);
            let told = ["Resource", "Opener"]
                .map(|what| response.field(&format!("Cross-Origin-{what}-Policy")).to_owned());
            let policy = if fields.is_empty() { policy } else { "same-origin" };
            assert_eq!(told, [policy, "same-origin"], "{path} {fields}");
        }
    }
}

#[test]
fn origin_responses_keep_their_resource_policy() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/open", Answer::html("x").field("Cross-Origin-Resource-Policy", "cross-origin"));
    let (fields, _) = FROM_ANOTHER_SITE[4];
    for (path, want) in [("/open", Some("cross-origin")), ("/page/1.html", None)] {
        let response = daemon.client().get_with(&origin.url(path), fields);
        assert_eq!(response.status, 200);
        let policy = response.fields.get("Cross-Origin-Resource-Policy");
        assert_eq!(policy, want, "{path}");
    }
}

/// A page that loads two addresses and shows for each whether it could be loaded.
const SNIFFING: &str = "<title>Sniffing</title><script>const told = {};\
    for (const path of PATHS) fetch(path, {mode: 'no-cors'})\
    .then(() => told[path] = true, () => told[path] = false)</script>";

#[test]
#[ignore = "needs chromium"]
fn a_browser_hides_our_pages_from_other_sites() {
    let program = browser();
    let _alone = heavy();
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let stored = origin.url("/page/1.html");
    daemon.get(&stored);
    let local = daemon.spool().join("local");
    std::fs::create_dir_all(&local).unwrap();
    let picture = "<svg xmlns='http://www.w3.org/2000/svg' width='7' height='7'/>";
    std::fs::write(local.join("a.svg"), picture).unwrap();
    std::fs::write(local.join("index.html"), "<title>Mine</title><img src=a.svg>").unwrap();
    let source = |url: &str| daemon.own(&format!("/info/source?url={url}"));
    let paths = [source(&stored), source("http://never.test/"), daemon.own("/style.css")];
    origin.say("/sniff", Answer::html(SNIFFING.replace("PATHS", &json!(paths).to_string())));
    let mut browser = Chromium::direct(&program, &[]);
    browser.open(&origin.url("/sniff"));
    browser.until("Object.keys(told).length == 3", "each was tried");
    let outcome = paths.map(|path| browser.value(&format!("told[{}]", json!(path))));
    assert_eq!(outcome, [json!(false), json!(false), json!(true)]);
    // The sandboxed pages can still be opened, and the user's own files can load each other.
    browser.open(&source(&stored));
    browser.until("document.body.innerText.includes('page 1')", "the source is shown");
    browser.open(&daemon.own(&format!("/history/version?url={stored}&at=")));
    browser.open(&daemon.own("/local/"));
    browser.until("document.title == 'Mine' && document.images[0].naturalWidth == 7", "a picture");
}
