//! Update files of large entries. Just after an entry was replaced, its update file still exists.
//! It must not be renamed together with the file of another entry, to a name where no lookup would
//! find it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::sim::SimDisk;
use support::{bytes, place, store, store_at};
use wwwoffle_spool::{
    CheckOptions, Durability, Entry, Options, Reader, SharingReport, Spool, Timestamp, Update,
    Versions,
};

const URL: &str = "http://a/one";
const OTHER: &str = "http://b/other";

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

fn root() -> &'static Path {
    Path::new("/home/spool")
}

fn large() -> Vec<u8> {
    bytes(140_000)
}

fn since() -> Timestamp {
    Timestamp::from_second(1_700_000_001).unwrap()
}

/// A spool with two large entries with the same body, and an update of the first.
fn base(disk: &SimDisk, durability: Durability) -> Spool {
    let options = Options { versions: Versions::from_rule(|_| 3), ..support::options(durability) };
    let (spool, _) = Spool::open_with(Arc::new(disk.clone()), root(), &options).unwrap();
    for url in [URL, OTHER] {
        store(&spool, url, &large()).unwrap();
    }
    spool.flush().unwrap();
    let entry = spool.entry(&place(URL)).unwrap().found().unwrap();
    spool.update(&entry, &Update::Invalid { since: since() }).unwrap().unwrap();
    assert_eq!(overlays(disk), [overlay()]);
    spool
}

fn path() -> PathBuf {
    root().join(place(URL).relative_path())
}

fn overlay() -> PathBuf {
    path().with_extension("update.warc")
}

fn overlays(disk: &SimDisk) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| path.to_string_lossy().ends_with(".update.warc");
    disk.files(root()).into_iter().filter(is_one).collect()
}

/// Checks that the file of the entry has no body of its own, or a short body. This shows that the
/// concurrent step runs in time.
fn is_replaced(disk: &SimDisk) {
    let file = disk.content(&path()).unwrap();
    assert!(file.len() < 10_000, "{} bytes", file.len());
    assert_eq!(overlays(disk), [overlay()]);
}

fn share(spool: &Spool) -> SharingReport {
    let sharing = spool.share(Some(0), &|| true);
    assert!(sharing.failure.is_none(), "{sharing:?}");
    sharing
}

fn has(entry: &Entry, body: &[u8], invalid: Option<Timestamp>) {
    assert!(support::body(entry).unwrap() == body, "{entry:?}");
    assert_eq!(entry.invalid_since(), invalid, "{entry:?}");
}

/// Checks the older versions, the newest first. `all` has the body of each, and the time since
/// which it is invalid.
fn has_versions(spool: &Spool, all: &[(&[u8], Option<Timestamp>)]) {
    let versions = spool.versions(&place(URL)).unwrap();
    assert_eq!(versions.len(), all.len());
    for (version, (body, invalid)) in versions.iter().zip(all) {
        has(&spool.version(&place(URL), version.stored).unwrap().found().unwrap(), body, *invalid);
    }
}

fn is_sound(disk: &SimDisk) {
    let reader = Reader::open_with(Arc::new(disk.clone()), root()).unwrap();
    let sums = reader.check(&CheckOptions::new(true), &mut |finding| panic!("{finding}"));
    assert!(sums.unwrap().is_sound());
}

#[test]
fn update_file_is_removed_if_its_entry_shares_its_body_and_becomes_a_version() {
    for durability in DURABILITIES {
        let disk = SimDisk::new();
        let spool = base(&disk, durability);
        let (beside, its) = (spool.clone(), disk.clone());
        // The update file is opened five times before the concurrent step: three times by the
        // walks, once with its entry, and once just before the entry is replaced.
        disk.set_between_opens(&overlay(), 5, move || {
            is_replaced(&its);
            store(&beside, URL, b"new").unwrap();
            beside.flush().unwrap();
        });
        assert_eq!(share(&spool).made.count, 2);
        has(&spool.entry(&place(URL)).unwrap().found().unwrap(), b"new", None);
        has_versions(&spool, &[(&large(), Some(since()))]);
        assert!(overlays(&disk).is_empty(), "{durability:?}: {:?}", overlays(&disk));
        is_sound(&disk);
    }
}

#[test]
fn update_file_follows_only_its_own_version() {
    for durability in DURABILITIES {
        let disk = SimDisk::new();
        let spool = base(&disk, durability);
        let (beside, its) = (spool.clone(), disk.clone());
        // The update file was read with its entry, and then renamed beside the version that was
        // made from the entry.
        disk.set_between_opens(&overlay(), 2, move || {
            let file = its.content(&path()).unwrap();
            assert!(file.len() < 10_000 && overlays(&its).len() == 2, "{} bytes", file.len());
            // In a batch, the third entry replaces the second, which is renamed at once.
            for body in [b"second", b"third "] {
                store(&beside, URL, body).unwrap();
            }
        });
        store(&spool, URL, b"first").unwrap();
        spool.flush().unwrap();
        spool.flush().unwrap();
        has(&spool.entry(&place(URL)).unwrap().found().unwrap(), b"third ", None);
        has_versions(&spool, &[(b"second", None), (b"first", None), (&large(), Some(since()))]);
        let versions = spool.versions(&place(URL)).unwrap();
        let stored = versions[2].stored;
        has(&spool.version(&place(URL), stored).unwrap().found().unwrap(), &large(), Some(since()));
        assert_eq!(overlays(&disk).len(), 1, "{durability:?}: {:?}", overlays(&disk));
        is_sound(&disk);
    }
}

#[test]
fn update_file_does_not_follow_the_replacement_to_variants() {
    // Under these settings an entry is renamed when it is stored.
    for durability in [Durability::Each, Durability::None] {
        let disk = SimDisk::new();
        let spool = base(&disk, durability);
        let beside = spool.clone();
        disk.set_between_opens(&overlay(), 2, move || {
            let german = place(URL).with_variant("accept-language: de");
            store_at(&beside, &german, b"german").unwrap();
        });
        store(&spool, URL, b"new").unwrap();
        let found = spool.entries(&place(URL)).unwrap().found;
        assert_eq!(found.len(), 2);
        for entry in &found {
            let is_german = !entry.place().variant_text().is_empty();
            has(entry, if is_german { b"german" } else { b"new" }, None);
        }
        has_versions(&spool, &[(&large(), Some(since()))]);
        // Only the version has an update file.
        assert_eq!(overlays(&disk).len(), 1, "{durability:?}: {:?}", overlays(&disk));
        is_sound(&disk);
    }
}

#[test]
fn update_file_moves_to_variants_with_its_entry() {
    for durability in DURABILITIES {
        let disk = SimDisk::new();
        let spool = base(&disk, durability);
        let german = place(URL).with_variant("accept-language: de");
        store_at(&spool, &german, b"german").unwrap();
        spool.flush().unwrap();
        let found = spool.entries(&place(URL)).unwrap().found;
        assert_eq!(found.len(), 2);
        for entry in &found {
            let is_german = !entry.place().variant_text().is_empty();
            let (body, invalid) =
                if is_german { (b"german".to_vec(), None) } else { (large(), Some(since())) };
            has(entry, &body, invalid);
        }
        assert!(disk.content(&overlay()).is_none());
        assert_eq!(overlays(&disk).len(), 1, "{durability:?}");
        is_sound(&disk);
    }
}
