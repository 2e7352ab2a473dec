//! A failure, a stop and a power cut at every disk call.
//!
//! One run does everything a spool can do, and records which calls returned `Ok`. It is repeated
//! with a fault at call 0, 1, 2 … until it completes without meeting the fault. The spool is then
//! opened again: each entry must be complete, old or new, or absent if it was not promised, and
//! every promised entry must exist.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::struct_excessive_bools,
    reason = "a test, and its notes of what was done"
)]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{entry, head, options, outgoing, place};
use wwwoffle_spool::{
    Durability, Lookup, Outgoing, ProgramState, Recovery, RequestKind, RequestLine, Result,
    Secrets, Spool, Statistics,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

/// The number of power cuts after each stop. Each power cut loses different data, chosen at random.
const CUTS: u64 = 6;

/// Entries stored before the run, and replaced or added in it.
const ENTRIES: [&str; 4] = ["http://a/replaced", "http://a/kept", "http://b/new", "http://c/large"];
const REPLACED: usize = 0;
const KEPT: usize = 1;
const NEW: usize = 2;
const LARGE: usize = 3;

/// The calls that returned `Ok`.
#[derive(Debug, Default, Clone)]
struct Acknowledged {
    finished: [bool; ENTRIES.len()],
    /// The flush at the end.
    flushed: bool,
    added: bool,
    updated: bool,
    removed: bool,
    state: bool,
    statistics: bool,
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn old(index: usize) -> Option<Vec<u8>> {
    (index < NEW).then(|| vec![b'o'; 2_000 + index])
}

fn new(index: usize) -> Option<Vec<u8>> {
    let len = if index == LARGE { 150_000 } else { 3_000 };
    (index != KEPT).then(|| vec![b'n'; len + index])
}

fn open(disk: &SimDisk, durability: Durability) -> Result<(Spool, Recovery)> {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability))
}

/// The spool before the run, with every change durable.
fn base() -> SimDisk {
    let disk = SimDisk::new();
    let (spool, _) = open(&disk, Durability::Each).unwrap();
    for (index, url) in ENTRIES.iter().enumerate() {
        if let Some(body) = old(index) {
            support::store(&spool, url, &body).unwrap();
        }
    }
    for number in [1, 2] {
        spool.queue().add(&waiting(number, 0)).unwrap();
    }
    let mut state = ProgramState::default();
    state.set_mode("online").unwrap();
    spool.set_state(&state).unwrap();
    spool.set_statistics(&counted(1)).unwrap();
    drop(spool);
    disk.restarted()
}

fn counted(hits: u64) -> Statistics {
    let mut counted = Statistics::default();
    counted.rest.add("hit", hits);
    counted
}

fn waiting(number: u32, attempts: u32) -> Outgoing {
    let mut request = outgoing(&format!("http://q/{number}"), RequestKind::Post);
    request.head = b"POST /submit HTTP/1.1\r\nHost: q\r\n\r\n".to_vec();
    request.summary.line = RequestLine::new(&request.head, &request.summary.place);
    request.secrets = Secrets::Open(b"Cookie: a=b\r\n".to_vec());
    request.summary.fetching.attempts = attempts;
    request
}

/// Does every step. After a failure the next step is still tried.
fn run(disk: &SimDisk, durability: Durability) -> (Acknowledged, Vec<wwwoffle_spool::Error>) {
    let (mut done, mut errors) = (Acknowledged::default(), Vec::new());
    let spool = match open(disk, durability) {
        Ok((spool, _)) => spool,
        Err(error) => return (done, vec![error]),
    };
    let mut note = |result: Result<()>| {
        let ok = result.is_ok();
        errors.extend(result.err());
        ok
    };
    for index in [REPLACED, NEW, LARGE] {
        done.finished[index] = note(write(&spool, index));
    }
    // An entry replaced before its batch must not come back.
    let overtaken = note(write(&spool, NEW));
    done.finished[NEW] |= overtaken;
    done.flushed = note(spool.flush());
    done.added = note(spool.queue().add(&waiting(3, 0)).map(|_| ()));
    let mut known = true;
    let updated = spool.queue().update(&waiting(1, 1));
    done.updated = note(updated.map(|there| known = there)) && known;
    done.removed = note(spool.queue().remove(&waiting(2, 0).summary.place.key()).map(|_| ()));
    let mut state = ProgramState::default();
    state.set_mode("offline").unwrap();
    done.state = note(spool.set_state(&state));
    done.statistics = note(spool.set_statistics(&counted(2)));
    (done, errors)
}

