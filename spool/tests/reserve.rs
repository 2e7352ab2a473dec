//! Writing small files on a full disk, with the reserve.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{body, options, outgoing, place, store};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    CheckOptions, Durability, Finding, Reader, Recovery, RequestKind, Result, Spool,
};

const ENTRY: &str = "http://a.example/";

/// How many requests can be written on a full disk, and how many states after them.
const REQUESTS: usize = 12;
const STATES: usize = 4;

fn root() -> &'static Path {
    Path::new("/spool")
}

fn open(disk: &SimDisk, durability: Durability) -> (Spool, Recovery) {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability)).unwrap()
}

/// A spool with an entry, a mode, a request and its reserve, all durable.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let (spool, _) = open(&disk, Durability::Each);
    store(&spool, ENTRY, b"entry").unwrap();
    set_mode(&spool, "online").unwrap();
    ask(&spool, 0).unwrap();
    spool.keep_reserve().unwrap();
    drop(spool);
    disk.sync_all(root()).unwrap();
    disk.restarted()
}

fn set_mode(spool: &Spool, mode: &str) -> Result<()> {
    let mut state = spool.state().unwrap().0;
    state.set_mode(mode)?;
    spool.set_state(&state)
}

fn mode(spool: &Spool) -> Option<String> {
    let (state, damage) = spool.state().unwrap();
    assert!(damage.is_none(), "{damage:?}");
    state.mode().map(str::to_owned)
}

fn url(number: usize) -> String {
    format!("http://q.example/{number}")
}

fn ask(spool: &Spool, number: usize) -> Result<()> {
    spool.queue().add(&outgoing(&url(number), RequestKind::Page)).map(|_| ())
}

fn is_asked(spool: &Spool, number: usize) -> bool {
    spool.queue().get(&place(&url(number)).key()).unwrap().is_some()
}

fn slots(disk: &SimDisk) -> usize {
    disk.files(&root().join("reserve")).len()
}

/// Checks that the entry is unchanged, and that a check of the spool finds no fault.
#[track_caller]
fn assert_sound(disk: &SimDisk) {
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let entry = reader.entry(&place(ENTRY)).unwrap().found().unwrap();
    assert_eq!(body(&entry).as_deref(), Some(&b"entry"[..]));
    let tell = &mut |finding: &Finding| panic!("{finding}");
    reader.check(&CheckOptions::new(true), tell).unwrap();
}

#[test]
fn requests_are_written_and_the_mode_still_has_space() {
    let disk = base();
    let (spool, _) = open(&disk, Durability::Batch);
    disk.set_fault(Fault::Full);
    for number in 1..=REQUESTS {
        ask(&spool, number).unwrap();
    }
    assert!(ask(&spool, REQUESTS + 1).unwrap_err().is_full());
    for number in 1..=STATES {
        set_mode(&spool, &format!("mode-{number}")).unwrap();
    }
    assert!(set_mode(&spool, "more").unwrap_err().is_full());
    assert_eq!(mode(&spool), Some(format!("mode-{STATES}")), "the old one stays");
    drop(spool);
    let (spool, _) = open(&disk.restarted(), Durability::Batch);
    assert_eq!(mode(&spool), Some(format!("mode-{STATES}")));
    assert!((0..=REQUESTS).all(|number| is_asked(&spool, number)));
    assert!(!is_asked(&spool, REQUESTS + 1));
    assert_sound(&disk);
}

#[test]
fn used_reserve_files_are_recreated_when_there_is_space() {
    let disk = base();
    let (spool, _) = open(&disk, Durability::Each);
    let all = slots(&disk);
    spool.keep_reserve().unwrap();
    disk.set_fault(Fault::Full);
    set_mode(&spool, "offline").unwrap();
    assert_eq!(slots(&disk), all - 1);
    assert!(spool.keep_reserve().unwrap_err().is_full());
    disk.set_fault(Fault::Never);
    spool.keep_reserve().unwrap();
    assert_eq!(slots(&disk), all);
    assert_sound(&disk);
}

#[test]
fn no_reserve_is_created_by_default() {
    let disk = SimDisk::new();
    let (spool, _) = open(&disk, Durability::Each);
    set_mode(&spool, "online").unwrap();
    disk.set_fault(Fault::Full);
    assert!(set_mode(&spool, "offline").unwrap_err().is_full());
    disk.set_fault(Fault::Never);
    set_mode(&spool, "offline").unwrap();
    assert_eq!(slots(&disk), 0);
}

