//! Saving long downloads from a crash: checkpoints are written during a download, and a segment is
//! made from them after a crash.
//!
//! ```text
//! tmp/00000042.warc                              the file being written
//! tmp/00000042.check                             its checkpoints
//! partial/9f/9f86d081…/00000000000000000000-5d0b9d1e.unfinished    both after a crash, until the
//! partial/9f/9f86d081…/00000000000000000000-5d0b9d1e.checkpoint    segments of the place are read
//! ```
//!
//! The file of checkpoints begins with a record that has everything a segment needs except its
//! body. Lines of fixed width follow: the length of the body, the CRC-32 of the bytes since the
//! previous line, and the CRC-32 of the line. A line is appended when its bytes are durable (unless
//! the spool syncs nothing). After a crash, the bytes up to the last line that matches them become
//! a segment. The segment is made when it is first needed, because reading a large file takes long;
//! opening a spool only moves the two files.

use crate::durability::Root;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crc32fast::Hasher;
use jiff::Timestamp;

use crate::entry::blocks::joined;
use crate::entry::layout::{
    ASKED, MAX_CONNECTION, MAX_HEAD, MAX_KEPT_REQUEST, MAX_URL, PLACE_FIELDS, place_fields,
};
use crate::entry::part::{MAX_PART_TEXT, SegmentPosition, SegmentedBody};
use crate::entry::place::Place;
use crate::entry::warc::{FIELDS, Reason, Record, parse_record, time_text};
use crate::entry::{layout, warc};
use crate::error::{Error, Result, is_missing};
use crate::fs::parallel::lock;
use crate::fs::size::{narrow, wide};
use crate::fs::whole::open_if_any;
use crate::fs::{Disk, DiskFile, OpenedFile, parent, read_exactly};
use crate::tree::Tree;
use crate::tree::segments::files::directory;
use crate::tree::segments::{NewSegment, SegmentWriter};
use crate::tree::session::Session;
use crate::tree::writer::NewEntry;

/// The smallest distance between two checkpoints, in bytes.
const STEP: u64 = 2 << 20;

/// In a long body, the distance between two checkpoints is the length so far divided by this
/// number. So the number of checkpoints grows slowly.
const STEPS: u64 = 16;

/// The length of a line: length of the body, its checksum, and the checksum of the line.
const LINE: usize = "00000000000000000000 01234567 01234567\n".len();

/// The longest first record of a file of checkpoints, in bytes.
const MAX_START: usize = (2 << 10)
    + PLACE_FIELDS
    + MAX_URL
    + MAX_HEAD
    + MAX_KEPT_REQUEST
    + MAX_CONNECTION
    + MAX_PART_TEXT;

/// An upper bound for the lines of any body.
const MAX_LINES: usize = 4_096;

/// The largest number of files to remember, until the next opening, because they could not be
/// converted to segments.
const MAX_GIVEN_UP: usize = 1_024;

/// The number of bytes of a body that are read at once.
const PIECE: usize = 256 << 10;

/// The endings of the two files below `tmp/`, and of the two files below `partial/`.
const DATA: &str = "warc";
const CHECK: &str = "check";
pub(crate) const UNFINISHED: &str = "unfinished";
pub(crate) const CHECKPOINT: &str = "checkpoint";

/// The checkpoints of a body being written.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    /// The first record. It is held in memory until the file is created.
    start: Vec<u8>,
    file: Option<Arc<dyn DiskFile>>,
    /// The length of the file of checkpoints.
    written: u64,
    /// The checksum of the bytes since the last checkpoint.
    sum: Hasher,
    /// The length of the body at the last checkpoint.
    last: u64,
    /// Whether a checkpoint could not be written. The earlier checkpoints stay valid.
    is_given_up: bool,
}

impl Checkpoints {
    /// The checkpoints of the file at `path`. `start` is the result of
    /// [`CheckpointHeader::record`].
    pub(crate) fn new(path: &Path, start: Vec<u8>) -> Checkpoints {
        Checkpoints {
            path: path.with_extension(CHECK),
            start,
            file: None,
            written: 0,
            sum: Hasher::new(),
            last: 0,
            is_given_up: false,
        }
    }

    /// Adds the next bytes of the body, which then has `body_len` bytes. Returns whether a
    /// checkpoint is due.
    pub(crate) fn update(&mut self, bytes: &[u8], body_len: u64) -> bool {
        if self.is_given_up {
            return false;
        }
        self.sum.update(bytes);
        body_len - self.last >= STEP.max(body_len / STEPS)
    }

