//! A full or read-only disk. Needs `mount`, so root.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use wwwoffle_spool::Timestamp;

use crate::harness::client::Response;
use crate::harness::form::form;
use crate::harness::site::{self, Check};
use crate::harness::{Daemon, Origin, cannot_run, eventually, files, heavy, then};
use crate::index::index_pages::list;

/// A small file system, unmounted when dropped.
struct SmallDisk {
    at: TempDir,
}

impl SmallDisk {
    fn mount(size: &str) -> Self {
        let at = TempDir::with_prefix("wwwoffle-disk-").unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at.path());
        if !command.output().is_ok_and(|output| output.status.success()) {
            cannot_run("mounting a small tmpfs is not permitted here");
        }
        Self { at }
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let done = Command::new("mount").args(["-o", &options]).arg(self.at.path()).status();
        assert!(done.unwrap().success());
    }

    fn spool(&self) -> PathBuf {
        self.at.path().join("spool")
    }

    /// Fills the file system to the last byte. The returned file occupies the space.
    fn fill_up(&self) -> File {
        let mut file = File::create(self.at.path().join("filling")).unwrap();
        fill_more(&mut file);
        file
    }

    /// Uses up the space for directory entries, so that no name can be created until the returned
    /// directory is dropped.
    fn fill(&self) -> TempDir {
        let filling = TempDir::new_in(self.at.path()).unwrap();
        let full = (0..)
            .find_map(|name: u32| std::fs::write(filling.path().join(name.to_string()), "").err());
        assert_eq!(full.unwrap().kind(), ErrorKind::StorageFull);
        filling
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.at.path()).status();
    }
}

/// Extends `file` until the file system is full again.
fn fill_more(file: &mut File) {
    let error = (0..).find_map(|_| file.write_all(&[b'x'; 4_096]).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::StorageFull);
}

/// Pages that are stored before the disk is full.
fn kept() -> impl Iterator<Item = String> {
    (0..10).map(|number| format!("/page/{number}.html"))
}

/// Lengths of bodies that together exceed the disk.
fn many() -> impl Iterator<Item = u64> {
    100_000..100_200
}

#[track_caller]
fn assert_kept(daemon: &Daemon, origin: &Origin, when: &str) {
    for path in kept() {
        let page = daemon.get(&origin.url(&path));
        assert_eq!(page.status, 200, "{path} {when}");
        assert!(page.body == site::answer(&path).unwrap().body, "{path} {when}");
    }
}

/// Downloads a body of `length` and checks its content.
fn download(daemon: &Daemon, origin: &Origin, length: u64) -> (Response, Check) {
    let (mut client, mut check) = (daemon.client(), Check::new());
    client.ask(&origin.url(&format!("/big/{length}")), "");
    (client.try_stream("GET", |piece| check.take(piece)).unwrap(), check)
}

/// A daemon with a spool on a small disk, and an origin.
fn on_small_disk(options: &str) -> (SmallDisk, Daemon, Origin) {
    let disk = SmallDisk::mount(options);
    let mut daemon = Daemon::prepare(None).with_spool(&disk.spool());
    daemon.up();
    (disk, daemon, Origin::start())
}

#[test]
#[ignore = "needs root and mount"]
fn a_full_disk_loses_no_stored_entry() {
    let _alone = heavy();
    let (disk, mut daemon, origin) = on_small_disk("8m");
    assert_kept(&daemon, &origin, "online");
    daemon.settle();

    // Bodies that are too large for the disk, as one body and as many. The client must still get
    // all bytes.
    for length in [20_000_000].into_iter().chain(many()) {
        let (answer, check) = download(&daemon, &origin, length);
        assert_eq!((answer.status, check.seen, check.wrong), (200, length, None));
        assert!(answer.whole.is_ok(), "{length}: {:?}", answer.whole);
    }
    daemon.settle();
    eventually("the log reports the full disk", || {
        let said = daemon.log().to_lowercase();
        said.contains("no space left") || said.contains("disk is full")
    });

    daemon.ok(&["offline"]);
    assert_kept(&daemon, &origin, "offline on the full disk");
    let missing = daemon.browse(&origin.url("/page/60.html"));
    assert!(missing.status >= 500, "{:?}", missing.head);
    daemon.kill9();
    daemon.up();
    assert_eq!(daemon.status()["mode"], "offline");
    assert_kept(&daemon, &origin, "after a restart on the full disk");
    for length in many() {
        let (answer, check) = download(&daemon, &origin, length);
        if answer.status == 200 {
            assert_eq!((check.seen, check.wrong), (length, None));
        }
    }

    disk.remount("size=64m");
    daemon.ok(&["online"]);
    eventually("with free space, pages are stored again", || {
        daemon.get(&origin.url("/image/46.png"));
        daemon.settle();
        daemon.run(&["cat", &origin.url("/image/46.png")]).status == 0
    });
}

