//! Older versions: replaced entries stay readable, as many as the rule says, whenever a crash
//! happens.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{entry, head, outgoing, place};
use wwwoffle_spool::{
    Durability, Lookup, MAX_VERSIONS, Monitor, Options, Place, Reader, RequestKind, Result, Spool,
    Timestamp, Update, VersionLimit, Versions,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];
const URL: &str = "http://v/page";

fn options(durability: Durability, kept: usize) -> Options {
    Options { versions: Versions::from_rule(move |_| kept), ..support::options(durability) }
}

fn open(root: &Path, durability: Durability, kept: usize) -> Spool {
    Spool::open(root, &options(durability, kept)).unwrap().0
}

/// The bodies of the versions of a place, the newest first; each must be readable.
fn bodies(spool: &Spool, place: &Place) -> Vec<Vec<u8>> {
    let versions = spool.versions(place).unwrap();
    assert!(versions.is_sorted_by(|newer, older| newer.stored > older.stored), "{versions:?}");
    let read = |stored| match spool.version(place, stored).unwrap() {
        Lookup::Found(entry) => support::body(&entry).unwrap(),
        other => panic!("{other:?}"),
    };
    versions.into_iter().map(|version| read(version.stored)).collect()
}

fn texts(spool: &Spool, place: &Place) -> Vec<String> {
    bodies(spool, place).into_iter().map(|body| String::from_utf8(body).unwrap()).collect()
}

#[test]
fn long_bodies_become_no_versions_unless_they_are_monitored() {
    let limits = |_: &str| VersionLimit { number: 9, max_body: Some(3) };
    let versions = Versions::from_limits(limits);
    let options = Options { versions, ..support::options(Durability::Batch) };
    let root = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(root.path(), &options).unwrap();
    for body in ["abc", "long", "de", "longer", "f"] {
        support::store(&spool, URL, body.as_bytes()).unwrap();
        spool.flush().unwrap();
    }
    assert_eq!(texts(&spool, &place(URL)), ["de", "abc"]);
    // In one batch.
    for body in ["g", "longest", "h"] {
        support::store(&spool, URL, body.as_bytes()).unwrap();
    }
    spool.flush().unwrap();
    assert_eq!(texts(&spool, &place(URL)), ["g", "f", "de", "abc"]);
    let (request, schedule) = (outgoing(URL, RequestKind::Refresh), "@daily".parse().unwrap());
    let monitor =
        Monitor { request, schedule, last_run: None, versions: 2, report: None, reported: None };
    spool.monitors().set(&monitor).unwrap();
    for body in ["monitored", "i"] {
        support::store(&spool, URL, body.as_bytes()).unwrap();
        spool.flush().unwrap();
    }
    assert_eq!(texts(&spool, &place(URL))[..2], ["monitored", "h"]);
}

#[test]
#[ignore = "slow"]
fn newest_versions_are_kept_up_to_the_limit() {
    for durability in DURABILITIES {
        for (kept, want) in [(0, &[][..]), (1, &["c"]), (2, &["c", "b"]), (9, &["c", "b", "a"])] {
            for flushed in [false, true] {
                let root = tempfile::tempdir().unwrap();
                let spool = open(root.path(), durability, kept);
                for body in ["a", "b", "b", "c", "d"] {
                    support::store(&spool, URL, body.as_bytes()).unwrap();
                    if flushed {
                        spool.flush().unwrap();
                    }
                }
                spool.flush().unwrap();
                let what = format!("{durability:?}, {kept}, {flushed}");
                assert_eq!(texts(&spool, &place(URL)), want, "{what}");
                let entry = spool.entry(&place(URL)).unwrap().found().unwrap();
                assert_eq!(support::body(&entry).unwrap(), b"d", "{what}");
                // Versions are not entries.
                assert_eq!(spool.list(None, None).unwrap().count(), 1, "{what}");
                let reader = Reader::open(root.path()).unwrap();
                let versions = reader.versions(&place(URL)).unwrap();
                assert_eq!(versions, spool.versions(&place(URL)).unwrap());
                for version in versions {
                    assert!(reader.version(&place(URL), version.stored).unwrap().found().is_some());
                }
                drop(spool);
                let spool = open(root.path(), durability, kept);
                assert_eq!(texts(&spool, &place(URL)), want, "{what}, opened again");
            }
        }
    }
}