    /// Writes a checkpoint. The first `body_len` bytes of the body must be in the file, and synced
    /// unless the spool syncs nothing.
    pub(crate) fn add_checkpoint(&mut self, root: &Root, body_len: u64) {
        let sum = std::mem::take(&mut self.sum).finalize();
        let line = format!("{body_len:020} {sum:08x} ");
        let line = format!("{line}{:08x}\n", crc32fast::hash(line.as_bytes()));
        // After a failure, the download continues without checkpoints.
        self.is_given_up = self.append(root, line.as_bytes()).is_err();
        self.last = body_len;
    }

    fn append(&mut self, root: &Root, line: &[u8]) -> std::io::Result<()> {
        let is_new = self.file.is_none();
        let file = match self.file.take() {
            Some(file) => file,
            None => root.disk.create(&self.path)?,
        };
        self.file = Some(Arc::clone(&file));
        if is_new {
            file.write_all_at(&self.start, 0)?;
            self.written = wide(self.start.len());
            self.start = Vec::new();
        }
        file.write_all_at(line, self.written)?;
        self.written += wide(line.len());
        if root.is_synced() {
            file.sync()?;
            if is_new {
                // This makes the names of both files durable.
                root.disk.sync_dir(parent(&self.path))?;
            }
        }
        Ok(())
    }

    /// Removes the file of checkpoints when the download is stored or discarded.
    pub(crate) fn remove(&mut self, root: &Root) {
        if self.file.take().is_some() {
            // If this fails, the next opening of the spool removes the file.
            let _ = root.disk.remove_file(&self.path);
        }
    }
}

/// The first record of a file of checkpoints.
#[derive(Debug)]
pub(crate) struct CheckpointHeader<'a> {
    pub(crate) body_offset: u64,
    pub(crate) asked: Timestamp,
    pub(crate) when: Timestamp,
    pub(crate) head: &'a [u8],
    pub(crate) request: &'a [u8],
    pub(crate) connection: Option<&'a [u8]>,
    pub(crate) part: &'a SegmentPosition,
}

impl CheckpointHeader<'_> {
    /// Builds the record.
    pub(crate) fn record(&self, place: &Place) -> Result<Vec<u8>> {
        let [id, _] = warc::record_ids()?;
        let mut record = Record::new("metadata");
        record.field("WARC-Record-ID", &id);
        record.field("WARC-Date", &time_text(self.when));
        record.field("WARC-Target-URI", place.url());
        record.field("Content-Type", FIELDS);
        place_fields(place, |name, value| record.field(name, value));
        record.field(ASKED, &time_text(self.asked));
        record.field("Wwwoffle-Head", &self.head.len().to_string());
        record.field("Wwwoffle-Request", &self.request.len().to_string());
        let connection_len = self.connection.map(|connection| connection.len().to_string());
        record.field_if("Wwwoffle-Connection", connection_len);
        record.field("Wwwoffle-Body", &self.body_offset.to_string());
        let connection = self.connection.unwrap_or_default();
        Ok(record.finish(&[self.head, self.request, connection, &self.part.text()]))
    }
}

/// A parsed file of checkpoints.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    pub(crate) place: Place,
    pub(crate) new: NewSegment,
    /// Eight digits of the record id, which distinguish files whose segments have the same start.
    id: String,
    body_offset: u64,
    /// The length and checksum of each valid checkpoint, in order.
    lines: Vec<(u64, u32)>,
}

impl CheckpointFile {
    /// Reads a file of checkpoints. `None` if it is missing or invalid.
    pub(crate) fn from(disk: &dyn Disk, path: &Path) -> Result<Option<CheckpointFile>> {
        let Some(OpenedFile::File(file, _)) = open_if_any(disk, path)? else { return Ok(None) };
        let bytes = read_exactly(&*file, MAX_START + MAX_LINES * LINE, 0);
        let bytes = bytes.map_err(|error| Error::disk("read", path, error))?;
        Ok(CheckpointFile::parse(&bytes).ok())
    }

