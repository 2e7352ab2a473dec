//! `wwwoffle fsck` on a real spool, with a daemon and without one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::harness::daemon::Ran;
use crate::harness::{Daemon, Origin, eventually};

/// The path of the file of a URL.
fn file(daemon: &Daemon, url: &str) -> PathBuf {
    let told = daemon.ok(&["hash", url]);
    daemon.spool().join(told.trim().split_once(' ').unwrap().1)
}

/// The verdict and reason for each file, and the totals.
#[track_caller]
fn told(ran: &Ran) -> (Vec<(String, String)>, Value) {
    let mut lines = ran.lines();
    let sums = lines.pop().unwrap();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    (lines.iter().map(|line| (text(line, "verdict"), text(line, "reason"))).collect(), sums)
}

#[test]
#[ignore = "slow"]
fn a_spool_is_checked_during_operation_and_repaired_offline() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let urls = ["/page/1.html", "/page/2.html", "/image/30.png", "/big/300000"]
        .map(|path| origin.url(path));
    for url in &urls {
        let _answer = daemon.get(url);
    }
    let sound = daemon.run(&["fsck", "--deep"]);
    assert_eq!((sound.status, sound.err.as_str()), (0, ""), "{sound:?}");
    assert!(sound.out.starts_with("sound "), "{sound:?}");

    // If the index reads a damaged page, it moves the page to `damaged/`. So the test waits until
    // the index has read all pages.
    eventually("all pages are read", || {
        let index = rusqlite::Connection::open(daemon.spool().join("index.sqlite")).unwrap();
        let read =
            index.query_row("SELECT count(*) FROM entries WHERE text != 0", [], |row| row.get(0));
        read == Ok(4)
    });
    // A file with a wrong name, a damaged file, and a file that all users may read.
    let [misnamed, damaged, open, _] = urls.each_ref().map(|url| file(&daemon, url));
    fs::rename(&misnamed, misnamed.with_file_name("other.warc")).unwrap();
    let mut bytes = fs::read(&damaged).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let checked = daemon.run(&["fsck", "--json"]);
    assert_eq!(checked.status, 12, "{checked:?}");
    let (mut found, sums) = told(&checked);
    found.sort();
    let verdicts: Vec<_> = found.iter().map(|(verdict, _)| verdict.as_str()).collect();
    assert_eq!(verdicts, ["beyond repair", "can be repaired", "can be repaired"], "{found:?}");
    assert!(found[1].1.contains("not that of its URL"), "{found:?}");
    assert!(found[2].1.contains("permissions are 644"), "{found:?}");
    assert_eq!((&sums["can_be_repaired"], &sums["beyond_repair"]), (&2.into(), &1.into()));
    assert!(damaged.exists() && !misnamed.exists(), "it has changed a file");

    let refused = daemon.run(&["fsck", "--repair"]);
    assert_eq!((refused.status, refused.out.as_str()), (75, ""), "{refused:?}");
    assert!(refused.err.contains("in use by process"), "{refused:?}");
    daemon.down();
    let repaired = daemon.run(&["fsck", "--repair"]);
    assert_eq!(repaired.status, 11, "{repaired:?}");
    assert!(
        repaired.out.contains("set aside") && repaired.out.contains("damaged/"),
        "{repaired:?}"
    );
    assert!(misnamed.exists() && !damaged.exists());
    assert_eq!(fs::metadata(&open).unwrap().permissions().mode() & 0o777, 0o600);
    let again = daemon.run(&["fsck", "--deep", "--repair"]);
    assert_eq!(again.status, 0, "{again:?}");
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&urls[0]).status, 200);
    assert_eq!(daemon.get(&urls[1]).status, 504, "the damaged file is still there");
}

#[test]
#[ignore = "slow"]
fn the_spool_is_sound_after_kill_9() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    for number in 0..20 {
        let _answer = daemon.get(&origin.url(&format!("/page/{number}.html")));
    }
    daemon.kill9();
    let checked = daemon.run(&["fsck", "--deep", "--json"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let before = told(&checked).1;
    let repaired = daemon.run(&["fsck", "--repair", "--deep", "--json"]);
    assert_eq!(repaired.status, 0, "a clean stop counts as damage: {repaired:?}");
    let after = told(&repaired).1;
    assert_eq!(after["unfinished"], 0, "{after}");
    let number = |sums: &Value, name: &str| sums[name].as_u64().unwrap();
    assert!(number(&after, "admitted") <= number(&before, "unfinished"), "{before} {after}");
    daemon.up();
    daemon.ok(&["offline"]);
    for number in 0..20 {
        let url = origin.url(&format!("/page/{number}.html"));
        assert_eq!(daemon.get(&url).status, 200, "{url}");
    }
}

#[test]
#[ignore = "slow"]
fn the_newest_entries_are_checked_after_a_crash() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let urls = ["/page/1.html", "/big/300000"].map(|path| origin.url(path));
    for url in &urls {
        let _answer = daemon.get(url);
    }
    daemon.ok(&["offline"]);
    let large = file(&daemon, &urls[1]);
    eventually("it has its final name", || {
        daemon.ok(&["fsck", "--json"]).contains("\"unfinished\":0")
    });
    let list = daemon.spool().join("recent");
    assert!(list.exists());
    daemon.kill9();
    // The file looks as if the disk had not written all of it.
    let mut bytes = fs::read(&large).unwrap();
    let len = bytes.len();
    bytes[len / 2..len / 2 + 4_096].fill(0);
    fs::write(&large, bytes).unwrap();
    daemon.up();
    daemon.tells("checked the recently stored pages");
    assert!(!large.exists(), "it was not requested");
    assert!(daemon.log().contains("moved to damaged"), "{}", daemon.log());
    assert_eq!(daemon.get(&urls[0]).status, 200);
    daemon.down();
    assert!(!list.exists(), "it stopped cleanly");
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}

