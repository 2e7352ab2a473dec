//! Opening the file of an entry, compressed or not.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::expanded::ExpandedFile;
use super::inflate::reason_of;
use super::table::{OffsetTable, is_gzip};
use crate::entry::warc::Reason;
use crate::error::{Error, Result};
use crate::fs::size::wide;
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, DiskFile, OpenedFile, read_exactly};

/// The number of bytes that show whether a file is compressed, and how long its header is.
const LEAST: usize = 64;

/// The result of opening a path.
#[derive(Debug)]
pub(crate) enum OpenLookup {
    File(OpenEntry),
    Missing,
    Bad(Reason),
}

/// An open file and its first bytes. Offsets are those of the uncompressed file.
#[derive(Debug)]
pub(crate) struct OpenEntry {
    pub(crate) file: Arc<dyn DiskFile>,
    /// The length of the uncompressed file, in bytes.
    pub(crate) len: u64,
    /// The length of the file on the disk, in bytes.
    pub(crate) disk_len: u64,
    pub(crate) beginning: Vec<u8>,
    /// The largest length that `beginning` may have, in bytes. The body does not belong to it if
    /// the compressed body is divided into separate stretches.
    most: u64,
    /// The reader of the uncompressed bytes, if the file is compressed.
    pub(crate) expanded: Option<Arc<ExpandedFile>>,
}

/// Opens the file at `path` and reads at most `most` of its first bytes. An uncompressed file takes
/// one read.
pub(crate) fn open(disk: &dyn Disk, path: &Path, most: usize) -> Result<OpenLookup> {
    let (file, disk_len) = match open_if_any(disk, path)? {
        Some(OpenedFile::File(file, len)) => (file, len),
        Some(OpenedFile::NotAFile) => return Ok(OpenLookup::Bad("it is not a plain file")),
        None => return Ok(OpenLookup::Missing),
    };
    let fail = |error| Error::disk("read", path, error);
    let beginning = first_bytes(&*file, disk_len, most).map_err(fail)?;
    if !is_gzip(&beginning) {
        let (len, most, expanded) = (disk_len, disk_len, None);
        return Ok(OpenLookup::File(OpenEntry { file, len, disk_len, beginning, most, expanded }));
    }
    let Some(header_len) = OffsetTable::header_len_of(&beginning) else {
        return Ok(OpenLookup::Bad("it was compressed by another program"));
    };
    let more = if header_len > beginning.len() {
        Some(read_exactly(&*file, header_len, 0).map_err(fail)?)
    } else {
        None
    };
    let table = match OffsetTable::parse(more.as_ref().unwrap_or(&beginning), disk_len) {
        Ok(table) => table,
        Err(reason) => return Ok(OpenLookup::Bad(reason)),
    };
    let len = table.expanded;
    let end = if table.start > 0 { table.start } else { len };
    let expanded = Arc::new(ExpandedFile::new(file, table));
    let file: Arc<dyn DiskFile> = Arc::<ExpandedFile>::clone(&expanded);
    let beginning = match first_bytes(&*file, end, most) {
        Ok(beginning) => beginning,
        Err(error) => return bad(error, path).map(OpenLookup::Bad),
    };
    let expanded = Some(expanded);
    Ok(OpenLookup::File(OpenEntry { file, len, disk_len, beginning, most: end, expanded }))
}

/// Returns why a compressed file is damaged, or the error if the disk failed.
pub(crate) fn bad(error: io::Error, path: &Path) -> Result<Reason> {
    reason_of(&error).ok_or_else(|| Error::disk("read", path, error))
}

impl OpenEntry {
    /// Extends `beginning` to at most `most` bytes.
    pub(crate) fn read_to(&mut self, most: usize) -> io::Result<()> {
        if wide(self.beginning.len()) < self.most.min(wide(most)) {
            self.beginning = first_bytes(&*self.file, self.most, most)?;
        }
        Ok(())
    }
}

fn first_bytes(file: &dyn DiskFile, len: u64, most: usize) -> io::Result<Vec<u8>> {
    read_exactly(file, usize::try_from(len).unwrap_or(most).min(most), 0)
}

/// Reads the compressed file at `path` completely, and returns its fault. `None` if it is intact,
/// missing or not compressed.
pub(crate) fn fault(disk: &dyn Disk, path: &Path) -> Result<Option<Reason>> {
    let opening = match open(disk, path, LEAST)? {
        OpenLookup::File(opening) => opening,
        OpenLookup::Missing => return Ok(None),
        OpenLookup::Bad(reason) => return Ok(Some(reason)),
    };
    let Some(expanded) = opening.expanded else { return Ok(None) };
    let verified = expanded.verify().map_err(|error| Error::disk("read", path, error))?;
    Ok(verified.err())
}

/// Expands the compressed file of `len` bytes just written to `file`, as a check. Returns the
/// SHA-256 of the uncompressed file, or `None` if the compressed file is damaged.
pub(crate) fn read_back(file: Arc<dyn DiskFile>, len: u64) -> io::Result<Option<[u8; 32]>> {
    let most = super::table::MAX_HEADER;
    let header = first_bytes(&*file, len, most)?;
    match OffsetTable::parse(&header, len) {
        Ok(table) => Ok(ExpandedFile::new(file, table).verify()?.ok()),
        Err(_) => Ok(None),
    }
}
