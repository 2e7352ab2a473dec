//! Several threads using one spool.

#![allow(clippy::as_conversions, reason = "lengths of test data")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use support::{body, entry, head, open, place, store};
use wwwoffle_spool::{Durability, Lookup, Options, RequestKind, Spool, Update};

const URL: &str = "http://example.org/";

#[test]
#[ignore = "slow"]
fn readers_see_the_old_or_the_new_while_it_is_replaced() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let root = tempfile::tempdir().unwrap();
        // Batches follow one another at once, so that lookups happen during renames.
        let batch_interval = Duration::ZERO;
        let options = Options { durability, batch_interval, ..Options::default() };
        let (spool, _) = Spool::open(root.path(), &options).unwrap();
        store(&spool, URL, b"").unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let found = spool.entry(&place(URL)).unwrap();
                        let Lookup::Found(found) = found else { panic!("{found:?}") };
                        assert!(found.body_len() >= last, "an older one came back");
                        last = found.body_len();
                        assert!(body(&found).is_some());
                    }
                });
            }
            for number in 1..100 {
                // Each entry is longer than the previous one. The later ones are too large to be
                // read at once.
                store(&spool, URL, &support::bytes(number * 3_000)).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        spool.flush().unwrap();
        assert_eq!(spool.entry(&place(URL)).unwrap().found().unwrap().body_len(), 99 * 3_000);
        assert_eq!(support::files(&root.path().join("tmp")).len(), 0);
    }
}

#[test]
#[ignore = "slow"]
fn readers_miss_nothing_during_concurrent_updates() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let root = tempfile::tempdir().unwrap();
        let batch_interval = Duration::ZERO;
        let options = Options { durability, batch_interval, ..Options::default() };
        let (spool, _) = Spool::open(root.path(), &options).unwrap();
        // A URL gets its first variant only once, so there are many URLs. Every second entry is
        // large.
        let urls: Vec<_> = (0..24).map(|number| format!("http://example.org/{number}")).collect();
        for (number, url) in urls.iter().enumerate() {
            store(&spool, url, &support::bytes(1_000 + number % 2 * 150_000)).unwrap();
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = vec![None; urls.len()];
                    while !done.load(Ordering::Relaxed) {
                        for (url, seen) in urls.iter().zip(&mut seen) {
                            let entries = spool.entries(&place(url)).unwrap();
                            assert_eq!(entries.set_aside.len(), 0);
                            let first = entries.found.iter().find(|entry| {
                                entry.place().variant_text().is_empty() && body(entry).is_some()
                            });
                            let now = first.expect("the first is always there").invalid_since();
                            assert!(now >= *seen, "an older state came back");
                            *seen = now;
                        }
                    }
                });
            }
            for url in &urls {
                let first = spool.entry(&place(url)).unwrap().found().unwrap();
                let since = first.received();
                spool.update(&first, &Update::Invalid { since }).unwrap().unwrap();
                for variant in ["de", "en"] {
                    let place = place(url).with_variant(variant);
                    support::store_at(&spool, &place, variant.as_bytes()).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        spool.flush().unwrap();
        for url in &urls {
            assert_eq!(spool.entries(&place(url)).unwrap().found.len(), 3);
        }
        assert_eq!(spool.list(None, None).unwrap().count(), 3 * urls.len());
    }
}

#[test]
fn the_last_writer_to_finish_wins() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let mut first = spool.begin(&place(URL), entry(&head(200))).unwrap();
        let mut second = spool.begin(&place(URL), entry(&head(404))).unwrap();
        second.write(b"second").unwrap();
        second.finish(None).unwrap();
        first.write(b"first").unwrap();
        first.finish(None).unwrap();
        for _ in 0..2 {
            let found = spool.entry(&place(URL)).unwrap().found().unwrap();
            assert_eq!(body(&found).unwrap(), b"first");
            spool.flush().unwrap();
        }
    }
}

#[test]
fn a_dropped_writer_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    store(&spool, URL, b"old").unwrap();
    for discard in [false, true] {
        let mut writer = spool.begin(&place(URL), entry(&head(200))).unwrap();
        writer.write(&support::bytes(200_000)).unwrap();
        if discard {
            writer.discard();
        }
    }
    spool.flush().unwrap();
    let found = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert_eq!(body(&found).unwrap(), b"old");
    assert_eq!(support::files(&root.path().join("tmp")).len(), 0);
}

