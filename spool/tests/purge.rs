//! Candidates, sweeps and pins, also with a fault at any call.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::place;
use support::sim::{Fault, SimDisk};
use wwwoffle_spool::purge::{SizedEntry, SweepStep, space};
use wwwoffle_spool::{
    Durability, NewSegment, Options, Place, Reader, Result, RewriteBounds, Spool, Versions,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

fn options(durability: Durability) -> Options {
    Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) }
}

fn open(root: &Path, durability: Durability) -> Spool {
    Spool::open(root, &options(durability)).unwrap().0
}

/// The places of the entries, some to be purged and some to stay: single, varying, owned and large
/// ones.
fn places() -> Vec<Place> {
    let mut places: Vec<_> =
        (0..6).map(|number| place(&format!("http://h{}/{number}", number % 3))).collect();
    places.push(place("http://v/go").with_variant("accept-language: de"));
    places.push(place("http://v/go").with_variant("accept-language: fr"));
    places.push(place("http://v/stay").with_variant("accept-language: de"));
    places.push(place("http://o/go").owned_by("user:ada"));
    places.push(place("http://o/go"));
    places
}

fn goes(place: &Place) -> bool {
    let is_odd = place.url().ends_with(['1', '3', '5']);
    let is_german = place.variant_text().ends_with("de");
    place.owner().is_none() && (is_odd || (place.url().ends_with("go") && !is_german))
}

fn body(place: &Place, round: u8) -> Vec<u8> {
    let size = if place.url().ends_with('4') { 150_000 } else { 100 };
    let mut body = vec![b'a' + round; size];
    body.extend_from_slice(place.url().as_bytes());
    body
}

fn all(spool: &Spool) -> BTreeSet<(String, String, Option<String>)> {
    spool.candidates().unwrap().map(|found| name(&found.unwrap())).collect()
}

fn name(found: &SizedEntry) -> (String, String, Option<String>) {
    name_of(&found.summary.place)
}

fn name_of(place: &Place) -> (String, String, Option<String>) {
    let owner = place.owner().map(str::to_owned);
    (place.url().to_owned(), place.variant_text().to_owned(), owner)
}

fn sweep(spool: &Spool) -> Result<u64> {
    let (mut sweep, mut removed) = (spool.sweep()?, 0);
    loop {
        let step = sweep.step(|found| goes(&found.summary.place))?;
        removed += step.removed.count;
        if step.looked == 0 {
            return Ok(removed);
        }
    }
}

#[test]
#[ignore = "slow"]
fn purge_visits_each_entry_once() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        for round in 0..2 {
            for place in places() {
                support::store_at(&spool, &place, &body(&place, round)).unwrap();
            }
            spool.flush().unwrap();
        }
        let found: Vec<_> = spool.candidates().unwrap().map(|one| name(&one.unwrap())).collect();
        let want: BTreeSet<_> = places().iter().map(name_of).collect();
        assert_eq!((found.len(), found.into_iter().collect::<BTreeSet<_>>()), (want.len(), want));
        // Each entry has two files, of at least one block each.
        for found in spool.candidates().unwrap().map(Result::unwrap) {
            let least = 2 * found.summary.body_len.max(4_096);
            assert!(found.size >= least && found.size < 2 * least, "{found:?}");
        }
        let going: Vec<_> = places().into_iter().filter(goes).collect();
        assert_eq!(usize::try_from(sweep(&spool).unwrap()).unwrap(), going.len(), "{durability:?}");
        assert_eq!(all(&spool), places().iter().filter(|one| !goes(one)).map(name_of).collect());
        for place in &going {
            assert!(spool.versions(place).unwrap().is_empty(), "{place:?}");
        }
        for place in places().iter().filter(|one| !goes(one)) {
            assert_eq!(spool.versions(place).unwrap().len(), 1, "{place:?}");
        }
        assert_eq!(sweep(&spool).unwrap(), 0);
        // The host of a purged entry still has another entry, so its directory stays.
        let h1 = root.path().join("http/h1");
        assert!(
            !spool.candidates().unwrap().any(|one| one
                .unwrap()
                .summary
                .place
                .url()
                .starts_with("http://h1/1"))
        );
        assert!(h1.is_dir(), "http://h1/4 stays");
        drop(spool);
        let spool = open(root.path(), durability);
        assert_eq!(all(&spool).len(), places().len() - going.len(), "opened again");
    }
}

#[test]
fn empty_directories_are_removed_and_recreated() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    for _ in 0..3 {
        support::store(&spool, "http://alone/1", b"x").unwrap();
        spool.flush().unwrap();
        assert_eq!(sweep(&spool).unwrap(), 1);
        assert!(!root.path().join("http/alone").exists());
    }
}

