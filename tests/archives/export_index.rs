//! Exports of search results and of the pages of one online session, with sub-resources and older
//! versions.

use std::fs;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde_json::json;
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::{Daemon, then};

/// Stores a page twice; the first response becomes an older version.
fn keep_twice(daemon: &Daemon, url: &str) {
    let versions = Versions::from_rule(|_| 3);
    let options = Options { durability: Durability::None, versions, ..Options::default() };
    let (spool, _) = Spool::open(daemon.spool(), &options).unwrap();
    let place = Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
    for text in ["first green", "then green"] {
        let now = Timestamp::now();
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
        let new = NewEntry { asked: now, when: now, head, request, connection: None };
        let mut writer = spool.begin(&place, new).unwrap();
        writer.write(format!("<title>{text}</title>").as_bytes()).unwrap();
        writer.finish(None).unwrap();
        spool.flush().unwrap();
    }
}

/// Exports into a folder. Returns the URLs on its index page, and the folder.
fn exported(daemon: &Daemon, name: &str, arguments: &[&str]) -> (Vec<String>, PathBuf) {
    let folder = daemon.home().join(name);
    let file = format!("{}/", folder.display());
    let ran = daemon.run(&[&["export", "--json"], arguments, &[&file]].concat());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    let rows = page.lines().filter_map(|row| row.split_once("\">")?.1.split_once("</a>"));
    let mut urls: Vec<_> = rows.map(|(url, _)| url.to_owned()).collect();
    urls.sort();
    assert_eq!(ran.json()["entries"], json!(urls.len()));
    (urls, folder)
}

#[test]
#[ignore = "slow"]
fn search_results_and_online_sessions_are_exported() {
    let mut daemon = Daemon::prepare(Some(""));
    let (now, days) = (Timestamp::now(), |days: i64| SignedDuration::from_hours(24 * days));
    let old = now - days(10);
    then::keep(daemon.spool(), old, "http://a.test/old", "text/html", b"<title>green</title>");
    then::keep(daemon.spool(), old, "http://a.test/leaf.png", "image/png", b"png");
    then::keep(daemon.spool(), now, "http://b.test/cake", "text/html", b"<title>cake</title>");
    keep_twice(&daemon, "http://b.test/tea");
    let state = format!("mode = offline\nonline-sessions = {} {}\n", now - days(1), now - days(20));
    fs::write(daemon.spool().join("state"), format!("wwwoffle-state 1\n{state}")).unwrap();

    let none = daemon.run(&["export", "--search", "green", "x.warc.gz"]);
    assert!(none.status == 1 && none.err.contains("`wwwoffle reindex` builds one"), "{none:?}");
    daemon.ok(&["reindex"]);
    let green = ["http://a.test/old", "http://b.test/tea"];
    let latest = ["http://b.test/cake", "http://b.test/tea"];
    let before = ["http://a.test/leaf.png", "http://a.test/old"];
    for with_daemon in [false, true] {
        if with_daemon {
            daemon.up();
        }
        let of = |name: &str, arguments: &[&str]| {
            exported(&daemon, &format!("{name}-{with_daemon}"), arguments).0
        };
        assert_eq!(of("green", &["--search", "green"]), green);
        assert_eq!(of("cake", &["--search", "green OR cake", "--host", "b.test"]), latest);
        assert_eq!(of("latest", &["--session", "latest"]), latest);
        assert_eq!(of("before", &["--session", "1"]), before);
        assert_eq!(of("both", &["--session", "1", "--search", "green"]), ["http://a.test/old"]);
        assert_eq!(of("nothing", &["--search", "absent"]), Vec::<String>::new());
    }
    let (urls, folder) = exported(&daemon, "versions", &["--host", "b.test", "--versions"]);
    assert_eq!(urls, ["http://b.test/cake", "http://b.test/tea", "http://b.test/tea"]);
    let text = |name: &str| fs::read_to_string(folder.join("b.test").join(name)).unwrap();
    assert!(text("tea.html").contains("then") && text("tea+2.html").contains("first"));
    for end in ["warc.gz", "wacz"] {
        let file = daemon.home().join(format!("versions.{end}"));
        let file = file.to_str().unwrap();
        let ran = daemon.run(&["export", "--json", "--versions", "--search", "green", file]);
        assert_eq!(ran.json()["entries"], 3, "{ran:?}");
        // The import into another spool stores the older response as a version.
        let other = Daemon::prepare(Some("[caching]\nkeep-versions = 3\n"));
        let ran = other.run(&["import", "--json", file]);
        let told = ran.json();
        assert_eq!((&told["kept"], &told["older"]), (&json!(2), &json!(1)), "{end}: {ran:?}");
    }
    assert_eq!(daemon.run(&["export", "--session", "8", "x.wacz"]).status, 2);
    assert_eq!(daemon.run(&["export", "--session", "5", "x.wacz"]).status, 1);
}

