//! A lookup trace is valid exactly while another lookup returns the same, no matter which process
//! changes the files. Changes by the program are reported before the call returns.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::as_conversions, reason = "a test")]

mod support;

use std::path::Path;
use std::sync::{Arc, Mutex};

use support::{bytes, entry, files, head, open, place, store, store_at};
use wwwoffle_spool::{
    ChangeListener, Durability, Entries, Key, LookupTrace, Place, Spool, Timestamp, Update,
};

const URL: &str = "http://h.example/";
const LARGE: usize = 200 << 10;

/// Repeats a lookup until its files have been unchanged for long enough.
fn seen(spool: &Spool, place: &Place) -> (Entries, LookupTrace) {
    loop {
        let (entries, seen) = spool.entries_seen(place).unwrap();
        if let Some(seen) = seen {
            return (entries, seen);
        }
        std::thread::yield_now();
    }
}

fn only(root: &Path) -> std::path::PathBuf {
    let mut files = files(&root.join("http"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.pop().unwrap()
}

#[test]
fn changes_by_other_programs_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (spool, at) = (open(root, Durability::None), place(URL));

    let (entries, nothing) = seen(&spool, &at);
    assert!(entries.found.is_empty() && nothing.is_nothing() && spool.is_current(&nothing));
    store(&spool, URL, b"one").unwrap();
    assert!(!spool.is_current(&nothing));

    let (entries, one) = seen(&spool, &at);
    assert_eq!(entries.found.len(), 1);
    assert!(spool.is_current(&one));
    let path = only(root);
    // The file is replaced by another file with the same bytes.
    let bytes_of_it = std::fs::read(&path).unwrap();
    std::fs::write(root.join("copy"), &bytes_of_it).unwrap();
    std::fs::rename(root.join("copy"), &path).unwrap();
    assert!(!spool.is_current(&one));

    let (_, again) = seen(&spool, &at);
    // The file is overwritten in place.
    std::fs::write(&path, &bytes_of_it).unwrap();
    assert!(!spool.is_current(&again));

    let (_, again) = seen(&spool, &at);
    std::fs::remove_file(&path).unwrap();
    assert!(!spool.is_current(&again));
}

#[test]
fn changed_update_file_invalidates_a_lookup() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (spool, at) = (open(root, Durability::None), place(URL));
    store(&spool, URL, &bytes(LARGE)).unwrap();
    let (entries, large) = seen(&spool, &at);
    // The update of a large entry is in a separate file.
    let update = Update::Invalid { since: Timestamp::UNIX_EPOCH };
    spool.update(&entries.found[0], &update).unwrap().unwrap();
    assert!(!spool.is_current(&large));
    let (entries, _) = seen(&spool, &at);
    assert!(entries.found[0].invalid_since().is_some());

    let german = at.clone().with_variant("accept-language: de");
    store_at(&spool, &german, b"de").unwrap();
    let (entries, two) = seen(&spool, &at);
    assert_eq!(entries.found.len(), 2);
    let english = at.clone().with_variant("accept-language: en");
    store_at(&spool, &english, b"en").unwrap();
    assert!(!spool.is_current(&two));
    let (_, three) = seen(&spool, &at);
    assert!(spool.remove_variant(&german).unwrap());
    assert!(!spool.is_current(&three));
}

#[derive(Debug, Default)]
struct ChangedKeys(Mutex<Vec<Key>>);

impl ChangeListener for ChangedKeys {
    fn changed(&self, place: &Place) {
        self.0.lock().unwrap().push(place.key());
    }
}

#[test]
fn changes_by_the_program_are_reported() {
    for durability in [Durability::None, Durability::Batch, Durability::Each] {
        for length in [10, LARGE] {
            let directory = tempfile::tempdir().unwrap();
            let (spool, at) = (open(directory.path(), durability), place(URL));
            let changed_keys = Arc::new(ChangedKeys::default());
            assert!(spool.watch(Arc::clone(&changed_keys) as Arc<dyn ChangeListener>));
            let other = Arc::new(ChangedKeys::default());
            assert!(spool.watch(Arc::clone(&other) as Arc<dyn ChangeListener>));
            let expect = |what: &str| {
                let keys = std::mem::take(&mut *changed_keys.0.lock().unwrap());
                assert!(keys.contains(&at.key()), "{what} {durability:?} {length}");
                assert!(keys.iter().all(|key| *key == at.key()), "{what}");
                assert_eq!(std::mem::take(&mut *other.0.lock().unwrap()), keys, "{what}");
            };
            let found = || spool.entries(&at).unwrap().found.swap_remove(0);

            let mut writer = spool.begin(&at, entry(&head(200))).unwrap();
            writer.write(&bytes(length)).unwrap();
            assert!(changed_keys.0.lock().unwrap().is_empty());
            writer.finish(None).unwrap();
            expect("finish");
            let update = Update::Invalid { since: Timestamp::UNIX_EPOCH };
            spool.update(&found(), &update).unwrap().unwrap();
            expect("update");
            spool.remove_variant(&at).unwrap();
            expect("remove_variant");
            store_at(&spool, &at, &bytes(length)).unwrap();
            spool.flush().unwrap();
            expect("finish again");
            if length == LARGE {
                spool.set_aside(&found()).unwrap().unwrap();
                expect("set_aside");
                store_at(&spool, &at, &bytes(length)).unwrap();
            }
            spool.remove(&at).unwrap();
            expect("remove");
        }
    }
}

#[test]
fn a_new_segment_is_seen_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, at) = (open(directory.path(), Durability::Batch), place(URL));
    let (_, nothing) = seen(&spool, &at);
    let changed_keys = Arc::new(ChangedKeys::default());
    assert!(spool.watch(Arc::clone(&changed_keys) as Arc<dyn ChangeListener>));
    let mut writer = spool.begin_resumable(&at, entry(&head(200)), b"\"v\"", None).unwrap();
    writer.write(b"part").unwrap();
    assert!(nothing.is_nothing() && spool.is_current(&nothing));
    assert!(writer.finish_short().unwrap());
    assert_eq!(*changed_keys.0.lock().unwrap(), [at.key()]);
    assert!(!spool.is_current(&nothing));
    let (entries, part) = seen(&spool, &at);
    assert!(entries.found.is_empty() && !part.is_nothing());
}

#[test]
fn moving_a_damaged_entry_aside_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, at) = (open(directory.path(), Durability::None), place(URL));
    store(&spool, URL, b"one").unwrap();
    let changed_keys = Arc::new(ChangedKeys::default());
    assert!(spool.watch(Arc::clone(&changed_keys) as Arc<dyn ChangeListener>));
    let path = only(directory.path());
    std::fs::write(&path, b"no entry").unwrap();
    let (entries, seen) = spool.entries_seen(&at).unwrap();
    assert_eq!((entries.set_aside.len(), seen), (1, None));
    assert_eq!(*changed_keys.0.lock().unwrap(), [at.key()]);
}