fn write(spool: &Spool, index: usize) -> Result<()> {
    let body = new(index).unwrap();
    let mut writer = spool.begin(&place(ENTRIES[index]), entry(&head(200)))?;
    let mut tail = None;
    for piece in body.chunks(50_000) {
        writer.write(piece)?;
        if index == LARGE && tail.is_none() {
            tail = Some(writer.tail()?);
        }
    }
    writer.finish(Some(b"X-Sum: 1\r\n")).map(|_| ())
}

/// The changes that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// No loss: the program only stopped.
    Nothing,
    /// Changes that were not promised to be durable are lost.
    Unsynced,
    /// Entries of a failed batch are lost: the run continued after errors.
    GivenUp,
}

fn check(disk: &SimDisk, durability: Durability, done: &Acknowledged, loss: Loss, what: &str) {
    let (spool, recovery) = open(disk, durability).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    let careless = loss == Loss::Unsynced && durability == Durability::None;
    assert!(careless || recovery.damaged.is_empty(), "{what}: {recovery:?}");
    let (old_state, new_state) = (Some("online"), Some("offline"));
    for (index, url) in ENTRIES.iter().enumerate() {
        let found = match spool.entry(&place(url)).unwrap() {
            Lookup::Found(entry) => {
                Some(support::body(&entry).unwrap_or_else(|| panic!("{what}: {url} is damaged")))
            }
            Lookup::Missing => None,
            Lookup::SetAside(damage) => {
                assert!(careless, "{what}: {damage}");
                continue;
            }
        };
        let promised = match (loss, durability) {
            (Loss::Unsynced, Durability::None) => false,
            (Loss::Unsynced | Loss::GivenUp, Durability::Batch) => {
                done.finished[index] && done.flushed
            }
            _ => done.finished[index],
        };
        let is_new = new(index).is_some() && found == new(index);
        let is_old = found == old(index);
        assert!(is_new || is_old || careless && found.is_none(), "{what}: {url} is neither");
        assert!(is_new || !promised, "{what}: {url} was acknowledged and is lost");
    }
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
    let (state, _) = spool.state().unwrap();
    if !careless {
        let promised = done.state && (loss == Loss::Nothing || durability != Durability::None);
        assert!(state.mode() == new_state || !promised && state.mode() == old_state, "{what}");
        check_queue(&spool, done, what);
        let (statistics, damage) = spool.statistics().unwrap();
        let promised = done.statistics && (loss == Loss::Nothing || durability != Durability::None);
        let is_old = !promised && statistics == counted(1);
        assert!(damage.is_none() && (is_old || statistics == counted(2)), "{what}");
    }
}

fn check_queue(spool: &Spool, done: &Acknowledged, what: &str) {
    let get = |number| spool.queue().get(&waiting(number, 0).summary.place.key()).unwrap();
    let first = get(1).unwrap_or_else(|| panic!("{what}: a request is lost"));
    assert!(first == waiting(1, 1) || !done.updated && first == waiting(1, 0), "{what}");
    assert!(get(2).is_none() || !done.removed && get(2) == Some(waiting(2, 0)), "{what}");
    assert!(get(3) == Some(waiting(3, 0)) || !done.added && get(3).is_none(), "{what}");
    let listed = spool.queue().list().len();
    assert_eq!(listed, [1, 2, 3].into_iter().filter(|&n| get(n).is_some()).count(), "{what}");
}

/// Runs once for each call, with the fault at that call. `then` checks the disk afterwards.
fn at_every_call(
    base: &SimDisk,
    durability: Durability,
    fault: impl Fn(u64) -> Fault,
    then: impl Fn(&SimDisk, u64, &Acknowledged, &[wwwoffle_spool::Error]),
) -> u64 {
    for call in 0.. {
        let disk = base.restarted();
        disk.set_fault(fault(call));
        let (done, errors) = run(&disk, durability);
        let calls = disk.calls();
        disk.set_fault(Fault::Never);
        then(&disk, call, &done, &errors);
        if calls <= call {
            assert!(errors.is_empty(), "{errors:?}");
            return call;
        }
    }
    unreachable!()
}

#[test]
#[ignore = "slow"]
fn a_stop_keeps_every_acknowledged_write() {
    for durability in DURABILITIES {
        let base = base();
        let calls = at_every_call(&base, durability, Fault::Stop, |disk, call, done, _| {
            let what = format!("{durability:?}, stopped at {call}");
            check(&disk.restarted(), durability, done, Loss::Nothing, &what);
        });
        assert!(calls > 30, "{calls}");
    }
}

