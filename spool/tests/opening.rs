//! Opening: which directories become a spool, which are refused, and the message of each refusal.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at and spoil the files themselves"
)]

mod support;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use support::{open, options, store};
use wwwoffle_spool::{Durability, Error, ProgramState, Reader, Spool};

fn refused(root: &Path) -> Error {
    Spool::open(root, &options(Durability::Batch)).unwrap_err()
}

#[test]
fn a_missing_spool_is_created() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("a/b/spool");
    drop(open(&root, Durability::Batch));
    assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_to_string(root.join("version")).unwrap(), "wwwoffle-spool 1\n");
    drop(open(&root, Durability::Each));
    let volume = above.path().join("volume");
    fs::create_dir_all(volume.join("lost+found")).unwrap();
    drop(open(&volume, Durability::Batch));
}

#[test]
fn a_locked_spool_names_its_process() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    let error = refused(root.path());
    let pid = std::process::id();
    assert!(error.is_locked());
    assert_eq!(error.holder(), Some(pid));
    assert_eq!(
        error.to_string(),
        format!(
            "the spool {:?} is in use by process {pid}: stop it first, or name another spool",
            root.path()
        )
    );
    Reader::open(root.path()).unwrap();
    let clone = spool.clone();
    drop(spool);
    assert!(refused(root.path()).is_locked(), "a clone is the same one");
    drop(clone);
    open(root.path(), Durability::Batch);
}

#[test]
fn a_directory_that_is_not_a_spool_is_unchanged() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("letter.txt"), "dear").unwrap();
    let error = refused(root.path());
    assert!(error.is_no_spool());
    assert!(error.to_string().contains("is not a spool, it contains \"letter.txt\""), "{error}");
    assert!(Reader::open(root.path()).unwrap_err().is_no_spool());

    let file = root.path().join("letter.txt");
    for path in [file.clone(), file.join("below")] {
        let error = refused(&path);
        assert!(error.is_no_spool(), "{error}");
        assert!(error.to_string().contains("letter.txt\" is not a directory"), "{error}");
    }
    let missing = root.path().join("missing");
    assert!(!Reader::open(&missing).unwrap_err().is_no_spool());
    assert!(!missing.exists(), "reading makes nothing");
}

#[test]
fn a_path_where_nothing_can_be_created_is_refused() {
    // Below /proc nothing can be created: the system reports a missing name, even if its parent
    // exists.
    for path in ["/proc/spool", "/proc/a/b/spool"] {
        let error = refused(Path::new(path));
        assert!(error.to_string().contains("cannot make the directory"), "{error}");
    }
}

#[test]
fn a_newer_format_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path(), Durability::Batch));
    fs::write(root.path().join("version"), "wwwoffle-spool 2\n").unwrap();
    fs::write(root.path().join("tmp/kept"), "").unwrap();
    let error = refused(root.path());
    assert!(error.is_no_spool());
    let said = error.to_string();
    assert!(said.contains("has the format \"wwwoffle-spool 2\""), "{said}");
    assert!(said.contains("knows \"wwwoffle-spool 1\""), "{said}");
    assert!(root.path().join("tmp/kept").exists());
}

#[test]
fn a_system_error_is_reported_with_advice() {
    for (kind, words) in [
        (ErrorKind::PermissionDenied, "give this user the right to read and write there"),
        (ErrorKind::ReadOnlyFilesystem, "mount it writable, or copy the spool"),
        (ErrorKind::StorageFull, "free some space there"),
    ] {
        let disk = SimDisk::new();
        disk.set_fault(Fault::Fail(0, kind));
        let opened =
            Spool::open_with(Arc::new(disk), Path::new("/spool"), &options(Durability::Batch));
        let error = opened.unwrap_err();
        assert_eq!(error.is_full(), kind == ErrorKind::StorageFull);
        assert_eq!(error.is_denied(), kind != ErrorKind::StorageFull);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
#[ignore = "needs root and mount"]
fn a_full_disk_is_reported_and_keeps_its_entries() {
    let root = SmallDisk::mount();
    let spool = open(&root.0.path().join("spool"), Durability::Each);
    store(&spool, "http://a/", b"kept").unwrap();
    let error =
        (0..).find_map(|n| store(&spool, &format!("http://a/{n}"), &support::bytes(100_000)).err());
    let error = error.unwrap();
    assert!(error.is_full(), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    let place = support::place("http://a/");
    assert!(spool.entry(&place).unwrap().found().is_some());
    let list: Vec<_> = spool.list(None, None).unwrap().map(Result::unwrap).collect();
    assert!(spool.remove(&list.iter().find(|one| one.body_len > 1_000).unwrap().place).unwrap());
    store(&spool, "http://a/again", b"there is room").unwrap();
    drop(spool);
}

/// A file system of one megabyte; only root can mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> SmallDisk {
        let directory = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(directory.path())
            .output();
        assert!(mount.is_ok_and(|mount| mount.status.success()), "cannot mount a tmpfs");
        SmallDisk(directory)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn the_state_is_stored_and_damage_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path(), Durability::Batch);
    assert_eq!(spool.state().unwrap(), (ProgramState::default(), None));
    let mut state = ProgramState::default();
    state.set_mode("autodial").unwrap();
    state.set_value("from-a-newer-program", "kept").unwrap();
    spool.set_state(&state).unwrap();
    drop(spool);
    let spool = open(root.path(), Durability::Batch);
    let (mut found, damage) = spool.state().unwrap();
    assert_eq!((&found, damage), (&state, None));
    found.set_mode("online").unwrap();
    spool.set_state(&found).unwrap();
    assert_eq!(spool.state().unwrap().0.value("from-a-newer-program"), Some("kept"));
    fs::write(root.path().join("state"), "wwwoffle-state 1\nmode = onl").unwrap();
    let (found, damage) = spool.state().unwrap();
    assert_eq!(found, ProgramState::default());
    assert!(damage.unwrap().moved_to.unwrap().exists());
    assert_eq!(spool.state().unwrap(), (ProgramState::default(), None));
}
