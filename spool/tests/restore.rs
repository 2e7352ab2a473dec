//! Restoring an older version: neither this version nor the present entry is ever lost.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::place;
use support::sim::{Fault, SimDisk};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    Durability, Options, Place, RestoreOutcome, Result, Spool, Timestamp, Versions,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];
const URL: &str = "http://v/page";

fn options(durability: Durability, kept: usize) -> Options {
    Options { versions: Versions::from_rule(move |_| kept), ..support::options(durability) }
}

fn open(root: &Path, durability: Durability, kept: usize) -> Spool {
    Spool::open(root, &options(durability, kept)).unwrap().0
}

fn times(spool: &Spool, place: &Place) -> Vec<Timestamp> {
    spool.versions(place).unwrap().into_iter().map(|version| version.stored).collect()
}

/// The body of the entry, and those of its versions, the newest first.
fn all(spool: &Spool, place: &Place) -> (Vec<u8>, Vec<Vec<u8>>) {
    let found = spool.entries(place).unwrap().found;
    let entry = found.into_iter().find(|entry| entry.place() == place).unwrap();
    let present = entry.stored();
    let body =
        |stored| support::body(&spool.version(place, stored).unwrap().found().unwrap()).unwrap();
    // After a crash the entry may have a version name too.
    let older = times(spool, place).into_iter().filter(|stored| *stored != present).map(body);
    (support::body(&entry).unwrap(), older.collect())
}

fn texts(spool: &Spool, place: &Place) -> String {
    let (present, older) = all(spool, place);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes.get(..1).unwrap()).into_owned();
    let older: Vec<_> = older.iter().map(text).collect();
    format!("{} {}", text(&present), older.concat())
}

#[test]
fn an_entry_stored_during_a_restore_becomes_a_version() {
    for durability in DURABILITIES {
        let disk = SimDisk::new();
        let open = |disk: &SimDisk, kept| {
            let (disk, options) = (Arc::new(disk.clone()), options(durability, kept));
            Spool::open_with(disk, Path::new("/spool"), &options).unwrap().0
        };
        let (place, spool) = (place(URL), open(&disk, 9));
        for body in [b"a", b"b"] {
            support::store_at(&spool, &place, body).unwrap();
        }
        drop(spool);
        let disk = disk.restarted();
        // The entry was deleted by hand, and versions are not kept any more.
        disk.remove_file(&Path::new("/spool").join(place.relative_path())).unwrap();
        let spool = open(&disk, 0);
        let oldest = times(&spool, &place)[0];
        let (beside, there) = (spool.clone(), place.clone());
        disk.set_meanwhile(move || support::store_at(&beside, &there, b"c").unwrap());
        assert_eq!(spool.restore(&place, oldest).unwrap(), RestoreOutcome::Done);
        assert_eq!(texts(&spool, &place), "a c", "{durability:?}");
    }
}

#[test]
#[ignore = "slow"]
fn restored_version_and_entry_swap_places() {
    // A small entry, and one that is too large to be read at once.
    for size in [1, 300_000] {
        for durability in DURABILITIES {
            for variant in ["", "accept-language: de"] {
                let root = tempfile::tempdir().unwrap();
                let spool = open(root.path(), durability, 9);
                let place = place(URL).with_variant(variant);
                for letter in [b'a', b'b', b'c'] {
                    support::store_at(&spool, &place, &vec![letter; size]).unwrap();
                }
                spool.flush().unwrap();
                let oldest = times(&spool, &place)[1];
                assert_eq!(spool.restore(&place, oldest).unwrap(), RestoreOutcome::Done);
                assert_eq!(texts(&spool, &place), "a cb", "{durability:?} {size}");
                assert_eq!(spool.restore(&place, oldest).unwrap(), RestoreOutcome::Missing);
                // The former entry is restored again.
                let newest = times(&spool, &place)[0];
                assert_eq!(spool.restore(&place, newest).unwrap(), RestoreOutcome::Done);
                assert_eq!(texts(&spool, &place), "c ab");
                drop(spool);
                let spool = open(root.path(), durability, 9);
                assert_eq!(texts(&spool, &place), "c ab", "opened again");
                assert!(spool.failures().is_empty());
            }
        }
    }
}

#[test]
fn a_restore_keeps_the_replaced_entry_as_a_version() {
    for (kept, want) in [(0, "a b"), (1, "a b"), (9, "a b")] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Batch, 9);
        for letter in ["a", "b"] {
            support::store(&spool, URL, letter.as_bytes()).unwrap();
        }
        drop(spool);
        let spool = open(root.path(), Durability::Batch, kept);
        let place = place(URL);
        let stored = times(&spool, &place)[0];
        assert_eq!(spool.restore(&place, stored).unwrap(), RestoreOutcome::Done);
        assert_eq!(texts(&spool, &place), want, "{kept}");
    }
}

