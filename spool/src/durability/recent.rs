//! The list of the entries stored last, which an unclean stop may have damaged.
//!
//! The file `recent` exists while the spool is open. It has a line for each entry file that was
//! renamed into place: the time in microseconds since 1970, a space, and the path below the root.
//! The time is that of the rename, not of the entry: an entry that is rewritten or moved keeps the
//! time it was stored. Closing the spool removes the file. If an opening finds it, the spool was
//! not closed properly; the entries listed last are then verified in the background.
//!
//! The list is only an aid. A failure to write it stops nothing, it is deleted if a full disk has
//! no room for a more important file, and its content is verified before use. It is synced when the
//! spool is opened, and never after. So after a power failure its last lines may be missing, as may
//! the files that they name.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use crate::durability::Root;
use crate::entry::place;
use crate::error::{Error, Result, is_missing};
use crate::fs::parallel::lock;
use crate::fs::size::{narrow, wide};
use crate::fs::{DiskFile, OpenedFile, read_exactly};

/// The name of the list in the root.
pub(crate) const FILE: &str = "recent";

/// The largest size of the file, for about 35,000 entries. At this size the first half of the list
/// is dropped.
const MAX_BYTES: u64 = 4 << 20;

/// The longest path in a line, in bytes.
const MAX_LINE: usize = 1_024;

/// The files renamed since the spool was opened, and those of the previous run that are not checked
/// yet.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    now: Mutex<RecentList>,
    /// The unchecked files of the previous run, the oldest first.
    left: Mutex<Vec<RecentFile>>,
}

/// A file that was renamed into place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecentFile {
    /// The time of the rename. `None` if the line has no time.
    pub(crate) at: Option<Timestamp>,
    pub(crate) path: PathBuf,
}

#[derive(Debug, Default)]
struct RecentList {
    file: Option<Arc<dyn DiskFile>>,
    written: u64,
    /// Lines that are not written to the file yet.
    lines: Vec<u8>,
}

impl Root {
    /// Reads the list of the previous run, if any, and begins a new list. Returns true if the spool
    /// was not closed properly, or if the old list cannot be opened. In the second case no list is
    /// begun.
    pub(crate) fn open_recent(&self) -> bool {
        let path = self.join(FILE);
        let bytes = match self.disk.open(&path) {
            Ok(OpenedFile::File(file, len)) => {
                last_lines(&*file, len, len.saturating_sub(MAX_BYTES))
            }
            Ok(OpenedFile::NotAFile) => {
                self.move_aside(&path, "it is not a plain file");
                Vec::new()
            }
            Err(error) if is_missing(&error) => {
                // The file must exist at once: the program may stop before the first line is
                // written.
                let _written_or_not = self.begin_recent(&path, &[]);
                return false;
            }
            Err(_) => return true,
        };
        *lock(&self.recent.left) = parse_list(&bytes);
        // The unchecked lines stay in the new list: if this run is not closed either, the next
        // opening needs them.
        let _written_or_not = self.begin_recent(&path, &bytes);
        true
    }

    /// Writes a new list with this content, and opens it for more lines.
    fn begin_recent(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let (aside, file) = self.create_tmp()?;
        let fail = |error| Error::disk("write", path, error);
        let written = (|| {
            file.write_all_at(bytes, 0).map_err(fail)?;
            if self.is_synced() {
                file.sync().map_err(fail)?;
            }
            self.disk.rename(&aside, path).map_err(fail)
        })();
        if written.is_err() {
            self.discard(&aside);
            return written;
        }
        {
            let mut now = lock(&self.recent.now);
            (now.file, now.written) = (Some(file), wide(bytes.len()));
        }
        if self.is_synced() { self.sync_dir(&self.path) } else { Ok(()) }
    }

    /// Returns the file renamed last among the unchecked files of the previous run. `None` if all
    /// are checked.
    pub(crate) fn last_unchecked(&self) -> Option<RecentFile> {
        lock(&self.recent.left).last().cloned()
    }

    pub(crate) fn pop_unchecked(&self) {
        lock(&self.recent.left).pop();
    }

    pub(crate) fn drop_unchecked(&self) {
        lock(&self.recent.left).clear();
    }

    /// Adds a line for a file that was renamed into place.
    pub(crate) fn add_recent(&self, path: &Path) {
        let Some(line) = path.strip_prefix(&self.path).ok().and_then(Path::to_str) else { return };
        let mut now = lock(&self.recent.now);
        if now.file.is_some() && line.len() <= MAX_LINE && !line.contains('\n') {
            let line = format!("{} {line}\n", self.disk.now().as_microsecond());
            now.lines.extend_from_slice(line.as_bytes());
        }
    }

