//! Moving entries to another URL: everything except the name is kept, and no crash loses an entry.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::full::{self, CHANGED, LARGE, SMALL, VARIES};
use support::place;
use support::sim::{Fault, SimDisk};
use wwwoffle_spool::fs::{Disk, OpenedFile};
use wwwoffle_spool::{
    CheckOptions, Durability, Entry, Lookup, MoveOutcome, Options, Place, Reader, Result, Spool,
    Timestamp,
};

const NEW: &str = "https://other.example/new?a";

/// Everything in an entry except its place.
type Content = (
    (Timestamp, Timestamp, Timestamp, Timestamp, Option<Timestamp>),
    (u16, Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>),
);

fn content(entry: &Entry) -> Content {
    (
        (
            entry.received(),
            entry.requested(),
            entry.responded(),
            entry.stored(),
            entry.invalid_since(),
        ),
        (
            entry.status(),
            entry.head().to_vec(),
            support::body(entry).unwrap(),
            entry.request().to_vec(),
            entry.trailers().map(<[u8]>::to_vec),
            entry.connection().map(<[u8]>::to_vec),
        ),
    )
}

/// The entries and older versions of a key, with the variant of each.
fn contents(spool: &Spool, place: &Place) -> Vec<(String, Content)> {
    let mut all = Vec::new();
    for entry in spool.entries(place).unwrap().found {
        let variant = entry.place().variant_text().to_owned();
        all.push((variant.clone(), content(&entry)));
        for version in spool.versions(entry.place()).unwrap() {
            let version = spool.version(entry.place(), version.stored).unwrap();
            let Lookup::Found(version) = version else { panic!("{version:?}") };
            all.push((variant.clone(), content(&version)));
        }
    }
    all.sort();
    all
}

#[test]
#[ignore = "slow"]
fn move_keeps_versions_and_variants() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        let root = full::spool();
        let options = Options { durability, ..full::options() };
        let (spool, _) = Spool::open(root.path(), &options).unwrap();
        for (url, many) in [(SMALL, 1), (LARGE, 1), (CHANGED, 3), (VARIES, 3)] {
            let (from, to) = (place(url), place(NEW).owned_by("user ada"));
            let before = contents(&spool, &from);
            assert_eq!(before.len(), many, "{url}");
            assert_eq!(spool.move_to(&from, &to, false).unwrap(), MoveOutcome::Yes);
            assert_eq!(contents(&spool, &to), before, "{url} {durability:?}");
            assert!(spool.entries(&from).unwrap().found.is_empty());
            assert!(spool.versions(&from).unwrap().is_empty());
            assert_eq!(spool.move_to(&from, &to, false).unwrap(), MoveOutcome::Nothing);
            // The entries are moved back, to an empty place.
            assert_eq!(spool.move_to(&to, &from, false).unwrap(), MoveOutcome::Yes);
            assert_eq!(contents(&spool, &from), before, "{url} {durability:?}");
        }
        spool.flush().unwrap();
        drop(spool);
        let sums = Reader::open(root.path())
            .unwrap()
            .check(&CheckOptions::new(true), &mut |finding| panic!("{finding}"));
        assert!(sums.unwrap().is_sound());
    }
}

#[test]
fn a_move_replaces_an_entry_only_if_forced() {
    let root = full::spool();
    let (spool, _) = Spool::open(root.path(), &full::options()).unwrap();
    let (from, to) = (place(SMALL), place(LARGE));
    let (old, there) = (contents(&spool, &from), contents(&spool, &to));
    assert_eq!(spool.move_to(&from, &to, false).unwrap(), MoveOutcome::Taken);
    assert_eq!((contents(&spool, &from), contents(&spool, &to)), (old, there.clone()));
    assert_eq!(spool.move_to(&from, &to, true).unwrap(), MoveOutcome::Yes);
    let found = spool.entry(&to).unwrap().found().unwrap();
    assert_eq!(support::body(&found).unwrap(), b"small");
    // The moved entry is newer than the entry it replaced, which is now an older version.
    let versions = spool.versions(&to).unwrap();
    assert_eq!(versions.len(), 1);
    assert!(found.stored() > versions[0].stored);
    assert!(spool.move_to(&to, &to, true).unwrap_err().is_invalid());
    let long = place(&format!("http://a/{}", "x".repeat(wwwoffle_spool::MAX_URL)));
    assert!(spool.move_to(&to, &long, true).unwrap_err().is_too_large());
    assert!(spool.entry(&to).unwrap().found().is_some());
}