#[test]
fn restoring_an_equal_body_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each, 9);
    let place = place(URL);
    for letter in ["a", "b", "a"] {
        support::store(&spool, URL, letter.as_bytes()).unwrap();
    }
    let oldest = times(&spool, &place)[1];
    assert_eq!(spool.restore(&place, oldest).unwrap(), RestoreOutcome::Same);
    assert_eq!(texts(&spool, &place), "a ba");
    // The file was deleted by hand.
    fs::remove_file(root.path().join(place.relative_path())).unwrap();
    assert_eq!(spool.restore(&place, oldest).unwrap(), RestoreOutcome::Done);
    assert_eq!(texts(&spool, &place), "a b");
}

#[test]
fn a_damaged_version_is_moved_aside_and_never_restored() {
    for size in [1_000, 300_000] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), Durability::Each, 9);
        let place = place(URL);
        for letter in [b'a', b'b'] {
            support::store(&spool, URL, &vec![letter; size]).unwrap();
        }
        let stored = times(&spool, &place)[0];
        let files = support::files(&root.path().join("http"));
        let is_version = |path: &&std::path::PathBuf| {
            path.file_name().unwrap().to_str().unwrap().matches('.').count() == 2
        };
        let path = files.iter().find(is_version).unwrap();
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.windows(4).rposition(|window| window == b"aaaa").unwrap();
        bytes[at] = b'x';
        fs::write(path, bytes).unwrap();
        assert_eq!(spool.restore(&place, stored).unwrap(), RestoreOutcome::Missing);
        assert_eq!(texts(&spool, &place), "b ");
        assert_eq!(support::files(&root.path().join("damaged")).len(), 2);
        assert!(support::files(&root.path().join("tmp")).is_empty());
    }
}

#[test]
fn only_the_chosen_version_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each, 9);
    let place = place(URL);
    for letter in ["a", "b", "c"] {
        support::store(&spool, URL, letter.as_bytes()).unwrap();
    }
    let stored = times(&spool, &place)[0];
    assert!(spool.remove_version(&place, stored).unwrap());
    assert!(!spool.remove_version(&place, stored).unwrap());
    assert_eq!(texts(&spool, &place), "c a");
    // The entry itself is not a version.
    let present = spool.entry(&place).unwrap().found().unwrap().stored();
    assert!(!spool.remove_version(&place, present).unwrap());
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn open_sim(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    // Only one version is kept, so the restored one is surplus afterwards.
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability, 1)).map(|opened| opened.0)
}

fn body(letter: u8, size: usize) -> Vec<u8> {
    vec![letter; size]
}

fn places() -> [Place; 2] {
    [place(URL), place(URL).with_variant("accept-language: de")]
}

/// Returns which versions were restored.
fn run(disk: &SimDisk, durability: Durability) -> [bool; 2] {
    let Ok(spool) = open_sim(disk, durability) else { return [false; 2] };
    places().map(|place| {
        let Ok(versions) = spool.versions(&place) else { return false };
        let Some(version) = versions.first() else { return false };
        matches!(spool.restore(&place, version.stored), Ok(RestoreOutcome::Done))
    })
}

fn check(disk: &SimDisk, durability: Durability, done: [bool; 2], size: usize, what: &str) {
    let spool = open_sim(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    for (place, done) in places().iter().zip(done) {
        let (present, older) = all(&spool, place);
        let bodies: BTreeSet<_> = older.into_iter().chain([present.clone()]).collect();
        let want = [body(b'a', size), body(b'b', size)].into();
        assert!(bodies == want, "{what}: one of two is lost, {} stay", bodies.len());
        assert!(!done || present == body(b'a', size), "{what}: it was restored");
    }
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
}

#[test]
#[ignore = "slow"]
fn a_crash_during_a_restore_loses_nothing() {
    for size in [10, 200_000] {
        let base = SimDisk::new();
        let spool = open_sim(&base, Durability::Each).unwrap();
        for letter in [b'a', b'b'] {
            for place in places() {
                support::store_at(&spool, &place, &body(letter, size)).unwrap();
            }
        }
        drop(spool);
        let base = base.restarted();
        for durability in DURABILITIES {
            for call in 0.. {
                let disk = base.restarted();
                disk.set_fault(Fault::Stop(call));
                let done = run(&disk, durability);
                let calls = disk.calls();
                disk.set_fault(Fault::Never);
                let what = format!("{durability:?}, {size}, stopped at {call}");
                check(&disk.restarted(), durability, done, size, &what);
                for seed in 0..if durability == Durability::None { 0 } else { 4 } {
                    let what = format!("{durability:?}, {size}, power cut at {call}, seed {seed}");
                    let after = disk.after_power_cut(call * 4 + seed);
                    check(&after, durability, done, size, &what);
                }
                let disk = base.restarted();
                disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
                run(&disk, durability);
                disk.set_fault(Fault::Never);
                let what = format!("{durability:?}, {size}, full at {call}");
                check(&disk.restarted(), durability, [false; 2], size, &what);
                if calls <= call {
                    assert!(call > 20, "{call}");
                    break;
                }
            }
        }
    }
}
