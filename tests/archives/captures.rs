//! Captures of missing pages in web archives (RFC 7089): offered to a person, stored on demand,
//! marked and dated. Nothing is sent without a button.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::daemon::AS_PERSON;
use crate::harness::form::form;
use crate::harness::tools::python_with;
use crate::harness::{Answer, Daemon, Exchange, Origin, then};

/// A page of a host that does not exist.
pub(super) const GONE: &str = "http://gone.invalid/page?a=b";

pub(super) const DATE: &str = "Fri, 01 May 2020 10:00:00 GMT";

/// A web archive with one capture of [`GONE`], modified and unmodified.
fn archive() -> Origin {
    let origin = Origin::start();
    let gate = format!("/web/{GONE}");
    let modified = format!("/web/20200501100000/{GONE}");
    origin
        .say(&gate, Answer::redirect(302, &origin.url(&modified)).field("Vary", "accept-datetime"));
    let link = format!("<{GONE}>; rel=\"original\", <{}>; rel=\"timegate\"", origin.url(&gate));
    let memento =
        |body: &str| Answer::html(body).field("Memento-Datetime", DATE).field("Link", &link);
    origin.say(&modified, memento("<p>toolbar of the archive, old page"));
    let raw = memento("<!doctype html><title>Old</title><p>old page")
        .field("X-Archive-Orig-Etag", "\"old\"")
        .field("X-Archive-Orig-Set-Cookie", "a=b")
        .field("Set-Cookie", "of=archive");
    origin.say(&format!("/web/20200501100000id_/{GONE}"), raw);
    origin.on("*", |exchange| exchange.answer(&Answer::new(404, "text/html", "not archived")));
    origin
}

pub(super) fn configured(archive: &Origin) -> Daemon {
    let gate = archive.url("/web/");
    let daemon = Daemon::configured(&format!("[web-archives]\ntime-gates = [\"{gate}\"]\n"));
    daemon.ok(&["online"]);
    daemon
}

/// The path of a link on a page of ours.
fn path_to(page: &str, part: &str) -> String {
    let at = page.find(part).unwrap_or_else(|| panic!("{part} in {page}"));
    page[at..].split('"').next().unwrap().replace("&amp;", "&")
}

#[test]
fn a_missing_page_is_filled_from_a_web_archive() {
    let archive = archive();
    let daemon = configured(&archive);
    // The message offers the look-up, and sends nothing.
    let message = daemon.browse(GONE);
    assert_eq!(message.status, 502);
    let offer = daemon.page(&path_to(&message.text(), "/captures/?"));
    let shown = offer.text();
    assert!(shown.contains(&archive.url("/web/")) && shown.contains("whole address"), "{shown}");
    assert!(archive.seen().is_empty(), "{:?}", archive.seen());
    // A program gets a line, without an offer.
    assert!(!daemon.get(GONE).text().contains("captures"));
    // The first button looks it up, the second one stores it.
    let found = daemon.submit(&form(&shown, "/control/captures/find")).text();
    assert!(found.contains("2020-05-01"), "{found}");
    assert!(!archive.seen()[0].fields.all("Accept-Datetime").iter().any(|_| true));
    let stored = daemon.submit(&form(&found, "/control/captures/store"));
    assert_eq!(stored.status, 303, "{}", stored.text());
    let asked = archive.asked(&format!("/web/{GONE}"));
    assert_eq!(asked[1].fields.all("Accept-Datetime"), [DATE]);
    let version =
        daemon.page(&path_to(&format!("{}\"", stored.field("Location")), "/history/version/"));
    let text = version.text();
    assert!(text.starts_with("<!doctype html>") && text.contains("<p>old page"), "{text}");
    assert!(text.contains("not the page of its site") && text.contains("2020-05-01"), "{text}");
    assert!(!text.contains("toolbar"), "{text}");
    assert_eq!(version.field("Memento-Datetime"), DATE);
    // The history says where it came from.
    let history = daemon.page(&format!("/history/?{GONE}")).text();
    assert!(
        history.contains("from a web archive") && history.contains("20200501100000id_"),
        "{history}"
    );
    // Under its own URL a person gets the view with the banner, and a program the marked response.
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let page = daemon.browse(GONE);
        assert_eq!(page.status, 302, "{mode}: {}", page.text());
        assert!(page.field("Location").contains("/history/version/?url=http://gone.invalid/page"));
        assert_eq!(page.field("Cache-Control"), "no-store");
        let program = daemon.get(GONE);
        assert_eq!((program.status, program.field("Memento-Datetime")), (200, DATE), "{mode}");
        assert!(program.field("Link").contains("20200501100000id_"), "{}", program.field("Link"));
        assert_eq!((program.field("ETag"), program.field("Set-Cookie")), ("\"old\"", ""), "{mode}");
    }
    // An export keeps the mark.
    let file = daemon.home().join("out.warc.gz");
    daemon.ok(&["export", file.to_str().unwrap()]);
    let folder = daemon.home().join("stick");
    daemon.ok(&["export", &format!("{}/", folder.display())]);
    let list = std::fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(list.contains("Old [copy from the web archive http"), "{list}");
    let other = Daemon::start();
    other.ok(&["import", file.to_str().unwrap()]);
    let history = other.run(&["history", "--json", GONE]).json();
    let capture = history["versions"][0]["capture"].as_str().unwrap();
    assert!(capture.contains("/web/20200501100000id_/"), "{history}");
}