#[test]
fn entries_stored_during_a_purge_stay() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    for url in ["http://h/1", "http://h/3"] {
        support::store(&spool, url, b"old").unwrap();
    }
    spool.flush().unwrap();
    let mut sweep = spool.sweep().unwrap();
    let step = sweep
        .step(|found| {
            // One entry waits for its batch, and the other is renamed already.
            support::store(&spool, found.summary.place.url(), b"new").unwrap();
            if found.summary.place.url().ends_with('3') {
                spool.flush().unwrap();
            }
            true
        })
        .unwrap();
    assert_eq!((step.looked, step.removed.count), (2, 0));
    for url in ["http://h/1", "http://h/3"] {
        let entry = spool.entry(&place(url)).unwrap().found().unwrap();
        assert_eq!(support::body(&entry).unwrap(), b"new");
    }
}

#[test]
fn a_pin_set_during_a_purge_is_respected() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::None);
    let all: Vec<_> = (0..9).map(|number| place(&format!("http://p/{number}"))).collect();
    for place in &all {
        support::store_at(&spool, place, b"x").unwrap();
    }
    spool.flush().unwrap();
    let mut judged = 0;
    // All entries are chosen in one step, but all except the first three are pinned in the
    // meantime.
    let step = spool.sweep().unwrap().step(|found| {
        judged += 1;
        if judged > 3 {
            spool.set_pinned(&[found.summary.place.url().to_owned()], true).unwrap();
        }
        true
    });
    assert_eq!((judged, step.unwrap().removed.count), (9, 3));
    let left = all_urls(&spool);
    assert_eq!(left, spool.pins().unwrap());
}

fn all_urls(spool: &Spool) -> BTreeSet<String> {
    spool.candidates().unwrap().map(|found| found.unwrap().summary.place.url().to_owned()).collect()
}

#[test]
fn a_segment_stored_after_the_plan_stays() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path(), durability);
        let place = place("http://v/go");
        let part = || {
            let new = NewSegment {
                entry: support::entry(&support::head(206)),
                validator: b"\"v1\"".to_vec(),
                complete_length: Some(100_000),
                start: 0,
            };
            let mut writer = spool.begin_segment(&place, new).unwrap();
            writer.write(&vec![b'x'; 70_000]).unwrap();
            writer.finish().unwrap();
        };
        support::store_at(&spool, &place, b"old").unwrap();
        part();
        spool.flush().unwrap();
        assert_eq!(sweep(&spool).unwrap(), 1);
        assert!(spool.partial(&place).unwrap().is_some(), "{durability:?}");
    }
}

#[test]
fn foreign_files_are_not_counted_or_changed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    support::store(&spool, "http://h/1", b"x").unwrap();
    let directory = root.path().join(place("http://h/1").relative_path());
    let directory = directory.parent().unwrap();
    let foreign = [
        directory.join("notes.txt"),
        directory.join(format!("{}.warc", "0".repeat(64))),
        root.path().join("http/h/README"),
        root.path().join("http/.x"),
    ];
    for path in &foreign {
        fs::write(path, b"mine").unwrap();
    }
    assert_eq!(spool.candidates().unwrap().count(), 1);
    assert_eq!(sweep(&spool).unwrap(), 1);
    for path in &foreign {
        assert_eq!(fs::read(path).unwrap(), b"mine");
    }
}

#[test]
fn pins_are_remembered_and_never_guessed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Each);
    assert!(spool.pins().unwrap().is_empty());
    for (url, is_pinned, changes) in [
        ("http://b/", true, true),
        ("http://a/", true, true),
        ("http://a/", true, false),
        ("http://c/", false, false),
        ("http://b/", false, true),
    ] {
        let done = spool.set_pinned(&[url.to_owned()], is_pinned).unwrap();
        assert_eq!(done, changes, "{url} {is_pinned}");
    }
    let urls = |urls: &[&str]| urls.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
    let several = urls(&["http://a/", "http://d/", "http://e/", "http://d/"]);
    assert!(spool.set_pinned(&several, true).unwrap());
    assert!(spool.pins().unwrap().iter().eq(&urls(&["http://a/", "http://d/", "http://e/"])));
    assert!(!spool.set_pinned(&several, true).unwrap());
    assert!(!spool.set_pinned(&[], true).unwrap());
    assert!(spool.set_pinned(&urls(&["http://c/", "http://d/", "http://e/"]), false).unwrap());
    for bad in ["", "http://a/\nhttp://b/"] {
        let error = spool.set_pinned(&urls(&["http://c/", bad]), true).unwrap_err();
        assert!(error.is_invalid(), "{error:?}");
    }
    let want: BTreeSet<_> = ["http://a/".to_owned()].into();
    assert_eq!(Reader::open(root.path()).unwrap().pins().unwrap(), want);
    drop(spool);
    let spool = open(root.path(), Durability::Each);
    assert_eq!(spool.pins().unwrap(), want);
    let path = root.path().join("pins");
    fs::write(&path, "wwwoffle-pins 1\nhttp://a").unwrap();
    assert!(spool.pins().unwrap_err().is_invalid());
    assert!(spool.set_pinned(&urls(&["http://b/"]), true).unwrap_err().is_invalid());
    assert_eq!(fs::read(&path).unwrap(), b"wwwoffle-pins 1\nhttp://a", "nothing was lost by that");
}

