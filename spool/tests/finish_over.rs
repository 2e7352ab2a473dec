//! Finishing an entry only if its place has the expected entry, and never over a newer one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::sim::{Fault, SimDisk};
use support::{body, entry, head, place};
use wwwoffle_spool::{
    Durability, Entry, Options, Place, ReplaceOutcome, Result, Spool, Timestamp, Update, Versions,
    Writer,
};

const URL: &str = "http://example.org/";

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

fn options(durability: Durability) -> Options {
    Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) }
}

fn now(spool: &Spool, place: &Place) -> Option<Entry> {
    spool.entry(place).unwrap().found()
}

fn text(entry: Option<Entry>) -> String {
    entry.map(|entry| String::from_utf8(body(&entry).unwrap()).unwrap()).unwrap_or_default()
}

fn older(spool: &Spool, place: &Place) -> Vec<String> {
    let versions = spool.versions(place).unwrap();
    let read = |stored| text(spool.version(place, stored).unwrap().found());
    versions.iter().map(|version| read(version.stored)).collect()
}

fn writer(spool: &Spool, place: &Place, text: &str) -> Result<Writer> {
    let mut writer = spool.begin(place, entry(&head(200)))?;
    writer.write(text.as_bytes())?;
    Ok(writer)
}

#[track_caller]
fn is_overtaken(over: ReplaceOutcome) -> Writer {
    match over {
        ReplaceOutcome::Overtaken(writer) => *writer,
        ReplaceOutcome::Stored(stored) => panic!("{stored:?}"),
    }
}

#[test]
fn conditional_store_replaces_only_the_expected_entry() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &options(durability)).unwrap();
        let place = place(URL);
        let first = writer(&spool, &place, "first").unwrap().finish_over(None).unwrap();
        assert!(
            matches!(first, ReplaceOutcome::Stored(ref stored) if stored.body_len == 5),
            "{first:?}"
        );
        // The place has an entry now.
        let late = writer(&spool, &place, "late").unwrap().finish_over(None).unwrap();
        drop(is_overtaken(late));
        assert_eq!(text(now(&spool, &place)), "first", "{durability:?}");
        let seen = now(&spool, &place);
        let second = writer(&spool, &place, "second").unwrap();
        support::store(&spool, URL, b"live").unwrap();
        let mut second = is_overtaken(second.finish_over(seen.as_ref()).unwrap());
        assert_eq!(text(now(&spool, &place)), "live");
        // The writer is unchanged, so it can continue and finish in another way.
        second.write(b" thought").unwrap();
        assert!(second.finish_older(Timestamp::from_second(7).unwrap()).unwrap().is_some());
        spool.flush().unwrap();
        assert_eq!(older(&spool, &place), ["first", "second thought"], "{durability:?}");
        let third = writer(&spool, &place, "third").unwrap();
        let third = is_overtaken(third.finish_over(seen.as_ref()).unwrap());
        let over = third.finish_over(now(&spool, &place).as_ref()).unwrap();
        assert!(matches!(over, ReplaceOutcome::Stored(_)), "{over:?}");
        spool.flush().unwrap();
        drop(spool);
        let (spool, _) = Spool::open(root.path(), &options(durability)).unwrap();
        assert_eq!(text(now(&spool, &place)), "third", "{durability:?}");
        assert_eq!(older(&spool, &place), ["live", "first", "second thought"], "{durability:?}");
        assert_eq!(support::files(&root.path().join("tmp")).len(), 0);
    }
}

#[test]
fn a_revalidated_entry_is_not_removed_as_the_old_one() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &options(durability)).unwrap();
        let place = place(URL);
        support::store(&spool, URL, b"kept").unwrap();
        let seen = now(&spool, &place).unwrap();
        let writer = writer(&spool, &place, "archived").unwrap();
        let asked = Timestamp::from_second(1_800_000_000).unwrap();
        let update = Update::Confirmed { head: head(200), asked, responded: asked };
        assert!(spool.update(&seen, &update).unwrap().is_some());
        assert!(!spool.remove_seen(&seen).unwrap());
        drop(is_overtaken(writer.finish_over(Some(&seen)).unwrap()));
        assert_eq!(text(now(&spool, &place)), "kept", "{durability:?}");
        assert!(spool.remove_seen(&now(&spool, &place).unwrap()).unwrap());
        assert!(now(&spool, &place).is_none() && !spool.remove_seen(&seen).unwrap());
    }
}

