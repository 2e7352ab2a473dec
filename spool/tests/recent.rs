//! The check of recent entries after an unclean stop, and the limits of segments and damaged files.

#![allow(clippy::disallowed_methods, reason = "tests look at and spoil the files themselves")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::full::{self, copy_of};
use support::sim::{Fault, SimDisk};
use support::{place, store};
use wwwoffle_spool::{
    Durability, Lookup, MAX_DAMAGED_AGE, MAX_PARTIAL_AGE, Options, ProgramState, Spool, Update,
};

const DURABILITIES: [Durability; 3] = [Durability::Each, Durability::Batch, Durability::None];

fn url(number: usize) -> String {
    format!("http://a.example/{number}")
}

#[test]
fn recent_entries_are_checked_after_a_crash() {
    for durability in DURABILITIES {
        let root = tempfile::tempdir().unwrap();
        let spool = support::open(root.path(), durability);
        for number in 0..4 {
            store(&spool, &url(number), &support::bytes(200_000)).unwrap();
        }
        let varies = place(&url(4)).with_variant("accept-language: de");
        support::store_at(&spool, &varies, b"body").unwrap();
        spool.flush().unwrap();
        // The spool as if the power had failed at this moment.
        let after = copy_of(root.path());
        let path = |number: usize| after.path().join(place(&url(number)).relative_path());
        let mut bytes = fs::read(path(1)).unwrap();
        bytes[100_000] ^= 1;
        fs::write(path(1), bytes).unwrap();
        fs::write(path(2), b"").unwrap();
        fs::remove_file(path(3)).unwrap();
        let (opened, recovery) = Spool::open(after.path(), &support::options(durability)).unwrap();
        assert!(recovery.was_not_closed);
        let stopped = opened.check_recent(&|| false);
        assert_eq!(stopped.files, 0);
        let checked = opened.check_recent(&|| true);
        assert_eq!((checked.files, checked.damaged.len()), (4, 2), "{checked:?}");
        assert!(matches!(opened.entry(&place(&url(0))).unwrap(), Lookup::Found(_)));
        assert!(matches!(opened.entry(&varies).unwrap(), Lookup::Found(_)));
        for number in [1, 2, 3] {
            assert!(matches!(opened.entry(&place(&url(number))).unwrap(), Lookup::Missing));
        }
        assert_eq!(opened.check_recent(&|| true).files, 0, "once is enough");
        drop(opened);
        let (_, recovery) = Spool::open(after.path(), &support::options(durability)).unwrap();
        assert!(!recovery.was_not_closed, "it was closed");
    }
}

#[test]
fn an_unfinished_check_is_repeated() {
    let root = tempfile::tempdir().unwrap();
    let spool = support::open(root.path(), Durability::Each);
    store(&spool, &url(0), b"body").unwrap();
    let after = copy_of(root.path());
    for round in 0..3 {
        let (opened, recovery) =
            Spool::open(after.path(), &support::options(Durability::Each)).unwrap();
        assert!(recovery.was_not_closed, "{round}");
        store(&opened, &url(round + 1), b"body").unwrap();
    }
    let opened = support::open(after.path(), Durability::Each);
    assert_eq!(opened.check_recent(&|| true).files, 4);
}

#[test]
fn old_entries_are_not_checked_after_a_crash() {
    let root = tempfile::tempdir().unwrap();
    let spool = support::open(root.path(), Durability::Each);
    for number in 0..3 {
        store(&spool, &url(number), b"body").unwrap();
    }
    let after = copy_of(root.path());
    // The first entry was renamed an hour earlier.
    let list = after.path().join("recent");
    let lines = fs::read_to_string(&list).unwrap();
    let (at, rest) = lines.split_once(' ').unwrap();
    let earlier = at.parse::<i64>().unwrap() - 3_600_000_000;
    fs::write(&list, format!("{earlier} {rest}")).unwrap();
    fs::write(after.path().join(place(&url(0)).relative_path()), b"").unwrap();
    let opened = support::open(after.path(), Durability::Each);
    let checked = opened.check_recent(&|| true);
    assert_eq!((checked.files, checked.damaged.len()), (2, 0));
    assert_eq!(opened.check_recent(&|| true).files, 0);
}

