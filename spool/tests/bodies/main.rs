//! Equal bodies are stored once, and readers see no difference, whatever happens to the other
//! entries.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]
#![allow(clippy::as_conversions, reason = "a test, of short lengths")]
#![allow(clippy::disallowed_methods, reason = "it looks at the files")]

mod damage;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{bytes, place, store, store_at};
use wwwoffle_spool::{
    Durability, Entry, Lookup, Options, Place, Reader, RestoreOutcome, RewriteOutcome,
    SharingReport, Spool, Timestamp, Update, Versions,
};

const ONE: &str = "http://a.example/one";
const TWO: &str = "https://b.example/two";
const THREE: &str = "http://c.example/three";

fn open(root: &Path) -> Spool {
    let options =
        Options { versions: Versions::from_rule(|_| 9), ..support::options(Durability::Batch) };
    Spool::open(root, &options).unwrap().0
}

fn share(spool: &Spool) -> SharingReport {
    spool.flush().unwrap();
    let sharing = spool.share(Some(0), &|| true);
    assert!(sharing.failure.is_none(), "{sharing:?}");
    sharing
}

fn holders(root: &Path) -> Vec<PathBuf> {
    let bodies = root.join("bodies");
    if bodies.is_dir() { support::files(&bodies) } else { Vec::new() }
}

fn read(spool: &Spool, place: &Place) -> Entry {
    match spool.entry(place).unwrap() {
        Lookup::Found(entry) => entry,
        other => panic!("{place:?}: {other:?}"),
    }
}

/// Checks that an entry has this body, however it is read.
fn has(spool: &Spool, place: &Place, body: &[u8]) {
    let entry = read(spool, place);
    is(&entry, body);
    let reader = Reader::open(spool.root()).unwrap();
    is(&reader.entry(place).unwrap().found().unwrap(), body);
    let summary = entry.summary();
    assert_eq!(summary.body_len, body.len() as u64);
    let mut listed = spool.list(None, None).unwrap().map(Result::unwrap);
    let listed = listed.find(|listed| listed.place == *place).unwrap();
    assert_eq!((listed.digest, listed.body_len), (summary.digest, summary.body_len));
}

fn is(entry: &Entry, body: &[u8]) {
    assert_eq!(support::body(entry).as_deref(), Some(body), "{entry:?}");
    assert_eq!(entry.body_len(), body.len() as u64);
    let (mut verified, mut piece) = (entry.verified(), [0; 1_000]);
    for offset in [0, 1, body.len() / 2, body.len() - 1] {
        let read = verified.read_at(offset as u64, &mut piece).unwrap();
        assert!(read > 0 && piece[..read] == body[offset..offset + read], "at {offset}");
    }
    assert_eq!(entry.request(), support::REQUEST);
    assert_eq!(entry.connection(), Some(support::CONNECTION));
}

fn sizes(root: &Path) -> u64 {
    let len = |path: &PathBuf| fs::metadata(path).unwrap().len();
    support::files(root).iter().filter(|path| path.extension().is_some()).map(len).sum()
}

#[test]
fn equal_bodies_are_stored_once_and_read_unchanged() {
    for len in [20_000, 300_000, 3 << 20] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path());
        let (body, other) = (bytes(len), vec![7; len]);
        for url in [ONE, TWO, THREE] {
            store(&spool, url, &body).unwrap();
        }
        store(&spool, "http://a.example/other", &other).unwrap();
        spool.flush().unwrap();
        let (was, before) = (read(&spool, &place(TWO)), sizes(root.path()));
        let sharing = share(&spool);
        let len = len as u64;
        assert_eq!((sharing.made.count, sharing.made.bytes), (3, 2 * len), "{sharing:?}");
        assert_eq!((sharing.saved.count, sharing.saved.bytes), (3, 2 * len));
        assert_eq!(sharing.bodies.count, 1);
        assert_eq!(holders(root.path()).len(), 1);
        let gain = before - sizes(root.path());
        assert!(gain > 2 * len - 10_000, "{gain} of {len}");
        for url in [ONE, TWO, THREE] {
            has(&spool, &place(url), &body);
            assert!(read(&spool, &place(url)).shares_body());
        }
        has(&spool, &place("http://a.example/other"), &other);
        let now = read(&spool, &place(TWO));
        let about = |entry: &Entry| {
            let times = (entry.requested(), entry.received(), entry.stored(), entry.checked());
            (entry.head().to_vec(), times, *entry.digest(), entry.status())
        };
        assert_eq!(about(&now), about(&was));
        // A second run does nothing, and later entries are shared too.
        assert_eq!(share(&spool).made.count, 0);
        let late = place("http://d.example/late");
        store_at(&spool, &late, &body).unwrap();
        let sharing = share(&spool);
        assert_eq!((sharing.made.count, sharing.made.bytes), (1, len));
        assert_eq!((sharing.saved.count, sharing.saved.bytes), (4, 3 * len));
        has(&spool, &late, &body);
        drop(spool);
        let spool = open(root.path());
        has(&spool, &place(ONE), &body);
        assert!(support::files(&root.path().join("damaged")).is_empty());
    }
}

