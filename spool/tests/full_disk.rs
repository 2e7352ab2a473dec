//! Entries that cannot get their names: the disk is full, the process has too many open files, or a
//! directory fails. They were served, so they stay.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{body, entry, head, options, outgoing, place, store};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{Durability, Options, RequestKind, Spool, Versions};

const URLS: [&str; 3] = ["http://a.example/", "http://b.example/", "http://b.example/other"];

fn open(disk: &SimDisk) -> Spool {
    let disk = Arc::new(disk.clone());
    Spool::open_with(disk, Path::new("/spool"), &options(Durability::Batch)).unwrap().0
}

/// Three entries that were finished on a full disk, and have no names.
fn full() -> (SimDisk, Spool) {
    let disk = SimDisk::new();
    let spool = open(&disk);
    let writers = URLS.map(|url| {
        let mut writer = spool.begin(&place(url), entry(&head(200))).unwrap();
        writer.write(url.as_bytes()).unwrap();
        writer
    });
    disk.set_fault(Fault::Full);
    for writer in writers {
        writer.finish(None).unwrap();
    }
    let first = spool.flush().unwrap_err();
    assert!(first.is_full(), "{first}");
    assert_all_there(&spool);
    assert!(disk.files(Path::new("/spool/http")).is_empty());
    (disk, spool)
}

#[track_caller]
fn assert_all_there(spool: &Spool) {
    for url in URLS {
        let found = spool.entry(&place(url)).unwrap().found();
        assert_eq!(found.and_then(|found| body(&found)).as_deref(), Some(url.as_bytes()), "{url}");
    }
}

#[test]
fn entries_are_named_once_the_disk_has_space() {
    let (disk, spool) = full();
    // The failure is reported only once, but every flush returns it.
    assert!(spool.flush().unwrap_err().is_full());
    assert!(spool.failures().is_empty());
    let error = store(&spool, "http://c.example/", b"later").unwrap_err();
    assert!(error.is_full(), "nothing new is taken: {error}");
    disk.set_fault(Fault::Never);
    spool.flush().unwrap();
    assert_all_there(&spool);
    assert_eq!(disk.files(Path::new("/spool/http")).len(), URLS.len());
    assert_eq!(disk.files(Path::new("/spool/tmp")).len(), 0);
}

#[test]
fn a_crash_loses_no_entry() {
    let (disk, spool) = full();
    for seed in 0..64 {
        assert_all_there(&open(&disk.after_power_cut(seed)));
    }
    drop(spool);
    assert_all_there(&open(&disk.restarted()));
}

#[test]
fn nothing_is_stored_after_a_write_that_failed() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    for length in [100, 100_000] {
        for is_followed in [false, true] {
            let mut writer = spool.begin(&place(URLS[0]), entry(&head(200))).unwrap();
            let _tail = is_followed.then(|| writer.tail().unwrap());
            disk.set_fault(Fault::Fail(0, ErrorKind::StorageFull));
            let is_written = writer.write(&vec![b'x'; length]).is_ok();
            assert_eq!(is_written, length == 100 && !is_followed);
            assert!(writer.finish(None).is_err(), "{length} {is_followed}");
            assert!(spool.entry(&place(URLS[0])).unwrap().found().is_none());
            assert!(disk.files(Path::new("/spool/tmp")).is_empty());
        }
    }
}

#[test]
fn a_deleted_or_replaced_entry_does_not_return() {
    let (disk, spool) = full();
    assert!(spool.remove(&place(URLS[0])).unwrap());
    disk.set_fault(Fault::Never);
    store(&spool, URLS[1], b"newer").unwrap();
    spool.flush().unwrap();
    assert!(spool.entry(&place(URLS[0])).unwrap().found().is_none());
    let newer = spool.entry(&place(URLS[1])).unwrap().found().unwrap();
    assert_eq!(body(&newer).as_deref(), Some(&b"newer"[..]));
    assert_eq!(disk.files(Path::new("/spool/tmp")).len(), 0);
}

/// While the response has no name, the file of its request stays, so a crash leads to another
/// fetch.
#[test]
fn requests_stay_and_are_added_on_a_full_disk() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    let request = outgoing(URLS[0], RequestKind::Page);
    spool.queue().add(&request).unwrap();
    spool.flush().unwrap();
    let requests = || disk.files(Path::new("/spool/outgoing")).len();
    assert_eq!(requests(), 1);
    let mut writer = spool.begin(&place(URLS[0]), entry(&head(200))).unwrap();
    writer.write(b"answer").unwrap();
    spool.queue().add(&outgoing(URLS[1], RequestKind::Page)).unwrap();
    disk.set_fault(Fault::Full);
    writer.finish(None).unwrap();
    spool.queue().finish(&request).unwrap();
    assert!(spool.flush().unwrap_err().is_full());
    assert_eq!(requests(), 2, "the old one stays, and the new one has come");
}

