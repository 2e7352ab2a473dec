//! For a while, removals can be undone exactly, and newer entries stay.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "it looks at the files")]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use support::sim::SimDisk;
use support::{bytes, place, store, store_at};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    BringBackReport, CheckOptions, Durability, Lookup, NewSegment, Options, Place, Reader, Spool,
    Timestamp, Update, Versions,
};

const ONE: &str = "http://a.example/one";
const TWO: &str = "https://b.example/two";

fn open(root: &Path) -> Spool {
    let options =
        Options { versions: Versions::from_rule(|_| 9), ..support::options(Durability::Batch) };
    Spool::open(root, &options).unwrap().0
}

fn body(spool: &Spool, place: &Place) -> Option<Vec<u8>> {
    match spool.entry(place).unwrap() {
        Lookup::Found(entry) => Some(support::body(&entry).unwrap()),
        Lookup::Missing => None,
        other @ Lookup::SetAside(_) => panic!("{place:?}: {other:?}"),
    }
}

fn back(entries: u64, overtaken: u64) -> BringBackReport {
    BringBackReport { entries, overtaken, ..BringBackReport::default() }
}

/// The files of entries, by their path below the root, with their content.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = support::files(root).into_iter().filter(|path| path.extension().is_some());
    let below = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
    let is_entry = |path: &Path| ["http", "https"].iter().any(|scheme| path.starts_with(scheme));
    files
        .filter(|path| is_entry(&below(path)))
        .map(|path| (below(&path), std::fs::read(&path).unwrap()))
        .collect()
}

fn sound(root: &Path) {
    let sums = Reader::open(root).unwrap().check(&CheckOptions::new(true), &mut |finding| {
        panic!("{finding}");
    });
    assert!(sums.unwrap().is_sound());
}

#[test]
fn a_removal_applies_at_once_and_can_be_undone() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let (one, large) = (place(ONE), place("http://a.example/large"));
    let german = place("http://a.example/varies").with_variant("de");
    let plain = place("http://a.example/varies").with_variant("en");
    for text in [&b"old"[..], b"new"] {
        store(&spool, ONE, text).unwrap();
        spool.flush().unwrap();
    }
    store_at(&spool, &large, &bytes(300_000)).unwrap();
    let entry = spool.entry(&large).unwrap().found().unwrap();
    let since = Timestamp::from_second(1_700_000_001).unwrap();
    spool.flush().unwrap();
    spool.update(&entry, &Update::Invalid { since }).unwrap().unwrap();
    store_at(&spool, &german, b"deutsch").unwrap();
    store_at(&spool, &plain, b"english").unwrap();
    spool.flush().unwrap();
    let before = tree(root.path());
    assert_eq!(before.len(), 6, "{:?}", before.keys());
    // An entry that still waits for its batch is removed too.
    store(&spool, TWO, b"waits").unwrap();

    let removal = spool.removal("ada");
    for gone in [&one, &large, &german, &place(TWO)] {
        assert!(spool.remove_for_now(gone, &removal).unwrap());
        assert!(!spool.remove_for_now(gone, &removal).unwrap());
        assert_eq!(body(&spool, gone), None);
        assert_eq!(spool.versions(gone).unwrap().len(), 0);
        assert!(spool.removal_has(&removal, gone).unwrap());
    }
    assert!(!spool.removal_has(&removal, &place("http://a.example/other")).unwrap());
    assert!(!spool.removal_has(&spool.removal("ada"), &one).unwrap());
    assert_eq!(tree(root.path()).len(), 0);
    assert_eq!(spool.list(None, None).unwrap().count(), 0);
    sound(root.path());
    let resting = spool.removals("ada").unwrap();
    assert_eq!((resting.len(), resting[0].removal, resting[0].entries), (1, removal, 5));
    assert!(resting[0].bytes > 300_000);
    assert!(spool.removals("bob").unwrap().is_empty());
    assert_eq!(removal.to_string().parse(), Ok(removal));

    // The removal survives the end of the program.
    drop(spool);
    let spool = open(root.path());
    assert_eq!(spool.removals("ada").unwrap(), resting);
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), Some(back(5, 0)));
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), None);
    assert_eq!(body(&spool, &place(TWO)).unwrap(), b"waits");
    spool.remove(&place(TWO)).unwrap();
    assert_eq!(tree(root.path()), before);
    assert_eq!(body(&spool, &one).unwrap(), b"new");
    assert_eq!(spool.entry(&large).unwrap().found().unwrap().invalid_since(), Some(since));
    assert!(!root.path().join("removed").join(removal.to_string()).exists());
    sound(root.path());
}