    fn parse(bytes: &[u8]) -> Result<CheckpointFile, Reason> {
        let (header, block, rest) = parse_record(bytes)?;
        let len = |name| header.number(name).and_then(narrow);
        let mut rest_of_block = block;
        let mut take = |len: usize| {
            let (taken, rest) = rest_of_block.split_at_checked(len).ok_or("it is too short")?;
            rest_of_block = rest;
            Ok::<_, Reason>(taken.to_vec())
        };
        let (head, request) = (take(len("Wwwoffle-Head")?)?, take(len("Wwwoffle-Request")?)?);
        let connection = match header.get("Wwwoffle-Connection") {
            Some(_) => Some(take(len("Wwwoffle-Connection")?)?),
            None => None,
        };
        let SegmentPosition { start, whole } = SegmentPosition::parse(rest_of_block)?;
        let SegmentedBody { validator, complete_length } = whole;
        let (asked, when) = (header.time(ASKED)?, header.time("WARC-Date")?);
        let id = header.need("WARC-Record-ID")?.get(10..18).unwrap_or_default().to_owned();
        if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("its id is invalid");
        }
        let entry = NewEntry { asked, when, head, request, connection };
        let new = NewSegment { entry, validator, complete_length, start };
        let body_offset = header.number("Wwwoffle-Body")?;
        let place = layout::place(&header)?;
        Ok(CheckpointFile { place, new, id, body_offset, lines: lines(rest) })
    }

    /// The path below `partial/` that a file gets after a crash, with the ending `extension`.
    fn path(&self, root: &Path, extension: &str) -> PathBuf {
        let name = format!("{:020}-{}.{extension}", self.new.start, self.id);
        directory(root, &self.place).join(name)
    }

    /// The length and checksum of the leading bytes on disk that match their checkpoints.
    fn matching_prefix(&self, file: &dyn DiskFile) -> std::io::Result<(u64, u32)> {
        let (mut good, mut all) = (0, 0);
        for &(len, sum) in &self.lines {
            if sum_of(file, self.body_offset, good..len)? != Some(sum) {
                break;
            }
            all = joined(all, sum, len - good);
            good = len;
        }
        Ok((good, all))
    }
}

/// Parses the leading well-formed lines.
fn lines(bytes: &[u8]) -> Vec<(u64, u32)> {
    let mut last = 0;
    let line = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (fields, check) = line.split_at_checked(LINE - 9)?;
        let (len, sum) = fields.strip_suffix(' ')?.split_once(' ')?;
        let hex = |digits| u32::from_str_radix(digits, 16).ok();
        let is_right = hex(check)? == crc32fast::hash(fields.as_bytes());
        Some((len.parse::<u64>().ok()?, hex(sum)?)).filter(|_| is_right)
    };
    let read = bytes.chunks(LINE).take(MAX_LINES).map_while(|bytes| {
        let (len, sum) = line(bytes).filter(|(len, _)| *len > last)?;
        last = len;
        Some((len, sum))
    });
    read.collect()
}

/// The checksum of a range of a body. `None` if the file is shorter.
fn sum_of(
    file: &dyn DiskFile,
    body_offset: u64,
    range: std::ops::Range<u64>,
) -> std::io::Result<Option<u32>> {
    let (mut sum, mut offset) = (Hasher::new(), range.start);
    while offset < range.end {
        let len = narrow(range.end - offset).unwrap_or(PIECE).min(PIECE);
        let piece = read_exactly(file, len, body_offset.saturating_add(offset))?;
        if piece.len() < len {
            return Ok(None);
        }
        sum.update(&piece);
        offset += wide(len);
    }
    Ok(Some(sum.finalize()))
}

/// Whether a name below `partial/` belongs to an interrupted download.
pub(crate) fn is_left(name: &OsStr) -> bool {
    has_extension(Path::new(name), UNFINISHED) || has_extension(Path::new(name), CHECKPOINT)
}

/// Whether the response of an interrupted download below `partial/` arrived at `time` or later.
pub(crate) fn is_newer(disk: &dyn Disk, path: &Path, time: Timestamp) -> Result<bool> {
    let read = CheckpointFile::from(disk, &path.with_extension(CHECKPOINT))?;
    Ok(read.is_some_and(|read| read.new.entry.when >= time))
}

/// Whether a file below `partial/` is a file of checkpoints.
pub(crate) fn is_checkpoint(path: &Path) -> bool {
    has_extension(path, CHECKPOINT)
}

