//! Writes to a spool as if at a time in the past.

use std::io;
use std::path::Path;
use std::sync::Arc;

use wwwoffle_spool::fs::{DirectoryNames, Disk, DiskFile, Lock, OpenedFile, SYSTEM_DISK};
use wwwoffle_spool::{Durability, NewEntry, Options, Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// The disk of this machine with a clock that always shows this time.
#[derive(Debug)]
struct Then(Timestamp);

impl Disk for Then {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.create_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<DirectoryNames> {
        SYSTEM_DISK.read_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        SYSTEM_DISK.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<OpenedFile> {
        SYSTEM_DISK.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SYSTEM_DISK.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        SYSTEM_DISK.link(from, to)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.remove_dir(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        SYSTEM_DISK.sync_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        SYSTEM_DISK.lock(path)
    }

    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Stores a response at the time `then` in the spool at `root`. No process may have the spool open.
pub(crate) fn keep(root: &Path, then: Timestamp, url: &str, content_type: &str, body: &[u8]) {
    keep_one(&open(root, then), then, (url, content_type), body);
}

/// Like [`keep`], for many pages.
pub(crate) fn keep_all(
    root: &Path,
    then: Timestamp,
    pages: impl Iterator<Item = (String, Vec<u8>)>,
) {
    let spool = open(root, then);
    for (url, body) in pages {
        keep_one(&spool, then, (&url, "text/html"), &body);
    }
}

fn open(root: &Path, then: Timestamp) -> Spool {
    let options = Options { durability: Durability::None, ..Options::default() };
    Spool::open_with(Arc::new(Then(then)), root, &options).unwrap().0
}

fn keep_one(spool: &Spool, then: Timestamp, (url, content_type): (&str, &str), body: &[u8]) {
    let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n").into_bytes();
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
    let new = NewEntry { asked: then, when: then, head, request, connection: None };
    let mut writer = spool.begin(&Place::of(&url), new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
}
