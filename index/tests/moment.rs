//! The index as the purge sees it: entries, sizes, sub-resources and new entries.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use support::{index, open, place, store, store_at, url_of};
use wwwoffle_index::{Candidate, Index, ReindexScope, Snapshot};
use wwwoffle_spool::{Spool, Timestamp};

const PATIENCE: Duration = Duration::from_secs(30);

/// All entries by URL.
fn all(index: &Index) -> BTreeMap<String, Candidate> {
    let mut all = BTreeMap::new();
    let look = |moment: &wwwoffle_index::Snapshot<'_>| {
        moment.candidates(&mut |one| {
            all.insert(one.url.clone(), one);
            ControlFlow::Continue(())
        })
    };
    index.with_snapshot(PATIENCE, look).unwrap();
    all
}

/// The sub-resources of each entry by URL. A sub-resource that is not stored is listed as
/// `missing`.
fn needs(index: &Index) -> Vec<(String, Vec<String>)> {
    let (all, mut needs) = (all(index), Vec::new());
    let url_of_number = |number: i64| {
        let found = all.values().find(|one| one.number == number);
        found.map(|one| one.url.clone()).unwrap()
    };
    let url_of_name = |name: u64| {
        let found = all.keys().find(|url| wwwoffle_spool::purge::plan::name(url) == name);
        found.cloned().unwrap_or_else(|| "missing".to_owned())
    };
    index
        .with_snapshot(PATIENCE, |moment| {
            moment.parts(&mut |number, parts| {
                let parts: Vec<_> = parts.into_iter().map(url_of_name).collect();
                needs.push((url_of_number(number), parts));
                ControlFlow::Continue(())
            })?;
            for (url, parts) in &needs {
                assert_eq!(moment.parts_of(all[url].number)?.len(), parts.len());
            }
            Ok(())
        })
        .unwrap();
    needs.sort();
    needs
}

/// Checks that the sizes of all entries equal those that a walk finds.
fn check_sizes(spool: &Spool, index: &Index) {
    let known = all(index);
    let mut count = 0;
    for found in spool.candidates().unwrap().map(Result::unwrap) {
        let url = found.summary.place.url();
        assert_eq!(known[url].size, found.size, "{url}");
        count += 1;
    }
    assert_eq!(count, known.len());
}

#[test]
fn the_size_of_an_entry_is_that_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    for round in 0..3_usize {
        for name in 0..5_usize {
            let body = "x".repeat(1 + round * 5_000 * name);
            store(&spool, &format!("http://a.example/{name}"), &body);
        }
        spool.flush().unwrap();
    }
    store_at(&spool, &place("http://own.example/").owned_by("user:anna"), 200, "text/html", "x", 1);
    spool.flush().unwrap();
    // This index was built from the files.
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    check_sizes(&spool, &index);
    // The index follows changes: one entry gets another version, and another entry is removed.
    store(&spool, "http://a.example/1", "new");
    spool.remove(&place("http://a.example/2")).unwrap();
    spool.flush().unwrap();
    index.wait_until_current(true).unwrap();
    check_sizes(&spool, &index);
    assert_eq!(all(&index)["http://a.example/1"].size, 4_096 * 5 + 8_192);
}

#[test]
fn needs_of_entries_are_known_or_reported_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    let page =
        |part: &str| format!("title A\nlink http://b.example/\npart http://a.example/{part}");
    store(&spool, "http://a.example/", &page("s.css"));
    store(&spool, "http://a.example/gone", &page("never-kept.png"));
    let css = place("http://a.example/s.css");
    store_at(&spool, &css, 200, "text/css", "part http://a.example/i.png", 1);
    store_at(&spool, &place("http://a.example/i.png"), 200, "image/png", "png", 1);
    store_at(&spool, &place("http://a.example/r"), 302, "image/png", &page("i.png"), 1);
    store(&spool, "http://a.example/changed", "title B");
    spool.flush().unwrap();
    store(&spool, "http://a.example/changed", "title C");
    let index = index(&spool);
    assert!(index.catch_up(PATIENCE));
    let want = [
        ("http://a.example/", "http://a.example/s.css"),
        ("http://a.example/gone", "missing"),
        ("http://a.example/r", "http://a.example/i.png"),
        ("http://a.example/s.css", "http://a.example/i.png"),
    ];
    let want: Vec<_> = want.map(|(url, part)| (url.to_owned(), vec![part.to_owned()])).into();
    assert_eq!(needs(&index), want);
    // The page `changed` has an older version, whose sub-resources are unknown.
    let untold: Vec<_> = all(&index).into_values().filter(|one| !one.is_told).collect();
    assert_eq!(
        untold.iter().map(|one| one.url.as_str()).collect::<Vec<_>>(),
        ["http://a.example/changed"]
    );
    let name = |url: &str| wwwoffle_spool::purge::plan::name(url);
    let told = index.needs(&url_of("http://a.example/s.css").key()).unwrap();
    assert_eq!(told, [name("http://a.example/i.png")]);
    // After a change, the earlier sub-resources are no longer listed.
    store(&spool, "http://a.example/", "title no parts");
    spool.flush().unwrap();
    assert!(index.catch_up(PATIENCE));
    assert_eq!(needs(&index), want[1..]);
}