/// The command stores a capture. Nothing is sent about hosts that are not public, with a login, or
/// while offline.
#[test]
fn the_command_stores_captures_of_public_pages() {
    let archive = archive();
    let daemon = configured(&archive);
    let told = daemon.run(&["get", "--from-archive", "--at", "2019-01-01", "--json", GONE]).json();
    assert_eq!(told["captured"], "2020-05-01T10:00:00Z", "{told}");
    assert_eq!(archive.seen()[0].fields.all("Accept-Datetime").len(), 1);
    assert!(daemon.ok(&["cat", GONE]).contains("old page"));
    let before = archive.seen().len();
    for (url, why) in [
        ("http://ada:secret@gone.invalid/x", "has no capture"),
        ("http://intranet/", "is not sent to others"),
        ("http://192.0.2.1/", "is not sent to others"),
        ("http://printer.local/", "is not sent to others"),
        ("https://gone.invalid/none", "has no capture"),
    ] {
        let ran = daemon.run(&["get", "--from-archive", url]);
        assert!(ran.status == 1 && ran.err.contains(why), "{url}: {ran:?}");
        assert!(!ran.err.contains("secret"), "{ran:?}");
    }
    let sent: Vec<_> = archive.seen()[before..].iter().map(|seen| seen.target.clone()).collect();
    assert_eq!(sent, ["/web/http://gone.invalid/x", "/web/https://gone.invalid/none"]);
    // Without an archive, nothing is offered.
    let daemon = Daemon::start();
    daemon.ok(&["online"]);
    assert!(!daemon.browse(GONE).text().contains("/captures/"));
    let ran = daemon.run(&["get", "--from-archive", GONE]);
    assert!(ran.status == 1 && ran.err.contains("time-gates"), "{ran:?}");
}

/// Puts a capture of this time into an archive, unmodified.
pub(super) fn put(archive: &Origin, url: &str, date: &str, kind: &str, body: &str) {
    let raw = archive.url(&format!("/web/20200501100000id_/{url}"));
    archive.say(&format!("/web/{url}"), Answer::redirect(302, &raw));
    let capture = Answer::new(200, kind, body)
        .field("Memento-Datetime", date)
        .field("Link", &format!("<{url}>; rel=\"original\""));
    archive.say(&format!("/web/20200501100000id_/{url}"), capture);
}

/// A page with a style sheet, whose picture is a part of the page too.
pub(super) fn put_page_with_parts(archive: &Origin) {
    let page = "<link rel=stylesheet href=/s.css><img src=http://cdn.invalid/i.png><img src=/none.png>\
        <img src=http://intranet/a.png><script src=/s.js></script><a href=/next>next</a>";
    put(archive, GONE, DATE, "text/html", page);
    let later = "Sat, 02 May 2020 10:00:00 GMT";
    put(archive, "http://gone.invalid/s.css", later, "text/css", "b { background: url(/bg.png) }");
    put(archive, "http://gone.invalid/bg.png", later, "image/png", "background");
    put(archive, "http://cdn.invalid/i.png", later, "image/png", "picture");
    put(archive, "http://gone.invalid/s.js", later, "text/javascript", "script()");
}