#[test]
fn an_entry_stored_during_a_move_stays() {
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        for (url, is_forced) in [(SMALL, false), (VARIES, false), (SMALL, true)] {
            let disk = SimDisk::new();
            let spool = open(&disk, durability).unwrap();
            full::fill(&spool);
            let (from, to) = (place(url), place(NEW));
            let (before, found) = (contents(&spool, &from), spool.entries(&from).unwrap().found);
            let last = found.last().unwrap().place().variant_text().to_owned();
            let (beside, there) = (spool.clone(), to.clone().with_variant(&last));
            disk.set_meanwhile(move || support::store_at(&beside, &there, b"came").unwrap());
            let moved = spool.move_to(&from, &to, is_forced).unwrap();
            let bodies: Vec<_> = contents(&spool, &to).into_iter().map(|it| it.1.1.2).collect();
            assert!(bodies.contains(&b"came".to_vec()), "{url} {durability:?} {is_forced}");
            if is_forced {
                // The other entry is an older version now.
                assert_eq!((moved, bodies.len()), (MoveOutcome::Yes, 2));
                let entry = spool.entry(&to).unwrap().found().unwrap();
                assert_eq!(support::body(&entry).unwrap(), b"small");
            } else {
                assert_eq!((moved, bodies.len()), (MoveOutcome::Taken, 1), "{url} {durability:?}");
                assert_eq!(contents(&spool, &from), before);
            }
        }
    }
}

#[test]
fn versions_of_the_same_time_are_both_moved() {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each).unwrap();
    let (from, to) = (place("http://a.example/from"), place("http://a.example/to"));
    for body in ["old", "new"] {
        support::store_at(&spool, &from, body.as_bytes()).unwrap();
    }
    let [version] = &spool.versions(&from).unwrap()[..] else { panic!() };
    support::store_at(&spool, &to, b"there").unwrap();
    let mut writer = spool.begin(&to, support::entry(&support::head(200))).unwrap();
    writer.write(b"same moment").unwrap();
    assert!(writer.finish_older(version.stored).unwrap().is_some());
    assert_eq!(spool.move_to(&from, &to, true).unwrap(), MoveOutcome::Yes);
    let mut bodies: Vec<_> = contents(&spool, &to).into_iter().map(|it| it.1.1.2).collect();
    bodies.sort();
    let want = ["new", "old", "same moment", "there"];
    assert_eq!(bodies, want.map(|body| body.as_bytes().to_vec()));
}

#[test]
fn a_damaged_version_is_moved_aside_and_the_others_are_moved() {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each).unwrap();
    let (from, to) = (place("http://a.example/from"), place("http://a.example/to"));
    for letter in [b'a', b'b', b'c'] {
        support::store_at(&spool, &from, &vec![letter; 300_000]).unwrap();
    }
    let files = disk.files(root());
    let is_oldest =
        |path: &&std::path::PathBuf| disk.content(path).unwrap().get(150_000) == Some(&b'a');
    let path = files.iter().find(is_oldest).unwrap();
    let OpenedFile::File(file, _) = disk.open(path).unwrap() else { panic!() };
    file.write_all_at(b"x", 150_000).unwrap();
    assert_eq!(spool.move_to(&from, &to, false).unwrap(), MoveOutcome::Yes);
    let bodies: Vec<_> = contents(&spool, &to).into_iter().map(|it| it.1.1.2[0]).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies.contains(&b'b') && bodies.contains(&b'c'));
    assert!(spool.versions(&from).unwrap().is_empty());
    assert_eq!(disk.files(&root().join("damaged")).len(), 2, "it and its note");
}