/// If a change takes another block, a slot is removed first.
#[test]
fn reserve_works_on_copy_on_write_file_systems() {
    let disk = base();
    let (spool, _) = open(&disk, Durability::Each);
    disk.set_fault(Fault::FullOfCopies);
    let before = slots(&disk);
    for mode in ["offline", "autodial"] {
        set_mode(&spool, mode).unwrap();
    }
    ask(&spool, 1).unwrap();
    assert_eq!(slots(&disk), before - 3);
    drop(spool);
    let (spool, _) = open(&disk.restarted(), Durability::Each);
    assert_eq!(mode(&spool).as_deref(), Some("autodial"));
    assert!(is_asked(&spool, 1));
    assert_sound(&disk);
}

/// A name in the reserve may be a second name of a file in use, after a power cut or because a
/// person put it there.
#[test]
fn a_reserve_name_of_a_used_file_is_not_overwritten() {
    let disk = base();
    let (spool, _) = open(&disk, Durability::Each);
    let file = disk.files(&root().join("http")).pop().unwrap();
    for slot in disk.files(&root().join("reserve")) {
        disk.remove_file(&slot).unwrap();
        disk.link(&file, &slot).unwrap();
    }
    disk.set_fault(Fault::Full);
    assert!(set_mode(&spool, "offline").unwrap_err().is_full());
    assert_eq!(mode(&spool).as_deref(), Some("online"));
    assert_eq!(slots(&disk), 0, "their names are gone");
    disk.set_fault(Fault::Never);
    spool.keep_reserve().unwrap();
    assert_sound(&disk);
    disk.set_fault(Fault::Full);
    set_mode(&spool, "offline").unwrap();
    assert_sound(&disk);
}

#[test]
#[ignore = "slow"]
fn a_crash_leaves_the_old_or_the_new_state() {
    let base = base();
    for durability in [Durability::Each, Durability::Batch, Durability::None] {
        for call in 0.. {
            let disk = base.restarted();
            let (spool, _) = open(&disk, durability);
            disk.set_fault(Fault::FullAndStop(call));
            let changed = set_mode_if_read(&spool, "offline");
            let asked = ask(&spool, 1).is_ok();
            let is_over = disk.calls() <= call;
            drop(spool);
            assert_after(&disk.restarted(), durability, changed, asked);
            for seed in 0..6 {
                let (changed, asked) = match durability {
                    Durability::None => (false, false),
                    _ => (changed, asked),
                };
                assert_after(&disk.after_power_cut(seed), durability, changed, asked);
            }
            if is_over {
                assert!(changed && asked);
                break;
            }
        }
    }
}

fn set_mode_if_read(spool: &Spool, mode: &str) -> bool {
    let Ok((mut state, _)) = spool.state() else { return false };
    state.set_mode(mode).unwrap();
    spool.set_state(&state).is_ok()
}

/// Checks that acknowledged changes exist, and that further writes on a full disk change nothing
/// else.
#[track_caller]
fn assert_after(disk: &SimDisk, durability: Durability, changed: bool, asked: bool) {
    let (spool, recovery) = open(disk, durability);
    let (state, damage) = spool.state().unwrap();
    let is_torn = damage.is_some() || !recovery.damaged.is_empty();
    if is_torn {
        assert_eq!(durability, Durability::None, "{damage:?} {recovery:?}");
    }
    match state.mode() {
        Some("online") => assert!(!changed),
        Some("offline") => {}
        other => assert!(is_torn, "{other:?}"),
    }
    assert!(is_asked(&spool, 0));
    let was_asked = is_asked(&spool, 1);
    assert!(was_asked || !asked);
    spool.keep_reserve().unwrap();
    disk.set_fault(Fault::Full);
    // Uses all slots, so that each of them has been changed.
    for number in 2..2 + REQUESTS {
        ask(&spool, number).unwrap();
        assert_eq!(spool.state().unwrap().0, state);
    }
    for number in 0..STATES {
        set_mode(&spool, &format!("mode-{number}")).unwrap();
    }
    disk.set_fault(Fault::Never);
    assert_eq!(is_asked(&spool, 1), was_asked);
    assert!((2..2 + REQUESTS).all(|number| is_asked(&spool, number)));
    if !is_torn {
        assert_sound(disk);
    }
}
