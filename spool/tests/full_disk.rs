//! Entries finished on a full disk, without room for their names. They were served, so they stay.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{body, entry, head, options, outgoing, place, store};
use wwwoffle_spool::{Durability, RequestKind, Spool};

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
