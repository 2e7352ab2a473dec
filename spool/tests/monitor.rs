//! Monitored pages: they are read again, no crash loses one, and an invalid file is set aside.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use support::sim::{Fault, SimDisk};
use support::{open, options, outgoing};
use wwwoffle_spool::{
    Durability, MAX_MONITORS, Monitor, Reader, RequestKind, Result, Secrets, SetOutcome, Spool,
    Timestamp,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn monitor(number: u16, versions: u16) -> Monitor {
    let mut request = outgoing(&format!("http://m/{number}"), RequestKind::Refresh);
    request.secrets = Secrets::Open(b"Cookie: a=b\r\n".to_vec());
    Monitor {
        request,
        schedule: "0 6 * * 1-5".parse().unwrap(),
        last_run: None,
        versions,
        report: (versions > 0).then(|| "{\"words\": \"50%25 é\"}\r\n".to_owned()),
        reported: (versions > 0).then(|| at(1_700_000_400)),
    }
}

#[test]
fn a_monitored_page_round_trips() {
    let root = tempfile::tempdir().unwrap();
    let (mut one, other) = (monitor(1, 3), monitor(2, 0));
    let key = one.request.summary.place.key();
    {
        let spool = open(root.path(), Durability::Batch);
        let monitors = spool.monitors();
        assert!(monitors.is_empty());
        assert_eq!(monitors.set(&other).unwrap(), SetOutcome::New);
        assert_eq!(monitors.set(&one).unwrap(), SetOutcome::New);
        one.schedule = "0 0 1-7 * 1 and".parse().unwrap();
        assert_eq!(monitors.set(&one).unwrap(), SetOutcome::Changed);
        assert_eq!(monitors.get(&key).unwrap().as_ref(), Some(&one));
        assert!(monitors.record_run(&key, at(1_800_000_000)).unwrap());
        one.last_run = Some(at(1_800_000_000));
        assert!(spool.queue().is_empty(), "it is another directory");
    }
    let spool = open(root.path(), Durability::Batch);
    let monitors = spool.monitors();
    assert_eq!(monitors.get(&key).unwrap().as_ref(), Some(&one));
    assert_eq!(monitors.list(), [one.summary(), other.summary()]);
    assert_eq!(Reader::open(root.path()).unwrap().monitors().unwrap(), monitors.list());
    assert_eq!(monitors.summary(&key), Some(one.summary()));
    assert!(monitors.remove(&key).unwrap());
    assert!(!monitors.remove(&key).unwrap());
    assert!(!monitors.record_run(&key, at(0)).unwrap(), "what was removed does not come back");
    assert_eq!((monitors.len(), monitors.get(&key).unwrap()), (1, None));
    for path in support::files(&root.path().join("monitor")) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(3).any(|window| window == b"a=b"), "{path:?}");
    }
}

