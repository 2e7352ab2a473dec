//! The files that a configuration was read from, and whether they have changed since.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The metadata by which a replaced or changed file is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    /// The time of the last write, in seconds and nanoseconds.
    written: (i64, i64),
    /// The time of the last change of content, name or permissions, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl FileState {
    /// Reads the metadata. `None` if that fails, for example because the file is missing.
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.len(),
            written: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

/// The state of all files involved in reading a configuration, each just before it was read: the
/// possible locations of the configuration, and every file that the configuration names. Includes
/// missing files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedFiles(BTreeMap<PathBuf, Option<FileState>>);

impl WatchedFiles {
    /// The present state of the same files.
    #[must_use]
    pub fn reread(&self) -> Self {
        Self(self.0.keys().map(|path| (path.clone(), FileState::of(path))).collect())
    }

    /// The paths of the files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    fn add(&mut self, path: &Path) {
        self.0.entry(path.to_owned()).or_insert_with(|| FileState::of(path));
    }
}

thread_local! {
    /// The files read on this thread inside [`watch_reads`]. `None` outside it.
    static READING: RefCell<Option<WatchedFiles>> = const { RefCell::new(None) };
}

/// Records that `file` is about to be read.
pub(crate) fn note(file: &Path) {
    READING.with_borrow_mut(|watch| {
        if let Some(watch) = watch {
            watch.add(file);
        }
    });
}

/// Runs `read`, and returns its result with the state of all files it reads and of `places`.
pub(crate) fn watch_reads<T>(places: &[PathBuf], read: impl FnOnce() -> T) -> (T, WatchedFiles) {
    let mut watch = WatchedFiles::default();
    for location in places {
        watch.add(location);
    }
    let outer = READING.replace(Some(watch));
    let read = read();
    (read, READING.replace(outer).unwrap_or_default())
}
