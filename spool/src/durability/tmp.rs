//! The directory `tmp/`: files being written, and those that wait to get their name.
//!
//! What lies there whole when the spool is opened gets its name if what has it is not newer. So a file
//! that is not wanted must go before the entry that is newer does.

use std::io::{
    self,
    ErrorKind::{AlreadyExists, CrossesDevices, PermissionDenied, TooManyLinks, Unsupported},
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::durability::{Durability, Root, TMP};
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::parallel::lock;

/// Files that could not be removed and are tried again. The disk does not remove anything if there
/// are more.
const MAX_LITTER: usize = 1_024;

/// What the names of files end with that are to take the place of ones that stand for the same.
const REWRITE: &str = "rewrite";

/// Whether a name below `tmp/` is of such a file.
pub(crate) fn is_rewrite(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == REWRITE)
}

/// What is known of the directory.
#[derive(Debug)]
pub(crate) struct Tmp {
    next: AtomicU64,
    /// Files that are not wanted, and could not be removed.
    litter: Mutex<Vec<PathBuf>>,
    /// Files have left it, and that may not be on the medium.
    left: AtomicBool,
}

impl Default for Tmp {
    fn default() -> Tmp {
        // What the time before has done is not known.
        Tmp { next: AtomicU64::new(0), litter: Mutex::default(), left: AtomicBool::new(true) }
    }
}

impl Root {
    /// Notes that a file of `tmp/` gets its name.
    pub(crate) fn leaves_tmp(&self) {
        self.tmp.left.store(true, Ordering::Release);
    }

    /// A name under `tmp/` that nothing was given since the spool was opened.
    fn tmp_path(&self) -> PathBuf {
        let number = self.tmp.next.fetch_add(1, Ordering::Relaxed);
        self.join(TMP).join(format!("{number:08}.warc"))
    }

    /// Makes a new file under `tmp/`.
    pub(crate) fn create_tmp(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(|path| self.disk.create(path))
    }

    /// The same for what takes the place of a file that stands for the same. An opening removes it, whatever
    /// is in it: what it was to replace is still there, or was removed.
    pub(crate) fn create_rewrite(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        loop {
            let path = self.tmp_path().with_extension(REWRITE);
            match self.disk.create(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == AlreadyExists => {}
                Err(error) => return Err(Error::disk("write", &path, error)),
            }
        }
    }

    /// The same for what is its owner's alone.
    pub(crate) fn create_private_tmp(&self) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        self.create_tmp_with(|path| self.disk.create_private(path))
    }

    fn create_tmp_with(
        &self,
        create: impl Fn(&Path) -> io::Result<Arc<dyn DiskFile>>,
    ) -> Result<(PathBuf, Arc<dyn DiskFile>)> {
        loop {
            let path = self.tmp_path();
            match create(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == AlreadyExists => {}
                Err(error) => return Err(Error::disk("write", &path, error)),
            }
        }
    }

    /// Removes a file of `tmp/` that is not wanted, now or when it would matter: while what replaced it
    /// is there, it is older, and does no harm.
    pub(crate) fn discard(&self, path: &Path) {
        let mut litter = lock(&self.tmp.litter);
        if self.remove_file(path).is_err() && litter.len() < MAX_LITTER {
            litter.push(path.to_owned());
        }
    }

    /// Waits until what has left `tmp/` is gone from there on the medium too: a name that came back
    /// would be taken for unfinished business once the entry itself is gone, and bring back what may
    /// be an older state of it.
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
        if self.durability == Durability::None || !self.tmp.left.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let synced = self.sync_dir(&self.join(TMP));
        self.tmp.left.fetch_or(synced.is_err(), Ordering::AcqRel);
        synced
    }

    /// Gives a file a second name in the tree, in place of whatever had it. Where a file can have one
    /// only, it is moved; then for a moment only the file system keeps it from being lost.
    pub(crate) fn link_into_place(&self, from: &Path, to: &Path) -> Result<()> {
        let Some(aside) = self.link_to_tmp(from)? else {
            return self.rename_into_place(from, to);
        };
        let linked = self.rename_into_place(&aside, to);
        // Still there if that failed, or if both were names of one file already.
        let _ = self.disk.remove_file(&aside);
        linked
    }

    /// Gives a file a second name under `tmp/`; `None` where it can have one only.
    pub(crate) fn link_to_tmp(&self, from: &Path) -> Result<Option<PathBuf>> {
        loop {
            let aside = self.tmp_path();
            match self.disk.link(from, &aside) {
                Ok(()) => return Ok(Some(aside)),
                // Left by the time before.
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