#[test]
fn small_bodies_are_not_shared_and_sharing_is_optional() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    for url in [ONE, TWO] {
        store(&spool, url, &bytes(40_000)).unwrap();
        store(&spool, &format!("{url}/small"), &bytes(1_000)).unwrap();
    }
    spool.flush().unwrap();
    for above in [None, Some(40_001)] {
        assert_eq!(spool.share(above, &|| true).made.count, 0);
    }
    assert!(holders(root.path()).is_empty());
    assert_eq!(spool.share(Some(0), &|| false).made.count, 0);
    assert_eq!(spool.share(Some(40_000), &|| true).made.count, 2);
}

#[test]
fn removing_an_entry_keeps_the_body_for_the_others() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(200_000);
    for url in [ONE, TWO, THREE] {
        store(&spool, url, &body).unwrap();
    }
    share(&spool);
    assert!(spool.remove(&place(ONE)).unwrap());
    assert_eq!(share(&spool).removed.count, 0);
    has(&spool, &place(TWO), &body);
    // A replaced entry becomes a version, which still shares its body.
    store(&spool, TWO, b"new").unwrap();
    let open_still = read(&spool, &place(THREE));
    assert!(spool.remove(&place(THREE)).unwrap());
    assert_eq!(share(&spool).removed.count, 0);
    let versions = spool.versions(&place(TWO)).unwrap();
    assert_eq!((versions.len(), versions[0].body_len), (1, 200_000));
    let version = spool.version(&place(TWO), versions[0].stored).unwrap().found().unwrap();
    is(&version, &body);
    assert_eq!(spool.restore(&place(TWO), versions[0].stored).unwrap(), RestoreOutcome::Done);
    spool.flush().unwrap();
    has(&spool, &place(TWO), &body);
    assert!(!read(&spool, &place(TWO)).shares_body());
    // The restored entry has a body of its own, so no file refers to the shared body any more.
    let sharing = share(&spool);
    assert_eq!((sharing.removed.count, sharing.bodies.count), (1, 0));
    assert!(holders(root.path()).is_empty());
    is(&open_still, &body);
    has(&spool, &place(TWO), &body);
}

#[test]
fn versions_share_with_entries_and_with_each_other() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let (day, night) = (bytes(70_000), vec![1; 90_000]);
    for body in [&day, &night, &day, &night] {
        store(&spool, ONE, body).unwrap();
    }
    spool.flush().unwrap();
    let sharing = share(&spool);
    assert_eq!((sharing.made.count, sharing.made.bytes), (4, 160_000));
    let versions = spool.versions(&place(ONE)).unwrap();
    for (version, body) in versions.iter().zip([&day, &night, &day]) {
        is(&spool.version(&place(ONE), version.stored).unwrap().found().unwrap(), body);
    }
    has(&spool, &place(ONE), &night);
    assert_eq!(spool.walk().hosts().unwrap().count(), 1);
}

#[test]
fn a_plan_lists_the_shared_bodies_of_entries_and_versions() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let (day, night) = (bytes(70_000), vec![1; 90_000]);
    let german = place(THREE).with_variant("accept-language: de");
    for body in [&day, &night, &day] {
        store(&spool, ONE, body).unwrap();
        store_at(&spool, &german, body).unwrap();
    }
    store(&spool, TWO, b"other").unwrap();
    spool.flush().unwrap();
    let count = || {
        let all = spool.candidates().unwrap().map(Result::unwrap);
        let mut all: Vec<_> =
            all.map(|found| (found.summary.place.url().to_owned(), found.bodies.len())).collect();
        all.sort();
        all
    };
    let none = [ONE, THREE, TWO].map(|url| (url.to_owned(), 0));
    assert_eq!(count(), none);
    share(&spool);
    assert_eq!(count(), [(ONE, 3), (THREE, 3), (TWO, 0)].map(|(url, n)| (url.to_owned(), n)));
}

