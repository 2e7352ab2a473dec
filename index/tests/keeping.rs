//! The index follows the files, whichever program changes them. If the index is unusable, it is
//! rebuilt.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::as_conversions, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]

mod support;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use support::{index, list, open, open_as, place, store, store_at, urls};
use wwwoffle_index::{FILE, Filter, Index, ReindexScope, SessionRequest, Sort, Viewer, WordState};
use wwwoffle_spool::{Durability, Options, Spool, Timestamp, Update};

const PATIENCE: Duration = Duration::from_secs(30);

fn names(index: &Index) -> Vec<String> {
    urls(index, &Filter::default(), Sort::Name)
}

/// All content of the index that does not depend on the order of indexing.
fn content(index: &Index) -> Vec<String> {
    let items = list(index, &Filter::default(), Sort::Name);
    let mut lines: Vec<_> = items
        .iter()
        .map(|item| {
            let words = matches!(item.words, WordState::NotYet);
            format!(
                "{:?} {:?} {} {} {:?} {} {} {words}",
                item.place,
                item.title,
                item.content.status,
                item.content.body_len,
                item.times.stored,
                item.content.file_len,
                item.versions
            )
        })
        .collect();
    lines.sort();
    lines
}

/// Waits until every entry is in its file and indexed.
fn settle(spool: &Spool, index: &Index) {
    spool.flush().unwrap();
    index.wait_until_current(true).unwrap();
}

fn two(root: &Path) -> (Spool, Index) {
    let spool = open(root);
    store(&spool, "http://a.example/1", "title One\nfirst words");
    store(&spool, "http://b.example/2", "title Two\nsecond words");
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    (spool, index)
}

#[test]
fn changes_by_the_program_are_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    assert_eq!(names(&index), ["http://a.example/1", "http://b.example/2"]);
    store(&spool, "http://a.example/1", "title New\nnew words");
    store(&spool, "http://c.example/3", "title Three");
    spool.remove(&place("http://b.example/2")).unwrap();
    settle(&spool, &index);
    assert_eq!(names(&index), ["http://a.example/1", "http://c.example/3"]);
    let first = list(&index, &Filter::default(), Sort::Name).swap_remove(0);
    assert_eq!(
        (first.title.as_deref(), first.versions, first.words),
        (Some("New"), 1, WordState::Indexed)
    );
    let kept = spool.entry(&first.place).unwrap().found().unwrap();
    assert_eq!(
        (first.times.stored, first.content.digest, first.content.file_len),
        (kept.stored(), *kept.digest(), kept.summary().file_len)
    );
}

#[test]
#[ignore = "slow"]
fn an_entry_comes_in_long_before_its_batch() {
    let directory = tempfile::tempdir().unwrap();
    let batch_interval = Duration::from_secs(3_600);
    let options = Options { batch_interval, ..Options::default() };
    let spool = Spool::open(directory.path(), &options).unwrap().0;
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    store(&spool, "http://a.example/1", "title One");
    let deadline = Instant::now() + PATIENCE;
    while names(&index).is_empty() {
        assert!(Instant::now() < deadline, "the index waits for the batch");
        std::thread::sleep(Duration::from_millis(5));
    }
    store(&spool, "http://a.example/2", "title Two");
    index.wait_until_current(false).unwrap();
    assert_eq!(names(&index).len(), 2);
}

/// Makes each commit with a new entry fail.
fn refuse_entries(database: &rusqlite::Connection) {
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON entries \
                  BEGIN SELECT RAISE(ABORT, 'refused'); END";
    database.execute_batch(refuse).unwrap();
}

#[test]
fn a_change_whose_commit_failed_comes_in_with_the_next_or_with_a_walk() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let database = rusqlite::Connection::open(directory.path().join(FILE)).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let store_without_index = |url: &str| {
        refuse_entries(&database);
        let before = names(&index);
        store(&spool, url, "title Three");
        spool.flush().unwrap();
        index.wait_until_current(false).unwrap();
        assert_eq!((names(&index), index.faults().is_empty()), (before, false));
        assert!(!index.is_level_within(Duration::ZERO), "a change is missing");
        database.execute_batch("DROP TRIGGER refuse").unwrap();
    };
    store_without_index("http://c.example/3");
    store(&spool, "http://d.example/4", "title Four");
    settle(&spool, &index);
    assert_eq!(names(&index)[2..], ["http://c.example/3", "http://d.example/4"]);
    assert!(index.is_level_within(PATIENCE));
    store_without_index("http://e.example/5");
    assert!(index.catch_up(PATIENCE));
    assert_eq!(names(&index).len(), 5);
}