#[test]
#[ignore = "needs root and mount"]
fn the_daemon_stops_while_a_client_stalls_and_the_disk_has_failed() {
    let _alone = heavy();
    let (_disk, mut daemon, origin) = on_small_disk("8m");
    assert_kept(&daemon, &origin, "online");
    daemon.settle();
    // The body fits neither on the disk nor into the buffers between the daemon and the client,
    // which reads nothing.
    let mut stalled = daemon.client();
    stalled.ask(&origin.url("/big/200000000"), "");
    daemon.tells("the page cannot be stored");
    assert!(daemon.down().success());
    drop(stalled);
    daemon.up();
    daemon.ok(&["offline"]);
    assert_kept(&daemon, &origin, "after the stop");
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}

#[test]
#[ignore = "needs root and mount"]
fn an_unstored_response_is_reported_in_its_head_and_on_the_home_page() {
    let _alone = heavy();
    let (disk, daemon, origin) = on_small_disk("8m");
    assert_kept(&daemon, &origin, "online");
    daemon.settle();
    let notice = "The disk was full, so the last page was not saved.";
    let stored = |path: &str| {
        let status = daemon.get(&origin.url(path)).field("Cache-Status").to_owned();
        status.split("; ").any(|word| word == "stored")
    };
    assert!(!daemon.page("/").text().contains(notice));
    // The disk has space for many pages, but not for this one.
    assert!(!stored("/big/20000000"));
    eventually("the home page reports it", || daemon.page("/").text().contains(notice));
    assert!(stored("/page/60.html"));
    eventually("the message is gone", || !daemon.page("/").text().contains(notice));
    // No space is left at all.
    let _filling = disk.fill_up();
    assert!(!stored("/page/61.html"));
    eventually("the home page reports it again", || daemon.page("/").text().contains(notice));
    disk.remount("size=64m");
    assert!(stored("/page/61.html"));
}

#[test]
#[ignore = "needs root and mount"]
fn the_mode_and_the_queue_are_written_on_a_full_disk() {
    let _alone = heavy();
    let (disk, mut daemon, origin) = on_small_disk("8m,nr_inodes=1000");
    assert_kept(&daemon, &origin, "online");
    eventually("all files have their final names", || {
        let directory = disk.spool().join("http");
        directory.exists() && files(&directory).len() == kept().count()
    });
    // Neither a block nor a directory entry is free. The test occupies space that becomes free,
    // before anything else is written.
    let mut filling = disk.fill_up();
    let names = disk.fill();
    for mode in ["offline", "autodial", "offline"] {
        daemon.ok(&[mode]);
        fill_more(&mut filling);
    }
    let asked: Vec<_> =
        (60..64).map(|number| origin.url(&format!("/page/{number}.html"))).collect();
    for url in &asked {
        assert_eq!(daemon.browse(url).status, 504);
        fill_more(&mut filling);
    }
    daemon.kill9();
    daemon.up();
    assert_eq!(daemon.status()["mode"], "offline");
    assert_kept(&daemon, &origin, "after a restart on the full disk");
    let queue = daemon.queue();
    for url in &asked {
        assert!(queue.iter().any(|one| one["url"] == **url), "{url}: {queue:?}");
    }
    drop(names);
    disk.remount("size=64m");
    daemon.ok(&["online"]);
    eventually("the requested pages are fetched", || daemon.queue().is_empty());
    for url in &asked {
        assert_eq!(daemon.get(url).status, 200);
    }
    daemon.settle();
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}

#[test]
#[ignore = "needs root and mount"]
fn old_entries_are_purged_before_the_disk_is_full() {
    let _alone = heavy();
    let disk = SmallDisk::mount("8m");
    // No entry reaches the age limit of 100 years. Only `min-free` can remove entries.
    let config = "[purge]\nmin-free = \"6 MB\"\nage = \"100y\"\n";
    let mut daemon = Daemon::prepare(Some(config)).with_spool(&disk.spool());
    let origin = Origin::start();
    daemon.up();
    daemon.down();
    old_pages(&daemon, 12);
    daemon.up();
    let free = || wwwoffle_spool::purge::space(&disk.spool()).unwrap().free;
    eventually("enough is free", || free() >= 6_000_000);
    assert_kept(&daemon, &origin, "while it is purged");
    daemon.settle();
    let left = daemon.run(&["ls", "--json"]).lines().len() - kept().count();
    assert!((1..12).contains(&left), "only the oldest go, as few as possible: {left} are left");
    for number in 12 - left..12 {
        let page = daemon.run(&["cat", &format!("http://old.test/{number}")]);
        assert_eq!((page.status, page.out.len()), (0, 400_000), "{number} is among the newest");
    }
    daemon.ok(&["offline"]);
    assert_kept(&daemon, &origin, "offline");
}

/// Stores pages of 400 kB each from past years, the oldest first, while the daemon is stopped.
fn old_pages(daemon: &Daemon, count: i64) {
    for number in 0..count {
        // One page a year, from 2000 on.
        let then = Timestamp::from_second(946_684_800 + number * 365 * 86_400).unwrap();
        let url = format!("http://old.test/{number}");
        then::keep(daemon.spool(), then, &url, "text/html", &vec![b'x'; 400_000]);
    }
}

