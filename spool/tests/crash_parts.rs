//! A failure, a stop and a power cut at every disk call while segments are stored.
//!
//! As in `crash.rs`, one run does everything and records which calls returned `Ok`; it is repeated
//! with the fault at each call. Afterwards every stored byte must be one that was written, every
//! promised segment must exist, no segment may be served as a complete entry, and complete entries
//! must stay complete.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::struct_excessive_bools,
    clippy::unwrap_used,
    reason = "a test, and its notes of what was done"
)]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use support::sim::{Fault, SimDisk};
use support::{entry, head, options, place};
use wwwoffle_spool::{Durability, Lookup, NewSegment, Partial, Result, Spool};

/// The number of power cuts after each stop.
const CUTS: u64 = 2;

/// A body that has a segment before the run, and gets the other segments during the run.
const GROWS: &str = "http://a/grows";
/// A body that changes in the run.
const CHANGES: &str = "http://a/changes";
/// A body whose segments are removed.
const GOES: &str = "http://a/goes";
/// A complete entry that exists while a segment of a newer body is stored.
const WHOLE: &str = "http://a/whole";
/// A large body whose transfer breaks off, with checkpoints.
const CUT: &str = "http://a/cut";

const LEN: usize = 3_000;
const LARGE: usize = (4 << 20) + 300_000;

/// The smallest distance between two checkpoints.
const CHECKPOINT: u64 = 2 << 20;

static BODY: LazyLock<Vec<u8>> = LazyLock::new(|| support::bytes(LARGE));

#[derive(Debug, Default, Clone)]
struct Acknowledged {
    grown: bool,
    completed: bool,
    flushed: bool,
    changed: bool,
    gone: bool,
    begun: bool,
    /// The number of bytes of the interrupted download that a checkpoint covers.
    checked: u64,
    /// Whether the download is being moved to `partial/`.
    moving: bool,
    cut: bool,
}

fn open(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    let root = Path::new("/home/spool");
    Spool::open_with(Arc::new(disk.clone()), root, &options(durability)).map(|opened| opened.0)
}

/// Stores a range of the body that has this validator and `LEN` bytes.
fn keep(spool: &Spool, url: &str, validator: &str, start: usize, end: usize) -> Result<()> {
    let new = NewSegment {
        entry: entry(&head(206)),
        validator: validator.as_bytes().to_vec(),
        complete_length: Some(LEN as u64),
        start: start as u64,
    };
    let mut writer = spool.begin_segment(&place(url), new)?;
    writer.write(&body(validator)[start..end])?;
    writer.finish()
}

/// The body that has this validator.
fn body(validator: &str) -> Vec<u8> {
    BODY.iter().take(LEN).map(|byte| byte ^ validator.as_bytes()[0]).collect()
}

/// The spool before the run, with every change durable.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let spool = open(&disk, Durability::Each).unwrap();
    keep(&spool, GROWS, "a", 0, 1_000).unwrap();
    keep(&spool, CHANGES, "a", 0, 1_000).unwrap();
    keep(&spool, CHANGES, "a", 2_000, 2_500).unwrap();
    keep(&spool, GOES, "a", 0, 1_000).unwrap();
    support::store(&spool, WHOLE, b"whole").unwrap();
    drop(spool);
    disk.restarted()
}

/// Does every step. After a failure the next step is still tried.
fn run(disk: &SimDisk, durability: Durability) -> (Acknowledged, Vec<wwwoffle_spool::Error>) {
    let (mut done, mut errors) = (Acknowledged::default(), Vec::new());
    let spool = match open(disk, durability) {
        Ok(spool) => spool,
        Err(error) => return (done, vec![error]),
    };
    let mut note = |result: Result<bool>| {
        let ok = *result.as_ref().unwrap_or(&false);
        errors.extend(result.err());
        ok
    };
    let cut = break_off(&spool, &mut done);
    done.cut = note(cut);
    done.changed = note(keep(&spool, CHANGES, "b", 500, 1_500).map(|()| true));
    done.gone = note(spool.remove(&place(GOES)));
    done.begun = note(keep(&spool, WHOLE, "b", 500, 1_500).map(|()| true));
    done.grown = note(keep(&spool, GROWS, "a", 900, LEN).map(|()| true));
    done.completed = note(complete(&spool));
    done.flushed = note(spool.flush().map(|()| true));
    (done, errors)
}

