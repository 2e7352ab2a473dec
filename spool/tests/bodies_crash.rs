//! A failure, a stop and a power cut at every disk call while bodies are shared, while entries that
//! share them are updated, replaced and removed, and while unneeded holders are removed.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{bytes, place, store};
use wwwoffle_spool::{Durability, Lookup, Options, Result, Spool, Timestamp, Update, Versions};

/// The settings, each with the number of power cuts after each stop. Each power cut loses different
/// data, chosen at random. Under `None` there are no power cuts, because they may lose new entries.
const DURABILITIES: [(Durability, u64); 3] =
    [(Durability::Each, 1), (Durability::Batch, 2), (Durability::None, 0)];

/// Entries with equal bodies, small and large. Of each list, the last entry is replaced, and the
/// first is removed.
const SMALL: [&str; 3] = ["http://a/1", "http://a/2", "http://b/3"];
const LARGE: [&str; 3] = ["http://a/4", "http://a/5", "http://b/6"];

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn body(url: &str) -> Vec<u8> {
    bytes(if SMALL.contains(&url) { 17_000 } else { 133_000 })
}

fn open(disk: &SimDisk, durability: Durability) -> Spool {
    let options = Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) };
    Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap().0
}

/// A spool with all of these entries on disk, and an update of one entry.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each);
    for url in SMALL.into_iter().chain(LARGE) {
        store(&spool, url, &body(url)).unwrap();
    }
    let large = spool.entry(&place(LARGE[1])).unwrap().found().unwrap();
    spool.update(&large, &invalid(1)).unwrap().unwrap();
    drop(spool);
    disk.restarted()
}

fn invalid(second: i64) -> Update {
    Update::Invalid { since: Timestamp::from_second(1_700_000_000 + second).unwrap() }
}

/// Does every step. After a failure the next step is still tried.
fn run(disk: &SimDisk, durability: Durability) {
    let options = Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) };
    let Ok((spool, _)) = Spool::open_with(Arc::new(disk.clone()), root(), &options) else { return };
    drop(spool.share(Some(0), &|| true));
    for urls in [SMALL, LARGE] {
        let update = || -> Result<()> {
            if let Lookup::Found(entry) = spool.entry(&place(urls[0]))? {
                spool.update(&entry, &invalid(2))?;
            }
            Ok(())
        };
        let _failed = update();
        let _failed = store(&spool, urls[2], b"new");
        let _failed = spool.flush();
        let _failed = spool.remove(&place(urls[0]));
    }
    drop(spool.share(Some(0), &|| true));
}

/// Checks that each entry has its body, or is gone if it was removed. In each turn, sharing runs
/// once more.
fn check(disk: &SimDisk, durability: Durability, turns: u8, what: &str) {
    let spool = open(disk, durability);
    for turn in 0..turns {
        for urls in [SMALL, LARGE] {
            for (number, url) in urls.into_iter().enumerate() {
                let what = format!("{what}: {url}, turn {turn}");
                let place = place(url);
                let is = |found: Lookup, others: &[&[u8]]| match found {
                    Lookup::Found(entry) => {
                        let found = support::body(&entry).unwrap_or_else(|| panic!("{what}"));
                        assert!(found == body(url) || others.contains(&&found[..]), "{what}");
                    }
                    Lookup::Missing => assert_eq!(number, 0, "{what}: it is lost"),
                    Lookup::SetAside(damage) => panic!("{what}: {damage}"),
                };
                is(spool.entry(&place).unwrap(), if number == 2 { &[b"new"] } else { &[] });
                for version in spool.versions(&place).unwrap() {
                    is(spool.version(&place, version.stored).unwrap(), &[]);
                }
            }
        }
        let entry = spool.entry(&place(LARGE[1])).unwrap().found().unwrap();
        assert!(entry.invalid_since().is_some(), "{what}: what was learnt is lost");
        let sharing = spool.share(Some(0), &|| true);
        assert!(sharing.failure.is_none(), "{what}: {sharing:?}");
        assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
    }
    let failures = spool.failures();
    assert!(failures.is_empty(), "{what}: {failures:?}");
}

#[test]
#[ignore = "slow"]
fn a_crash_at_any_step_keeps_every_body() {
    for (durability, cuts) in DURABILITIES {
        let base = base();
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            run(&disk, durability);
            let calls = disk.calls();
            let what = format!("{durability:?}, stopped at {call}");
            check(&disk.restarted(), durability, 2, &what);
            for seed in 0..cuts {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                check(&disk.after_power_cut(call * cuts + seed), durability, 1, &what);
            }
            if calls <= call {
                assert!(call > 150, "{call}");
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
            check(&disk.restarted(), Durability::Batch, 1, &format!("{kind:?} at {call}"));
            if calls <= call {
                break;
            }
        }
    }
}