#[test]
fn an_unreadable_directory_hides_no_other_change() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (spool, index) = two(root);
    // A link to itself can neither be read nor is it missing.
    let host = root.join("http/a.example");
    for link in [root.join("http/0.example"), host.join(free_name(&host))] {
        std::os::unix::fs::symlink(link.file_name().unwrap(), &link).unwrap();
    }
    let database = rusqlite::Connection::open(root.join(FILE)).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    refuse_entries(&database);
    for host in 0..10 {
        store(&spool, &format!("http://host{host}.example/"), "title Lost");
    }
    spool.flush().unwrap();
    index.wait_until_current(false).unwrap();
    assert_eq!(names(&index).len(), 2);
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    for host in 0..10 {
        store(&spool, &format!("http://later{host}.example/"), "title Later");
        settle(&spool, &index);
        assert_eq!(names(&index).len(), 13 + host, "the walk finds the lost changes");
    }
    assert!(index.is_level_within(PATIENCE), "the walk is not repeated");
    assert!(!index.catch_up(PATIENCE), "a part is missing");
}

/// A name for a directory of keys that a host does not have.
fn free_name(host: &Path) -> String {
    let names = (0..=u8::MAX).map(|first| format!("{first:02x}"));
    names.into_iter().find(|name| !host.join(name).exists()).unwrap()
}

#[test]
fn a_failed_write_of_uses_loses_no_change() {
    let directory = tempfile::tempdir().unwrap();
    let (_spool, index) = two(directory.path());
    let place = place("http://a.example/1");
    let uses = directory.path().join("used");
    fs::create_dir(&uses).unwrap();
    index.record_use(&place, Timestamp::now() + Duration::from_secs(100));
    assert!(!index.write_uses(PATIENCE));
    assert!(!index.faults().is_empty());
    assert!(index.is_level_within(PATIENCE), "every change is in the index");
    fs::remove_dir(&uses).unwrap();
    assert!(index.write_uses(PATIENCE));
}

#[test]
fn an_update_of_a_large_entry_comes_in() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let large = place("http://large.example/");
    store_at(&spool, &large, 200, "image/png", &"y".repeat(300_000), 1_700_000_000);
    spool.flush().unwrap();
    let entry = spool.entry(&large).unwrap().found().unwrap();
    let checked = entry.received() + Duration::from_secs(3_600);
    let head = entry.head().to_vec();
    let update = Update::Confirmed { head, asked: checked, responded: checked };
    spool.update(&entry, &update).unwrap().unwrap();
    settle(&spool, &index);
    assert_eq!(index.at(&large).unwrap().unwrap().times.checked, checked);
}

#[test]
fn updated_index_equals_rebuilt_index() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let varied = |text: &str| place("http://v.example/").with_variant(text);
    store_at(&spool, &varied(""), 200, "text/html", "plain", 1_700_000_000);
    store_at(&spool, &varied("accept: x"), 200, "text/html", "x", 1_700_000_000);
    store_at(&spool, &varied("accept: x"), 200, "text/html", "x again", 1_700_000_000);
    store_at(
        &spool,
        &place("http://a.example/1").owned_by("user:anna"),
        200,
        "text/html",
        "own",
        1,
    );
    store_at(&spool, &place("http://large.example/"), 200, "image/png", &"y".repeat(300_000), 1);
    store(&spool, "http://a.example/1", "title New\nnew words");
    spool.remove(&place("http://b.example/2")).unwrap();
    settle(&spool, &index);
    let followed = content(&index);
    index.reindex(ReindexScope::All).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(content(&index), followed);
    index.reindex(ReindexScope::Changed).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(content(&index), followed);
}