#[test]
fn new_and_used_entries_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    store(&spool, "http://a.example/old", "title A");
    spool.flush().unwrap();
    let index = index(&spool);
    assert!(index.catch_up(PATIENCE));
    let since = Timestamp::now();
    assert_eq!(index.stored_since(since).unwrap(), []);
    store(&spool, "http://a.example/new", "title A\npart http://a.example/i.png");
    spool.flush().unwrap();
    assert!(index.catch_up(PATIENCE));
    let came = index.stored_since(since).unwrap();
    assert_eq!(came.len(), 1);
    assert_eq!((came[0].0.url.as_str(), came[0].0.is_told), ("http://a.example/new", true));
    assert_eq!(came[0].1, [wwwoffle_spool::purge::plan::name("http://a.example/i.png")]);

    let (old, used) = (place("http://a.example/old"), Timestamp::now());
    assert_eq!(index.last_use(&old.key()), None);
    index.record_use(&old, used);
    assert_eq!(index.last_use(&old.key()), Some(used), "it is noted");
    assert!(index.write_uses(PATIENCE));
    assert_eq!(
        index.last_use(&old.key()).map(Timestamp::as_microsecond),
        Some(used.as_microsecond())
    );
    assert!(all(&index)["http://a.example/old"].used.is_some());
}

#[test]
fn unreadable_entries_are_known_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    store(&spool, "http://a.example/", "title A");
    spool.flush().unwrap();
    let index = index(&spool);
    assert!(index.catch_up(PATIENCE));
    let is_whole = || {
        let look = |moment: &Snapshot<'_>| Ok(moment.is_whole()? && !moment.has_unread()?);
        index.wait_until_current(true).unwrap();
        index.with_snapshot(PATIENCE, look).unwrap()
    };
    assert!(is_whole());
    // A symbolic link to itself replaces the directory of the entry.
    let path = directory.path().join(place("http://a.example/").relative_path());
    let keys = path.parent().unwrap();
    std::fs::rename(keys, directory.path().join("away")).unwrap();
    std::os::unix::fs::symlink(keys, keys).unwrap();
    index.reindex(ReindexScope::All).unwrap();
    assert!(!is_whole());
    std::fs::remove_file(keys).unwrap();
    std::fs::rename(directory.path().join("away"), keys).unwrap();
    index.reindex(ReindexScope::All).unwrap();
    assert!(is_whole() && all(&index).len() == 1);
}

#[test]
fn entries_stored_during_a_snapshot_are_reported_later() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    store(&spool, "http://a.example/old", "title A\npart http://a.example/i.png");
    spool.flush().unwrap();
    let index = index(&spool);
    assert!(index.catch_up(PATIENCE));
    let since = Timestamp::now();
    index
        .with_snapshot(PATIENCE, |moment| {
            moment.parts(&mut |_, _| {
                store(&spool, "http://a.example/new", "title A");
                spool.flush().unwrap();
                ControlFlow::Continue(())
            })?;
            index.wait_until_current(true).unwrap();
            let mut count = 0;
            moment.candidates(&mut |_| {
                count += 1;
                ControlFlow::Continue(())
            })?;
            assert_eq!(count, 1, "the moment is one");
            Ok(())
        })
        .unwrap();
    index.wait_until_current_within(false, PATIENCE).unwrap();
    assert_eq!(index.stored_since(since).unwrap().len(), 1);
}