/// The stored parts, each with its mark.
pub(super) fn assert_has_parts(daemon: &Daemon) {
    for (url, body) in [
        ("http://gone.invalid/s.css", "b { background: url(/bg.png) }"),
        ("http://gone.invalid/bg.png", "background"),
        ("http://cdn.invalid/i.png", "picture"),
        ("http://gone.invalid/s.js", "script()"),
    ] {
        let part = daemon.get(url);
        assert_eq!((part.status, part.text().as_str()), (200, body), "{url}");
        assert_eq!(part.field("Memento-Datetime"), "Sat, 02 May 2020 10:00:00 GMT", "{url}");
        assert!(part.field("Link").contains("/web/20200501100000id_/"), "{url}");
    }
}

#[test]
fn a_capture_has_its_parts() {
    let archive = Origin::start();
    put_page_with_parts(&archive);
    archive.on("*", |exchange| exchange.answer(&Answer::new(404, "text/html", "not archived")));
    let daemon = configured(&archive);
    let told = daemon.run(&["get", "--from-archive", "--json", GONE]).json();
    assert_eq!((&told["parts"], &told["missing"]), (&4.into(), &2.into()), "{told}");
    // Each is looked up as of the time of the page. No host of the local network is named.
    for url in ["http://gone.invalid/s.css", "http://gone.invalid/none.png"] {
        let asked = archive.asked(&format!("/web/{url}"));
        assert_eq!(asked[0].fields.all("Accept-Datetime"), [DATE], "{url}");
    }
    let seen = archive.seen();
    assert!(!seen.iter().any(|seen| seen.target.contains("intranet")), "{seen:?}");
    assert!(!seen.iter().any(|seen| seen.target.contains("/next")), "{seen:?}");
    assert_has_parts(&daemon);
    // What is stored from that day is not fetched again, but for a style sheet: its own parts may be
    // missing.
    daemon.ok(&["get", "--from-archive", GONE]);
    for (url, asked) in [("http://gone.invalid/s.css", 2), ("http://gone.invalid/s.js", 1)] {
        assert_eq!(archive.asked(&format!("/web/{url}")).len(), asked, "{url}");
    }
    daemon.ok(&["offline"]);
    assert_has_parts(&daemon);
    // Exports say so too, in each page and with its date.
    let (folder, file) = (daemon.home().join("stick"), daemon.home().join("page.html"));
    daemon.ok(&["export", &format!("{}/", folder.display())]);
    daemon.ok(&["export", "--page", GONE, file.to_str().unwrap()]);
    let pages = std::fs::read_dir(folder.join("gone.invalid")).unwrap().map(|file| file.unwrap());
    let pages = pages.filter(|file| file.path().extension().is_some_and(|end| end == "html"));
    let saved: Vec<_> = pages.map(|file| file.path()).chain([file]).collect();
    assert!(saved.len() >= 2, "{saved:?}");
    for file in saved {
        let text = std::fs::read_to_string(&file).unwrap();
        let before = text.split("<link").next().unwrap();
        for part in ["a copy of 2020-05-01 10:00 UTC from a web archive", "/web/20200501100000id_/"]
        {
            assert!(before.contains(part), "{part} in {}: {text}", file.display());
        }
    }
}

