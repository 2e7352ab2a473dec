//! A failure, a stop and a power cut at every disk call of compressing and expanding: each entry
//! and version is complete afterwards, and removed ones stay removed.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{body, options, place, store};
use wwwoffle_spool::{
    CheckOptions, Durability, Lookup, Options, Reader, Result, RewriteOutcome, Spool, Timestamp,
    Update, Versions,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];
const SMALL: &str = "http://a/small";
const LARGE: &str = "http://a/large";
const PACKED: &str = "http://a/packed";
const URLS: [&str; 3] = [SMALL, LARGE, PACKED];
const CUTS: u64 = 5;

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn content(url: &str) -> Vec<u8> {
    let times = if url == LARGE { 30_000 } else { 2_500 };
    format!("<p>some words of {url}\n").repeat(times).into_bytes()
}

fn with_versions(durability: Durability) -> Options {
    Options { versions: Versions::from_rule(|_| 3), ..options(durability) }
}

fn open(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    let opened = Spool::open_with(Arc::new(disk.clone()), root(), &with_versions(durability));
    opened.map(|(spool, _)| spool)
}

fn since() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// Entries with one version each. `LARGE` has an update, and `PACKED` is compressed already.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each).unwrap();
    for url in URLS {
        store(&spool, url, &[content(url), b"older".to_vec()].concat()).unwrap();
        store(&spool, url, &content(url)).unwrap();
    }
    let large = spool.entry(&place(LARGE)).unwrap().found().unwrap();
    spool.update(&large, &Update::Invalid { since: since() }).unwrap().unwrap();
    assert!(matches!(spool.compress(&place(PACKED)).unwrap(), RewriteOutcome::Done { .. }));
    drop(spool);
    disk.restarted()
}

/// Rewrites everything once, and returns the errors.
fn run(disk: &SimDisk, durability: Durability) -> Vec<wwwoffle_spool::Error> {
    let spool = match open(disk, durability) {
        Ok(spool) => spool,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    let mut note = |done: Result<RewriteOutcome>| match done {
        Ok(RewriteOutcome::Done { .. }) => {}
        Ok(other) => panic!("{other:?}"),
        Err(error) => errors.push(error),
    };
    note(spool.compress(&place(SMALL)));
    note(spool.compress(&place(LARGE)));
    note(spool.expand(&place(PACKED)));
    for url in [SMALL, LARGE] {
        match spool.versions(&place(url)) {
            Ok(versions) => note(spool.compress_version(&place(url), versions[0].stored)),
            Err(error) => note(Err(error)),
        }
    }
    errors
}

fn check(disk: &SimDisk, durability: Durability, what: &str) {
    let spool = open(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    for url in URLS {
        let Lookup::Found(entry) = spool.entry(&place(url)).unwrap() else {
            panic!("{what}: {url} is lost")
        };
        assert!(body(&entry).unwrap() == content(url), "{what}: {url}");
        assert_eq!(entry.invalid_since().is_some(), url == LARGE, "{what}: {url}");
        let versions = spool.versions(&place(url)).unwrap();
        assert_eq!(versions.len(), 1, "{what}: {url}");
        let version = spool.version(&place(url), versions[0].stored).unwrap().found().unwrap();
        assert!(body(&version).unwrap().ends_with(b"older"), "{what}: {url}");
    }
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}");
    drop(spool);
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let mut said = Vec::new();
    let sums =
        reader.check(&CheckOptions::new(true), &mut |found| said.push(found.to_string())).unwrap();
    assert!(sums.is_sound(), "{what}: {said:?}");
}

#[test]
#[ignore = "slow"]
fn a_crash_leaves_the_old_or_the_new_file() {
    for durability in DURABILITIES {
        let base = base();
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let errors = run(&disk, durability);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), durability, &format!("{durability:?}, stopped at {call}"));
            for seed in 0..CUTS {
                let after = disk.after_power_cut(call * CUTS + seed);
                check(&after, durability, &format!("{durability:?}, cut at {call}, seed {seed}"));
            }
            if calls <= call {
                assert!(errors.is_empty(), "{errors:?}");
                break;
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn an_error_is_reported_and_loses_nothing() {
    let base = base();
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, kind));
            let errors = run(&disk, Durability::Each);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            for error in &errors {
                assert_eq!(error.is_full(), kind == ErrorKind::StorageFull, "at {call}: {error}");
            }
            check(&disk.restarted(), Durability::Each, &format!("{kind:?} at {call}"));
            if calls <= call {
                break;
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn an_entry_removed_after_a_rewrite_stays_removed() {
    for durability in [Durability::Each, Durability::Batch] {
        for call in 0.. {
            let disk = base();
            let spool = open(&disk, durability).unwrap();
            spool.compress(&place(SMALL)).unwrap();
            disk.set_fault(Fault::Stop(call));
            let is_removed = spool.remove(&place(SMALL)).is_ok();
            let calls = disk.calls();
            drop(spool);
            for seed in 0..4 * CUTS {
                let after = disk.after_power_cut(seed);
                let spool = open(&after, durability).unwrap();
                match spool.entry(&place(SMALL)).unwrap() {
                    Lookup::Missing => {}
                    Lookup::Found(found) if !(is_removed && durability == Durability::Each) => {
                        assert!(body(&found).unwrap() == content(SMALL), "at {call}");
                    }
                    other => panic!("{durability:?} at {call}: {other:?}"),
                }
            }
            if calls <= call {
                break;
            }
        }
    }
}

#[test]
fn an_entry_stored_during_a_rewrite_is_not_replaced() {
    let disk = base();
    let spool = open(&disk, Durability::Each).unwrap();
    let other = spool.clone();
    // This happens after the entry was read, and before its new file is created.
    disk.set_meanwhile(move || store(&other, SMALL, b"another answer").unwrap());
    assert_eq!(spool.compress(&place(SMALL)).unwrap(), RewriteOutcome::Overtaken);
    let now = spool.entry(&place(SMALL)).unwrap().found().unwrap();
    assert_eq!(body(&now).unwrap(), b"another answer");
    let other = spool.clone();
    disk.set_meanwhile(move || assert!(other.remove(&place(LARGE)).unwrap()));
    assert_eq!(spool.compress(&place(LARGE)).unwrap(), RewriteOutcome::Overtaken);
    assert!(matches!(spool.entry(&place(LARGE)).unwrap(), Lookup::Missing));
    assert_eq!(disk.files(&root().join("tmp")).len(), 0);
}