#[test]
fn a_tail_reads_along_and_no_further_than_the_body() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let mut writer = spool.begin(&place(URL), entry(&head(200))).unwrap();
    writer.write(b"early ").unwrap();
    let tail = writer.tail().unwrap();
    let read = |offset| {
        let mut buffer = [0; 100];
        let read = tail.read_at(offset, &mut buffer).unwrap();
        String::from_utf8(buffer.get(..read).unwrap().to_vec()).unwrap()
    };
    assert_eq!(read(0), "early ");
    assert_eq!(read(6), "");
    writer.write(b"late").unwrap();
    assert_eq!((read(0).as_str(), read(6).as_str()), ("early late", "late"));
    assert_eq!((tail.available(), writer.written()), (10, 10));
    writer.finish(Some(b"X-Sum: 1\r\n")).unwrap();
    assert_eq!((tail.available(), read(6).as_str(), read(10).as_str()), (10, "late", ""));
    spool.remove(&place(URL)).unwrap();
    assert_eq!(read(0), "early late", "a tail keeps the file");
}

#[test]
fn a_tail_sees_what_is_collected_when_the_entry_is_finished() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    for early in ["", "early "] {
        let mut writer = spool.begin(&place(URL), entry(&head(200))).unwrap();
        let tail = writer.tail().unwrap();
        if !early.is_empty() {
            writer.write(early.as_bytes()).unwrap();
        }
        writer.collect_rest();
        writer.write(b"late").unwrap();
        assert_eq!(tail.available(), early.len() as u64);
        writer.finish(None).unwrap();
        let (want, mut buffer) = (format!("{early}late"), [0; 100]);
        let read = tail.read_at(0, &mut buffer).unwrap();
        assert_eq!(buffer.get(..read).unwrap(), want.as_bytes());
        let found = spool.entry(&place(URL)).unwrap().found().unwrap();
        assert_eq!(body(&found).unwrap(), want.as_bytes());
    }
}

#[test]
fn all_entries_are_listed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let long = format!("http://{}:8080/", "a.".repeat(115) + "example");
    let urls = ["http://a.example/", "http://a.example/2", "https://b.example:8443/", &long];
    for url in urls {
        store(&spool, url, b"body").unwrap();
    }
    spool.flush().unwrap();
    // A replaced entry and a new one wait for their batch. Each is listed once.
    store(&spool, urls[0], b"longer body").unwrap();
    store(&spool, "ftp://c.example/", b"").unwrap();
    let list = |scheme: Option<&str>, host: Option<&str>| {
        let mut list: Vec<_> = spool.list(scheme, host).unwrap().map(Result::unwrap).collect();
        list.sort_by(|one, other| one.place.url().cmp(other.place.url()));
        list
    };
    let all = list(None, None);
    assert_eq!(all.len(), 5);
    assert_eq!((all[2].place.url(), all[2].body_len), (urls[0], 11));
    assert_eq!(all[2].content_type.as_deref(), Some(&b"text/html; charset=utf-8"[..]));
    assert_eq!(all[2].status, 200);
    assert_eq!(list(Some("http"), None).len(), 3);
    assert_eq!(list(None, Some("a.example")).len(), 2);
    assert_eq!(list(Some("https"), Some("b.example:8443")).len(), 1);
    assert_eq!(list(Some("https"), Some("a.example")).len(), 0);
    assert_eq!(list(Some("../.."), Some("..")).len(), 0);
    spool.flush().unwrap();
    let hosts = spool.hosts(None).unwrap();
    assert_eq!(hosts.len(), 4);
    for host in &hosts {
        assert!(!list(Some(&host.scheme), Some(&host.host)).is_empty(), "{host:?}");
    }
    for summary in all {
        assert!(spool.remove(&summary.place).unwrap());
        assert!(!spool.remove(&summary.place).unwrap());
    }
    assert_eq!(list(None, None).len(), 0);
}

#[test]
fn a_hosts_directory_may_be_deleted_at_any_time() {
    for durability in [Durability::Each, Durability::Batch] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        for body_len in 1..4 {
            store(&spool, URL, &support::bytes(body_len)).unwrap();
            store(&spool, "http://other.example/", b"kept").unwrap();
            spool.flush().unwrap();
            let found = spool.entry(&place(URL)).unwrap().found().unwrap();
            assert_eq!(found.body_len(), body_len as u64);
            std::fs::remove_dir_all(root.path().join("http/example.org")).unwrap();
            assert!(matches!(spool.entry(&place(URL)).unwrap(), Lookup::Missing));
            assert!(spool.entry(&place("http://other.example/")).unwrap().found().is_some());
        }
    }
}

#[test]
#[ignore = "slow"]
fn requests_of_many_threads_are_all_queued() {
    let root = tempfile::tempdir().unwrap();
    {
        let spool = open(root.path(), Durability::Batch);
        thread::scope(|scope| {
            for thread in 0..4 {
                let spool = &spool;
                scope.spawn(move || {
                    for number in 0..25 {
                        let url = format!("http://example.org/{}", number + thread * 20);
                        let request = support::outgoing(&url, RequestKind::Page);
                        spool.queue().add(&request).unwrap();
                    }
                });
            }
        });
        assert_eq!(spool.queue().len(), 85);
    }
    assert_eq!(open(root.path(), Durability::Batch).queue().len(), 85);
}
