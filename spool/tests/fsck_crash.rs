//! A stop, a power cut and a full disk at every disk call of a repair: no file is lost, and the
//! next repair completes the work.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::full::{self, CHANGED, LARGE, SMALL, VARIES, WAITS};
use support::place;
use support::sim::{Fault, SimDisk};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{CheckOptions, CheckTotals, CheckVerdict, Reader, Result, Spool};

/// The number of power cuts after each stop.
const CUTS: u64 = 2;

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn at(url: &str) -> PathBuf {
    root().join(place(url).relative_path())
}

fn rename(disk: &SimDisk, from: &Path, to: &Path) {
    disk.rename(from, to).unwrap();
    for path in [from, to] {
        disk.sync_dir(path.parent().unwrap()).unwrap();
    }
}

/// Replaces a file by a copy with one changed byte.
fn spoil(disk: &SimDisk, path: &Path, at: usize) {
    let mut bytes = disk.content(path).unwrap();
    bytes[at] ^= 1;
    disk.remove_file(path).unwrap();
    let file = disk.create(path).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

/// A spool with several faults that can be repaired, and one that cannot.
fn damaged() -> SimDisk {
    let disk = SimDisk::new();
    let (spool, _) = Spool::open_with(Arc::new(disk.clone()), root(), &full::options()).unwrap();
    full::fill(&spool);
    drop(spool);
    let disk = disk.restarted();
    // Two files of one size have swapped names; a large one has a foreign name.
    let between = root().join("http/between");
    rename(&disk, &at(SMALL), &between);
    rename(&disk, &at(CHANGED), &at(SMALL));
    rename(&disk, &between, &at(CHANGED));
    let odd = root().join("https/odd.warc");
    rename(&disk, &at(LARGE), &odd);
    rename(&disk, &at(LARGE).with_extension("update.warc"), &odd.with_extension("update.warc"));
    spoil(&disk, &odd.with_extension("update.warc"), 100);
    // A variant has the name that prevents the others from being found.
    let [german, ..] = full::varying();
    let english = root().join(full::varying()[2].relative_path());
    rename(&disk, &root().join(german.relative_path()), &at(VARIES));
    spoil(&disk, &english, 300);
    let waits = |url: &str| root().join(format!("outgoing/{}.warc", place(url).key()));
    rename(&disk, &waits(WAITS), &waits(SMALL));
    let segments: Vec<_> = disk.files(&root().join("partial"));
    rename(&disk, &segments[0], &segments[0].with_file_name("00000000000000000017.warc"));
    disk.restarted()
}

fn repair(disk: &SimDisk) -> Result<CheckTotals> {
    let disk = Arc::new(disk.clone());
    Spool::repair_with(disk, root(), &full::options(), &CheckOptions::new(true), &mut |_| {})
}

/// The contents of all WARC files, and the key of the secrets.
fn contents(disk: &SimDisk) -> BTreeSet<Vec<u8>> {
    let is_kept = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "warc") || path.ends_with("secret")
    };
    let files = disk.files(root()).into_iter().filter(is_kept);
    files.map(|path| disk.content(&path).unwrap()).collect()
}

/// Checks that every file exists somewhere, and that a repair gives it its right name.
fn check(base: &SimDisk, disk: &SimDisk, what: &str) {
    assert!(contents(disk).is_superset(&contents(base)), "{what}: something is lost");
    let sums = repair(disk).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert!(sums.is_sound(), "{what}: {sums:?}");
    assert!(contents(disk).is_superset(&contents(base)), "{what}: something is lost by the next");
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let [german, single, _] = full::varying();
    for place in [place(SMALL), place(CHANGED), place(LARGE), german, single] {
        let found = reader.entries(&place).unwrap().found;
        let found = found.iter().find(|found| *found.place() == place);
        let found = found.unwrap_or_else(|| panic!("{what}: {place:?} is not there"));
        assert!(support::body(found).is_some(), "{what}: {place:?}");
        if place.url() == LARGE {
            assert_eq!(found.invalid_since(), Some(found.stored()), "{what}");
        }
    }
    assert_eq!(reader.queue().unwrap().len(), 1, "{what}");
    assert_eq!(reader.versions(&support::place(CHANGED)).unwrap().len(), 2, "{what}");
    let parts = reader.partial(&support::place(full::PART)).unwrap().unwrap();
    assert_eq!(parts.ranges().len(), 2, "{what}");
    let sums = reader.check(&CheckOptions::new(true), &mut |finding| {
        // The second name of the large entry's update file may still exist. The name is foreign in
        // that directory.
        assert_eq!(finding.verdict, CheckVerdict::Foreign, "{what}: {finding}");
    });
    assert_eq!(sums.unwrap().unfinished, 0, "{what}");
}

#[test]
#[ignore = "slow"]
fn a_repair_can_be_stopped_anywhere() {
    let base = damaged();
    for call in 0.. {
        let disk = base.restarted();
        disk.set_fault(Fault::Stop(call));
        let _stopped_or_not = repair(&disk);
        let calls = disk.calls();
        disk.set_fault(Fault::Never);
        check(&base, &disk.restarted(), &format!("stopped at {call}"));
        for seed in 0..CUTS {
            let after = disk.after_power_cut(call * CUTS + seed);
            check(&base, &after, &format!("power cut at {call}, seed {seed}"));
        }
        if calls <= call {
            assert!(call > 200, "{call}");
            return;
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_repair_on_a_failing_disk_loses_nothing() {
    let base = damaged();
    for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, kind));
            let _failed_or_not = repair(&disk);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check(&base, &disk.restarted(), &format!("{kind:?} at {call}"));
            if calls <= call {
                break;
            }
        }
    }
}