#[test]
#[ignore = "slow"]
fn sub_resources_are_exported_with_their_pages() {
    let daemon = Daemon::prepare(None);
    let now = Timestamp::now();
    let keep =
        |url: &str, kind: &str, body: &[u8]| then::keep(daemon.spool(), now, url, kind, body);
    let page = b"<title>green</title><link rel=stylesheet href=http://cdn.test/style.css>\
                 <iframe src=/frame></iframe><a href=/next>next</a><img src=/large.png>";
    keep("http://a.test/page", "text/html", page);
    keep("http://cdn.test/style.css", "text/css", b"@font-face { src: url(/font.woff2) }");
    keep("http://cdn.test/font.woff2", "font/woff2", b"font");
    keep("http://cdn.test/other.png", "image/png", b"png");
    keep("http://a.test/frame", "text/html", b"<title>frame</title><img src=/in-frame.png>");
    keep("http://a.test/in-frame.png", "image/png", b"png");
    keep("http://a.test/large.png", "image/png", &[b'x'; 5_000]);
    keep("http://a.test/next", "text/html", b"<title>next</title>");
    keep_own(&daemon, "http://a.test/letter", b"<title>green letter</title>");

    let file = daemon.home().join("no-index.warc.gz");
    let ran = daemon.run(&["export", "--host", "a.test", file.to_str().unwrap()]);
    assert!(ran.status == 0 && ran.err.contains("`wwwoffle reindex` builds one"), "{ran:?}");
    daemon.ok(&["reindex"]);
    let with = [
        "http://a.test/frame",
        "http://a.test/in-frame.png",
        "http://a.test/large.png",
        "http://a.test/page",
        "http://cdn.test/font.woff2",
        "http://cdn.test/style.css",
    ];
    assert_eq!(exported(&daemon, "search", &["--search", "green"]).0, with);
    assert_eq!(exported(&daemon, "one", &["--url-spec", "*://a.test/page"]).0, with);
    let small: Vec<_> = with.into_iter().filter(|url| !url.ends_with("large.png")).collect();
    let arguments = ["--search", "green", "--max-size", "4K"];
    assert_eq!(exported(&daemon, "small", &arguments).0, small);
    let arguments = ["--search", "green", "--no-sub-resources"];
    assert_eq!(exported(&daemon, "alone", &arguments).0, ["http://a.test/page"]);
    let of_host = exported(&daemon, "host", &["--host", "a.test"]).0;
    assert!(of_host.contains(&"http://cdn.test/font.woff2".to_owned()), "{of_host:?}");
    assert!(!of_host.contains(&"http://cdn.test/other.png".to_owned()), "{of_host:?}");

    let file = daemon.home().join("told.wacz");
    let told = daemon.ok(&["export", "--search", "green", file.to_str().unwrap()]);
    assert!(
        told.contains("5 of them are sub-resources") && told.contains("1 left out as personal")
    );
    for arguments in [&[][..], &["--host", "a.test"], &["--search", "green"]] {
        let file = daemon.home().join("counted.warc.gz");
        let arguments = [&["export", "--json"], arguments, &[file.to_str().unwrap()]].concat();
        assert_eq!(daemon.run(&arguments).json()["personal_left_out"], 1, "{arguments:?}");
    }
}

fn keep_own(daemon: &Daemon, url: &str, body: &[u8]) {
    let options = Options { durability: Durability::None, ..Options::default() };
    let (spool, _) = Spool::open(daemon.spool(), &options).unwrap();
    let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
    let (now, head) = (Timestamp::now(), b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
    let new = NewEntry { asked: now, when: now, head: head.to_vec(), request, connection: None };
    let mut writer = spool.begin(&Place::of(&url).owned_by("user:ada"), new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
    spool.flush().unwrap();
}
