//! Output files and folders that get their final name only when they are complete.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wwwoffle_spool::fs::{Disk, DiskFile, SYSTEM_DISK};

/// The maximum nesting of a folder that is removed. No folder that we write is nested deeper.
const MAX_DEPTH: usize = 64;

/// A file under a temporary name. It gets its final name when it is complete. Dropping it before
/// that removes the file.
#[derive(Debug)]
pub(crate) struct PendingFile {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    to: PathBuf,
    offset: u64,
    is_done: bool,
}

impl PendingFile {
    /// Creates a file that will be named `to`.
    pub(crate) fn begin(to: &Path) -> io::Result<Self> {
        let (path, file) = make_beside(to, |path| SYSTEM_DISK.create(path))?;
        Ok(Self { file, path, to: to.to_owned(), offset: 0, is_done: false })
    }

    /// The temporary name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and renames it. An existing file of that name is replaced.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.sync()?;
        SYSTEM_DISK.rename(&self.path, &self.to)?;
        self.is_done = true;
        if let Some(above) = self.to.parent().filter(|above| !above.as_os_str().is_empty()) {
            SYSTEM_DISK.sync_dir(above)?;
        }
        Ok(())
    }
}

/// A folder under a temporary name. It gets its final name when it is complete. Dropping it before
/// that removes the folder and its contents.
#[derive(Debug)]
pub(crate) struct PendingFolder {
    path: PathBuf,
    is_done: bool,
}

impl PendingFolder {
    /// Creates a folder that will be named `to`.
    pub(crate) fn begin(to: &Path) -> io::Result<Self> {
        let (path, ()) = make_beside(to, |path| SYSTEM_DISK.create_dir(path))?;
        Ok(Self { path, is_done: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its final name `to`.
    pub(crate) fn finish(mut self, to: &Path) -> io::Result<()> {
        SYSTEM_DISK.rename(&self.path, to)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for PendingFolder {
    fn drop(&mut self) {
        if !self.is_done {
            // If this fails, the folder that remains has a recognisable name.
            let _ = remove_tree(&self.path, MAX_DEPTH);
        }
    }
}

/// Calls `make` with an unused temporary name next to `to`. Returns the name and the result.
fn make_beside<T>(to: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut number = 0;
    loop {
        let path = to.with_file_name(format!(".{name}.{number}.part"));
        match make(&path) {
            Ok(done) => return Ok((path, done)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Removes a folder with its contents without following links.
fn remove_tree(path: &Path, depth: usize) -> io::Result<()> {
    for name in SYSTEM_DISK.read_dir(path)? {
        let inner = path.join(name?);
        if SYSTEM_DISK.remove_file(&inner).is_err() && depth > 0 {
            remove_tree(&inner, depth - 1)?;
        }
    }
    SYSTEM_DISK.remove_dir(path)
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for PendingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            // No writer seeks from the end, and the length of the file is not recorded here.
            SeekFrom::End(_) => None,
        };
        self.offset = offset.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.is_done {
            // If this fails, the file that remains has a recognisable name.
            let _ = SYSTEM_DISK.remove_file(&self.path);
        }
    }
}