/// Whether a file below `tmp/` is a file of checkpoints.
pub(crate) fn is_check(path: &Path) -> bool {
    has_extension(path, CHECK)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

/// Moves an unfinished file of `tmp/` to `partial/`, if it has a checkpoint. Returns false if the
/// file is useless, because it has no checkpoint, or is shorter than it was at the first
/// checkpoint.
pub(crate) fn move_to_partial(tree: &Tree, data: &Path) -> Result<bool> {
    let check = data.with_extension(CHECK);
    let Some(read) = CheckpointFile::from(&*tree.root.disk, &check)? else { return Ok(false) };
    let first = read.lines.first().map(|line| line.0);
    let Some(least) = first.and_then(|first| first.checked_add(read.body_offset)) else {
        return Ok(false);
    };
    match open_if_any(&*tree.root.disk, data)? {
        Some(OpenedFile::File(_, len)) if len >= least => {}
        _ => return Ok(false),
    }
    let to = read.path(&tree.root.path, UNFINISHED);
    tree.root.leaves_tmp();
    tree.root.rename_into_place(data, &to)?;
    // After a crash here, the next opening completes the move with [`move_checkpoints`].
    tree.root.sync_name(&to)?;
    move_checkpoints(tree, &check)?;
    Ok(true)
}

/// Moves a file of checkpoints beside its data file. Removes it if the data file is missing.
pub(crate) fn move_checkpoints(tree: &Tree, check: &Path) -> Result<()> {
    if tree.root.is_file(&check.with_extension(DATA))? {
        // The data file could not be moved, for example on a full disk. A later opening tries to
        // move it again.
        return Ok(());
    }
    if let Some(read) = CheckpointFile::from(&*tree.root.disk, check)? {
        let data = read.path(&tree.root.path, UNFINISHED);
        if tree.root.is_file(&data)? {
            let to = read.path(&tree.root.path, CHECKPOINT);
            tree.root.rename_into_place(check, &to)?;
            tree.root.sync_name(&to)?;
            return Ok(());
        }
    }
    tree.root.remove_file(check).map(drop)
}

/// Makes segments from the interrupted downloads of a place.
pub(crate) fn make_segments(
    session: &Arc<Session>,
    place: &Place,
    left: &[OsString],
) -> Result<()> {
    let tree = &session.tree;
    let directory = directory(&tree.root.path, place);
    // Only one caller at a time makes segments. A file that another caller has handled is gone.
    let mut given_up = lock(&tree.segments.salvaging);
    for name in left {
        let data = directory.join(name);
        if given_up.contains(&data) {
            continue;
        }
        if has_extension(&data, CHECKPOINT) {
            let alone = tree.root.disk.open(&data.with_extension(UNFINISHED));
            if alone.is_err_and(|error| is_missing(&error)) {
                clear(tree, &data);
            }
            continue;
        }
        let check = data.with_extension(CHECKPOINT);
        if tree.segments.has_strays.load(Ordering::Acquire) && !tree.root.is_file(&check)? {
            // Only one of the two files is in `partial/`. The next opening moves the other.
            continue;
        }
        match make_segment(session, place, &data, &check) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) => {
                // The file may be large, and the disk full. So the file is not read again for every
                // request.
                if given_up.len() < MAX_GIVEN_UP {
                    given_up.insert(data);
                }
                return Err(error);
            }
        }
        let _parts = tree.segments.lock_names();
        clear(tree, &data);
        clear(tree, &check);
    }
    Ok(())
}

/// Makes a segment from one file, up to its first fault. Returns false if the file is gone.
fn make_segment(session: &Arc<Session>, place: &Place, data: &Path, check: &Path) -> Result<bool> {
    let disk = &*session.tree.root.disk;
    let Some(opened) = open_if_any(disk, data)? else { return Ok(false) };
    if let OpenedFile::File(file, _) = opened
        && let Some(read) = CheckpointFile::from(disk, check)?
        && read.place == *place
    {
        write_matching(session, read, &*file, data)?;
    }
    Ok(true)
}

/// Removes a file. If it cannot be removed, for example because it is a directory, sets it aside.
fn clear(tree: &Tree, path: &Path) {
    if tree.root.remove_file(path).is_err() {
        tree.root.move_aside(path, "it is not a file of an interrupted download");
    }
}

/// Writes the valid bytes of an unfinished file as a segment.
fn write_matching(
    session: &Arc<Session>,
    read: CheckpointFile,
    file: &dyn DiskFile,
    path: &Path,
) -> Result<()> {
    let fail = |error| Error::disk("read", path, error);
    let (good, sum) = read.matching_prefix(file).map_err(fail)?;
    if good == 0 {
        return Ok(());
    }
    let written =
        SegmentWriter::begin_copy(session, &read.place, read.new).and_then(|mut writer| {
            let (mut again, mut offset) = (Hasher::new(), 0);
            while offset < good {
                let len = narrow(good - offset).unwrap_or(PIECE).min(PIECE);
                let piece = read_exactly(file, len, read.body_offset.saturating_add(offset));
                let piece = piece.map_err(fail)?;
                again.update(&piece);
                writer.write(&piece)?;
                offset += wide(len);
            }
            // The file is read twice. The bytes in the segment must be those that were verified.
            if again.finalize() == sum { writer.finish_short() } else { Ok(()) }
        });
    match written {
        // Another program has written the file, so another attempt would fail too.
        Err(error) if error.is_invalid() || error.is_too_large() => Ok(()),
        done => done,
    }
}
