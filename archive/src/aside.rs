//! Files and folders that are written aside.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wwwoffle_spool::fs::{Disk, DiskFile, SystemDisk};

/// The most folders in one another of what is removed; none that is written has so many.
const MAX_DEPTH: usize = 64;

/// A file that is written aside, and gets its name when it is whole. Dropped before, it is removed.
#[derive(Debug)]
pub(crate) struct Aside {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    to: PathBuf,
    offset: u64,
    is_done: bool,
}

impl Aside {
    /// Begins a file that is to be called `to`.
    pub(crate) fn begin(to: &Path) -> io::Result<Self> {
        let name =
            to.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
        for number in 0..u32::MAX {
            let path = to.with_file_name(format!(".{name}.{number}.part"));
            match SystemDisk.create(&path) {
                Ok(file) => {
                    return Ok(Self { file, path, to: to.to_owned(), offset: 0, is_done: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives it its name, in place of what had it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.sync()?;
        SystemDisk.rename(&self.path, &self.to)?;
        self.is_done = true;
        if let Some(above) = self.to.parent().filter(|above| !above.as_os_str().is_empty()) {
            SystemDisk.sync_dir(above)?;
        }
        Ok(())
    }
}

/// A folder that is written aside, and gets its name when it is whole. Dropped before, it is removed with all
/// that is in it.
#[derive(Debug)]
pub(crate) struct AsideFolder {
    path: PathBuf,
    is_done: bool,
}

impl AsideFolder {
    /// Begins a folder that is to be called `to`.
    pub(crate) fn begin(to: &Path) -> io::Result<Self> {
        let name = to.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        for number in 0..100_u8 {
            let path = to.with_file_name(format!(".{name}.{number}.part"));
            match SystemDisk.create_dir(&path) {
                Ok(()) => return Ok(Self { path, is_done: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name.
    pub(crate) fn finish(mut self, to: &Path) -> io::Result<()> {
        SystemDisk.rename(&self.path, to)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for AsideFolder {
    fn drop(&mut self) {
        if !self.is_done {
            // What stays behind has a name that says what it is.
            let _ = remove_tree(&self.path, MAX_DEPTH);
        }
    }
}

/// Removes a folder and what is in it, without going where a link leads.
fn remove_tree(path: &Path, depth: usize) -> io::Result<()> {
    for name in SystemDisk.read_dir(path)? {
        let inner = path.join(name?);
        if SystemDisk.remove_file(&inner).is_err() && depth > 0 {
            remove_tree(&inner, depth - 1)?;
        }
    }
    SystemDisk.remove_dir(path)
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Aside {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            // Whoever writes a file from its beginning to its end knows how long it is.
            SeekFrom::End(_) => None,
        };
        self.offset = offset.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.is_done {
            // What stays behind has a name that says what it is.
            let _ = SystemDisk.remove_file(&self.path);
        }
    }
}