/// What the site itself sent is never replaced by a capture: an older copy, also one that is too
/// long for a version, and a personal copy. An error of the site is. The site is behind a parent
/// proxy, since only public names are offered.
#[test]
fn a_capture_replaces_only_errors() {
    let (site, archive) = (Origin::start(), Origin::start());
    let url = |path: &str| format!("http://gone.example/{path}");
    for path in ["short", "long", "own", "error", "own-error"] {
        put(&archive, &url(path), DATE, "text/html", "from the archive");
    }
    site.on("*", |exchange| {
        let private = |answer: Answer| answer.field("Cache-Control", "private, max-age=60");
        exchange.answer(&match exchange.seen.target.rsplit('/').next().unwrap() {
            "own" => private(Answer::html("of the site")),
            "own-error" => private(Answer::new(404, "text/html", "gone")),
            _ => Answer::new(404, "text/html", "gone"),
        })
    });
    let mut daemon = Daemon::configured(&format!(
        "[web-archives]\ntime-gates = [\"{}\"]\n\
         [proxy]\nproxy = \"{}\"\nexcept = [\"127.0.0.1\"]\n",
        archive.url("/web/"),
        site.addr
    ));
    daemon.down();
    let (before, long) = ("2019-01-01T00:00:00Z".parse().unwrap(), vec![b'x'; 2_000_000]);
    then::keep(daemon.spool(), before, &url("short"), "text/html", b"of the site");
    then::keep(daemon.spool(), before, &url("long"), "text/html", &long);
    daemon.up();
    daemon.ok(&["online"]);
    for path in ["own", "error", "own-error"] {
        daemon.browse(&url(path));
    }
    daemon.ok(&["offline"]);
    assert!(daemon.browse(&url("own-error")).text().starts_with("gone"));
    daemon.ok(&["online"]);
    for path in ["short", "long", "own"] {
        let ran = daemon.run(&["get", "--from-archive", &url(path)]);
        assert!(ran.status == 1 && ran.err.contains("no capture replaces"), "{path}: {ran:?}");
    }
    for path in ["error", "own-error"] {
        daemon.ok(&["get", "--from-archive", &url(path)]);
    }
    daemon.ok(&["offline"]);
    for (path, want) in [
        ("short", &b"of the site"[..]),
        ("long", &long),
        ("own", b"of the site"),
        ("error", b"from the archive"),
        ("own-error", b"from the archive"),
    ] {
        assert!(daemon.get(&url(path)).body == want, "{path}");
    }
    assert_eq!(daemon.browse(&url("own-error")).status, 302, "a person gets the marked view");
}

/// A page with very many parts cannot make us ask without end.
#[test]
fn the_parts_of_a_capture_are_bounded() {
    let archive = Origin::start();
    let page: String = (0..150).map(|number| format!("<img src=/{number}.png>")).collect();
    put(&archive, GONE, DATE, "text/html", &page);
    archive.on("*", |exchange| exchange.answer(&Answer::new(404, "text/html", "not archived")));
    let daemon = configured(&archive);
    let told = daemon.run(&["get", "--from-archive", "--json", GONE]).json();
    assert_eq!((&told["parts"], &told["missing"]), (&0.into(), &100.into()), "{told}");
}

/// An archive that hangs up, loops, or answers with something else gives a reason.
#[test]
fn a_bad_archive_is_reported() {
    let archive = Origin::start();
    let daemon = configured(&archive);
    let at = |path: &str| format!("http://gone.invalid/{path}");
    let on = |path: &str, answer: Answer| archive.say(&format!("/web/{}", at(path)), answer);
    on("loop", Answer::redirect(302, &archive.url(&format!("/web/{}", at("loop")))));
    on("plain", Answer::html("no memento"));
    on("error", Answer::new(500, "text/html", "x"));
    on("scheme", Answer::redirect(302, "ftp://127.0.0.1/x"));
    let dated = Answer::html("x").field("Memento-Datetime", DATE);
    on("other", dated.clone().field("Link", "<http://evil.example/>; rel=original"));
    on("date", Answer::html("x").field("Memento-Datetime", "yesterday"));
    on("missing", Answer::new(404, "text/html", "x").field("Memento-Datetime", DATE));
    let reset = |exchange: &mut Exchange<'_>| exchange.reset();
    archive.on(&format!("/web/{}", at("close")), reset);
    for (path, why) in [
        ("loop", "has no capture"),
        ("plain", "status 200 and without a capture"),
        ("error", "status 500"),
        ("scheme", "cannot be requested"),
        ("other", "another address: http://evil.example/"),
        ("date", "status 200 and without a capture"),
        ("missing", "has no capture"),
        ("close", "gone.invalid/close"),
    ] {
        let ran = daemon.run(&["get", "--from-archive", &at(path)]);
        assert!(ran.status == 1 && ran.err.contains(why), "{path}: {ran:?}");
        assert_ne!(daemon.run(&["cat", &at(path)]).status, 0, "{path}");
    }
}