#[test]
fn a_missed_time_is_due_once() {
    let mut one = monitor(1, 0);
    one.request.summary.queued = "2026-11-20T12:00:00Z".parse().unwrap();
    let utc = TimeZone::UTC;
    let late: Timestamp = "2026-12-24T12:00:00Z".parse().unwrap();
    let next = one.summary().next_run(late, &utc, None).unwrap();
    assert_eq!(next.to_string(), "2026-11-23T06:00:00Z");
    one.last_run = Some(late);
    let next = one.summary().next_run(late, &utc, None).unwrap();
    assert_eq!(next.to_string(), "2026-12-25T06:00:00Z");
    // The clock was wrong, and was then corrected.
    one.last_run = Some("2031-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(one.summary().next_run(late, &utc, None), Some(next));
}

#[test]
fn a_page_for_each_session_is_due_once_in_a_session() {
    let mut one = monitor(1, 0);
    one.schedule = "@online".parse().unwrap();
    let (now, zone) = (at(1_000), TimeZone::UTC);
    for (last, session, want) in [
        (None, None, None),
        (None, Some(at(500)), Some(at(500))),
        (Some(at(400)), Some(at(500)), Some(at(500))),
        (Some(at(400)), None, None),
        (Some(at(500)), Some(at(500)), None),
        (Some(at(600)), Some(at(500)), None),
        // The clock was wrong when the page was queued.
        (Some(at(9_000)), Some(at(500)), None),
    ] {
        one.last_run = last;
        assert_eq!(one.summary().next_run(now, &zone, session), want, "{last:?} {session:?}");
    }
}

#[test]
fn an_invalid_schedule_file_is_moved_aside() {
    let root = tempfile::tempdir().unwrap();
    let one = monitor(1, 3);
    let path = root.path().join(format!("monitor/{}.warc", one.request.summary.place.key()));
    let queued = root.path().join(format!("outgoing/{}.warc", one.request.summary.place.key()));
    open(root.path(), Durability::Batch).queue().add(&one.request).unwrap();
    let request = fs::read(&queued).unwrap();
    let whole = {
        let spool = open(root.path(), Durability::Batch);
        spool.monitors().set(&one).unwrap();
        fs::read(&path).unwrap()
    };
    let mut flipped = whole.clone();
    let at = whole.windows(17).position(|window| window == b"Wwwoffle-Schedule").unwrap() + 20;
    flipped[at] ^= 1;
    for (bytes, why) in [
        (request, "a field is missing"),
        (flipped, ""),
        (whole[..whole.len() - 1].to_vec(), ""),
        (Vec::new(), ""),
        (vec![0; 40 << 20], "longer"),
    ] {
        fs::write(&path, bytes).unwrap();
        let (spool, recovery) =
            Spool::open(root.path(), &support::options(Durability::Batch)).unwrap();
        assert_eq!(recovery.damaged.len(), 1, "{why}");
        assert!(recovery.damaged[0].moved_to.as_ref().unwrap().exists());
        assert!(spool.monitors().is_empty());
        // An invalid file is also set aside while the spool is open.
        fs::write(&path, &whole[1..]).unwrap();
        assert!(spool.monitors().get(&one.request.summary.place.key()).unwrap_err().is_damaged());
        assert!(!path.exists());
    }
    // A page under the name of another is set aside as well.
    fs::write(path.with_file_name(format!("{}.warc", "0".repeat(64))), &whole).unwrap();
    let (_, recovery) = Spool::open(root.path(), &support::options(Durability::Batch)).unwrap();
    assert_eq!(recovery.damaged.len(), 1);
}

#[test]
#[ignore = "slow"]
fn the_number_of_monitored_pages_is_limited() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    for number in 0..MAX_MONITORS {
        spool.monitors().set(&monitor(number.try_into().unwrap(), 0)).unwrap();
    }
    let error = spool.monitors().set(&monitor(u16::MAX, 0)).unwrap_err();
    assert!(error.is_monitors_full(), "{error}");
    assert_eq!(spool.monitors().set(&monitor(1, 1)).unwrap(), SetOutcome::Changed);
    drop(spool);
    assert_eq!(open(root.path(), Durability::None).monitors().len(), MAX_MONITORS);
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn open_sim(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability)).map(|opened| opened.0)
}

/// Returns which steps were acknowledged: page 1 changed, page 2 removed, page 3 added, and a run
/// of page 4 recorded.
fn run(disk: &SimDisk, durability: Durability) -> [bool; 4] {
    let Ok(spool) = open_sim(disk, durability) else { return [false; 4] };
    let key = |number| monitor(number, 0).request.summary.place.key();
    let monitors = spool.monitors();
    [
        monitors.set(&monitor(1, 9)).is_ok(),
        monitors.remove(&key(2)).is_ok(),
        monitors.set(&monitor(3, 0)).is_ok(),
        monitors.record_run(&key(4), at(1_700_000_500)).unwrap_or(false),
    ]
}

fn check(disk: &SimDisk, durability: Durability, done: [bool; 4], what: &str) {
    let spool = open_sim(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let get =
        |number| spool.monitors().get(&monitor(number, 0).request.summary.place.key()).unwrap();
    let is = |number, new: Option<Monitor>, old: Option<Monitor>, done: bool| {
        let found = get(number);
        assert!(found == new || !done && found == old, "{what}: {number} is {found:?}");
    };
    is(1, Some(monitor(1, 9)), Some(monitor(1, 0)), done[0]);
    is(2, None, Some(monitor(2, 0)), done[1]);
    is(3, Some(monitor(3, 0)), None, done[2]);
    let ran = Monitor { last_run: Some(at(1_700_000_500)), ..monitor(4, 0) };
    is(4, Some(ran), Some(monitor(4, 0)), done[3]);
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
}

#[test]
#[ignore = "slow"]
fn no_crash_loses_a_monitored_page() {
    let base = SimDisk::new();
    let spool = open_sim(&base, Durability::Each).unwrap();
    for number in [1, 2, 4] {
        spool.monitors().set(&monitor(number, 0)).unwrap();
    }
    drop(spool);
    let base = base.restarted();
    for durability in DURABILITIES {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let done = run(&disk, durability);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            let what = format!("{durability:?}, stopped at {call}");
            check(&disk.restarted(), durability, done, &what);
            for seed in 0..if durability == Durability::None { 0 } else { 6 } {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                check(&disk.after_power_cut(call * 6 + seed), durability, done, &what);
            }
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
            let done = run(&disk, durability);
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), durability, done, &format!("{durability:?}, full at {call}"));
            if calls <= call {
                assert!(call > 10, "{call}");
                break;
            }
        }
    }
}