#[test]
#[ignore = "slow"]
fn a_power_cut_keeps_every_durable_write() {
    for durability in DURABILITIES {
        let base = base();
        at_every_call(&base, durability, Fault::Stop, |disk, call, done, _| {
            for seed in 0..CUTS {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                let after = disk.after_power_cut(call * CUTS + seed);
                check(&after, durability, done, Loss::Unsynced, &what);
            }
        });
    }
}

#[test]
#[ignore = "slow"]
fn an_error_is_reported_and_loses_nothing() {
    for durability in DURABILITIES {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
            let base = base();
            let fault = |call| Fault::Fail(call, kind);
            at_every_call(&base, durability, fault, |disk, call, done, errors| {
                let what = format!("{durability:?}, {kind:?} at {call}");
                for error in errors {
                    assert_eq!(error.is_full(), kind == ErrorKind::StorageFull, "{what}: {error}");
                    assert_eq!(error.is_denied(), kind == ErrorKind::PermissionDenied, "{what}");
                }
                check(&disk.restarted(), durability, done, Loss::GivenUp, &what);
            });
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_recovery_can_be_interrupted() {
    // Finished entries wait in tmp/ for their batch when the process ends.
    let left = base();
    let (spool, _) = open(&left, Durability::Batch).unwrap();
    for index in [REPLACED, NEW, LARGE] {
        write(&spool, index).unwrap();
    }
    let unfinished = spool.begin(&place(ENTRIES[KEPT]), entry(&head(200))).unwrap();
    left.set_fault(Fault::Stop(0));
    drop((unfinished, spool));
    let done = Acknowledged { finished: [true, false, true, true], ..Acknowledged::default() };
    assert_eq!(left.files(&root().join("tmp")).len(), 4);
    for call in 0.. {
        let disk = left.restarted();
        disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
        if let Ok((_spool, recovery)) = open(&disk, Durability::Batch) {
            assert!(recovery.failures.iter().all(wwwoffle_spool::Error::is_full));
        }
        let what = format!("opening failed at {call}");
        check(&disk.restarted(), Durability::Batch, &done, Loss::Nothing, &what);

        let disk = left.restarted();
        disk.set_fault(Fault::Stop(call));
        let opened = open(&disk, Durability::Batch).is_ok();
        let calls = disk.calls();
        let what = format!("opening stopped at {call}");
        check(&disk.restarted(), Durability::Batch, &done, Loss::Nothing, &what);
        for seed in 0..CUTS {
            let after = disk.after_power_cut(call * CUTS + seed);
            let what = format!("power cut while opening, at {call}, seed {seed}");
            check(&after, Durability::Batch, &done, Loss::Unsynced, &what);
        }
        if opened && calls <= call {
            return;
        }
    }
}

#[test]
fn the_first_opening_can_be_stopped() {
    for call in 0.. {
        let disk = SimDisk::new();
        disk.set_fault(Fault::Stop(call));
        let opened = open(&disk, Durability::Batch).is_ok();
        let calls = disk.calls();
        for seed in 0..CUTS {
            let after = if seed == 0 { disk.restarted() } else { disk.after_power_cut(seed) };
            let (spool, _) = open(&after, Durability::Batch)
                .unwrap_or_else(|error| panic!("stopped at {call}, seed {seed}: {error:?}"));
            support::store(&spool, ENTRIES[NEW], b"body").unwrap();
            spool.flush().unwrap();
        }
        if opened && calls <= call {
            return;
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_removed_entry_stays_removed() {
    for durability in [Durability::Each, Durability::Batch] {
        for call in 0.. {
            let disk = base();
            let (spool, _) = open(&disk, durability).unwrap();
            // The old entry has the name; under `Batch` the new one waits.
            write(&spool, REPLACED).unwrap();
            disk.set_fault(Fault::Stop(call));
            let place = place(ENTRIES[REPLACED]);
            let removed = spool.remove(&place).is_ok();
            let calls = disk.calls();
            drop(spool);
            let look = |disk: &SimDisk, removed: bool| {
                let (spool, _) = open(disk, durability).unwrap();
                match spool.entry(&place).unwrap() {
                    Lookup::Missing => {}
                    Lookup::Found(found) if !removed => {
                        let body = support::body(&found);
                        assert!(body == old(REPLACED) || body == new(REPLACED), "at {call}");
                    }
                    other => panic!("{durability:?} at {call}: {other:?}"),
                }
            };
            look(&disk.restarted(), removed);
            for seed in 0..10 * CUTS {
                look(&disk.after_power_cut(seed), removed && durability == Durability::Each);
            }
            if calls <= call {
                break;
            }
        }
    }
}
