//! Examining one key finds the same as a walk over all directories, and the current batch.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod support;

use support::{bytes, full, head, place, store, store_at};
use wwwoffle_spool::{
    Durability, LastListing, Options, Place, Spool, Update, Versions, WalkedEntry,
};

const URL: &str = "http://k.example/";
const BLOCK: u64 = 4_096;

/// The entries of the key of a place, by their variants.
fn found(spool: &Spool, place: &Place) -> Vec<WalkedEntry> {
    sorted(spool.walk_key(place, &mut LastListing::default()).unwrap())
}

fn sorted(mut entries: Vec<WalkedEntry>) -> Vec<WalkedEntry> {
    entries.sort_by(|one, other| {
        one.summary.place.variant_text().cmp(other.summary.place.variant_text())
    });
    entries
}

/// The length of the body, the number of versions and the disk usage of each entry of a key.
fn facts(spool: &Spool, place: &Place) -> Vec<(u64, usize, u64)> {
    let found = found(spool, place);
    found.iter().map(|it| (it.summary.body_len, it.versions, it.size)).collect()
}

#[test]
fn a_key_has_what_a_walk_and_a_lookup_find() {
    let root = full::spool();
    let (spool, _) = Spool::open(root.path(), &full::options()).unwrap();
    let mut all = Vec::new();
    for host in spool.walk().hosts().unwrap() {
        for directory in host.unwrap().keys().unwrap() {
            all.extend(directory.entries().unwrap());
        }
    }
    assert!(all.len() > 5, "{all:?}");
    let mut last = LastListing::default();
    for place in all.iter().map(|entry| &entry.summary.place) {
        let of_key = all.iter().filter(|entry| entry.summary.place.key() == place.key());
        let found = found(&spool, place);
        assert_eq!(found, sorted(of_key.cloned().collect()));
        assert_eq!(found, sorted(spool.walk_key(place, &mut last).unwrap()));
        let entries = spool.entries(place).unwrap().found;
        assert_eq!(entries.len(), found.len());
        for entry in entries {
            assert!(found.iter().any(|it| it.summary == entry.summary()), "{entry:?}");
        }
    }
    assert!(found(&spool, &place("http://a.example/never")).is_empty());
}

#[test]
fn the_batch_counts_with_the_versions_in_the_tree() {
    let (root, at) = (tempfile::tempdir().unwrap(), place(URL));
    let options = support::options(Durability::Batch);
    let options = Options { versions: Versions::from_rule(|_| 3), ..options };
    let (spool, _) = Spool::open(root.path(), &options).unwrap();
    store(&spool, URL, b"1").unwrap();
    assert_eq!(facts(&spool, &at), [(1, 0, BLOCK)]);
    spool.flush().unwrap();
    store(&spool, URL, b"22").unwrap();
    spool.flush().unwrap();
    store(&spool, URL, b"333").unwrap();
    assert_eq!(facts(&spool, &at), [(3, 1, 2 * BLOCK)]);
    spool.flush().unwrap();
    assert_eq!(facts(&spool, &at), [(3, 2, 3 * BLOCK)]);
    // The first variant of a key that has an entry without variant.
    store_at(&spool, &at.clone().with_variant("accept: x"), b"4444").unwrap();
    let want = [(3, 2, 3 * BLOCK), (4, 0, BLOCK)];
    assert_eq!(facts(&spool, &at), want);
    spool.flush().unwrap();
    assert_eq!(facts(&spool, &at), want);
    store(&spool, URL, b"55555").unwrap();
    assert_eq!(facts(&spool, &at), [(5, 2, 3 * BLOCK), (4, 0, BLOCK)]);
    spool.flush().unwrap();
    assert_eq!(facts(&spool, &at), [(5, 3, 4 * BLOCK), (4, 0, BLOCK)]);
    assert!(spool.remove(&at).unwrap());
    assert!(found(&spool, &at).is_empty());
}

#[test]
fn an_old_listing_hides_no_entry() {
    let root = tempfile::tempdir().unwrap();
    let spool = support::open(root.path(), Durability::Batch);
    let (at, mut last) = (place(URL), LastListing::default());
    assert!(spool.walk_key(&at, &mut last).unwrap().is_empty());
    store(&spool, URL, b"one").unwrap();
    assert_eq!(spool.walk_key(&at, &mut last).unwrap().len(), 1);
    spool.flush().unwrap();
    assert_eq!(spool.walk_key(&at, &mut last).unwrap().len(), 1);
    // The file is moved into a directory that is not in the listing.
    let mut last = LastListing::default();
    assert_eq!(spool.walk_key(&at, &mut last).unwrap().len(), 1);
    store_at(&spool, &at.clone().with_variant("accept: x"), b"x").unwrap();
    spool.flush().unwrap();
    assert_eq!(spool.walk_key(&at, &mut last).unwrap().len(), 2);
}

#[test]
fn an_update_file_is_read_and_a_body_is_not() {
    let (root, at) = (tempfile::tempdir().unwrap(), place(URL));
    let spool = support::open(root.path(), Durability::Batch);
    store(&spool, URL, &bytes(200_000)).unwrap();
    spool.flush().unwrap();
    let entry = spool.entry(&at).unwrap().found().unwrap();
    let checked = entry.received() + jiff::SignedDuration::from_hours(5);
    let update = Update::Confirmed { head: head(200), asked: checked, responded: checked };
    spool.update(&entry, &update).unwrap().unwrap();
    let updated = found(&spool, &at);
    assert_eq!((updated.len(), updated[0].summary.checked), (1, checked));
    assert!(updated[0].size > entry.file_len().next_multiple_of(BLOCK));

    store(&spool, URL, b"not read").unwrap();
    spool.flush().unwrap();
    let path = root.path().join(at.relative_path());
    let mut file = std::fs::read(&path).unwrap();
    let body = file.windows(8).position(|window| window == b"not read").unwrap();
    file[body] = b'N';
    std::fs::write(&path, file).unwrap();
    assert_eq!(facts(&spool, &at), [(8, 0, BLOCK)]);
    assert!(spool.entry(&at).unwrap().found().is_none(), "a lookup reads it");
    assert!(found(&spool, &at).is_empty());
}
