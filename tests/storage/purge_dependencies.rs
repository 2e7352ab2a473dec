//! Which pages need a sub-resource during a purge. The references come from the index, with and
//! without a daemon, or from the files if there is no index. Entries may be stored or used during
//! the purge.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::Value;
use wwwoffle::storage::lists::describe::Pages;
use wwwoffle::storage::lists::document::DocumentConverter;
use wwwoffle::storage::purge::{PurgeTask, purge};
use wwwoffle_config::Config;
use wwwoffle_index::Index;
use wwwoffle_spool::{NewEntry, Options, Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::harness::{Daemon, eventually, then};

const AGE: &str = "[purge]\nage = \"30d\"\n";

fn keep(spool: &Path, days: i64, url: &str, content_type: &str, body: &str) {
    let then = Timestamp::now() - SignedDuration::from_hours(24 * days);
    then::keep(spool, then, url, content_type, body.as_bytes());
}

/// Stores four pages, two old and two recent ones, and their old sub-resources, some of them on
/// another host.
fn fill(spool: &Path) {
    for (days, url, body) in [
        (40, "http://www.a.test/old", "<img src=old.png><link rel=stylesheet href=both.css>"),
        (1, "http://www.a.test/young", "<img src=young.png><link rel=stylesheet href=both.css>"),
        (90, "http://www.b.test/frame", "<img src=in-frame.png>"),
        (1, "http://www.c.test/", "<iframe src=http://www.b.test/frame></iframe>"),
    ] {
        keep(spool, days, url, "text/html", body);
    }
    let css = "@font-face { src: url(http://cdn.test/both.woff2) }";
    keep(spool, 40, "http://www.a.test/both.css", "text/css", css);
    for (url, kind) in [
        ("http://www.a.test/old.png", "image/png"),
        ("http://www.a.test/young.png", "image/png"),
        ("http://www.a.test/by-script.png", "image/png"),
        ("http://www.b.test/in-frame.png", "image/png"),
        ("http://cdn.test/both.woff2", "font/woff2"),
    ] {
        keep(spool, 40, url, kind, "x");
    }
}

fn kept(daemon: &Daemon) -> Vec<String> {
    let ran = daemon.run(&["ls", "--json"]);
    let mut urls: Vec<_> =
        ran.lines().iter().map(|one| one["url"].as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

fn sum(report: &Value, which: &str, why: &str) -> u64 {
    let all = report[which].as_array().unwrap();
    all.iter().find(|one| one["why"] == why).map_or(0, |one| one["entries"].as_u64().unwrap())
}

fn sums(report: &Value) -> [u64; 4] {
    let stays = |why| sum(report, "stays", why);
    [sum(report, "goes", "old"), stays("young"), stays("needed"), stays("perhaps-needed")]
}

/// The expected [`sums`] if the references are known. The old page and the sub-resource that only
/// it needs are removed.
const KNOWN: [u64; 4] = [2, 2, 5, 1];
/// The expected [`sums`] if the references are not known. Three entries are removed: the two old
/// pages, although another page embeds one of them, and the sub-resource on a host without pages.
const UNKNOWN: [u64; 4] = [3, 2, 0, 5];

#[test]
#[ignore = "slow"]
fn sub_resources_stay_as_long_as_their_pages() {
    for with_daemon in [true, false] {
        let mut daemon = Daemon::prepare(Some(AGE));
        fill(daemon.spool());
        if with_daemon {
            daemon.up();
            daemon.ok(&["offline"]);
            eventually("all pages are read", || {
                sums(&daemon.run(&["purge", "--dry-run", "--json"]).json()) == KNOWN
            });
        } else {
            daemon.ok(&["reindex"]);
        }
        let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
        assert_eq!(sums(&plan), KNOWN, "{plan}");
        let done = daemon.run(&["purge", "--json"]).json();
        assert_eq!((sums(&done), done["removed"]["entries"].as_u64()), (KNOWN, Some(2)), "{done}");
        assert_eq!(
            kept(&daemon),
            [
                "http://cdn.test/both.woff2",
                "http://www.a.test/both.css",
                "http://www.a.test/by-script.png",
                "http://www.a.test/young",
                "http://www.a.test/young.png",
                "http://www.b.test/frame",
                "http://www.b.test/in-frame.png",
                "http://www.c.test/",
            ]
        );
        let again = daemon.run(&["purge", "--json"]).json();
        assert_eq!(again["removed"]["entries"], 0, "{again}");
    }
}

#[test]
#[ignore = "slow"]
fn without_an_index_any_page_of_a_site_may_need_a_sub_resource() {
    let daemon = Daemon::prepare(Some(AGE));
    fill(daemon.spool());
    let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
    assert_eq!(sums(&plan), UNKNOWN, "{plan}");
    assert!(!daemon.spool().join("index.sqlite").exists(), "a plan creates none");
    daemon.ok(&["reindex"]);
    // Entries stored by another program are indexed before the plan is made. A damaged index counts
    // as missing.
    keep(
        daemon.spool(),
        1,
        "http://www.d.test/",
        "text/html",
        "<img src=http://www.a.test/old.png>",
    );
    let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
    assert_eq!(sums(&plan), [1, 3, 6, 1], "{plan}");
    std::fs::write(daemon.spool().join("index.sqlite"), "no database").unwrap();
    let plan = daemon.run(&["purge", "--dry-run", "--json"]).json();
    let [goes, young, needed, perhaps] = sums(&plan);
    assert!(goes <= 2 && young == 3 && needed + perhaps >= 6, "{plan}");
}

fn store(spool: &Spool, url: &str, body: &str) {
    let place = Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
    let now = Timestamp::now();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
    let new = NewEntry { asked: now, when: now, head, request, connection: None };
    let mut writer = spool.begin(&place, new).unwrap();
    writer.write(body.as_bytes()).unwrap();
    writer.finish(None).unwrap();
    spool.flush().unwrap();
}

/// Runs `act` during a purge, after the plan was made. Returns the remaining entries.
fn purged_while(act: impl Fn(&Spool, &Index)) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let other = "http://www.a.test/other";
    keep(root.path(), 40, "http://www.a.test/", "text/html", "<img src=http://cdn.test/i.png>");
    keep(root.path(), 40, other, "text/html", "<img src=http://cdn.test/j.png>");
    for part in ["i.png", "j.png"] {
        keep(root.path(), 40, &format!("http://cdn.test/{part}"), "image/png", "x");
    }
    let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
    let local = LocalHost::default();
    let pages = Pages { local: local.clone(), documents: DocumentConverter::default() };
    let index = Index::open(&spool, Some(Arc::new(pages))).unwrap();
    index.wait_until_current(true).unwrap();
    let config = Arc::new(Config::parse(AGE, Path::new("w.conf")).unwrap());
    let is_done = Cell::new(false);
    let report =
        purge((&spool, Some(&index)), (config, local), PurgeTask::Purge, Timestamp::now(), |_| {
            // The first call comes right after the plan was made.
            if !is_done.replace(true) {
                act(&spool, &index);
            }
            true
        });
    let report = report.unwrap();
    assert!(
        is_done.get() && report.goes.iter().map(|sum| sum.entries).sum::<u64>() == 4,
        "{report:?}"
    );
    let mut left: Vec<_> = spool
        .candidates()
        .unwrap()
        .map(|one| one.unwrap().summary.place.url().to_owned())
        .collect();
    left.sort();
    index.stop();
    left
}

#[test]
#[ignore = "slow"]
fn entries_stored_used_or_pinned_during_a_purge_stay() {
    assert_eq!(purged_while(|_, _| ()), Vec::<String>::new());
    let new = "http://www.new.test/";
    let comes = purged_while(|spool, _| store(spool, new, "<img src=http://cdn.test/j.png>"));
    // The index has not read the new page yet. The page may need the other image too, so the image
    // stays.
    assert!([new, "http://cdn.test/j.png"].iter().all(|url| comes.contains(&(*url).to_owned())));
    let place = |url: &str| Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
    let used = purged_while(|_, index| {
        index.record_use(&place("http://cdn.test/i.png"), Timestamp::now());
        index.record_use(&place("http://www.a.test/other"), Timestamp::now());
    });
    assert_eq!(used, ["http://cdn.test/i.png", "http://www.a.test/other"]);
    let pinned = purged_while(|spool, _| {
        spool.set_pinned(&["http://www.a.test/other".to_owned()], true).unwrap();
    });
    assert_eq!(
        pinned,
        ["http://cdn.test/i.png", "http://cdn.test/j.png", "http://www.a.test/other"]
    );
    let anew = purged_while(|spool, _| store(spool, "http://www.a.test/", "nothing"));
    assert!(anew.contains(&"http://www.a.test/".to_owned()), "{anew:?}");
    assert!(!anew.contains(&"http://www.a.test/other".to_owned()), "{anew:?}");
}