#[test]
fn monitored_pages_have_their_own_version_limit() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch, 1);
    let request = outgoing(URL, RequestKind::Refresh);
    let schedule = "@daily".parse().unwrap();
    let monitor =
        Monitor { request, schedule, last_run: None, versions: 3, report: None, reported: None };
    spool.monitors().set(&monitor).unwrap();
    let other = "http://v/other";
    let store = |spool: &Spool, body: &str| {
        for url in [URL, other] {
            support::store(spool, url, body.as_bytes()).unwrap();
        }
        spool.flush().unwrap();
    };
    for body in ["a", "b", "c", "d", "e"] {
        store(&spool, body);
    }
    assert_eq!(texts(&spool, &place(URL)), ["d", "c", "b"]);
    assert_eq!(texts(&spool, &place(other)), ["d"]);
    drop(spool);
    let spool = open(root.path(), Durability::Batch, 1);
    store(&spool, "f");
    assert_eq!(texts(&spool, &place(URL)), ["e", "d", "c"]);
    spool.monitors().remove(&monitor.request.summary.place.key()).unwrap();
    store(&spool, "g");
    assert_eq!(texts(&spool, &place(URL)), ["f"]);
}

#[test]
fn number_of_versions_is_bounded() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None, usize::MAX);
    for number in 0..MAX_VERSIONS + 5 {
        support::store(&spool, URL, number.to_string().as_bytes()).unwrap();
    }
    assert_eq!(spool.versions(&place(URL)).unwrap().len(), MAX_VERSIONS);
}

#[test]
fn variants_are_found_among_all_their_versions() {
    let disk = SimDisk::new();
    let options = options(Durability::None, MAX_VERSIONS);
    let (spool, _) = Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap();
    let variants = ["de", "fr"].map(|text| place(URL).with_variant(text));
    for number in 0..=MAX_VERSIONS {
        for place in &variants {
            support::store_at(&spool, place, number.to_string().as_bytes()).unwrap();
        }
    }
    let names = disk.files(&root().join("http"));
    assert_eq!(names.len(), 2 * (MAX_VERSIONS + 1));
    assert_eq!(spool.entries(&place(URL)).unwrap().found.len(), 2);
}

#[test]
fn owners_and_variants_have_separate_versions() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch, 9);
    let all = place(URL);
    let places = [
        all.clone(),
        all.clone().with_variant("accept-language: de"),
        all.clone().with_variant("accept-language: fr"),
        all.clone().owned_by("user:ada"),
        all.clone().owned_by("user:ada").with_variant("accept-language: de"),
        place("http://v/page2"),
    ];
    // At first only the entry without variant exists, and it is moved when the second comes.
    for round in 0..3 {
        for (number, place) in places.iter().enumerate() {
            let body = format!("{number}.{round}");
            support::store_at(&spool, place, body.as_bytes()).unwrap();
            spool.flush().unwrap();
        }
    }
    for (number, place) in places.iter().enumerate() {
        let want = [1, 0].map(|round| format!("{number}.{round}"));
        assert_eq!(texts(&spool, place), want, "{place:?}");
        // With the time of one place's version, nothing is found at another place.
        let stored = spool.versions(place).unwrap()[0].stored;
        for other in places.iter().filter(|other| *other != place) {
            assert!(spool.version(other, stored).unwrap().found().is_none(), "{other:?}");
        }
    }
    assert_eq!(spool.list(None, None).unwrap().count(), places.len());
    assert!(spool.remove_variant(&places[1]).unwrap());
    assert!(texts(&spool, &places[1]).is_empty());
    assert_eq!(texts(&spool, &places[2]).len(), 2);
    assert!(spool.remove(&all).unwrap());
    for place in &places[..3] {
        assert!(texts(&spool, place).is_empty(), "{place:?}");
    }
    for place in &places[3..] {
        assert_eq!(texts(&spool, place).len(), 2, "{place:?}");
    }
    assert!(spool.remove(&places[3]).unwrap());
    assert!(spool.remove(&places[5]).unwrap());
    spool.flush().unwrap();
    let left = support::files(&root.path().join("http"));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn updates_of_a_large_entry_move_into_its_version() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch, 2);
    let large = |byte: u8| vec![byte; 200_000];
    support::store(&spool, URL, &large(b'a')).unwrap();
    let entry = spool.entry(&place(URL)).unwrap().found().unwrap();
    let checked = entry.received() + jiff::SignedDuration::from_hours(5);
    let update = Update::Confirmed { head: head(200), asked: checked, responded: checked };
    spool.update(&entry, &update).unwrap().unwrap();
    support::store(&spool, URL, &large(b'b')).unwrap();
    support::store(&spool, URL, &large(b'c')).unwrap();
    spool.flush().unwrap();
    assert_eq!(bodies(&spool, &place(URL)), [large(b'b'), large(b'a')]);
    let oldest = spool.versions(&place(URL)).unwrap()[1].stored;
    let oldest = spool.version(&place(URL), oldest).unwrap().found().unwrap();
    assert_eq!(oldest.checked(), checked);
    support::store(&spool, URL, b"d").unwrap();
    support::store(&spool, URL, b"e").unwrap();
    spool.flush().unwrap();
    let names = support::files(&root.path().join("http"));
    assert_eq!(names.len(), 3, "nothing is left of what went: {names:?}");
}

