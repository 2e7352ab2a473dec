//! The user's templates in `html/`: which files are read, and what happens if the disk fails.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and prepare files as a user would"
)]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{Durability, Options, Spool, UserPages};

#[test]
fn unreadable_user_page_does_not_affect_others() {
    let disk = SimDisk::new();
    let options = support::options(Durability::Batch);
    let (spool, _) =
        Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options).unwrap();
    let html = spool.root().join("html");
    disk.create_dir(&html).unwrap();
    for name in ["a.html", "b.html", "de.po"] {
        disk.create(&html.join(name)).unwrap().write_all_at(name.as_bytes(), 0).unwrap();
    }
    disk.set_fault(Fault::Never);
    assert_eq!(spool.own_pages().unwrap().pages.len(), 3);
    let calls = disk.calls();
    let mut told = 0;
    for call in 0..calls {
        disk.set_fault(Fault::Fail(call, ErrorKind::PermissionDenied));
        let Ok(own) = spool.own_pages() else { continue };
        assert_eq!((own.pages.len(), own.not_read.len()), (2, 1), "call {call} of {calls}");
        assert!(own.not_read[0].to_string().contains("permission denied"), "{:?}", own.not_read);
        told += 1;
    }
    assert!(told >= 6, "each of three is opened and read: {told} of {calls}");
}

#[test]
fn valid_user_pages_are_read_and_others_reported() {
    let root = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
    let UserPages { pages, not_read } = spool.own_pages().unwrap();
    assert!(pages.is_empty() && not_read.is_empty());

    let html = root.path().join("html");
    std::fs::create_dir(&html).unwrap();
    for (name, text) in [
        ("queue.html", b"<p>".as_slice()),
        ("de.po", b"[texts]"),
        (".queue.html.swp", b"x"),
        ("queue.html~", b"x"),
        ("notes.txt", b"x"),
        ("bad.html", b"\xff"),
        ("long.css", &vec![b'a'; (1 << 20) + 1]),
    ] {
        std::fs::write(html.join(name), text).unwrap();
    }
    std::fs::create_dir(html.join("directory.html")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", html.join("link.html")).unwrap();
    let UserPages { pages, not_read } = spool.own_pages().unwrap();
    let names: Vec<_> = pages.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(names, [("de.po", "[texts]"), ("queue.html", "<p>")]);
    let mut told: Vec<_> = not_read.iter().map(ToString::to_string).collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "\"bad.html\" in html/ is not read: it is not UTF-8",
            "\"directory.html\" in html/ is not read: it is not a plain file",
            "\"link.html\" in html/ is not read: it is not a plain file",
            "\"long.css\" in html/ is not read: it is longer than 1 MiB",
        ]
    );
}