#[test]
fn the_space_on_a_disk_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let told = space(root.path()).unwrap();
    assert!(told.total > 0 && told.free <= told.total, "{told:?}");
    assert!(space(&root.path().join("nowhere")).is_err());
}

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn open_sim(disk: &SimDisk, durability: Durability) -> Result<Spool> {
    Spool::open_with(Arc::new(disk.clone()), root(), &options(durability)).map(|opened| opened.0)
}

fn check(disk: &SimDisk, durability: Durability, what: &str) {
    let spool = open_sim(disk, durability).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    for place in places() {
        let found = spool.entries(&place).unwrap();
        assert!(found.set_aside.is_empty(), "{what}: {found:?}");
        let found = found.found.into_iter().find(|entry| *entry.place() == place);
        match found.map(|entry| support::body(&entry).unwrap()) {
            Some(found) => assert_eq!(found, body(&place, 1), "{what}: {place:?}"),
            None => assert!(goes(&place), "{what}: {place:?} is lost"),
        }
        if !goes(&place) {
            let versions = spool.versions(&place).unwrap();
            assert_eq!(versions.len(), 1, "{what}: {place:?}");
            let version = spool.version(&place, versions[0].stored).unwrap().found().unwrap();
            assert_eq!(support::body(&version).unwrap(), body(&place, 0), "{what}: {place:?}");
        }
    }
    assert_eq!(spool.pins().unwrap().len(), 1, "{what}: pins");
}

/// One entry file that cannot be read delays neither the purge of the other directories nor a list
/// of what there is to purge.
#[test]
fn an_unreadable_file_stops_no_purge() {
    let disk = SimDisk::new();
    let spool = open_sim(&disk, Durability::None).unwrap();
    let places = ["http://a/1", "http://b/1", "http://c/1"].map(place);
    for place in &places {
        support::store_at(&spool, place, b"old").unwrap();
    }
    disk.set_unreadable(&root().join(places[1].relative_path()));
    let (read, failed): (Vec<_>, Vec<_>) = spool.candidates().unwrap().partition(Result::is_ok);
    assert_eq!((read.len(), failed.len()), (2, 1));
    let (mut sweep, mut all) = (spool.sweep().unwrap(), SweepStep::default());
    loop {
        let step = sweep.step(|_| true).unwrap();
        all.failed += step.failed;
        all.removed.count += step.removed.count;
        if step.looked == 0 {
            break;
        }
    }
    assert_eq!((all.removed.count, all.failed), (2, 1));
    assert!(sweep.failure().is_some() && sweep.failure().is_none());
    let mut compression = spool.compression().unwrap();
    let bounds = RewriteBounds::new(0, &|| None, &|| true);
    assert_eq!(compression.step(|_| true, &bounds).unwrap().failed, 1);
    let left = disk.files(&root().join("http"));
    assert_eq!(left, [root().join(places[1].relative_path())]);
}

#[test]
#[ignore = "slow"]
fn a_crash_loses_no_remaining_entry() {
    let base = SimDisk::new();
    let spool = open_sim(&base, Durability::Each).unwrap();
    for round in 0..2 {
        for place in places() {
            support::store_at(&spool, &place, &body(&place, round)).unwrap();
        }
    }
    spool.set_pinned(&["http://a/".to_owned()], true).unwrap();
    drop(spool);
    let base = base.restarted();
    for durability in DURABILITIES {
        for call in 0.. {
            let disk = base.restarted();
            disk.set_fault(Fault::Stop(call));
            let _ = open_sim(&disk, durability).and_then(|spool| sweep(&spool));
            let calls = disk.calls();
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), durability, &format!("{durability:?}, stopped at {call}"));
            // Without syncs a power cut may bring back any earlier file.
            if durability != Durability::None {
                let what = format!("{durability:?}, power cut at {call}");
                check(&disk.after_power_cut(call), durability, &what);
            }
            let disk = base.restarted();
            disk.set_fault(Fault::Fail(call, ErrorKind::PermissionDenied));
            let _ = open_sim(&disk, durability).and_then(|spool| sweep(&spool));
            disk.set_fault(Fault::Never);
            check(&disk.restarted(), durability, &format!("{durability:?}, failed at {call}"));
            if calls <= call {
                assert!(call > 60, "{call}");
                break;
            }
        }
    }
}
