//! Batches of many entries, and what happens while a batch is written.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks at the files")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use support::sim::{Fault, SimDisk};
use support::{body, open, options, outgoing, place, store};
use wwwoffle_spool::{Durability, RequestKind, Result, Spool};

/// A number of entries for which the whole file system is written first.
const MANY: usize = 20;

/// The number of power cuts after each stop.
const CUTS: u64 = 4;

/// The longest wait for a batch.
const PATIENCE: Duration = Duration::from_secs(60);

fn url(number: usize) -> String {
    format!("http://host{}.example/{number}", number % 3)
}

fn content(number: usize) -> Vec<u8> {
    format!("body {number}").repeat(100).into_bytes()
}

fn open_on(disk: &SimDisk) -> Spool {
    // So that the number of entries does not begin the batch.
    raise_open_files();
    let options = options(Durability::Batch);
    Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options).unwrap().0
}

/// Raises the limit of open files, and returns the largest number of waiting entries.
fn raise_open_files() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let files = limit.current.map_or(usize::MAX, |files| usize::try_from(files).unwrap());
    (files / 8).clamp(1, 1_024)
}

/// Replaces an old entry at each place, and writes the new ones as one batch. Calls are counted from
/// the batch on.
fn write_batch(disk: &SimDisk, fault: Fault) -> Result<()> {
    let spool = open_on(disk);
    for number in 0..MANY {
        store(&spool, &url(number), b"old").unwrap();
    }
    spool.flush().unwrap();
    for number in 0..MANY {
        store(&spool, &url(number), &content(number)).unwrap();
    }
    disk.set_fault(fault);
    spool.flush()
}

/// The number of places that have the new entry. Each place must have the old or the new one.
fn count_new(disk: &SimDisk, what: &str) -> usize {
    let spool = open_on(disk);
    let is_new = |number: &usize| {
        let entry = spool.entry(&place(&url(*number))).unwrap().found();
        let body = entry.and_then(|entry| body(&entry));
        let is_new = body.as_ref() == Some(&content(*number));
        assert!(is_new || body.as_deref() == Some(b"old"), "{what}: {number}");
        is_new
    };
    (0..MANY).filter(is_new).count()
}

#[test]
#[ignore = "slow"]
fn a_stop_or_power_cut_loses_nothing_of_a_written_batch() {
    for call in 0.. {
        let disk = SimDisk::new();
        let done = write_batch(&disk, Fault::Stop(call));
        let is_over = disk.calls() <= call;
        assert_eq!(count_new(&disk.restarted(), &format!("stop at {call}")), MANY);
        for seed in 0..CUTS {
            let what = format!("power cut at {call}, seed {seed}");
            let found = count_new(&disk.after_power_cut(call * CUTS + seed), &what);
            assert!(done.is_err() || found == MANY, "{what}: {found}");
        }
        if is_over {
            done.unwrap();
            break;
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_failed_call_loses_at_most_its_own_entry() {
    for call in 0.. {
        let disk = SimDisk::new();
        let done = write_batch(&disk, Fault::Fail(call, ErrorKind::Other));
        if disk.calls() <= call {
            done.unwrap();
            break;
        }
        // Each file is synced, even if the whole file system cannot be written.
        assert!(call > 0 || done.is_ok(), "{done:?}");
        let what = format!("failure at {call}");
        let found = count_new(&disk.restarted(), &what);
        assert!(found + usize::from(done.is_err()) >= MANY, "{what}: {found}");
        if done.is_ok() {
            assert_eq!(count_new(&disk.after_power_cut(call), &what), MANY);
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_batch_begins_early_if_many_entries_wait() {
    // The interval of batches is an hour.
    let directory = tempfile::tempdir().unwrap();
    let max = raise_open_files();
    let spool = open(directory.path(), Durability::Batch);
    for number in 0..max / 2 {
        store(&spool, &url(number), &content(number)).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    let waiting = || std::fs::read_dir(directory.path().join("tmp")).unwrap().count();
    while waiting() >= max.div_ceil(4) {
        assert!(Instant::now() < deadline, "{} entries wait", waiting());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn storing_waits_for_the_batch_if_too_many_entries_wait() {
    let max = raise_open_files();
    let disk = SimDisk::new();
    let spool = open_on(&disk);
    let ((begun, begins), (resume, waits)) = (mpsc::sync_channel(1), mpsc::sync_channel::<()>(1));
    disk.set_before_sync(move || {
        begun.send(()).unwrap();
        let _the_test_has_ended = waits.recv();
    });
    let (stored, storing) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..=max {
                store(&spool, &url(number), b"x").unwrap();
            }
            stored.send(()).unwrap();
        });
        begins.recv_timeout(PATIENCE).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while disk.files(Path::new("/spool/tmp")).len() < max {
            assert!(Instant::now() < deadline, "they are not stored");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(storing.try_recv().is_err(), "more entries wait than may");
        resume.send(()).unwrap();
        storing.recv_timeout(PATIENCE).unwrap();
    });
    spool.flush().unwrap();
    assert!(disk.files(Path::new("/spool/tmp")).is_empty());
}

#[test]
fn a_request_stays_if_its_response_is_replaced_during_the_sync() {
    let disk = SimDisk::new();
    let spool = open_on(&disk);
    let request = outgoing(&url(0), RequestKind::Page);
    spool.queue().add(&request).unwrap();
    store(&spool, &url(0), b"response").unwrap();
    spool.queue().finish(&request).unwrap();
    let same = spool.clone();
    disk.set_before_sync(move || store(&same, &url(0), b"newer response").unwrap());
    spool.flush().unwrap();
    // The newer response is not synced yet.
    for seed in 0..CUTS {
        let after = open_on(&disk.after_power_cut(seed));
        let has_response = after.entry(&place(&url(0))).unwrap().found().is_some();
        assert!(has_response || !after.queue().is_empty(), "seed {seed}: both are lost");
    }
    spool.flush().unwrap();
    let after = open_on(&disk.restarted());
    assert!(after.queue().is_empty() && after.entry(&place(&url(0))).unwrap().found().is_some());
}

#[test]
fn a_request_stays_if_its_response_fails_while_another_is_replaced() {
    let disk = SimDisk::new();
    let spool = open_on(&disk);
    let request = outgoing(&url(0), RequestKind::Page);
    spool.queue().add(&request).unwrap();
    store(&spool, &url(0), b"response").unwrap();
    store(&spool, &url(1), b"another").unwrap();
    spool.queue().finish(&request).unwrap();
    let (same, broken) = (spool.clone(), disk.clone());
    disk.set_before_sync(move || {
        store(&same, &url(1), b"newer").unwrap();
        broken.set_fault(Fault::Fail(0, ErrorKind::Other));
    });
    spool.flush().unwrap_err();
    spool.flush().unwrap();
    let after = open_on(&disk.restarted());
    assert!(after.entry(&place(&url(0))).unwrap().found().is_none());
    assert!(!after.queue().is_empty(), "request and response are lost");
}
