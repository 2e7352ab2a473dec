//! Checks of the index against the files: while another program writes, and with a damaged index.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use support::{index, open, place, store, store_at};
use wwwoffle_index::{CheckReport, FILE, ReindexScope, check};
use wwwoffle_spool::{Reader, Spool};

/// The next walk examines the changes within this time before the last walk again: two seconds, and
/// a margin for rounding.
const SLACK: Duration = Duration::from_millis(2_001);

/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(30);

fn checked(root: &Path) -> Option<CheckReport> {
    check(&Reader::open(root).unwrap()).unwrap()
}

fn counts(found: &CheckReport) -> [u64; 5] {
    [found.agreeing, found.without_file, found.without_entry, found.other, found.behind]
}

fn fill(spool: &Spool) {
    for number in 0..8 {
        store(spool, &format!("http://h{}.example/{number}", number % 3), "title A");
    }
    for language in ["de", "fr"] {
        let place =
            place("http://v.example/").with_variant(&format!("accept-language: {language}"));
        store_at(spool, &place, 200, "text/html", language, 1);
    }
    store_at(spool, &place("http://o.example/").owned_by("user:anna"), 200, "text/html", "x", 1);
    spool.flush().unwrap();
}

/// Changes the index file directly with SQL.
fn spoil(root: &Path, sql: &str) {
    Connection::open(root.join(FILE)).unwrap().execute_batch(sql).unwrap();
}

/// Waits until a walk that ends now would not make the next walk re-examine the last change.
/// Returns the present time in microseconds since 1970. Change times cannot be set, so real time
/// has to pass.
fn walked_long_after(root: &Path) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = SystemTime::now();
        let since = now.duration_since(changed(root)).unwrap_or_default();
        if since > SLACK {
            let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            return now.as_micros().try_into().unwrap();
        }
        assert!(Instant::now() < deadline, "it is {since:?} old, and grows no older");
        std::thread::sleep(SLACK.saturating_sub(since));
    }
}

/// The time of the latest change of a name in a directory or its subdirectories.
fn changed(directory: &Path) -> SystemTime {
    let about = directory.metadata().unwrap();
    let nanos = u32::try_from(about.ctime_nsec()).unwrap();
    let own = Duration::new(u64::try_from(about.ctime()).unwrap(), nanos);
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let below = entries.filter(|path| path.is_dir()).map(|path| changed(&path));
    below.fold(SystemTime::UNIX_EPOCH + own, SystemTime::max)
}

#[test]
#[ignore = "slow"]
fn differences_are_found_and_repaired() {
    // The path has characters that have a meaning in URLs.
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a b?c#%d");
    let spool = open(&root);
    fill(&spool);
    assert_eq!(checked(&root), None, "there is none, and that is no fault");
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    let sound = CheckReport { agreeing: 11, ..CheckReport::default() };
    assert_eq!(checked(&root), Some(sound.clone()), "beside its program");
    index.stop();
    assert_eq!(checked(&root), Some(sound.clone()));
    assert!(
        !root.join(format!("{FILE}-wal")).exists() && !root.join(format!("{FILE}-shm")).exists()
    );
    let gone = place("http://h2.example/5");
    std::fs::remove_file(root.join(gone.relative_path())).unwrap();
    // The index is marked as if a walk had just ended, so that a walk would not find the changes.
    let walked = walked_long_after(&root);
    spoil(
        &root,
        &format!(
            "UPDATE meta SET value = {walked} WHERE name = 'walked'; \
             DELETE FROM entries WHERE path = '/3'; \
             UPDATE entries SET stored = stored - 1 WHERE path = '/4'"
        ),
    );
    let wrong = checked(&root).unwrap();
    assert_eq!((counts(&wrong), wrong.is_sound()), ([8, 1, 1, 1, 0], false));
    assert_eq!(wrong.different.len(), 3);
    let index = support::index(&spool);
    index.wait_until_current(false).unwrap();
    index.reindex_places(&wrong.different).unwrap();
    assert_eq!(checked(&root), Some(CheckReport { agreeing: 10, ..CheckReport::default() }));
    index.stop();
}

#[test]
#[ignore = "slow"]
fn changes_found_by_the_next_start_are_not_faults() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let spool = open(root);
    fill(&spool);
    let index = index(&spool);
    index.wait_until_current(false).unwrap();
    index.stop();
    store(&spool, "http://h0.example/0", "title new");
    store(&spool, "http://new.example/", "title new");
    spool.remove(&place("http://h1.example/1")).unwrap();
    spool.flush().unwrap();
    let found = checked(root).unwrap();
    assert_eq!((counts(&found), found.is_sound()), ([9, 0, 0, 0, 3], true));
    let index = support::index(&spool);
    index.reindex(ReindexScope::Changed).unwrap();
    assert_eq!(counts(&checked(root).unwrap()), [11, 0, 0, 0, 0]);
    index.stop();
}

#[test]
#[ignore = "slow"]
fn a_clock_set_back_hides_no_changes() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let spool = open(root);
    fill(&spool);
    let index = index(&spool);
    index.wait_until_current(false).unwrap();
    index.stop();
    spool.remove(&place("http://h1.example/1")).unwrap();
    spoil(root, "UPDATE meta SET value = value + 1000000000000 WHERE name = 'walked'");
    assert_eq!(counts(&checked(root).unwrap()), [10, 0, 0, 0, 1]);
    let index = support::index(&spool);
    index.wait_until_current(false).unwrap();
    assert_eq!(counts(&checked(root).unwrap()), [10, 0, 0, 0, 0]);
    index.stop();
}

#[test]
fn a_damaged_index_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    fill(&spool);
    for bytes in [b"no database at all".to_vec(), vec![0; 8192], Vec::new()] {
        std::fs::write(directory.path().join(FILE), &bytes).unwrap();
        let error = check(&Reader::open(directory.path()).unwrap()).unwrap_err();
        assert!(error.is_damaged(), "{error:?}");
    }
}
