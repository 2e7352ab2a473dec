//! Message pages: what happened, what one can do, and nothing of it where a part of a page is asked for.

use crate::harness::{Daemon, Origin, daemon::AS_PERSON};

/// Kinds of parts, as a browser names them, with the type of nothing.
const PARTS: [(&str, &str); 9] = [
    ("image", "image/gif"),
    ("script", "text/javascript"),
    ("style", "text/css"),
    ("iframe", "text/html; charset=utf-8"),
    ("font", "font/woff2"),
    ("video", "video/mp4"),
    ("worker", "text/javascript"),
    ("manifest", "application/manifest+json"),
    ("empty", "text/plain; charset=utf-8"),
];

/// A proxy that has a reason for each refusal, and URLs for them, with the status of the message.
fn refusing(origin: &Origin, gone: &Origin) -> (Daemon, Vec<(&'static str, String, u16)>) {
    let config = format!(
        "[dont-get]\nurls = [\"*://{0}/blocked/*\"]\n[dont-cache]\nurls = [\"*://{0}/never/*\"]\n\
         [[offline-options.for]]\nurl = \"*://{0}/unqueued/*\"\ndont-request = true\n",
        origin.addr
    );
    let rows = vec![
        ("online", gone.url("/failed"), 502),
        ("online", "http://no-such-host.invalid/".to_owned(), 502),
        ("offline", origin.url("/page/1.html"), 504),
        ("offline", origin.url("/never/1"), 504),
        ("offline", origin.url("/unqueued/1"), 504),
    ];
    (Daemon::configured(&config), rows)
}

#[test]
fn a_part_of_a_page_never_gets_a_page() {
    let (origin, mut gone) = (Origin::start(), Origin::start());
    gone.stop();
    let (daemon, rows) = refusing(&origin, &gone);
    let mut client = daemon.client();
    for (mode, url, status) in rows {
        daemon.ok(&[mode]);
        for (dest, kind) in PARTS {
            let fields = format!(
                "Accept: text/html,*/*\r\nReferer: http://x.example/\r\nSec-Fetch-Dest: {dest}\r\n"
            );
            let part = client.get_with(&url, &fields).whole();
            let got = (part.status, part.field("Content-Type"), part.body.len());
            assert_eq!(got, (status, kind, 0), "{mode} {url} {dest}");
            assert_eq!(part.field("Cache-Control"), "no-store", "{mode} {url} {dest}");
        }
        let page = client.get_with(&url, AS_PERSON).whole();
        assert_eq!(page.status, status, "{mode} {url}");
        assert!(page.text().contains("<h1>"), "{mode} {url}: {}", page.text());
        // A program reads a line, if anything.
        let program = client.get_with(&url, "Accept: */*\r\n").whole();
        assert_eq!(program.status, status, "{mode} {url}");
        assert!(!program.text().contains('<'), "{mode} {url}: {}", program.text());
        let json = client.get_with(&url, "Accept: application/json\r\n").whole();
        assert!(!json.text().contains('<'), "{mode} {url}: {}", json.text());
    }
    // What is blocked seems to be there where a page does best so.
    for (dest, kind) in PARTS {
        let fields = format!("Accept: */*\r\nSec-Fetch-Dest: {dest}\r\n");
        let part = client.get_with(&origin.url("/blocked/1"), &fields).whole();
        let is_there = ["image", "script", "style", "iframe"].contains(&dest);
        let want = if is_there { 200 } else { 403 };
        assert_eq!((part.status, part.field("Content-Type")), (want, kind), "{dest}");
        assert_eq!(part.body.is_empty(), dest != "image", "{dest}");
    }
    assert!(origin.seen().is_empty(), "{:?}", origin.seen());
}

#[test]
fn a_part_gets_nothing_of_what_is_said_before_anything_is_asked() {
    let origin = Origin::start();
    let daemon = Daemon::start();
    let part = "Sec-Fetch-Dest: image\r\nAccept: image/*\r\n";
    let mut client = daemon.client();
    // A loop: the request has been here.
    let first = client.get_with(&origin.url("/page/1.html"), "").whole();
    let via = first.field("Via").rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(!via.is_empty(), "{:?}", first.fields);
    let fields = format!("{part}Via: 1.1 {via}\r\n");
    let looped = client.get_with(&origin.url("/page/2.html"), &fields).whole();
    assert_eq!((looped.status, looped.field("Content-Type")), (508, "image/gif"));
    assert!(looped.body.is_empty());
    let page =
        client.get_with(&origin.url("/p"), &format!("{AS_PERSON}Via: 1.1 {via}\r\n")).whole();
    assert!(page.status == 508 && page.text().contains("in a circle"), "{}", page.text());
    // A page of ours that is not there, and a form of ours by a link.
    for (path, status) in [("/no/such/page", 404), ("/control/online", 405)] {
        let own = client.get_with(&daemon.own(path), part).whole();
        let got = (own.status, own.field("Content-Type"), own.body.len());
        assert_eq!(got, (status, "image/gif", 0), "{path}");
        let page = client.get_with(&daemon.own(path), AS_PERSON).whole();
        assert!(page.status == status && page.text().contains("<h1>"), "{path}");
    }
}