#[test]
fn a_newer_entry_survives_an_undo() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    for url in [ONE, TWO, "http://c.example/same"] {
        store(&spool, url, b"first").unwrap();
    }
    let removal = spool.removal("");
    for url in [ONE, TWO, "http://c.example/same"] {
        assert!(spool.remove_for_now(&place(url), &removal).unwrap());
    }
    store(&spool, ONE, b"newer").unwrap();
    store(&spool, "http://c.example/same", b"first").unwrap();
    let want = BringBackReport { there: 1, ..back(1, 1) };
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), Some(want));
    spool.flush().unwrap();
    assert_eq!(body(&spool, &place(ONE)).unwrap(), b"newer");
    assert_eq!(body(&spool, &place(TWO)).unwrap(), b"first");
    let versions = spool.versions(&place(ONE)).unwrap();
    let version = spool.version(&place(ONE), versions[0].stored).unwrap().found().unwrap();
    assert_eq!(support::body(&version).unwrap(), b"first");
    assert_eq!(versions.len(), 1);
    assert!(spool.versions(&place("http://c.example/same")).unwrap().is_empty());
    assert!(spool.removals("").unwrap().is_empty());
    sound(root.path());
}

/// Stores an entry without a body.
fn store_empty(spool: &Spool, url: &str, status: u16) {
    let mut writer = spool.begin(&place(url), support::entry(&support::head(status))).unwrap();
    writer.write(b"").unwrap();
    writer.finish(None).unwrap();
}

fn status(spool: &Spool, url: &str) -> u16 {
    spool.entry(&place(url)).unwrap().found().unwrap().status()
}

#[test]
fn undo_compares_heads_and_not_only_bodies() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    store_empty(&spool, ONE, 301);
    let removal = spool.removal("");
    assert!(spool.remove_for_now(&place(ONE), &removal).unwrap());
    store_empty(&spool, ONE, 404);
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), Some(back(0, 1)));
    assert_eq!(status(&spool, ONE), 404);
    let versions = spool.versions(&place(ONE)).unwrap();
    assert_eq!(versions.iter().map(|version| version.status).collect::<Vec<_>>(), [301]);
    sound(root.path());
}

#[test]
fn the_newest_restored_copy_is_the_entry() {
    for is_first_first in [true, false] {
        for len in [10, 300_000] {
            let root = tempfile::tempdir().unwrap();
            let spool = open(root.path());
            let text = |number: u8| vec![number; len];
            let [first, second] = [1, 2].map(|number| {
                store(&spool, ONE, &text(number)).unwrap();
                spool.flush().unwrap();
                let entry = spool.entry(&place(ONE)).unwrap().found().unwrap();
                let since = Timestamp::from_second(1_700_000_000 + i64::from(number)).unwrap();
                spool.update(&entry, &Update::Invalid { since }).unwrap().unwrap();
                let removal = spool.removal("");
                assert!(spool.remove_for_now(&place(ONE), &removal).unwrap());
                removal
            });
            let order = if is_first_first { [first, second] } else { [second, first] };
            let all = order.map(|one| spool.undo_removal(&one, &mut |_| {}).unwrap().unwrap());
            let last = if is_first_first { back(1, 0) } else { back(0, 1) };
            assert_eq!(all, [back(1, 0), last]);
            let entry = spool.entry(&place(ONE)).unwrap().found().unwrap();
            assert_eq!(support::body(&entry).unwrap(), text(2));
            assert_eq!(entry.invalid_since().unwrap().as_second(), 1_700_000_002);
            let versions = spool.versions(&place(ONE)).unwrap();
            assert_eq!(versions.len(), 1);
            let version = spool.version(&place(ONE), versions[0].stored).unwrap().found().unwrap();
            assert_eq!(support::body(&version).unwrap(), text(1));
            assert_eq!(version.invalid_since().unwrap().as_second(), 1_700_000_001);
            assert!(spool.removals("").unwrap().is_empty());
            sound(root.path());
        }
    }
}

