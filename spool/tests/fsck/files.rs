//! The files of a full spool, and ways to change them.

#![allow(unreachable_pub, reason = "a part of a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::support;
use super::support::full::{self, CHANGED, WATCHED};
use super::support::place;

/// The path of the entry with a URL.
pub fn at(root: &Path, url: &str) -> PathBuf {
    root.join(place(url).relative_path())
}

pub fn queued(root: &Path, url: &str) -> PathBuf {
    let directory = if url == WATCHED { "monitor" } else { "outgoing" };
    root.join(directory).join(format!("{}.warc", place(url).key()))
}

pub fn variant(root: &Path, number: usize) -> PathBuf {
    let place = &full::varying()[number];
    let path = root.join(place.relative_path());
    if number == 1 { only_in(&path.with_extension("variants"), "e3b0c442") } else { path }
}

/// The only file in `directory` whose own name begins with `beginning`.
pub fn only_in(directory: &Path, beginning: &str) -> PathBuf {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut found = support::files(directory);
    found.retain(|path| name(path).starts_with(beginning));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The older versions of the changed page, the oldest first.
pub fn versions(root: &Path) -> Vec<PathBuf> {
    let current = at(root, CHANGED);
    let mut found = support::files(current.parent().unwrap());
    found.retain(|path| *path != current);
    found.sort();
    found
}

pub fn segments(root: &Path) -> Vec<PathBuf> {
    let mut found = support::files(&root.join("partial"));
    found.sort();
    found
}

/// The file of the body that two entries share.
pub fn holder(root: &Path) -> PathBuf {
    only_in(&root.join("bodies"), "")
}

/// Changes a byte.
pub fn spoil(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

pub fn cut(path: &Path, by: u64) {
    let len = fs::metadata(path).unwrap().len();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len - by).unwrap();
}

/// Writes a file, and creates its directory if that is missing. Only their owner may read them.
pub fn put(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    let directory = path.parent().unwrap();
    if !directory.exists() {
        fs::create_dir(directory).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

pub fn open_to_all(path: &Path) {
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