/// Each call of a batch fails once, after the files were synced. No entry is deleted.
#[test]
fn too_many_open_files_lose_no_entry() {
    for call in calls_of_a_batch() {
        let (disk, spool) = stored();
        disk.set_fault(Fault::OutOfFiles(call));
        let _failure = spool.flush();
        disk.set_fault(Fault::Never);
        assert_all_there(&spool);
        spool.flush().unwrap();
        assert_all_there(&spool);
        assert_eq!(disk.files(Path::new("/spool/http")).len(), URLS.len(), "call {call}");
    }
}

#[test]
fn entries_that_cannot_be_named_come_back_unless_they_were_deleted() {
    for call in calls_of_a_batch() {
        let (disk, spool) = stored();
        disk.set_fault(Fault::Fail(call, ErrorKind::PermissionDenied));
        let _failure = spool.flush();
        disk.set_fault(Fault::Never);
        assert_all_there(&open(&disk.restarted()));
        spool.remove(&place(URLS[0])).unwrap();
        spool.remove_variant(&place(URLS[1])).unwrap();
        let after = open(&disk.restarted());
        let are_there = URLS.map(|url| after.entry(&place(url)).unwrap().found().is_some());
        assert_eq!(are_there, [false, false, true], "call {call}");
    }
}

/// More entries than wait with an open file.
#[test]
fn every_entry_is_found_once_the_disk_has_space() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    let urls: Vec<_> = (0..200).map(|number| format!("http://a.example/{number}")).collect();
    for url in &urls {
        store(&spool, url, url.as_bytes()).unwrap();
    }
    disk.set_fault(Fault::Full);
    assert!(spool.flush().unwrap_err().is_full());
    let is_there = |url: &&String| spool.entry(&place(url)).unwrap().found().is_some();
    let unfound = urls.iter().filter(|url| !is_there(url)).count();
    assert!(unfound > 0);
    let gone = urls.iter().find(|url| !is_there(url)).unwrap();
    assert!(spool.remove(&place(gone)).unwrap());
    disk.set_fault(Fault::Never);
    spool.flush().unwrap();
    assert_eq!(urls.iter().filter(is_there).count(), urls.len() - 1);
    assert!(!is_there(&gone), "it was deleted");
    assert!(disk.files(Path::new("/spool/tmp")).is_empty());
}

#[test]
fn an_entry_is_found_once_its_directory_takes_names() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    store(&spool, URLS[0], b"old").unwrap();
    spool.flush().unwrap();
    disk.refuse_names(Some(Path::new("/spool/http/a.example")));
    store(&spool, URLS[0], b"new").unwrap();
    assert!(spool.flush().is_err());
    let found = || spool.entry(&place(URLS[0])).unwrap().found().and_then(|found| body(&found));
    assert_eq!(found().as_deref(), Some(&b"old"[..]));
    disk.refuse_names(None);
    store(&spool, URLS[1], b"other").unwrap();
    spool.flush().unwrap();
    assert_eq!(found().as_deref(), Some(&b"new"[..]));
    assert!(disk.files(Path::new("/spool/tmp")).is_empty());
}

/// The other copies would be removed by no limit of the spool.
#[test]
fn only_the_newest_response_stays_in_a_directory_that_refuses_names() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    for number in 0..20 {
        store(&spool, URLS[0], format!("body {number}").as_bytes()).unwrap();
        disk.refuse_names(Some(Path::new("/spool/http/a.example")));
        assert!(spool.flush().is_err());
        assert_eq!(disk.files(Path::new("/spool/tmp")).len(), 1, "after {number}");
    }
    let spool = open(&disk.restarted());
    let found = spool.entry(&place(URLS[0])).unwrap().found().unwrap();
    assert_eq!(body(&found).as_deref(), Some(&b"body 19"[..]));
}

#[test]
fn an_unreadable_old_file_is_replaced() {
    let disk = SimDisk::new();
    let options = Options { versions: Versions::from_rule(|_| 3), ..options(Durability::Batch) };
    let open = |disk: &SimDisk| {
        Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options).unwrap().0
    };
    let spool = open(&disk);
    store(&spool, URLS[0], b"old").unwrap();
    spool.flush().unwrap();
    disk.set_unreadable(&Path::new("/spool").join(place(URLS[0]).relative_path()));
    store(&spool, URLS[0], b"new").unwrap();
    assert!(spool.flush().is_err(), "the damage is reported");
    for spool in [&spool, &open(&disk.restarted())] {
        let found = spool.entry(&place(URLS[0])).unwrap().found().unwrap();
        assert_eq!(body(&found).as_deref(), Some(&b"new"[..]));
    }
}

