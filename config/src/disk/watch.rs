//! Which files a configuration came from, and whether they are still as they were.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// What tells from outside that a file is another one or was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds of the last write, and of the last change of name or rights.
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    /// `None` for a file that is not there.
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

/// The files that were looked for when a configuration was read, there or not, as they were just
/// before: the places it may be in, and every list it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch(BTreeMap<PathBuf, Option<FileState>>);

impl Watch {
    /// The same files as they are now.
    #[must_use]
    pub fn again(&self) -> Self {
        Self(self.0.keys().map(|path| (path.clone(), FileState::of(path))).collect())
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    fn add(&mut self, path: &Path) {
        self.0.entry(path.to_owned()).or_insert_with(|| FileState::of(path));
    }
}

thread_local! {
    /// What is read on this thread, while someone wants to know.
    static READING: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Tells whoever wants to know that `file` is about to be read.
pub(crate) fn note(file: &Path) {
    READING.with_borrow_mut(|watch| {
        if let Some(watch) = watch {
            watch.add(file);
        }
    });
}

/// Lets `read` read, and says which files that were, besides `places`.
pub(crate) fn watching<T>(places: &[PathBuf], read: impl FnOnce() -> T) -> (T, Watch) {
    let mut watch = Watch::default();
    for location in places {
        watch.add(location);
    }
    let outer = READING.replace(Some(watch));
    let read = read();
    (read, READING.replace(outer).unwrap_or_default())
}
