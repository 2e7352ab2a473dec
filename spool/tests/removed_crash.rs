//! A failure, a stop and a power cut at every disk call while entries are removed, brought back and
//! deleted: at each moment an entry that was not deleted is in its place or can be brought back.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{bytes, place, store};
use wwwoffle_spool::{
    CheckOptions, CheckVerdict, Durability, Lookup, Options, Reader, Removal, Spool, Timestamp,
    Update, Versions,
};

/// The settings, each with the number of power cuts after each stop. Each power cut loses different
/// data, chosen at random.
const DURABILITIES: [(Durability, u64); 3] =
    [(Durability::Each, 1), (Durability::Batch, 2), (Durability::None, 0)];

/// A small entry with a version, a large one with an update, and two that share their body.
const SMALL: &str = "http://a/small";
const LARGE: &str = "http://a/large";
const SHARED: [&str; 2] = ["http://b/shared", "http://c/shared"];
const ALL: [&str; 4] = [SMALL, LARGE, SHARED[0], SHARED[1]];

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn text(url: &str) -> Vec<u8> {
    match url {
        SMALL => b"new".to_vec(),
        LARGE => bytes(140_000),
        _ => bytes(20_000),
    }
}

fn options(durability: Durability) -> Options {
    Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) }
}

fn open(disk: &SimDisk, durability: Durability) -> Spool {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability)).unwrap().0
}

fn since() -> Timestamp {
    Timestamp::from_second(1_700_000_001).unwrap()
}

/// A spool with all of these entries on disk.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each);
    store(&spool, SMALL, b"old").unwrap();
    for url in ALL {
        store(&spool, url, &text(url)).unwrap();
    }
    let large = spool.entry(&place(LARGE)).unwrap().found().unwrap();
    spool.update(&large, &Update::Invalid { since: since() }).unwrap().unwrap();
    assert_eq!(spool.share(Some(0), &|| true).made.count, 2);
    drop(spool);
    disk.restarted()
}

/// Removes all entries, brings them back, and removes them again. After a failure the next step is
/// still tried.
fn run(disk: &SimDisk, durability: Durability) {
    let opened = Spool::open_with(Arc::new(disk.clone()), root(), &options(durability));
    let Ok((spool, _)) = opened else { return };
    for turn in 0..2 {
        let removal = spool.removal("ada");
        for url in ALL {
            let _failed = spool.remove_for_now(&place(url), &removal);
        }
        drop(spool.share(None, &|| true));
        if turn == 0 {
            let _failed = spool.undo_removal(&removal, &mut |_| {});
        }
    }
}

/// Checks that every entry is found when all removals are undone.
fn check(disk: &SimDisk, durability: Durability, what: &str) {
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let sums = reader.check(&CheckOptions::new(true), &mut |finding| {
        // Only files that a crash has left are reported.
        assert_eq!(finding.verdict, CheckVerdict::Leftover, "{what}: {finding}");
    });
    assert!(sums.unwrap().is_sound(), "{what}");
    let spool = open(disk, durability);
    let sharing = spool.share(None, &|| true);
    assert!(sharing.failure.is_none(), "{what}: {sharing:?}");
    let all: Vec<Removal> =
        spool.removals("ada").unwrap().iter().map(|resting| resting.removal).collect();
    for removal in all {
        let back = spool.undo_removal(&removal, &mut |_| {}).unwrap().unwrap_or_default();
        assert_eq!((back.overtaken, back.left), (0, 0), "{what}: {back:?}");
    }
    for url in ALL {
        match spool.entry(&place(url)).unwrap() {
            Lookup::Found(entry) => {
                assert_eq!(support::body(&entry), Some(text(url)), "{what}: {url}");
                let learnt = entry.invalid_since();
                assert_eq!(learnt.is_some(), url == LARGE, "{what}: {url}: {learnt:?}");
            }
            other => panic!("{what}: {url}: {other:?}"),
        }
    }
    let versions = spool.versions(&place(SMALL)).unwrap();
    assert_eq!(versions.len(), 1, "{what}: the version");
    let version = spool.version(&place(SMALL), versions[0].stored).unwrap().found();
    assert_eq!(support::body(&version.unwrap()).unwrap(), b"old", "{what}");
    let failures = spool.failures();
    assert!(failures.is_empty(), "{what}: {failures:?}");
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
    assert_eq!(disk.files(&root().join("removed")).len(), 0, "{what}: something rests");
    // A deleted removal does not come back.
    let removal = spool.removal("ada");
    for url in ALL {
        assert!(spool.remove_for_now(&place(url), &removal).unwrap(), "{what}");
    }
    spool.forget_removed(0).unwrap();
    drop(spool);
    let spool = open(&disk.restarted(), durability);
    for url in ALL {
        assert!(matches!(spool.entry(&place(url)).unwrap(), Lookup::Missing), "{what}: {url}");
    }
}

