//! The directory `tmp/`: files being written, and complete files that are not renamed yet.
//!
//! When the spool is opened, each complete file in `tmp/` is moved to its place, unless a newer
//! file is there. So an unwanted file must be removed from `tmp/` before a newer file at its place
//! is removed.

use std::io::{
    self,
    ErrorKind::{AlreadyExists, CrossesDevices, PermissionDenied, TooManyLinks, Unsupported},
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::durability::{Root, TMP};
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::parallel::lock;

/// The largest number of unwanted files remembered because they could not be removed. Only a
/// failing disk causes more.
const MAX_LITTER: usize = 1_024;

/// The ending of a file below `tmp/`.
const ENTRY: &str = "warc";

/// The ending of a file below `tmp/` that is to replace a file of equivalent content.
const REWRITE: &str = "rewrite";

/// Whether a file below `tmp/` has the ending of a rewrite.
pub(crate) fn is_rewrite(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == REWRITE)
}

/// The state of `tmp/`.
#[derive(Debug)]
pub(crate) struct Tmp {
    next: AtomicU64,
    /// Unwanted files that could not be removed. Their removal is tried again.
    litter: Mutex<Vec<PathBuf>>,
    /// Whether files have left the directory since it was last synced.
    left: AtomicBool,
}

impl Default for Tmp {
    fn default() -> Tmp {
        // The removals of the previous run may not be durable.
        Tmp { next: AtomicU64::new(0), litter: Mutex::default(), left: AtomicBool::new(true) }
    }
}

impl Root {
    /// Records that a file leaves `tmp/`.
    pub(crate) fn leaves_tmp(&self) {
        self.tmp.left.store(true, Ordering::Release);
    }

    /// Returns a path under `tmp/` that was not used since the spool was opened.
    fn tmp_path(&self, extension: &str) -> PathBuf {
        let number = self.tmp.next.fetch_add(1, Ordering::Relaxed);
        self.join(TMP).join(format!("{number:08}.{extension}"))
    }

    /// Creates a file under `tmp/`.
    pub(crate) fn create_tmp(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(ENTRY, |path| self.disk.create(path))
    }

    /// Creates a file that is to replace an equivalent one. After a crash, the next opening removes
    /// it without reading it: the original still exists, or was removed on purpose.
    pub(crate) fn create_rewrite(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(REWRITE, |path| self.disk.create(path))
    }

    /// Creates a file that only its owner in the file system may read.
    pub(crate) fn create_private_tmp(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(ENTRY, |path| self.disk.create_private(path))
    }

    fn create_tmp_with(
        &self,
        extension: &str,
        create: impl Fn(&Path) -> io::Result<Arc<dyn DiskFile>>,
    ) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        loop {
            let path = self.tmp_path(extension);
            match create(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == AlreadyExists => {}
                Err(error) => return Err(Error::disk("write", &path, error)),
            }
        }
    }

    /// Removes an unwanted file of `tmp/`. If that fails, the removal is tried again later. Until
    /// then the file does no harm, because the entry that replaced it is newer.
    pub(crate) fn discard(&self, path: &Path) {
        let mut litter = lock(&self.tmp.litter);
        if self.remove_file(path).is_err() && litter.len() < MAX_LITTER {
            litter.push(path.to_owned());
        }
    }

    /// Waits until every removal from `tmp/` is durable. Otherwise a crash could restore a removed
    /// file whose entry was also removed, and the next opening would store an old state of that
    /// entry.
    pub(crate) fn sync_tmp(&self) -> Result<()> {
        let mut litter = lock(&self.tmp.litter);
        while let Some(path) = litter.pop() {
            if let Err(error) = self.remove_file(&path) {
                litter.push(path);
                return Err(error);
            }
            self.tmp.left.store(true, Ordering::Release);
        }
        drop(litter);
        if !self.is_synced() || !self.tmp.left.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let synced = self.sync_dir(&self.join(TMP));
        self.tmp.left.fetch_or(synced.is_err(), Ordering::AcqRel);
        synced
    }

    /// Gives the file `from` the second name `to`, and replaces an existing file of that name. If
    /// the file system allows only one name for a file, the file is renamed instead. Whether a
    /// crash before the next sync can lose it then depends on the file system.
    pub(crate) fn link_into_place(&self, from: &Path, to: &Path) -> Result<()> {
        let Some(aside) = self.link_to_tmp(from)? else {
            return self.rename_into_place(from, to);
        };
        let linked = self.rename_into_place(&aside, to);
        // The second name under `tmp/` still exists if the rename failed, or if both names referred
        // to the same file.
        let _ = self.disk.remove_file(&aside);
        linked
    }

    /// Gives a file a second name under `tmp/`. `None` if the file system allows only one name.
    pub(crate) fn link_to_tmp(&self, from: &Path) -> Result<Option<PathBuf>> {
        loop {
            let aside = self.tmp_path(ENTRY);
            match self.disk.link(from, &aside) {
                Ok(()) => return Ok(Some(aside)),
                // A file of the previous run has this name.
                Err(error) if error.kind() == AlreadyExists => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        CrossesDevices | PermissionDenied | TooManyLinks | Unsupported
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(Error::disk("write", &aside, error)),
            }
        }
    }
}