#[test]
fn a_rebuild_keeps_the_requests_of_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    let index = index(&spool);
    let began = Timestamp::from_second(1_700_000_000).unwrap();
    let asked = |url: &str| SessionRequest {
        url: url.to_owned(),
        owner: "user:anna".to_owned(),
        queued: began,
    };
    let asked = vec![asked("http://a.example/1"), asked("http://a.example/0")];
    index.record_session_requests(began, asked.clone());
    index.wait_until_current(false).unwrap();
    index.reindex(ReindexScope::All).unwrap();
    assert_eq!(index.session_requests(&Viewer::Operator, began).unwrap(), asked);
}

#[test]
#[ignore = "slow"]
fn changes_by_other_programs_are_indexed() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let root = directory.path();
    let varied = |text: &str| place("http://v.example/").with_variant(text);
    {
        let spool = open(other.path());
        store(&spool, "http://moved.example/", "title Moved");
        store(&spool, "https://moved.example/", "title Moved");
    }
    {
        let (spool, index) = two(root);
        for text in ["a", "b", "c"] {
            store_at(&spool, &varied(text), 200, "text/html", text, 1_700_000_000);
        }
        store(&spool, "http://a.example/4", "title Four");
        index.wait_until_current(true).unwrap();
        index.stop();
    }
    // Entries that were added or removed, an entry removed beside others under its key, and hosts
    // that were added and removed.
    fs::create_dir(root.join("https")).unwrap();
    fs::rename(other.path().join("http/moved.example"), root.join("http/moved.example")).unwrap();
    fs::rename(other.path().join("https/moved.example"), root.join("https/moved.example")).unwrap();
    fs::remove_dir_all(root.join("http/b.example")).unwrap();
    fs::remove_file(root.join(place("http://a.example/4").relative_path())).unwrap();
    fs::remove_file(root.join(varied("b").relative_path())).unwrap();
    let want = [
        "http://a.example/1",
        "http://moved.example/",
        "https://moved.example/",
        "http://v.example/",
        "http://v.example/",
    ];
    let spool = open(root);
    let index = index(&spool);
    index.wait_until_current(true).unwrap();
    assert_eq!(names(&index), want);
    // A change is also found on request while the index runs.
    fs::remove_file(root.join(place("http://moved.example/").relative_path())).unwrap();
    index.reindex(ReindexScope::Changed).unwrap();
    assert_eq!(names(&index).len(), 4);
    let followed = content(&index);
    index.reindex(ReindexScope::All).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(content(&index), followed);
}

/// A way to damage the file.
type Spoil = fn(&Path);

#[test]
#[ignore = "slow"]
fn an_unusable_index_is_rebuilt() {
    let spoils: [(&str, bool, Spoil); 8] = [
        ("missing", false, |path| fs::remove_file(path).unwrap()),
        ("empty", true, |path| fs::write(path, b"").unwrap()),
        ("no database", true, |path| fs::write(path, b"something else\n".repeat(500)).unwrap()),
        ("cut", false, |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 3]).unwrap();
        }),
        ("damaged", false, |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0xa5);
            fs::write(path, bytes).unwrap();
        }),
        ("another program's", true, |path| {
            fs::remove_file(path).unwrap();
            let other = rusqlite::Connection::open(path).unwrap();
            other
                .execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
                .unwrap();
        }),
        ("too new", false, |path| {
            let other = rusqlite::Connection::open(path).unwrap();
            other.pragma_update(None, "user_version", 9_999).unwrap();
        }),
        ("without a table", false, |path| {
            let other = rusqlite::Connection::open(path).unwrap();
            other.execute_batch("DROP TABLE entries").unwrap();
        }),
    ];
    for (what, is_set_aside, spoil) in spoils {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let (spool, index) = two(root);
        let before = content(&index);
        index.stop();
        drop((spool, index));
        spoil(&root.join(FILE));
        let spool = open(root);
        let index = support::index(&spool);
        index.wait_until_current(true).unwrap();
        assert_eq!(content(&index), before, "{what}");
        let aside = fs::read_dir(root.join("damaged")).unwrap().count();
        assert_eq!(aside, usize::from(is_set_aside), "{what}");
        let told = index.faults().len();
        assert_eq!(told > 0, what != "missing", "{what}");
        index.stop();
    }
}

