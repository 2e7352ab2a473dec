//! Exports of what a search finds, of what came in one time online, and of older versions.

use std::fs;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde_json::json;
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::{Daemon, then};

/// Keeps a page twice, and the first as an older version of it.
fn keep_twice(daemon: &Daemon, url: &str) {
    let versions = Versions::by(|_| 3);
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

/// What is in a folder that was exported, as its page lists it; and its files.
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
fn what_a_search_or_a_time_online_has_is_exported() {
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
    assert!(none.status == 1 && none.err.contains("`wwwoffle reindex` makes one"), "{none:?}");
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
    assert!(text("tea.html").contains("then") && text("tea~2.html").contains("first"));
    for end in ["warc.gz", "wacz"] {
        let file = daemon.home().join(format!("versions.{end}"));
        let file = file.to_str().unwrap();
        let ran = daemon.run(&["export", "--json", "--versions", "--search", "green", file]);
        assert_eq!(ran.json()["entries"], 3, "{ran:?}");
        // Into another spool, where they are versions again.
        let other = Daemon::prepare(Some("[caching]\nkeep-versions = 3\n"));
        let ran = other.run(&["import", "--json", file]);
        let told = ran.json();
        assert_eq!((&told["kept"], &told["older"]), (&json!(2), &json!(1)), "{end}: {ran:?}");
    }
    assert_eq!(daemon.run(&["export", "--session", "8", "x.wacz"]).status, 2);
    assert_eq!(daemon.run(&["export", "--session", "5", "x.wacz"]).status, 1);
}