#[test]
fn confirmed_old_entry_does_not_end_the_check() {
    let root = tempfile::tempdir().unwrap();
    let old = place(&url(1));
    {
        let spool = support::open(root.path(), Durability::Each);
        support::store_at(&spool, &old, b"small").unwrap();
    }
    // The entry was stored a day ago.
    let path = root.path().join(old.relative_path());
    let yesterday = wwwoffle_spool::Timestamp::now() - jiff::SignedDuration::from_hours(24);
    fs::write(&path, support::with_stored(&fs::read(&path).unwrap(), yesterday)).unwrap();
    let spool = support::open(root.path(), Durability::Each);
    store(&spool, &url(0), &support::bytes(200_000)).unwrap();
    let entry = spool.entry(&old).unwrap().found().unwrap();
    let now = wwwoffle_spool::Timestamp::now();
    let confirmed = Update::Confirmed { asked: now, responded: now, head: entry.head().to_vec() };
    assert!(spool.update(&entry, &confirmed).unwrap().is_some());
    store(&spool, &url(2), b"new").unwrap();
    let after = copy_of(root.path());
    let path = after.path().join(place(&url(0)).relative_path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[100_000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let opened = support::open(after.path(), Durability::Each);
    let checked = opened.check_recent(&|| true);
    assert_eq!((checked.files, checked.damaged.len()), (3, 1), "{checked:?}");
}

#[test]
fn the_last_lines_of_an_overlong_list_are_read() {
    let root = tempfile::tempdir().unwrap();
    let spool = support::open(root.path(), Durability::Each);
    store(&spool, &url(0), b"body").unwrap();
    let after = copy_of(root.path());
    let list = after.path().join("recent");
    let line = fs::read_to_string(&list).unwrap();
    let gone = "http/gone.example/9f/9f86.warc\n".repeat(5 << 15);
    assert!(gone.len() > 4 << 20);
    fs::write(&list, format!("{gone}{line}")).unwrap();
    let opened = support::open(after.path(), Durability::Each);
    assert_eq!(opened.check_recent(&|| true).files, 1);
}

#[test]
fn check_continues_after_an_unreadable_entry() {
    let disk = SimDisk::new();
    let options = support::options(Durability::Each);
    let spool = Spool::open_with(Arc::new(disk.clone()), sim_root(), &options).unwrap().0;
    for number in 0..3 {
        store(&spool, &url(number), b"body").unwrap();
    }
    let disk = disk.restarted();
    let spool = Spool::open_with(Arc::new(disk.clone()), sim_root(), &options).unwrap().0;
    disk.set_fault(Fault::Fail(0, ErrorKind::Other));
    let checked = spool.check_recent(&|| true);
    assert_eq!((checked.files, checked.failed, checked.failures.len()), (2, 1, 1), "{checked:?}");
    assert_eq!(spool.check_recent(&|| true).failed, 0);
    drop(spool);
    let recovery = Spool::open_with(Arc::new(disk.clone()), sim_root(), &options).unwrap().1;
    assert!(!recovery.was_not_closed, "it was looked at to its end");
}

#[test]
#[ignore = "slow"]
fn the_list_does_not_grow_without_limit() {
    let root = tempfile::tempdir().unwrap();
    let spool = support::open(root.path(), Durability::None);
    let host = "h".repeat(230);
    let mut longest = 0;
    for number in 0..16_000 {
        store(&spool, &format!("http://{host}/{}", number % 20), b"").unwrap();
        if number % 500 == 0 {
            longest = longest.max(fs::metadata(root.path().join("recent")).unwrap().len());
        }
    }
    assert!((3 << 20..5 << 20).contains(&longest), "{longest}");
    let last = fs::read_to_string(root.path().join("recent")).unwrap();
    let want = place(&format!("http://{host}/{}", 15_999 % 20)).relative_path();
    let (_, path) = last.lines().last().unwrap().split_once(' ').unwrap();
    assert_eq!(path, want.to_str().unwrap());
}

fn sim_root() -> &'static Path {
    Path::new("/home/spool")
}

#[test]
fn a_failure_to_write_the_list_blocks_nothing() {
    let options = support::options(Durability::Batch);
    for call in 0..60 {
        let disk = SimDisk::new();
        drop(Spool::open_with(Arc::new(disk.clone()), sim_root(), &options).unwrap());
        disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
        if let Ok((spool, _)) = Spool::open_with(Arc::new(disk.clone()), sim_root(), &options) {
            disk.set_fault(Fault::Never);
            store(&spool, &url(0), b"body").unwrap();
            spool.flush().unwrap();
            assert!(spool.entry(&place(&url(0))).unwrap().found().is_some(), "{call}");
        }
    }
}

#[test]
fn the_list_is_deleted_to_make_space_on_a_full_disk() {
    let mut state = ProgramState::default();
    state.set_mode("offline").unwrap();
    for call in 0.. {
        let disk = SimDisk::new();
        let opened = Spool::open_with(
            Arc::new(disk.clone()),
            sim_root(),
            &support::options(Durability::Each),
        );
        let spool = opened.unwrap().0;
        store(&spool, &url(0), b"body").unwrap();
        disk.set_fault(Fault::Fail(call, ErrorKind::StorageFull));
        spool.set_state(&state).unwrap_or_else(|error| panic!("{call}: {error:?}"));
        if disk.calls() <= call {
            break;
        }
        assert_eq!(disk.content(&sim_root().join("recent")), None, "{call}");
        assert_eq!(spool.state().unwrap().0, state, "{call}");
        // The next time, the list of recent entries is already deleted.
        disk.set_fault(Fault::Fail(0, ErrorKind::StorageFull));
        assert!(spool.set_state(&state).unwrap_err().is_full());
    }
}

#[test]
fn old_segments_and_damaged_files_are_removed() {
    let root = full::spool();
    let put = |name: &str| fs::write(root.path().join("damaged").join(name), b"1234567").unwrap();
    let now = wwwoffle_spool::Timestamp::now();
    let time = |age: jiff::SignedDuration| (now - age).as_microsecond();
    let day = jiff::SignedDuration::from_hours(24);
    let (old, young) = (time(MAX_DAMAGED_AGE + day), time(MAX_DAMAGED_AGE - day));
    for name in [format!("{old}-a.warc"), format!("{young}-b.warc"), "mine".to_owned()] {
        put(&name);
        put(&format!("{name}.reason"));
    }
    let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
    let trimmed = spool.trim().unwrap();
    assert_eq!((trimmed.partial, trimmed.damaged, trimmed.bytes), (0, 1, 7));
    let mut left: Vec<_> = support::files(&root.path().join("damaged"))
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    left.sort();
    let want = [format!("{young}-b.warc"), format!("{young}-b.warc.reason")];
    assert_eq!(left, [&want[..], &["mine".to_owned(), "mine.reason".to_owned()]].concat());
    assert!(spool.partial(&place(full::PART)).unwrap().is_some());
    // The same segments are now a day older than the limit.
    for path in support::files(&root.path().join("partial")) {
        let earlier = now - MAX_PARTIAL_AGE - day;
        fs::write(&path, support::with_stored(&fs::read(&path).unwrap(), earlier)).unwrap();
    }
    assert_eq!(spool.trim().unwrap().partial, 1);
    assert!(spool.partial(&place(full::PART)).unwrap().is_none());
    assert_eq!(spool.trim().unwrap(), wwwoffle_spool::TrimReport::default());
}