#[test]
#[ignore = "needs root and mount"]
fn an_unwritable_spool_is_reported() {
    let _alone = heavy();
    let disk = SmallDisk::mount("1m");
    let place = Daemon::prepare(None).with_spool(&disk.spool());
    disk.remount("ro");
    let ran = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.status, 73, "{ran:?}");
    assert_eq!(ran.err.trim_end().lines().count(), 1, "not one message: {ran:?}");
    assert!(ran.err.contains(place.spool().to_str().unwrap()), "{ran:?}");
    assert!(ran.err.contains("mounted read-only") && !ran.err.contains("the right"), "{ran:?}");
}

#[test]
#[ignore = "needs root and mount"]
fn a_spool_on_a_read_only_file_system_is_served() {
    let _alone = heavy();
    let (disk, mut daemon, origin) = on_small_disk("16m");
    assert_kept(&daemon, &origin, "online");
    daemon.settle();
    daemon.ok(&["online"]);
    daemon.down();
    disk.remount("ro");
    let before = files(&disk.spool());
    daemon.up();
    assert_eq!(daemon.run(&["status", "--json"]).json()["mode"], "offline");
    let asked = origin.seen().len();
    assert_kept(&daemon, &origin, "on the read-only file system");
    assert_eq!(origin.seen().len(), asked);
    let missing = daemon.browse(&origin.url("/page/60.html"));
    assert_eq!(missing.status, 504, "{}", missing.text());
    daemon.ok(&["offline"]);
    let home = daemon.page("/").text();
    assert!(home.contains("The spool is on a read-only file system."), "{home}");
    assert!(daemon.ok(&["status"]).contains("on a read-only file system: nothing is stored"));
    eventually("its pages are listed", || {
        daemon.page("/index/all?sort=name").text().contains("9.html")
    });
    assert_eq!(daemon.run(&["ls", "--json"]).lines().len(), kept().count());
    daemon.tells("read-only");
    assert!(daemon.down().success());
    assert_eq!(files(&disk.spool()), before);
    disk.remount("rw");
    daemon.up();
    assert_eq!(daemon.status()["mode"], "online", "the previous mode");
    assert!(!daemon.page("/").text().contains("read-only file system"));
    assert_kept(&daemon, &origin, "afterwards");
}

#[test]
#[ignore = "needs root and mount"]
fn a_request_that_failed_on_a_full_disk_is_retried() {
    let _alone = heavy();
    let (disk, daemon, origin) = on_small_disk("8m");
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/big/20000000"));
    daemon.ok(&["online"]);
    eventually("it was tried", || daemon.queue()[0]["error"].is_string());
    let queue = daemon.queue();
    let error = queue[0]["error"].as_str().unwrap().to_lowercase();
    assert!(error.contains("no space left") || error.contains("disk is full"), "{queue:?}");
    assert_ne!(queue[0]["state"], "failed", "{queue:?}");
    disk.remount("size=64m");
    eventually("it is fetched", || daemon.queue().is_empty());
    let kept = daemon.run(&["cat", &origin.url("/big/20000000")]);
    assert_eq!(kept.status, 0);
}

#[test]
#[ignore = "needs root and mount"]
fn a_deletion_on_a_full_disk_cannot_be_undone() {
    let _alone = heavy();
    let (disk, daemon, origin) = on_small_disk("8m,nr_inodes=1000");
    assert_kept(&daemon, &origin, "online");
    daemon.settle();
    let html = list(&daemon, "/index/all?sort=name", "9.html");
    let chosen = |urls: &[String]| {
        let form = form(&html, "/control/delete-multiple/url").without("url");
        urls.iter().fold(form, |form, url| form.and("url", url))
    };
    let page = |number: usize| origin.url(&format!("/page/{number}.html"));
    daemon.ok(&["offline"]);
    // As long as there is space, the deletion can be undone.
    let done = daemon.submit(&chosen(&[page(1)]));
    assert_eq!(done.status, 303);
    assert!(done.field("Location").contains("removed="), "{:?}", done.field("Location"));
    let undo = form(&daemon.page(done.field("Location")).text(), "/control/undo");
    assert_eq!(daemon.submit(&undo).status, 303);
    assert_eq!(daemon.get(&page(1)).status, 200);
    // The file system has no space for a further name, so nothing can be saved for an undo.
    let filling = disk.fill();
    let done = daemon.submit(&chosen(&[page(1), page(2)]));
    assert_eq!(done.status, 303, "{}", done.text());
    for number in [1, 2] {
        assert_ne!(daemon.get(&page(number)).status, 200, "{number} is gone");
    }
    assert_eq!(daemon.get(&page(3)).status, 200);
    drop(filling);
    let told = daemon.page(done.field("Location")).text();
    assert!(!told.contains("/control/undo"), "an undo that is impossible is offered: {told}");
    let resting = disk.spool().join("removed");
    assert!(!resting.exists() || files(&resting).is_empty(), "{:?}", files(&resting));
    assert_eq!(daemon.run(&["fsck", "--deep"]).status, 0);
}
