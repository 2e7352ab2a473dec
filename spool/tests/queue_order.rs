//! Priorities given by a person stay, also after crashes.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that looks at the files themselves"
)]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{open, options, outgoing, place};
use wwwoffle_spool::{
    AddOutcome, Durability, FinishOutcome, OutgoingSummary, Priority, RequestKind, Result, Spool,
};

#[test]
fn a_priority_survives_every_change_of_a_request() {
    use RequestKind::{Page, Part};
    let root = tempfile::tempdir().unwrap();
    let requests = ["http://a/1", "http://a/2", "http://a/3"].map(|url| outgoing(url, Page));
    let [one, two, three] = requests.clone().map(|request| request.summary.place.key());
    {
        let spool = open(root.path(), Durability::Batch);
        let queue = spool.queue();
        for request in &requests {
            queue.add(request).unwrap();
        }
        // The request as a fetch reads it, before its priority is changed.
        let seen = queue.get(&two).unwrap().unwrap();
        assert_eq!(queue.prioritize(&[two], Priority::First).unwrap(), 1);
        let absent = place("http://a/absent").key();
        assert_eq!(queue.prioritize(&[absent, three, one], Priority::Last).unwrap(), 2);
        assert_eq!(queue.prioritize(&[one], Priority::Usual).unwrap(), 1);
        let mut failed = seen;
        failed.summary.fetching.attempts = 3;
        assert!(queue.update(&failed).unwrap());
        // Requesting a URL again neither fetches it twice nor changes its priority.
        assert_eq!(queue.add(&outgoing("http://a/2", Part)).unwrap(), AddOutcome::Already);
        assert_eq!(queue.add(&outgoing("http://a/3", Page)).unwrap(), AddOutcome::Already);
        let mut part_of_a_first = requests[0].clone();
        part_of_a_first.summary.priority = Priority::First;
        assert_eq!(queue.add(&part_of_a_first).unwrap(), AddOutcome::Stronger);
        assert_eq!(queue.add(&part_of_a_first).unwrap(), AddOutcome::Already);
    }
    let text = |key| {
        let path = root.path().join(format!("outgoing/{key}.warc"));
        String::from_utf8(std::fs::read(path).unwrap()).unwrap()
    };
    assert!(text(two).contains("\r\nWwwoffle-Priority: first\r\n"));
    assert!(text(three).contains("\r\nWwwoffle-Priority: last\r\n"));
    {
        let spool = open(root.path(), Durability::Batch);
        let queue = spool.queue();
        let order = |key| {
            queue.get(key).unwrap().map(|it| (it.summary.priority, it.summary.fetching.attempts))
        };
        assert_eq!(order(&one), Some((Priority::First, 0)));
        assert_eq!(order(&two), Some((Priority::First, 3)));
        assert_eq!(order(&three), Some((Priority::Last, 0)));
        let mut turns: Vec<_> = queue.list().iter().map(OutgoingSummary::position).collect();
        turns.sort();
        assert_eq!(turns.last().map(|turn| turn.key), Some(three));
        let mut seen = queue.get(&two).unwrap().unwrap();
        seen.summary.priority = Priority::Usual;
        assert_eq!(queue.finish(&seen).unwrap(), FinishOutcome::Gone, "it is not wanted once more");
        queue.prioritize(&[one], Priority::Usual).unwrap();
    }
    assert!(!text(one).contains("Wwwoffle-Priority"), "as the first versions wrote it");
}

const URLS: [&str; 2] = ["http://a/1", "http://a/2"];

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn prioritize(disk: &SimDisk, durability: Durability) -> Result<u64> {
    let (spool, _) = Spool::open_with(Arc::new(disk.clone()), root(), &options(durability))?;
    spool.queue().prioritize(&URLS.map(|url| place(url).key()), Priority::First)
}

#[test]
#[ignore = "slow"]
fn a_crash_leaves_the_old_or_the_new_request() {
    let base = SimDisk::new();
    {
        let options = options(Durability::Each);
        let (spool, _) = Spool::open_with(Arc::new(base.clone()), root(), &options).unwrap();
        for url in URLS {
            spool.queue().add(&outgoing(url, RequestKind::Page)).unwrap();
        }
    }
    let base = base.restarted();
    let faults: [fn(u64) -> Fault; 2] = [Fault::Stop, |call| Fault::Fail(call, ErrorKind::Other)];
    for (fault, durability) in faults
        .into_iter()
        .flat_map(|fault| [Durability::Each, Durability::Batch].map(|d| (fault, d)))
    {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(fault(call));
            // A request that is unreadable when the spool is opened cannot be changed.
            let done = matches!(prioritize(&disk, durability), Ok(2));
            let calls = disk.calls();
            for seed in 0..4 {
                let after = if seed == 0 {
                    disk.restarted()
                } else {
                    disk.after_power_cut(call * 4 + seed)
                };
                check(&after, done, &format!("{durability:?}, call {call}, seed {seed}"));
            }
            if done && calls <= call {
                break;
            }
        }
    }
}

fn check(disk: &SimDisk, done: bool, what: &str) {
    disk.set_fault(Fault::Never);
    let options = options(Durability::Batch);
    let (spool, recovery) = Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap();
    assert!(recovery.damaged.is_empty(), "{what}: {recovery:?}");
    for url in URLS {
        let got = spool.queue().get(&place(url).key()).unwrap();
        let got = got.unwrap_or_else(|| unreachable!("{what}: {url} is lost"));
        let old = outgoing(url, RequestKind::Page);
        let mut new = old.clone();
        new.summary.priority = Priority::First;
        assert!(got == new || !done && got == old, "{what}: {got:?}");
    }
}