#[test]
fn a_version_compressed_during_a_lookup_is_found() {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each).unwrap();
    let (from, to) = (place("http://a.example/from"), place("http://a.example/to"));
    for letter in [b'a', b'b'] {
        support::store_at(&spool, &from, &vec![letter; 300_000]).unwrap();
    }
    let [version] = &spool.versions(&from).unwrap()[..] else { panic!() };
    let stored = version.stored;
    let files = disk.files(root());
    let is_oldest =
        |path: &&std::path::PathBuf| disk.content(path).unwrap().get(150_000) == Some(&b'a');
    let path = files.iter().find(is_oldest).unwrap();
    // This happens between the two times that the file is opened: for its content, and to check
    // that it still exists.
    let between = |expand: bool| {
        let (beside, from) = (spool.clone(), from.clone());
        disk.set_between_opens(path, 1, move || {
            if expand {
                beside.expand_version(&from, stored).unwrap();
            } else {
                beside.compress_version(&from, stored).unwrap();
            }
        });
    };
    between(false);
    assert!(matches!(spool.version(&from, stored).unwrap(), Lookup::Found(_)));
    between(true);
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    assert!(matches!(reader.version(&from, stored).unwrap(), Lookup::Found(_)));
    between(false);
    assert_eq!(spool.move_to(&from, &to, false).unwrap(), MoveOutcome::Yes);
    let bodies: Vec<_> = contents(&spool, &to).into_iter().map(|it| it.1.1.2[0]).collect();
    assert!(bodies.contains(&b'a') && bodies.contains(&b'b'), "{bodies:?}");
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn open(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    let options = Options { durability, ..full::options() };
    Spool::open_with(Arc::new(disk.clone()), root(), &options).map(|opened| opened.0)
}

#[test]
#[ignore = "slow"]
fn a_crash_during_a_move_loses_nothing() {
    let base = SimDisk::new();
    let spool = open(&base, Durability::Each).unwrap();
    full::fill(&spool);
    let (urls, new) = ([CHANGED, VARIES, LARGE], |number: usize| place(&format!("{NEW}{number}")));
    let whole: Vec<_> = urls.iter().map(|url| contents(&spool, &place(url))).collect();
    drop(spool);
    let base = base.restarted();
    let run = |disk: &SimDisk, durability| -> Result<()> {
        let spool = open(disk, durability)?;
        for (number, url) in urls.iter().enumerate() {
            spool.move_to(&place(url), &new(number), false)?;
        }
        spool.flush()
    };
    let check = |disk: &SimDisk, what: &str| {
        let spool = open(disk, Durability::Each).unwrap();
        for (number, (url, whole)) in urls.iter().zip(&whole).enumerate() {
            let [old, now] = [place(url), new(number)].map(|place| contents(&spool, &place));
            // Each variant is moved separately, so some may be at the old place and some at the
            // new.
            let is_there = |one: &(String, Content)| old.contains(one) || now.contains(one);
            assert!(whole.iter().all(is_there), "{what}: something of {url} is lost");
            assert!(old.iter().chain(&now).all(|one| whole.contains(one)), "{what}: {url}");
            let moved = spool.move_to(&place(url), &new(number), false).unwrap();
            assert_ne!(moved, MoveOutcome::Taken, "{what}: {url} does not go on");
            assert_eq!(contents(&spool, &new(number)), *whole, "{what}: {url}");
        }
    };
    for durability in [Durability::Each, Durability::Batch] {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let _stopped_or_not = run(&disk, durability);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), &format!("{durability:?} stopped at {call}"));
            let what = format!("{durability:?} power cut at {call}");
            check(&disk.after_power_cut(call), &what);
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
            let _full_or_not = run(&disk, durability);
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), &format!("{durability:?} full at {call}"));
            if calls <= call {
                assert!(call > 100, "{call}");
                break;
            }
        }
    }
}
