//! A user's own pages on a disk that fails: one that cannot be read takes none of the others away.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use support::sim::{Fault, SimDisk};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{Durability, Spool};

#[test]
fn one_that_cannot_be_read_takes_none_of_the_others_away() {
    let disk = SimDisk::new();
    let options = support::options(Durability::Batch);
    let (spool, _) =
        Spool::open_with(Arc::new(disk.clone()), Path::new("/spool"), &options).unwrap();
    let html = spool.root().join("html");
    disk.create_dir(&html).unwrap();
    for name in ["a.html", "b.html", "de.toml"] {
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