/// A capture that the archive does not give unmodified is stored as the archive shows it, and a
/// response without a date or of another page is never taken for a capture.
#[test]
fn only_captures_of_the_page_are_stored() {
    let archive = Origin::start();
    let daemon = configured(&archive);
    let at = |path: &str| format!("http://gone.invalid/{path}");
    let memento = |path: &str, kind: &str, body: &str| {
        Answer::new(200, kind, body)
            .field("Memento-Datetime", DATE)
            .field("Link", &format!("<{}>; rel=\"original\"", at(path)))
    };
    for (path, raw) in [
        ("login", Answer::html("log in here")),
        ("moved", memento("else", "text/html", "another page")),
        ("away", Answer::redirect(302, "http://192.168.1.1/status")),
    ] {
        let shown = format!("/web/20200501100000/{}", at(path));
        archive.say(&format!("/web/{}", at(path)), Answer::redirect(302, &archive.url(&shown)));
        archive.say(&shown, memento(path, "text/html", "as the archive shows it"));
        archive.say(&format!("/web/20200501100000id_/{}", at(path)), raw);
        daemon.ok(&["get", "--from-archive", &at(path)]);
        assert_eq!(daemon.ok(&["cat", &at(path)]), "as the archive shows it", "{path}");
    }
    // What cannot have a banner is shown in the history, which names the archive.
    archive.say(&format!("/web/{}", at("text")), memento("text", "text/plain", "text"));
    daemon.ok(&["get", "--from-archive", &at("text")]);
    let page = daemon.browse(&at("text"));
    assert!(page.field("Location").contains("/history/?http://gone.invalid/text"), "{page:?}");
    assert_eq!(daemon.get(&at("text")).text(), "text");
    // Nothing in the page can hide the banner.
    archive.say(&format!("/web/{}", at("open")), memento("open", "text/html", "<p>old<!-- "));
    daemon.ok(&["get", "--from-archive", &at("open")]);
    let page = daemon.browse(&at("open"));
    let shown =
        daemon.page(&path_to(&format!("{}\"", page.field("Location")), "/history/version/"));
    let text = shown.text();
    let before = text.split("<p>old").next().unwrap();
    assert!(before.contains("not the page of its site"), "{text}");
}

/// An aggregator knows which archive has a capture, and redirects there. Both are hosts behind a
/// parent proxy.
#[test]
fn an_aggregator_leads_to_the_archive_with_a_capture() {
    let parent = Origin::start();
    let gate = "http://aggregator.example/timegate/";
    let in_archive = |mark: &str| format!("http://archive.example/web/20200501100000{mark}/{GONE}");
    parent.say(&format!("{gate}{GONE}"), Answer::redirect(302, &in_archive("")));
    for (mark, body) in [("", "with the toolbar"), ("id_", "old page")] {
        let link = format!("<{GONE}>; rel=\"original\"");
        let memento = Answer::html(body).field("Memento-Datetime", DATE).field("Link", &link);
        parent.say(&in_archive(mark), memento);
    }
    parent.on("*", |exchange| exchange.answer(&Answer::new(404, "text/html", "missing")));
    let daemon = Daemon::configured(&format!(
        "[proxy]\nproxy = \"{}\"\n[web-archives]\ntime-gates = [\"{gate}\"]\n",
        parent.addr
    ));
    daemon.ok(&["online"]);
    let told = daemon.run(&["get", "--from-archive", "--json", GONE]).json();
    assert_eq!(told["memento"], in_archive("id_").as_str(), "{told}");
    assert_eq!(daemon.ok(&["cat", GONE]), "old page");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(GONE).field("Memento-Datetime"), DATE);
}

/// A site that works again is shown, whatever the archive says about the age of its capture.
#[test]
fn a_capture_never_hides_its_site() {
    let (site, archive) = (Origin::start(), Origin::start());
    let is_alive = Arc::new(AtomicBool::new(false));
    let alive = Arc::clone(&is_alive);
    site.on("*", move |exchange| {
        let is_conditional = exchange.seen.head.to_ascii_lowercase().contains("if-none-match");
        exchange.answer(&match (alive.load(Ordering::SeqCst), is_conditional) {
            (false, _) => Answer::new(404, "text/html", "gone"),
            (true, true) => Answer::new(304, "", ""),
            (true, false) => Answer::html("alive").field("ETag", "\"v1\""),
        })
    });
    let url = "http://gone.example/page";
    let memento = Answer::html("old page")
        .field("Memento-Datetime", DATE)
        .field("Link", &format!("<{url}>; rel=\"original\""))
        .field("X-Archive-Orig-Etag", "\"v1\"")
        .field("X-Archive-Orig-Expires", "Thu, 31 Dec 2037 23:55:55 GMT")
        .field("X-Archive-Orig-Date", DATE);
    archive.say(&format!("/web/{url}"), memento);
    let daemon = Daemon::configured(&format!(
        "[web-archives]\ntime-gates = [\"{}\"]\n\
         [proxy]\nproxy = \"{}\"\nexcept = [\"127.0.0.1\"]\n",
        archive.url("/web/"),
        site.addr
    ));
    daemon.ok(&["online"]);
    assert_eq!(daemon.browse(url).status, 404);
    daemon.ok(&["get", "--from-archive", url]);
    assert_eq!(daemon.browse(url).status, 404, "an error of the site is shown, with the banner");
    is_alive.store(true, Ordering::SeqCst);
    let page = daemon.browse(url);
    assert_eq!((page.status, page.text().as_str()), (200, "alive"));
    daemon.ok(&["offline"]);
    assert_eq!(daemon.browse(url).text(), "alive");
}