#[test]
fn an_unreadable_old_file_hides_no_response_after_a_crash() {
    let disk = SimDisk::new();
    let spool = open(&disk);
    store(&spool, URLS[0], b"old").unwrap();
    spool.flush().unwrap();
    store(&spool, URLS[0], b"new").unwrap();
    let old = Path::new("/spool").join(place(URLS[0]).relative_path());
    let opened = || {
        let disk = disk.restarted();
        disk.set_unreadable(&old);
        (open(&disk), disk)
    };
    let (spool, _) = opened();
    spool.flush().unwrap();
    let found = spool.entry(&place(URLS[0])).unwrap().found().unwrap();
    assert_eq!(body(&found).as_deref(), Some(&b"new"[..]));
    let (spool, disk) = opened();
    assert!(spool.remove(&place(URLS[0])).unwrap());
    let spool = open(&disk.restarted());
    assert!(spool.entry(&place(URLS[0])).unwrap().found().is_none());
}

/// A complete file whose place has a newer entry. Each call of an opening fails once.
#[test]
fn an_older_response_does_not_return_after_a_failed_opening() {
    let disk = SimDisk::new();
    let options = Options { versions: Versions::from_rule(|_| 3), ..options(Durability::Batch) };
    let open =
        |disk: &SimDisk| Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options);
    let spool = open(&disk).unwrap().0;
    store(&spool, URLS[0], b"older").unwrap();
    let file = disk.files(Path::new("/spool/tmp")).pop().unwrap();
    let older = disk.content(&file).unwrap();
    store(&spool, URLS[0], b"newer").unwrap();
    spool.flush().unwrap();
    spool.remove(&place(URLS[0])).unwrap();
    store(&spool, URLS[0], b"newer").unwrap();
    spool.flush().unwrap();
    assert!(disk.files(Path::new("/spool/tmp")).is_empty());
    disk.create(&file).unwrap().write_all_at(&older, 0).unwrap();
    let mut failures = 0;
    for call in 0.. {
        let disk = disk.restarted();
        disk.set_fault(Fault::Fail(call, ErrorKind::PermissionDenied));
        let opened = open(&disk);
        let is_over = disk.calls() <= call;
        disk.set_fault(Fault::Never);
        if is_over {
            break;
        }
        let Ok((spool, recovery)) = opened else { continue };
        // The place of a file that cannot be read is unknown.
        let name = file.to_str().unwrap();
        if recovery.failures.iter().any(|failure| failure.to_string().contains(name)) {
            continue;
        }
        failures += recovery.failures.len();
        let found = spool.entry(&place(URLS[0])).unwrap().found().unwrap();
        assert_eq!(body(&found).as_deref(), Some(&b"newer"[..]), "call {call}");
        spool.remove(&place(URLS[0])).unwrap();
        let spool = open(&disk.restarted()).unwrap().0;
        assert!(spool.entry(&place(URLS[0])).unwrap().found().is_none(), "call {call}");
    }
    assert!(failures > 0);
}

/// Entries that wait for room are found after a restart on the full disk too, and do not return
/// after they were deleted.
#[test]
fn a_restart_on_a_full_disk_keeps_entries_in_use() {
    let (disk, spool) = full();
    drop(spool);
    let disk = disk.restarted();
    disk.set_fault(Fault::Full);
    let spool = open(&disk);
    assert_all_there(&spool);
    assert!(spool.flush().unwrap_err().is_full());
    assert!(spool.remove(&place(URLS[0])).unwrap());
    disk.set_fault(Fault::Never);
    spool.flush().unwrap();
    for spool in [&spool, &open(&disk.restarted())] {
        let are_there = URLS.map(|url| spool.entry(&place(url)).unwrap().found().is_some());
        assert_eq!(are_there, [false, true, true]);
    }
}

/// Three finished entries that wait for their batch.
fn stored() -> (SimDisk, Spool) {
    let disk = SimDisk::new();
    let spool = open(&disk);
    for url in URLS {
        store(&spool, url, url.as_bytes()).unwrap();
    }
    (disk, spool)
}

/// The disk calls of a batch after those that sync the files.
fn calls_of_a_batch() -> std::ops::Range<u64> {
    let (disk, spool) = stored();
    disk.set_fault(Fault::Never);
    spool.flush().unwrap();
    assert!(disk.calls() > 2 * 3);
    3..disk.calls()
}