fn complete(spool: &Spool) -> Result<bool> {
    let Some(partial) = spool.partial(&place(GROWS))? else { return Ok(false) };
    Ok(spool.complete(&partial, head(200))?.is_some())
}

fn break_off(spool: &Spool, done: &mut Acknowledged) -> Result<bool> {
    let new = entry(&head(200));
    let mut writer = spool.begin_resumable(&place(CUT), new, b"v", Some(LARGE as u64 * 2))?;
    let _tail = writer.tail()?;
    let mut last = 0;
    for piece in BODY.chunks(1_100_000) {
        writer.write(piece)?;
        // `write` succeeds even if the line of a checkpoint cannot be written. After a stop every
        // later call fails. So only the success of this write shows that the last checkpoint is on
        // the disk.
        done.checked = last;
        if writer.written() - last >= CHECKPOINT {
            last = writer.written();
        }
    }
    done.moving = true;
    writer.finish_short()
}

/// The changes that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// No loss: the program only stopped.
    Nothing,
    /// Entries of a failed batch are lost: the run continued after errors.
    GivenUp,
    /// Changes that were not promised to be durable are lost.
    Unsynced,
}

/// The segments of a place. Each byte is compared with the byte that was written.
fn there(spool: &Spool, url: &str, what: &str) -> Option<Partial> {
    let partial = spool.partial(&place(url)).unwrap_or_else(|error| panic!("{what}: {error}"))?;
    let validator = std::str::from_utf8(partial.validator()).unwrap();
    let other;
    let whole = if url == CUT {
        &*BODY
    } else {
        other = body(validator);
        &other
    };
    let mut piece = vec![0; 1 << 20];
    let mut reader = partial.verified();
    for range in partial.ranges() {
        let mut offset = range.start;
        while offset < range.end {
            let most = piece.len().min((range.end - offset) as usize);
            let read = match reader.read_at(offset, &mut piece[..most]) {
                Ok(read) => read,
                // The segment is large and was not synced. Its damage is detected, and no byte is
                // returned.
                Err(error) => {
                    assert!(error.is_damaged(), "{what}: {url}: {error}");
                    spool.repair_partial(&place(url)).unwrap();
                    return None;
                }
            };
            assert!(read > 0, "{what}: {url} ends at {offset}");
            assert!(piece[..read] == whole[offset as usize..][..read], "{what}: {url} at {offset}");
            offset += read as u64;
        }
    }
    Some(partial)
}