#[test]
fn updates_of_entries_with_shared_bodies_are_stored() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(300_000);
    for url in [ONE, TWO] {
        store(&spool, url, &body).unwrap();
    }
    spool.flush().unwrap();
    let at = |second| Timestamp::from_second(1_700_000_000 + second).unwrap();
    let confirmed = |second: i64| Update::Confirmed {
        head: format!("HTTP/1.1 200 OK\r\nDate: {second}\r\n\r\n").into_bytes(),
        asked: at(second),
        responded: at(second + 1),
    };
    // An update made before the body is shared lies beside the entry. Sharing moves it into the
    // entry's file.
    let entry = read(&spool, &place(ONE));
    spool.update(&entry, &confirmed(5)).unwrap().unwrap();
    let beside = || {
        let files = support::files(root.path()).into_iter();
        files.filter(|path| path.to_string_lossy().ends_with(".update.warc")).count()
    };
    assert_eq!(beside(), 1);
    share(&spool);
    assert_eq!(beside(), 0);
    let entry = read(&spool, &place(ONE));
    assert!(entry.shares_body() && entry.head().ends_with(b"Date: 5\r\n\r\n"));
    assert_eq!(entry.checked(), at(6));
    // A later update has a head of the greatest length.
    let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    head.resize(wwwoffle_spool::MAX_HEAD - 4, b'x');
    head.extend_from_slice(b"\r\n\r\n");
    let update = Update::Confirmed { head: head.clone(), asked: at(10), responded: at(11) };
    let entry = spool.update(&entry, &update).unwrap().unwrap();
    assert!(entry.shares_body() && entry.head() == head && entry.checked() == at(11));
    is(&entry, &body);
    let entry = spool.update(&entry, &Update::Invalid { since: at(20) }).unwrap().unwrap();
    assert_eq!(entry.invalid_since(), Some(at(20)));
    let entry = spool.update(&entry, &confirmed(30)).unwrap().unwrap();
    assert!(entry.shares_body() && entry.invalid_since().is_none());
    assert_eq!(beside(), 0);
    has(&spool, &place(ONE), &body);
    has(&spool, &place(TWO), &body);
    drop(spool);
    let spool = open(root.path());
    assert_eq!(read(&spool, &place(ONE)).checked(), at(31));
}

#[test]
fn compression_and_sharing_can_be_combined() {
    for len in [40_000, 400_000] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path());
        let body = b"much the same ".repeat(len / 14);
        for url in [ONE, TWO, THREE] {
            store(&spool, url, &body).unwrap();
        }
        spool.flush().unwrap();
        // One entry is compressed before its body is shared.
        assert!(matches!(spool.compress(&place(TWO)).unwrap(), RewriteOutcome::Done { .. }));
        assert_eq!(share(&spool).made.count, 3);
        let holder = || fs::metadata(holders(root.path()).remove(0)).unwrap().len();
        for url in [ONE, TWO, THREE] {
            spool.compress(&place(url)).unwrap();
            has(&spool, &place(url), &body);
        }
        assert!(holder() < body.len() as u64 / 4);
        assert_eq!(spool.compress(&place(ONE)).unwrap(), RewriteOutcome::Already);
        spool.remove(&place(ONE)).unwrap();
        store(&spool, ONE, &body).unwrap();
        assert_eq!(share(&spool).made.count, 1);
        assert!(matches!(spool.expand(&place(THREE)).unwrap(), RewriteOutcome::Done { .. }));
        assert!(holder() > body.len() as u64);
        for url in [ONE, TWO, THREE] {
            has(&spool, &place(url), &body);
        }
        let checked = Reader::open(root.path()).unwrap();
        let sums =
            checked.check(&wwwoffle_spool::CheckOptions::new(true), &mut |it| panic!("{it}"));
        assert!(sums.unwrap().is_sound());
    }
}

