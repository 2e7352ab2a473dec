//! Reads files through the spool's disk layer: links are not followed, and pipes do not block.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use wwwoffle_spool::fs::{Disk, DiskFile, OpenedFile, SYSTEM_DISK, Stamp};

use crate::refusal::{DiskFailed, Reason};

/// The number of bytes of a file that are read at once.
pub(crate) const BUFFER: usize = 128 << 10;

/// A range of an open file, read sequentially.
#[derive(Clone, Debug)]
pub(crate) struct FileReader {
    file: Arc<dyn DiskFile>,
    start: u64,
    len: u64,
    offset: u64,
}

/// An opened plain file.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    pub(crate) reader: FileReader,
    pub(crate) modified: Option<Timestamp>,
    path: PathBuf,
    opened_as: Option<Stamp>,
}

/// A reader of a whole file. It fails at the end if the file was changed during reading, for
/// example by a mirroring program that is still running.
#[derive(Debug)]
pub(crate) struct UnchangedFile {
    file: BufReader<FileReader>,
    path: PathBuf,
    opened_as: Option<Stamp>,
}

impl SourceFile {
    pub(crate) fn unchanged(&self) -> UnchangedFile {
        let (file, path) = (self.reader.buffered(), self.path.clone());
        UnchangedFile { file, path, opened_as: self.opened_as }
    }

    /// Whether `path` is another link to this file.
    pub(crate) fn is_also(&self, path: &Path) -> bool {
        self.opened_as.is_some()
            && SYSTEM_DISK.stamp(path).is_ok_and(|stamp| stamp == self.opened_as)
    }
}

impl Read for UnchangedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if read == 0 && !buffer.is_empty() && self.opened_as.is_some() {
            let now = SYSTEM_DISK.stamp(&self.path);
            if now.map_err(|error| io::Error::other(DiskFailed(error)))? != self.opened_as {
                return Err(Reason::from("its file was changed while it was being read").into());
            }
        }
        Ok(read)
    }
}

/// Opens a plain file. `None` if the path does not exist or is not a plain file.
pub(crate) fn open(path: &Path) -> io::Result<Option<SourceFile>> {
    match SYSTEM_DISK.open(path) {
        Ok(OpenedFile::File(file, len)) => {
            let opened_as = file.opened_as();
            let modified = opened_as.map(|stamp| stamp.modified());
            let (reader, path) = (FileReader::new(file, len), path.to_owned());
            Ok(Some(SourceFile { reader, modified, path, opened_as }))
        }
        Ok(OpenedFile::NotAFile) => Ok(None),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The sorted names in a directory, at most `most`. The flag is true if the directory contains more
/// names. `None` if the path is missing or not a directory.
pub(crate) fn names(
    path: &Path,
    most: usize,
) -> io::Result<Option<(Vec<std::ffi::OsString>, bool)>> {
    let listed = match SYSTEM_DISK.read_dir(path) {
        Ok(listed) => listed,
        Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::NotADirectory => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut names: Vec<_> = listed.take(most.saturating_add(1)).collect::<io::Result<_>>()?;
    let are_more = names.len() > most;
    names.truncate(most);
    names.sort_unstable();
    Ok(Some((names, are_more)))
}

/// Whether the path is a directory and not a link to one.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename)
}

impl FileReader {
    fn new(file: Arc<dyn DiskFile>, len: u64) -> Self {
        Self { file, start: 0, len, offset: 0 }
    }

    /// The length of the range, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns a part of the range: `len` bytes from `start`, which counts from the beginning of
    /// the range. The part ends at the latest where the range ends.
    pub(crate) fn part(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len);
        let len = len.min(self.len - start);
        let file = Arc::clone(&self.file);
        Self { file, start: self.start.saturating_add(start), len, offset: 0 }
    }

    /// A buffered reader of the range from its beginning.
    pub(crate) fn buffered(&self) -> BufReader<Self> {
        BufReader::with_capacity(BUFFER, self.part(0, self.len))
    }

    /// Reads the whole range. `None` if the range is longer than `most` bytes.
    pub(crate) fn small(&self, most: u64) -> io::Result<Option<Vec<u8>>> {
        if self.len > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.part(0, self.len).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.len.saturating_sub(self.offset);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let read = self.file.read_at(buffer, self.start.saturating_add(self.offset));
        let read = read.map_err(|error| io::Error::other(DiskFailed(error)))?;
        if read == 0 {
            return Err(Reason::from("its file was truncated while it was being read").into());
        }
        self.offset = self.offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
        };
        self.offset = offset.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}