/// The page with which a site says that a page is missing gets a banner for a person. The site is
/// behind a parent proxy, since only public names are offered.
#[test]
fn a_page_that_says_404_gets_a_banner() {
    let (site, archive) = (Origin::start(), archive());
    let page = "<!doctype html><title>404</title><p>We moved";
    site.on("*", move |exchange| {
        let (status, kind) = match exchange.seen.target.rsplit('/').next().unwrap() {
            "404" | "ours" => (404, "text/html"),
            "410" => (410, "text/html; charset=utf-8"),
            "text" => (404, "text/plain"),
            _ => (200, "text/html"),
        };
        exchange.answer(&Answer::new(status, kind, page))
    });
    let daemon = Daemon::configured(&format!(
        "[web-archives]\ntime-gates = [\"{}\"]\n[[web-archives.for]]\nurl = \"*://*/ours\"\n\
         offer = false\n[proxy]\nproxy = \"{}\"\nexcept = [\"127.0.0.1\"]\n",
        archive.url("/web/"),
        site.addr
    ));
    daemon.ok(&["online"]);
    for (path, has_banner) in
        [("404", true), ("410", true), ("text", false), ("ours", false), ("200", false)]
    {
        let url = format!("http://gone.example/{path}");
        let fields = format!("{AS_PERSON}Accept-Encoding: gzip\r\n");
        let shown = daemon.client().get_with(&url, &fields).whole();
        let text = shown.text();
        assert!(text.starts_with(page), "{path}: {text}");
        assert_eq!(text.contains("/captures/?http://gone.example/"), has_banner, "{path}: {text}");
        if has_banner {
            assert_eq!(shown.status.to_string(), path);
            assert_eq!(shown.field("Cache-Control"), "private, no-cache");
        }
        // A program gets the page unchanged.
        assert_eq!(daemon.get(&url).text(), page, "{path}");
    }
    assert!(archive.seen().is_empty());
}

/// A real archive, with its TimeGate and unmodified captures.
#[test]
#[ignore = "needs python3 with pywb"]
fn a_capture_comes_from_pywb() {
    let place = Daemon::prepare(None);
    let url = "http://gone.invalid/dir/page";
    let body = "<!doctype html><title>Old</title><a href=/other>unmodified link</a>";
    let warc = place.home().join("made.warc");
    let block = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nEtag: \"v\"\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
         WARC-Date: 2020-05-01T10:00:00Z\r\nWARC-Record-ID: \
         <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n\
         {block}\r\n\r\n",
        block.len()
    );
    std::fs::write(&warc, record).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives/archive.py");
    let mut command = python_with("pywb");
    command.arg(script).arg(&warc).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut pywb = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(pywb.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().parse().unwrap_or_else(|_| panic!("{line}"));
    let gate = format!("http://127.0.0.1:{port}/all/");
    let daemon = Daemon::configured(&format!("[web-archives]\ntime-gates = [\"{gate}\"]\n"));
    daemon.ok(&["online"]);
    let told = daemon.run(&["get", "--from-archive", "--json", url]).json();
    assert_eq!(told["captured"], "2020-05-01T10:00:00Z", "{told}");
    assert!(told["memento"].as_str().unwrap().contains("20200501100000id_/"), "{told}");
    assert_eq!(daemon.ok(&["cat", url]), body);
    let none = daemon.run(&["get", "--from-archive", "http://gone.invalid/none"]);
    assert!(none.status == 1 && none.err.contains("has no capture"), "{none:?}");
    // The server ends with its standard input.
    drop(pywb.stdin.take());
    pywb.wait().unwrap();
}