#[test]
fn a_shared_body_stays_while_a_removed_entry_needs_it() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let text = bytes(40_000);
    for url in [ONE, TWO] {
        store(&spool, url, &text).unwrap();
    }
    spool.flush().unwrap();
    assert_eq!(spool.share(Some(0), &|| true).made.count, 2);
    let removal = spool.removal("ada");
    for url in [ONE, TWO] {
        assert!(spool.remove_for_now(&place(url), &removal).unwrap());
    }
    let sharing = spool.share(Some(0), &|| true);
    assert_eq!((sharing.removed.count, sharing.bodies.count), (0, 1), "{sharing:?}");
    sound(root.path());
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), Some(back(2, 0)));
    for url in [ONE, TWO] {
        assert_eq!(body(&spool, &place(url)).unwrap(), text);
        assert!(spool.remove_for_now(&place(url), &removal).unwrap());
    }
    assert!(spool.forget_removed(0).unwrap() > 0);
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), None);
    assert_eq!(spool.share(Some(0), &|| true).removed.count, 1);
    sound(root.path());
}

#[test]
fn an_undo_does_not_restore_segments() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let part = NewSegment {
        entry: support::entry(b"HTTP/1.1 206 Some\r\nContent-Range: bytes 0-4/10\r\n\r\n"),
        start: 0,
        complete_length: Some(10),
        validator: b"\"v\"".to_vec(),
    };
    let mut writer = spool.begin_segment(&place(ONE), part).unwrap();
    writer.write(b"12345").unwrap();
    writer.finish_short().unwrap();
    let removal = spool.removal("ada");
    assert!(spool.remove_for_now(&place(ONE), &removal).unwrap());
    assert!(spool.partial(&place(ONE)).unwrap().is_none());
    assert!(spool.removals("ada").unwrap().is_empty());
}

#[test]
fn removals_are_discarded_by_age_and_size() {
    let disk = SimDisk::new();
    let root = Path::new("/spool");
    let options = support::options(Durability::Each);
    let open = || Spool::open_with(Arc::new(disk.clone()), root, &options).unwrap().0;
    let spool = open();
    let mut removals = Vec::new();
    for url in [ONE, TWO] {
        store(&spool, url, &bytes(10_000)).unwrap();
        removals.push(spool.removal("ada"));
        assert!(spool.remove_for_now(&place(url), removals.last().unwrap()).unwrap());
    }
    let bytes: Vec<u64> = spool.removals("ada").unwrap().iter().map(|it| it.bytes).collect();
    let total = bytes.iter().sum();
    assert_eq!(spool.forget_removed(total).unwrap(), 0);
    // The oldest is deleted first.
    assert_eq!(spool.forget_removed(total - 1).unwrap(), bytes[1]);
    assert_eq!(spool.undo_removal(&removals[0], &mut |_| {}).unwrap(), None);
    let later = disk.now() + wwwoffle_spool::REMOVED_FOR;
    // Each reading of the clock advances it by a second.
    while disk.now() <= later {}
    assert!(spool.removals("ada").unwrap().is_empty());
    assert_eq!(spool.undo_removal(&removals[1], &mut |_| {}).unwrap(), None);
    assert_eq!(spool.forget_removed(u64::MAX).unwrap(), bytes[0]);
    assert!(disk.files(&root.join("removed")).is_empty());
}