fn check(disk: &SimDisk, durability: Durability, done: &Acknowledged, loss: Loss, what: &str) {
    let spool = open(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let careless = loss == Loss::Unsynced && durability == Durability::None;
    let has = |url: &str, range: std::ops::Range<u64>| {
        there(&spool, url, what).is_some_and(|partial| partial.contains(&range))
    };
    let is_whole = |url: &str, wanted: &[u8]| match spool.entry(&place(url)).unwrap() {
        Lookup::Found(entry) => {
            assert_eq!(support::body(&entry).as_deref(), Some(wanted), "{what}: {url}");
            true
        }
        Lookup::Missing => false,
        Lookup::SetAside(damage) => {
            assert!(careless, "{what}: {damage}");
            false
        }
    };
    // Complete entries are complete, and segments are not found as entries.
    assert!(is_whole(WHOLE, b"whole"), "{what}");
    for url in [CHANGES, GOES, CUT] {
        assert!(!is_whole(url, b""), "{what}: {url}");
    }
    let grown = is_whole(GROWS, &body("a"));
    assert!(grown || careless || has(GROWS, 0..1_000), "{what}: the old part is lost");
    if !careless {
        assert!(grown || !done.grown || has(GROWS, 0..LEN as u64), "{what}: the rest is lost");
        // A completed entry may be lost only if its durability was not promised.
        let is_promised = loss == Loss::Nothing || durability == Durability::Each || done.flushed;
        assert!(grown || !done.completed || !is_promised, "{what}: what was completed is lost");
        assert!(!done.begun || has(WHOLE, 500..1_500), "{what}: a new part is lost");
        assert!(!done.changed || has(CHANGES, 500..1_500), "{what}: the new body is lost");
        assert!(!done.cut || has(CUT, 0..LARGE as u64), "{what}: what broke off is lost");
        // If the disk fails, the download is discarded, and no part of it is left. This disk may
        // also lose both names of a file that is being renamed.
        let may_go = loss == Loss::GivenUp || done.moving && loss == Loss::Unsynced;
        let is_kept = may_go || done.checked == 0 || has(CUT, 0..done.checked);
        assert!(is_kept, "{what}: what is behind a checkpoint is lost");
    }
    if let Some(partial) = there(&spool, CHANGES, what)
        && partial.validator() == b"a"
    {
        assert!(!done.changed || careless, "{what}: the older body is back");
        assert!(partial.ranges().iter().all(|range| range.end <= 2_500));
    }
    let is_gone = loss != Loss::Unsynced || durability == Durability::Each;
    let is_back = done.gone && is_gone && has(GOES, 0..1);
    assert!(!is_back, "{what}: what was removed is back");
    there(&spool, CUT, what);
    let tmp = disk.files(Path::new("/home/spool/tmp"));
    assert!(tmp.is_empty(), "{what}: tmp/ is not empty: {tmp:?}");
}

/// Runs once for each call, with the fault at that call. `then` checks the disk afterwards.
fn at_every_call(
    durability: Durability,
    fault: impl Fn(u64) -> Fault,
    then: impl Fn(&SimDisk, u64, &Acknowledged, &[wwwoffle_spool::Error]),
) {
    let base = base();
    for call in 0.. {
        let disk = base.restarted();
        disk.set_fault(fault(call));
        let (done, errors) = run(&disk, durability);
        let calls = disk.calls();
        disk.set_fault(Fault::Never);
        then(&disk, call, &done, &errors);
        if calls <= call {
            assert!(errors.is_empty() && done.completed && done.cut, "{done:?}, {errors:?}");
            assert!(calls > 60, "{calls}");
            return;
        }
    }
}

/// Checks that every acknowledged change exists after a stop, and every promised change after a
/// power cut.
fn stop_everywhere(durability: Durability) {
    at_every_call(durability, Fault::Stop, |disk, call, done, _| {
        let what = format!("{durability:?}, stopped at {call}");
        check(&disk.restarted(), durability, done, Loss::Nothing, &what);
        for seed in 0..CUTS {
            let what = format!("{durability:?}, power cut at {call}, seed {seed}");
            let after = disk.after_power_cut(call * CUTS + seed);
            check(&after, durability, done, Loss::Unsynced, &what);
        }
    });
}

#[test]
#[ignore = "slow"]
fn no_acknowledged_write_is_lost_under_each() {
    stop_everywhere(Durability::Each);
}

#[test]
#[ignore = "slow"]
fn no_acknowledged_write_is_lost_under_batch() {
    stop_everywhere(Durability::Batch);
}

#[test]
#[ignore = "slow"]
fn no_acknowledged_write_is_lost_under_none() {
    stop_everywhere(Durability::None);
}

#[test]
#[ignore = "slow"]
fn an_error_is_reported_and_loses_nothing() {
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        let fault = |call| Fault::Fail(call, kind);
        at_every_call(Durability::Batch, fault, |disk, call, done, errors| {
            let what = format!("{kind:?} at {call}");
            for error in errors {
                assert_eq!(error.is_full(), kind == ErrorKind::StorageFull, "{what}: {error}");
            }
            check(&disk.restarted(), Durability::Batch, done, Loss::GivenUp, &what);
        });
    }
}