#[test]
fn damage_found_later_is_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let before = content(&index);
    let other = rusqlite::Connection::open(directory.path().join(FILE)).unwrap();
    other.execute_batch("DROP TABLE counts").unwrap();
    drop(other);
    // The next change of the spool detects the damage.
    store(&spool, "http://c.example/3", "title Three");
    while index.faults().is_empty() {
        std::thread::yield_now();
    }
    index.wait_until_current(true).unwrap();
    let after = content(&index);
    assert_eq!(after.len(), before.len() + 1);
    assert!(before.iter().all(|line| after.contains(line)), "{after:?}");
}

#[test]
fn a_full_or_missing_disk_damages_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let before = content(&index);
    // The new index cannot be created because of this directory.
    let tmp = directory.path().join("tmp").join("index.sqlite");
    fs::create_dir(&tmp).unwrap();
    assert!(index.reindex(ReindexScope::All).is_err());
    assert_eq!(content(&index), before);
    fs::remove_dir(&tmp).unwrap();
    index.reindex(ReindexScope::All).unwrap();
    index.wait_until_current(true).unwrap();
    assert_eq!(content(&index), before);
    drop(spool);
}

#[test]
fn uses_are_written_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let place = place("http://a.example/1");
    let later = |seconds| Timestamp::now() + Duration::from_secs(seconds);
    let patience = Duration::from_secs(60);
    // Twice, because the second use comes directly after a write.
    for time in [later(100), later(200)] {
        index.record_use(&place, time);
        assert!(index.write_uses(patience));
        let told = spool.uses().unwrap().of(&place.key()).unwrap();
        assert_eq!(told.as_second(), time.as_second());
    }
    assert!(index.write_uses(patience), "nothing is new");
    index.stop();
    assert!(!index.write_uses(patience), "nobody is there who could");
}

#[test]
fn restored_entry_keeps_its_last_use() {
    let directory = tempfile::tempdir().unwrap();
    let (spool, index) = two(directory.path());
    let place = place("http://a.example/1");
    let removal = spool.removal("ada");
    assert!(spool.remove_for_now(&place, &removal).unwrap());
    settle(&spool, &index);
    assert_eq!(names(&index), ["http://b.example/2"]);
    let used = removal.at() + Duration::from_secs(100);
    // The use is reported before the index knows the entry, and a caller waits for it.
    spool.undo_removal(&removal, &mut |place| index.record_use(place, used)).unwrap().unwrap();
    index.record_use(&place, removal.at());
    assert!(index.write_uses(Duration::from_secs(60)));
    let told = spool.uses().unwrap().of(&place.key()).unwrap();
    assert_eq!(told.as_second(), used.as_second());
    index.wait_until_current(true).unwrap();
    let items = list(&index, &Filter::default(), Sort::Name);
    assert_eq!(items[0].times.used.as_microsecond(), used.as_microsecond());
}

#[test]
#[ignore = "slow"]
fn stop_ends_a_running_rebuild() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open_as(directory.path(), Durability::None);
    // More directories than the queue holds.
    for host in 0..400 {
        store(&spool, &format!("http://h{host}.example/"), "title Page");
    }
    spool.flush().unwrap();
    for _ in 0..5 {
        let index = Index::open(&spool, None).unwrap();
        let (tell, ended) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || {
            index.stop();
            tell.send(()).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(60)).expect("the index ends");
        let _made_or_not = fs::remove_file(directory.path().join(FILE));
    }
}

#[test]
fn a_failed_rebuild_does_not_block_callers() {
    let directory = tempfile::tempdir().unwrap();
    let spool = open(directory.path());
    store(&spool, "http://a.example/", "title Page");
    // The new index cannot be created under this name.
    fs::create_dir_all(directory.path().join("tmp/index.sqlite/x")).unwrap();
    let index = index(&spool);
    assert!(index.wait_until_current(false).is_err());
    store(&spool, "http://a.example/2", "title Page");
    assert!(index.wait_until_current(false).is_err());
    fs::remove_dir_all(directory.path().join("tmp/index.sqlite")).unwrap();
    index.reindex(ReindexScope::All).unwrap();
    assert_eq!(names(&index).len(), 2);
}