#[test]
fn a_check_reports_foreign_files_in_removals() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    for url in [ONE, TWO] {
        store(&spool, url, b"body").unwrap();
    }
    let removal = spool.removal("ada");
    for url in [ONE, TWO] {
        spool.remove_for_now(&place(url), &removal).unwrap();
    }
    drop(spool);
    let base = root.path().join("removed").join(removal.to_string());
    let (one, two) = (place(ONE).relative_path(), place(TWO).relative_path());
    // One file is damaged, one is at the place of another, and two are foreign.
    let mut spoiled = std::fs::read(base.join(&one)).unwrap();
    spoiled[60] ^= 1;
    std::fs::write(base.join(&one), spoiled).unwrap();
    let odd = base.join(&two).with_file_name(one.file_name().unwrap());
    std::fs::rename(base.join(&two), &odd).unwrap();
    std::fs::write(base.join("notes"), "mine").unwrap();
    std::fs::create_dir(root.path().join("removed/mine")).unwrap();
    let mut found = Vec::new();
    let how = CheckOptions::new(true);
    let options = support::options(Durability::Each);
    Spool::repair(root.path(), &options, &how, &mut |it| found.push(it.to_string())).unwrap();
    found.sort();
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(
        found.iter().filter(|it| it.contains("it does not belong to the spool")).count(),
        2,
        "{found:#?}"
    );
    assert_eq!(found.iter().filter(|it| it.contains("damaged/")).count(), 2, "{found:#?}");
    let spool = open(root.path());
    assert_eq!(spool.undo_removal(&removal, &mut |_| {}).unwrap(), None);
}

/// A step of the test. The number of `Store` and `Remove` selects one of three URLs.
#[derive(Clone, Copy, Debug)]
enum Step {
    Store(usize),
    Remove(usize),
    /// The following removals get a new name.
    Next,
    /// Undoes the removal with this number.
    Back(usize),
    Forget,
    Share,
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_usize).prop_map(Step::Store),
        (0..3_usize).prop_map(Step::Remove),
        Just(Step::Next),
        (0..4_usize).prop_map(Step::Back),
        Just(Step::Forget),
        Just(Step::Share),
        Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// In any order of steps, the newest response of a URL is found, deleted entries stay deleted,
    /// and a removed entry comes back unless a newer one exists.
    #[test]
    #[ignore = "slow"]
    fn the_newest_response_wins_in_any_order_of_steps(
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path());
        let urls = [ONE, TWO, "http://c.example/3"];
        let mut now: [Option<u8>; 3] = [None; 3];
        let mut removals = vec![(spool.removal("ada"), [None; 3])];
        for (number, step) in (0_u8..).zip(steps) {
            match step {
                Step::Store(at) => {
                    store(&spool, urls[at], &vec![number; 20_000]).unwrap();
                    now[at] = Some(number);
                }
                Step::Remove(at) => {
                    let (removal, resting) = removals.last_mut().unwrap();
                    spool.remove_for_now(&place(urls[at]), removal).unwrap();
                    // Of two entries with one name in the same removal, only the later can come
                    // back.
                    resting[at] = now[at].take().or(resting[at]);
                }
                Step::Next => removals.push((spool.removal("ada"), [None; 3])),
                Step::Back(at) => {
                    let at = at % removals.len();
                    let (removal, resting) = removals.remove(at);
                    spool.undo_removal(&removal, &mut |_| {}).unwrap();
                    for (now, resting) in now.iter_mut().zip(resting) {
                        // The newest stored response, whatever was brought back before.
                        *now = (*now).max(resting);
                    }
                    removals.push((spool.removal("ada"), [None; 3]));
                }
                Step::Forget => {
                    spool.forget_removed(0).unwrap();
                    for (_, resting) in &mut removals {
                        *resting = [None; 3];
                    }
                }
                Step::Share => drop(spool.share(Some(0), &|| true)),
                Step::Flush => spool.flush().unwrap(),
            }
            for (url, now) in urls.iter().zip(now) {
                let found = body(&spool, &place(url)).map(|body| body[0]);
                prop_assert_eq!(found, now, "{} after {:?}", url, step);
            }
        }
        spool.flush().unwrap();
        sound(root.path());
    }
}