#[test]
#[ignore = "slow"]
fn a_crash_at_any_step_loses_nothing() {
    for (durability, cuts) in DURABILITIES {
        let base = base();
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            run(&disk, durability);
            let calls = disk.calls();
            check(&disk.restarted(), durability, &format!("{durability:?}, stopped at {call}"));
            for seed in 0..cuts {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                check(&disk.after_power_cut(call * cuts + seed), durability, &what);
            }
            if calls <= call {
                assert!(call > 200, "{call}");
                break;
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn an_error_at_any_step_loses_nothing() {
    for kind in [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
        let base = base();
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, kind));
            run(&disk, Durability::Batch);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), Durability::Batch, &format!("{kind:?} at {call}"));
            if calls <= call {
                break;
            }
        }
    }
}

/// Returns a disk with two removed responses of each URL of [`TWICE`], each removed separately. All
/// changes are durable.
fn twice() -> SimDisk {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each);
    for number in [1, 2] {
        for (url, learns) in TWICE {
            store(&spool, url, &vec![number; 140_000]).unwrap();
            if learns.contains(&number) {
                let entry = spool.entry(&place(url)).unwrap().found().unwrap();
                spool.update(&entry, &Update::Invalid { since: since() }).unwrap().unwrap();
            }
        }
        let removal = spool.removal("ada");
        for (url, _) in TWICE {
            assert!(spool.remove_for_now(&place(url), &removal).unwrap());
        }
    }
    drop(spool);
    disk.restarted()
}

/// The URLs, each with the numbers of its responses that have an update.
const TWICE: [(&str, &[u8]); 4] = [
    ("http://a/both", &[1, 2]),
    ("http://a/old", &[1]),
    ("http://a/new", &[2]),
    ("http://a/0", &[]),
];

/// Undoes the removals in their order.
fn back_in_order(spool: &Spool) {
    let mut all: Vec<Removal> =
        spool.removals("ada").unwrap_or_default().iter().map(|resting| resting.removal).collect();
    all.sort_unstable();
    for removal in all {
        let _failed = spool.undo_removal(&removal, &mut |_| {});
    }
}

fn check_twice(disk: &SimDisk, durability: Durability, what: &str) {
    let spool = open(disk, durability);
    back_in_order(&spool);
    for (url, learns) in TWICE {
        let entry = spool.entry(&place(url)).unwrap().found();
        let entry = entry.unwrap_or_else(|| panic!("{what}: {url} is gone"));
        let versions = spool.versions(&place(url)).unwrap();
        assert_eq!(versions.len(), 1, "{what}: the versions of {url}");
        let version = spool.version(&place(url), versions[0].stored).unwrap().found().unwrap();
        for (number, entry) in [(1, version), (2, entry)] {
            assert_eq!(support::body(&entry), Some(vec![number; 140_000]), "{what}: {url}");
            let is_learnt = learns.contains(&number);
            assert_eq!(entry.invalid_since().is_some(), is_learnt, "{what}: {url}, {number}");
        }
    }
    assert!(spool.failures().is_empty(), "{what}");
    assert_eq!(disk.files(&root().join("removed")).len(), 0, "{what}: something rests");
    drop(spool);
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let sums = reader.check(&CheckOptions::new(true), &mut |finding| {
        assert_eq!(finding.verdict, CheckVerdict::Leftover, "{what}: {finding}");
    });
    assert!(sums.unwrap().is_sound(), "{what}");
}

#[test]
#[ignore = "slow"]
fn a_replacement_is_complete_or_absent_after_a_crash() {
    let base = twice();
    for (durability, cuts) in DURABILITIES {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let opened = Spool::open_with(Arc::new(disk.clone()), root(), &options(durability));
            if let Ok((spool, _)) = opened {
                back_in_order(&spool);
            }
            let calls = disk.calls();
            check_twice(&disk.restarted(), durability, &format!("{durability:?}, stop at {call}"));
            for seed in 0..cuts {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                check_twice(&disk.after_power_cut(call * cuts + seed), durability, &what);
            }
            if calls <= call {
                assert!(call > 100, "{call}");
                break;
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn an_error_does_not_prevent_the_replacement() {
    let base = twice();
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, kind));
            let opened =
                Spool::open_with(Arc::new(disk.clone()), root(), &options(Durability::Batch));
            if let Ok((spool, _)) = opened {
                back_in_order(&spool);
            }
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check_twice(&disk.restarted(), Durability::Batch, &format!("{kind:?} at {call}"));
            if calls <= call {
                break;
            }
        }
    }
}