    /// Writes the added lines to the file.
    pub(crate) fn write_recent(&self) {
        let is_full = {
            let mut now = lock(&self.recent.now);
            let lines = std::mem::take(&mut now.lines);
            let Some(file) = now.file.clone().filter(|_| !lines.is_empty()) else { return };
            if file.write_all_at(&lines, now.written).is_err() {
                now.file = None;
                return;
            }
            now.written += wide(lines.len());
            now.written > MAX_BYTES
        };
        if is_full {
            self.halve_recent();
        }
    }

    /// Keeps the second half of the lines. If that fails, the list is not continued.
    fn halve_recent(&self) {
        let path = self.join(FILE);
        let mut now = lock(&self.recent.now);
        let Some(file) = now.file.take() else { return };
        let from = now.written / 2;
        let half = last_lines(&*file, now.written, from);
        if half.is_empty() {
            return;
        }
        let Ok((aside, file)) = self.create_tmp() else { return };
        let written = file.write_all_at(&half, 0).and_then(|()| self.disk.rename(&aside, &path));
        if written.is_ok() {
            (now.file, now.written) = (Some(file), wide(half.len()));
        } else {
            self.discard(&aside);
        }
    }

    /// Deletes the list, to make room on the disk. A new list is begun only when the spool is
    /// opened again. Returns false if there is no list or it cannot be deleted.
    pub(crate) fn delete_recent(&self) -> bool {
        // The file must be closed first, or its blocks stay allocated.
        let had_one = lock(&self.recent.now).file.take().is_some();
        had_one && self.disk.remove_file(&self.join(FILE)).is_ok()
    }

    /// Removes the list when the spool is closed properly. The list stays if files of the previous
    /// run are not checked yet.
    pub(crate) fn close_recent(&self) {
        if lock(&self.recent.now).file.take().is_none() || !lock(&self.recent.left).is_empty() {
            return;
        }
        // If the file cannot be removed, the next opening only checks more than needed.
        let _removed_or_not = self.disk.remove_file(&self.join(FILE));
    }
}

/// Returns the lines that begin after the offset `from`, or all lines if it is 0. Empty if the file
/// is unreadable. `len` is the length of the file.
fn last_lines(file: &dyn DiskFile, len: u64, from: u64) -> Vec<u8> {
    let Ok(len) = narrow(len.saturating_sub(from)) else { return Vec::new() };
    let mut bytes = read_exactly(file, len, from).unwrap_or_default();
    if from > 0 {
        let begun = bytes.iter().position(|&byte| byte == b'\n');
        bytes.drain(..begun.map_or(bytes.len(), |end| end + 1));
    }
    bytes
}

/// Parses the list. Lines without a path of an entry are ignored, so a damaged list cannot name
/// other files.
fn parse_list(bytes: &[u8]) -> Vec<RecentFile> {
    let parse_list = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?;
        // A space means that a time precedes the path: the path of an entry contains no space.
        let timed = line.split_once(' ').and_then(|(at, path)| Some((at.parse().ok()?, path)));
        let at = timed.and_then(|(at, _)| Timestamp::from_microsecond(at).ok());
        let path = Path::new(timed.map_or(line, |(_, path)| path));
        let mut parts = path.components();
        let is_plain = parts.clone().all(|part| matches!(part, Component::Normal(_)));
        let scheme = parts.next()?.as_os_str().to_str().and_then(place::scheme_of);
        let is_ours = scheme.is_some() && (3..=4).contains(&parts.count());
        let is_entry = path.extension().is_some_and(|extension| extension == "warc");
        let is_short = path.as_os_str().len() <= MAX_LINE;
        (is_plain && is_ours && is_entry && is_short)
            .then(|| RecentFile { at, path: path.to_owned() })
    };
    // A last line without a line feed is incomplete, and is ignored.
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes.get(..end).unwrap_or_default().split(|&byte| byte == b'\n');
    lines.filter_map(parse_list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_entries_are_read() {
        let bytes = b"http/a/9f/9f86.warc\n\n../a/b/c.warc\nhttp/../../x.warc\n/http/a/9f/x.warc\n\
            tmp/a/b/c.warc\nhttp/a/x.warc\nhttp/a/9f/x.txt\n\xff\nhttps/a/9f/x.variants/y.warc\n\
            =ftps/a/9f/x.warc\n1700000000000001 http/a/9f/t.warc\n1700000000000001 ../a/9f/t.warc\n\
            x http/a/9f/t.warc\nhttp/a/9f/cut.warc";
        let at = Timestamp::from_microsecond(1_700_000_000_000_001).unwrap();
        let want = [
            (None, "http/a/9f/9f86.warc"),
            (None, "https/a/9f/x.variants/y.warc"),
            (None, "=ftps/a/9f/x.warc"),
            (Some(at), "http/a/9f/t.warc"),
        ];
        let want = want.map(|(at, path)| RecentFile { at, path: path.into() });
        assert_eq!(parse_list(bytes), want);
        assert_eq!(parse_list(b""), []);
    }
}