#[test]
fn a_damaged_version_is_moved_aside() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each, 9);
    for body in ["a", "b", "c"] {
        support::store(&spool, URL, body.as_bytes()).unwrap();
    }
    let stored = spool.versions(&place(URL)).unwrap()[0].stored;
    let path = support::files(&root.path().join("http"))
        .into_iter()
        .find(|path| fs::read(path).unwrap().windows(5).any(|window| window == b"\r\n\r\nb"))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"\r\n\r\nb").unwrap() + 4;
    bytes[at] = b'x';
    fs::write(&path, bytes).unwrap();
    assert!(matches!(spool.version(&place(URL), stored).unwrap(), Lookup::SetAside(_)));
    assert!(matches!(spool.version(&place(URL), stored).unwrap(), Lookup::Missing));
    assert_eq!(texts(&spool, &place(URL)), ["a"]);
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn open_sim(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability, 9)).map(|opened| opened.0)
}

/// A body, small or large. Each round and variant has a different one.
fn body(round: usize, variant: usize) -> Vec<u8> {
    let len = if round == 1 { 150_000 } else { 1_000 };
    format!("{variant}{round}").into_bytes().repeat(len / 2)
}

fn places() -> [Place; 2] {
    [place(URL), place(URL).with_variant("accept-language: de")]
}

/// Stores three responses of each place. Returns the round and the variant of each stored response,
/// and whether all flushes succeeded.
fn run(disk: &SimDisk, durability: Durability) -> (Vec<(usize, usize)>, bool) {
    let (mut done, mut flushed) = (Vec::new(), true);
    let Ok(spool) = open_sim(disk, durability) else { return (done, false) };
    for round in 1..4 {
        for (variant, place) in places().iter().enumerate() {
            let store = || -> Result<()> {
                let mut writer = spool.begin(place, entry(&head(200)))?;
                writer.write(&body(round, variant))?;
                writer.finish(None).map(|_| ())
            };
            if store().is_ok() {
                done.push((round, variant));
            }
        }
        // The first response is written with its batch. The others replace one another.
        if round == 1 {
            flushed = spool.flush().is_ok();
        }
    }
    flushed &= spool.flush().is_ok();
    (done, flushed)
}