#[test]
#[ignore = "slow"]
fn only_one_concurrent_conditional_store_succeeds() {
    const WRITERS: usize = 4;
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &options(durability)).unwrap();
        for round in 0..20 {
            let place = place(&format!("{URL}{round}"));
            support::store_at(&spool, &place, b"seen").unwrap();
            let (seen, all) = (now(&spool, &place), std::sync::Barrier::new(WRITERS));
            let stored = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for number in 0..WRITERS {
                    let (spool, place, seen) = (&spool, &place, &seen);
                    let (all, stored) = (&all, &stored);
                    scope.spawn(move || {
                        let text = number.to_string().repeat(70_000);
                        let writer = writer(spool, place, &text).unwrap();
                        all.wait();
                        if let ReplaceOutcome::Stored(_) =
                            writer.finish_over(seen.as_ref()).unwrap()
                        {
                            stored.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert_eq!(stored.into_inner(), 1, "{durability:?}, {round}");
        }
    }
}

fn open(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    let root = Path::new("/home/spool");
    Spool::open_with(Arc::new(disk.clone()), root, &options(durability)).map(|(spool, _)| spool)
}

/// The results of a run.
#[derive(Debug, Default)]
struct RunResults {
    live: bool,
    archived: bool,
    flushed: bool,
}

/// Stores an archived response and, if `is_live`, a live one at the same time.
fn run(disk: &SimDisk, durability: Durability, is_live: bool, length: usize) -> RunResults {
    let mut results = RunResults::default();
    let Ok(spool) = open(disk, durability) else { return results };
    let place = place(URL);
    let Ok(seen) = spool.entry(&place).map(wwwoffle_spool::Lookup::found) else { return results };
    let Ok(writer) = writer(&spool, &place, &"a".repeat(length)) else { return results };
    results.live = is_live && support::store(&spool, URL, b"live").is_ok();
    results.archived = match writer.finish_over(seen.as_ref()) {
        Ok(ReplaceOutcome::Stored(_)) => {
            assert!(!results.live, "{durability:?}: it came over what was stored meanwhile");
            true
        }
        Ok(ReplaceOutcome::Overtaken(writer)) => {
            assert!(is_live, "{durability:?}");
            writer.finish_older(Timestamp::from_second(7).unwrap()).is_ok_and(|it| it.is_some())
        }
        Err(_) => false,
    };
    results.flushed = spool.flush().is_ok();
    results
}

#[track_caller]
fn check(disk: &SimDisk, durability: Durability, results: &RunResults, is_kept: bool, what: &str) {
    let spool = open(disk, durability).unwrap();
    let place = place(URL);
    let (now, older) = (text(now(&spool, &place)), older(&spool, &place));
    if results.live {
        // The present entry is the live one or, where a crash may undo that, the previous one. It
        // is never the archived one.
        assert!(now == "live" || (!is_kept && now == "seen"), "{what}: {:?}", now.get(..9));
        let is_older = older.iter().any(|one| one.starts_with("aa"));
        assert!(!is_kept || !results.archived || is_older, "{what}: {}", older.len());
        assert!(!is_kept || older.iter().any(|one| one == "seen"), "{what}");
    } else {
        let is_known = now == "seen" || now == "live" || now.starts_with("aa");
        assert!(is_known, "{what}: {:?}", now.get(..9));
        assert!(!results.archived || !is_kept || now.starts_with("aa"), "{what}");
    }
}

#[test]
#[ignore = "slow"]
fn a_fault_at_any_step_keeps_the_order_of_archived_versions() {
    for durability in DURABILITIES {
        for (is_live, length) in [(true, 3_000), (true, 150_000), (false, 3_000), (false, 150_000)]
        {
            let base = SimDisk::new();
            let spool = open(&base, Durability::Each).unwrap();
            support::store(&spool, URL, b"seen").unwrap();
            drop(spool);
            let base = base.restarted();
            for call in 0.. {
                let disk = base.restarted();
                disk.set_fault(Fault::Stop(call));
                let results = run(&disk, durability, is_live, length);
                let calls = disk.calls();
                disk.set_fault(Fault::Never);
                let what = format!("{durability:?}, {is_live}, {length}, stopped at {call}");
                // A stop of the program alone loses nothing.
                check(&disk.restarted(), durability, &results, true, &what);
                for seed in 0..if durability == Durability::None { 0 } else { 3 } {
                    let is_kept = durability == Durability::Each || results.flushed;
                    let after = disk.after_power_cut(call * 4 + seed);
                    let what = format!("{what}, power cut {seed}");
                    check(&after, durability, &results, is_kept, &what);
                }
                let disk = base.restarted();
                disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
                let results = run(&disk, durability, is_live, length);
                disk.set_fault(Fault::Never);
                check(&disk.restarted(), durability, &results, false, &format!("{what}, but full"));
                if calls <= call {
                    assert!(call > 10, "{call}");
                    break;
                }
            }
        }
    }
}
