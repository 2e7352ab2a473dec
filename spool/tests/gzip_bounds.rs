//! Compressing and expanding respect their limits: free space, and when to stop.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test"
)]

mod support;

use std::cell::Cell;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{body, open, place, store};
use wwwoffle_spool::purge::{CompressFailure, CompressStep};
use wwwoffle_spool::{Durability, Error, Options, RewriteBounds, RewriteOutcome, Spool};

const URL: &str = "http://example.org/";
const MEGA: u64 = 1 << 20;

fn text(len: usize) -> Vec<u8> {
    b"All of it becomes much smaller. ".iter().copied().cycle().take(len).collect()
}

/// The length of the files below `tmp/`.
fn aside(root: &Path) -> u64 {
    let files = fs::read_dir(root.join("tmp")).unwrap();
    files.map(|file| file.unwrap().metadata().map_or(0, |about| about.len())).sum()
}

fn is_compressed(spool: &Spool) -> bool {
    spool.entry(&place(URL)).unwrap().found().unwrap().plain_len().is_some()
}

#[test]
fn a_rewrite_without_enough_space_is_not_started() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let content = text(3 << 20);
    store(&spool, URL, &content).unwrap();
    let go_on = || true;
    let (nothing, little) = (|| Some(99 * MEGA), || Some(102 * MEGA));
    let both: [&dyn Fn() -> Option<u64>; 2] = [&nothing, &little];
    for free in both {
        let bounds = RewriteBounds::new(100 * MEGA, free, &go_on);
        assert_eq!(
            spool.compress_within(&place(URL), None, &bounds).unwrap(),
            RewriteOutcome::NoRoom
        );
        assert!(!is_compressed(&spool) && aside(root.path()) == 0);
    }
    let enough = || Some(104 * MEGA);
    let bounds = RewriteBounds::new(100 * MEGA, &enough, &go_on);
    let done = spool.compress_within(&place(URL), None, &bounds).unwrap();
    assert!(matches!(done, RewriteOutcome::Done { .. }));
    // Expanding needs as much space as the original length.
    let bounds = RewriteBounds::new(100 * MEGA, &little, &go_on);
    assert_eq!(spool.expand_within(&place(URL), None, &bounds).unwrap(), RewriteOutcome::NoRoom);
    assert!(is_compressed(&spool) && aside(root.path()) == 0);
    // Other programs use up the space in the meantime.
    let left = Cell::new(104 * MEGA);
    let sinking = || Some(left.replace(left.get() - MEGA));
    let bounds = RewriteBounds::new(100 * MEGA, &sinking, &go_on);
    assert_eq!(spool.expand_within(&place(URL), None, &bounds).unwrap(), RewriteOutcome::NoRoom);
    assert!(is_compressed(&spool) && aside(root.path()) == 0);
    let entry = spool.entry(&place(URL)).unwrap().found().unwrap();
    assert!(body(&entry).unwrap() == content);
}

#[test]
fn a_rewrite_stops_within_a_large_file() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    let content = text(3 << 20);
    store(&spool, URL, &content).unwrap();
    for is_to_be_expanded in [false, true] {
        let (asked, seen) = (Cell::new(0), Cell::new(0));
        let go_on = || {
            asked.set(asked.get() + 1);
            seen.set(seen.get().max(aside(root.path())));
            asked.get() < 3
        };
        let free = || None;
        let bounds = RewriteBounds::new(0, &free, &go_on);
        let done = if is_to_be_expanded {
            spool.expand_within(&place(URL), None, &bounds)
        } else {
            spool.compress_within(&place(URL), None, &bounds)
        };
        assert_eq!(done.unwrap(), RewriteOutcome::Stopped);
        assert!(asked.get() == 3 && seen.get() < 2 * MEGA, "{} {}", asked.get(), seen.get());
        assert_eq!((is_compressed(&spool), aside(root.path())), (is_to_be_expanded, 0));
        spool.compress(&place(URL)).unwrap();
    }
}

#[test]
#[ignore = "slow"]
fn an_incompressible_rewrite_is_abandoned_early() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    // Only the beginning of the body looks compressible.
    let mut content = text(100 << 10);
    let mut state = 1_u64;
    content.extend(
        std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .take(8 << 20),
    );
    store(&spool, URL, &content).unwrap();
    let seen = Cell::new(0);
    let free = || {
        seen.set(seen.get().max(aside(root.path())));
        None
    };
    let go_on = || true;
    let bounds = RewriteBounds::new(0, &free, &go_on);
    assert_eq!(
        spool.compress_within(&place(URL), None, &bounds).unwrap(),
        RewriteOutcome::NotWorth
    );
    assert!(seen.get() > 6 * MEGA && seen.get() < 8 * MEGA, "{}", seen.get());
    assert!(!is_compressed(&spool) && aside(root.path()) == 0);
}

fn walk(spool: &Spool) -> Result<(CompressStep, Option<CompressFailure>), Error> {
    let (free, go_on) = (|| None, || true);
    let bounds = RewriteBounds::new(0, &free, &go_on);
    let (mut packing, mut all) = (spool.compression()?, CompressStep::default());
    loop {
        let step = packing.step(|_| true, &bounds)?;
        all.add(&step);
        if step.looked == 0 {
            return Ok((all, packing.failure()));
        }
    }
}

#[test]
#[ignore = "slow"]
fn compression_continues_after_a_failed_entry() {
    const COUNT: u64 = 5;
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        let (mut others, mut ended) = (0, 0);
        for call in 0.. {
            let disk = SimDisk::new();
            let options = Options { durability: Durability::Each, ..Options::default() };
            let shared = Arc::new(disk.clone());
            let (spool, _) = Spool::open_with(shared, Path::new("/home/spool"), &options).unwrap();
            for number in 0..COUNT {
                store(&spool, &format!("http://h{number}.example/"), &text(20_000)).unwrap();
            }
            disk.set_fault(Fault::Fail(call, kind));
            let walked = walk(&spool);
            let calls = disk.calls();
            match walked {
                Ok((all, None)) => assert!(all.failed == 0, "at {call}: {all:?}"),
                Ok((all, Some(failure))) => {
                    assert!(
                        matches!(failure, CompressFailure::Failed(_)),
                        "at {call}: {failure:?}"
                    );
                    // The directory of a scheme, with all its hosts, can fail too.
                    let is_walked = all.looked >= COUNT && all.entries >= COUNT - 1;
                    let has_none = (all.looked, all.entries) == (1, 0);
                    assert!(all.failed == 1 && (is_walked || has_none), "at {call}: {all:?}");
                    others += 1;
                }
                Err(error) => {
                    assert_eq!(error.is_full(), kind == ErrorKind::StorageFull, "at {call}");
                    ended += 1;
                }
            }
            if calls <= call {
                break;
            }
        }
        // A full disk ends the work at once. Other failures do not.
        assert!(ended > 0 && (others > 0) == (kind == ErrorKind::Other), "{kind} {others} {ended}");
    }
}