#[test]
fn a_directory_that_is_not_a_spool_is_refused() {
    let place = Daemon::prepare(None);
    for line in [&["fsck"][..], &["fsck", "--repair"]] {
        let ran = place.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (73, ""), "{ran:?}");
        assert!(ran.err.contains("no spool"), "{ran:?}");
        assert!(!place.spool().exists());
    }
    fs::create_dir(place.spool()).unwrap();
    fs::write(place.spool().join("mine"), "x").unwrap();
    for line in [&["fsck"][..], &["fsck", "--repair"]] {
        let ran = place.run(line);
        assert_eq!(ran.status, 73, "{ran:?}");
        assert_eq!(fs::read_dir(place.spool()).unwrap().count(), 1, "{ran:?}");
    }
}

/// Changes the index while no program has it open.
fn spoil_index(daemon: &Daemon, sql: &str) {
    let path = daemon.spool().join("index.sqlite");
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Waits until the latest change is so old that a walk would not check it again. Returns the time
/// at the end of the wait, in microseconds since 1970. The change time of a directory cannot be
/// set, so real time has to pass.
fn walked_long_after(root: &Path) -> u128 {
    // The age below which a walk checks a change again, and a margin for rounding.
    const SLACK: Duration = Duration::from_millis(2_001);
    let mut now = SystemTime::now();
    eventually("the latest change is old enough", || {
        now = SystemTime::now();
        now.duration_since(changed(root)).is_ok_and(|since| since > SLACK)
    });
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros()
}

/// The time of the latest change of a name in the directory or in a directory below it.
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
fn fsck_compares_the_index_with_the_files_and_repairs_it() {
    let (mut daemon, origin) = (Daemon::start(), Origin::start());
    let urls = ["/page/1.html", "/page/2.html", "/image/30.png"].map(|path| origin.url(path));
    for url in &urls {
        let _answer = daemon.get(url);
    }
    let index = |ran: &Ran| told(ran).1["index"].clone();
    let sound = serde_json::json!(
        {"agreeing": 3, "without_file": 0, "without_entry": 0, "other": 0, "behind": 0}
    );
    eventually("all is in the index", || {
        let beside = daemon.run(&["fsck", "--json"]);
        assert_eq!(beside.status, 0, "an index that is behind counts as a fault: {beside:?}");
        index(&beside) == sound
    });
    assert!(daemon.ok(&["fsck"]).contains("index           3 of its entries agree with the files"));
    daemon.down();
    assert_eq!(index(&daemon.run(&["fsck", "--json"])), sound);
    // A difference that the next start finds is not a fault.
    daemon.ok(&["rm", &urls[2]]);
    let behind = daemon.run(&["fsck", "--json"]);
    assert_eq!((behind.status, index(&behind)["behind"].clone()), (0, 1.into()), "{behind:?}");

    // The index is marked as if a walk had finished now, so that no later walk finds the changes.
    let walked = walked_long_after(daemon.spool());
    spoil_index(
        &daemon,
        &format!(
            "UPDATE meta SET value = {walked} WHERE name = 'walked'; \
             UPDATE entries SET stored = stored + 1 WHERE path = '/page/1.html'; \
             DELETE FROM entries WHERE path = '/page/2.html'"
        ),
    );
    let wrong = daemon.run(&["fsck"]);
    assert_eq!(wrong.status, 12, "{wrong:?}");
    let reason = "1 of its entries have no file, 1 files have no entry, 1 of its entries belong to other files";
    assert!(wrong.out.contains(&format!("can be repaired index.sqlite: {reason}")), "{wrong:?}");
    let mended = daemon.run(&["fsck", "--repair", "--json"]);
    assert_eq!(mended.status, 11, "{mended:?}");
    assert_eq!(told(&mended).0, [("repaired".to_owned(), reason.to_owned())]);
    assert_eq!(index(&mended)["agreeing"], 2);
    assert_eq!(daemon.run(&["fsck"]).status, 0);

    fs::write(daemon.spool().join("index.sqlite"), "no database").unwrap();
    assert_eq!(daemon.run(&["fsck"]).status, 12);
    let mended = daemon.run(&["fsck", "--repair", "--json"]);
    assert_eq!((mended.status, index(&mended)["agreeing"].clone()), (11, 2.into()), "{mended:?}");
    fs::remove_file(daemon.spool().join("index.sqlite")).unwrap();
    let none = daemon.run(&["fsck", "--json"]);
    assert_eq!((none.status, index(&none)), (0, Value::Null), "{none:?}");
    assert!(!daemon.spool().join("index.sqlite").exists());
}