fn check(
    disk: &SimDisk,
    durability: Durability,
    (done, is_kept): (&[(usize, usize)], bool),
    what: &str,
) {
    let spool = open_sim(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    for (variant, place) in places().iter().enumerate() {
        let current = spool.entries(place).unwrap();
        assert!(current.set_aside.is_empty(), "{what}: {current:?}");
        let current = current.found.into_iter().find(|found| found.place() == place);
        let mut all: Vec<_> = current.iter().map(|it| support::body(it).unwrap()).collect();
        all.extend(bodies(&spool, place));
        // The new version, and the entry that is not replaced yet, are one file.
        all.dedup();
        let mut rounds = Vec::new();
        for body in &all {
            let round = (0..4).find(|&round| self::body(round, variant) == *body);
            rounds.push(round.unwrap_or_else(|| panic!("{what}: a body that nobody stored")));
        }
        assert!(rounds.is_sorted_by(|newer, older| newer > older), "{what}: {rounds:?}");
        assert!(rounds.contains(&0), "{what}: the first is lost: {rounds:?}");
        let taken = done.iter().filter(|(_, of)| *of == variant).map(|(round, _)| *round);
        for round in taken.filter(|_| is_kept) {
            assert!(rounds.contains(&round), "{what}: {round} was taken: {rounds:?}");
        }
    }
    assert_eq!(disk.files(&root().join("tmp")).len(), 0, "{what}: tmp/ is not empty");
}

#[test]
#[ignore = "slow"]
fn no_crash_loses_a_version() {
    let base = SimDisk::new();
    let spool = open_sim(&base, Durability::Each).unwrap();
    for (variant, place) in places().iter().enumerate() {
        support::store_at(&spool, place, &body(0, variant)).unwrap();
    }
    drop(spool);
    let base = base.restarted();
    for durability in DURABILITIES {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let (done, flushed) = run(&disk, durability);
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            let what = format!("{durability:?}, stopped at {call}");
            check(&disk.restarted(), durability, (&done, true), &what);
            for seed in 0..if durability == Durability::None { 0 } else { 4 } {
                let what = format!("{durability:?}, power cut at {call}, seed {seed}");
                let is_kept = durability == Durability::Each || flushed;
                let after = disk.after_power_cut(call * 4 + seed);
                check(&after, durability, (&done, is_kept), &what);
            }
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
            let (done, _) = run(&disk, durability);
            disk.set_fault(Fault::Never);
            let what = format!("{durability:?}, full at {call}");
            check(&disk.restarted(), durability, (&done, false), &what);
            if calls <= call {
                assert!(call > 30, "{call}");
                break;
            }
        }
    }
}

#[test]
fn writers_of_the_same_time_lose_nothing() {
    const WRITERS: u8 = 4;
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None, MAX_VERSIONS);
    for round in 0..40 {
        let place = place(&format!("{URL}/{round}"));
        support::store_at(&spool, &place, b"now").unwrap();
        let all = std::sync::Barrier::new(usize::from(WRITERS));
        let write = |number: u8| {
            let mut writer = spool.begin(&place, entry(&head(200))).unwrap();
            // Finishing takes long enough for another writer to act in between.
            writer.write(&vec![number; 60_000]).unwrap();
            all.wait();
            assert!(writer.finish_older(Timestamp::from_second(7).unwrap()).unwrap().is_some());
        };
        std::thread::scope(|scope| {
            for number in 0..WRITERS {
                let write = &write;
                scope.spawn(move || write(number));
            }
        });
        let mut found: Vec<_> = bodies(&spool, &place).iter().map(|body| body[0]).collect();
        found.sort_unstable();
        assert_eq!(found, (0..WRITERS).collect::<Vec<_>>(), "{round}");
    }
}

#[test]
fn a_late_older_response_becomes_a_version() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability, 3);
        let place = place(URL);
        let late = |body: &str, second: i64| {
            let mut writer = spool.begin(&place, entry(&head(200))).unwrap();
            writer.write(body.as_bytes()).unwrap();
            let stored = Timestamp::from_second(second).unwrap();
            writer.finish_older(stored).unwrap().is_some()
        };
        assert!(!late("nothing is there that would be newer", 5));
        support::store(&spool, URL, b"now").unwrap();
        assert!(late("five", 5) && late("seven", 7) && late("also seven", 7));
        assert_eq!(texts(&spool, &place), ["also seven", "seven", "five"], "{durability:?}");
        assert!(!late("it would be the first to go", 1));
        assert!(late("nine", 9));
        assert!(!late("it would be newer than what is there", 100_000_000_000));
        assert_eq!(texts(&spool, &place), ["nine", "also seven", "seven"], "{durability:?}");
        support::store(&spool, URL, b"newest").unwrap();
        spool.flush().unwrap();
        assert_eq!(texts(&spool, &place), ["now", "nine", "also seven"], "{durability:?}");
        drop(spool);
        let spool = open(root.path(), durability, 3);
        assert_eq!(texts(&spool, &place), ["now", "nine", "also seven"], "{durability:?}");
        assert_eq!(
            support::body(&spool.entry(&place).unwrap().found().unwrap()).unwrap(),
            b"newest"
        );
    }
}