#[test]
fn personal_entries_do_not_share_bodies_with_others() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(150_000);
    let of = |owner: &str, url| place(url).owned_by(owner);
    let all: Vec<Place> = ["", "user anna", "user bob"]
        .iter()
        .flat_map(|owner| [of(owner, ONE), of(owner, TWO)])
        .chain([of("user carl", ONE)])
        .collect();
    for place in &all {
        store_at(&spool, place, &body).unwrap();
    }
    let sharing = share(&spool);
    assert_eq!((sharing.made.count, sharing.bodies.count), (6, 3), "{sharing:?}");
    for place in &all {
        has(&spool, place, &body);
    }
    for path in holders(root.path()) {
        let text = fs::read(&path).unwrap();
        let owner = text.windows(20).find(|window| window.starts_with(b"Wwwoffle-Owner: user"));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_public = name == hex::encode(read(&spool, &all[0]).digest());
        assert_eq!(owner.is_none(), is_public, "{name}");
    }
    for place in all.iter().filter(|place| place.owner().is_some()) {
        spool.remove(place).unwrap();
    }
    assert_eq!(share(&spool).removed.count, 2);
    has(&spool, &all[0], &body);
}

#[test]
fn a_shared_body_under_another_name_is_not_used() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(250_000);
    for url in [ONE, TWO] {
        store(&spool, url, &body).unwrap();
    }
    let german = place(THREE).with_variant("accept-language: de");
    store_at(&spool, &german, &body).unwrap();
    store_at(&spool, &place(THREE).with_variant("accept-language: en"), b"other").unwrap();
    assert_eq!(share(&spool).made.count, 3);
    has(&spool, &german, &body);
    let moved = place("http://m.example/moved");
    spool.move_to(&place(ONE), &moved, false).unwrap();
    spool.remove(&place(TWO)).unwrap();
    spool.remove(&german).unwrap();
    assert_eq!(share(&spool).removed.count, 1);
    has(&spool, &moved, &body);
}

#[test]
#[ignore = "slow"]
fn concurrent_readers_and_writers_find_every_body() {
    const ROUNDS: usize = 60;
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let urls: Vec<String> = (0..6).map(|number| format!("http://a.example/{number}")).collect();
    let both = [bytes(20_000), vec![5; 140_000]];
    for url in &urls {
        store(&spool, url, &both[0]).unwrap();
    }
    spool.flush().unwrap();
    let is_one = |found: &Entry| {
        let body = support::body(found).unwrap_or_else(|| panic!("{found:?}"));
        assert!(both.contains(&body), "{found:?}");
    };
    let ends = std::sync::atomic::AtomicBool::new(false);
    let goes_on = || !ends.load(std::sync::atomic::Ordering::Acquire);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let url = &urls[round % urls.len()];
                store(&spool, url, &both[(round / 2) % 2]).unwrap();
                if round % 5 == 0 {
                    spool.flush().unwrap();
                }
                if round % 7 == 0 {
                    spool.remove(&place(&urls[(round + 1) % urls.len()])).unwrap();
                }
                if let Lookup::Found(entry) = spool.entry(&place(url)).unwrap() {
                    spool.update(&entry, &Update::Invalid { since: entry.stored() }).unwrap();
                }
            }
            ends.store(true, std::sync::atomic::Ordering::Release);
        });
        scope.spawn(|| {
            while goes_on() {
                share(&spool);
            }
        });
        scope.spawn(|| {
            while goes_on() {
                for url in &urls {
                    match spool.entry(&place(url)).unwrap() {
                        Lookup::Found(entry) => is_one(&entry),
                        Lookup::Missing => {}
                        Lookup::SetAside(damage) => panic!("{damage}"),
                    }
                    for version in spool.versions(&place(url)).unwrap() {
                        match spool.version(&place(url), version.stored).unwrap() {
                            Lookup::Found(entry) => is_one(&entry),
                            Lookup::Missing => {}
                            Lookup::SetAside(damage) => panic!("{damage}"),
                        }
                    }
                }
            }
        });
    });
    share(&spool);
    assert!(support::files(&root.path().join("damaged")).is_empty());
    let checked = Reader::open(root.path()).unwrap();
    let sums =
        checked.check(&wwwoffle_spool::CheckOptions::new(true), &mut |finding| panic!("{finding}"));
    assert!(sums.unwrap().is_sound());
}
