//! Compressing the file of an entry.

use std::io;
use std::path::Path;

use flate2::{Compress, Compression, FlushCompress, Status};
use sha2::{Digest, Sha256};

use super::bounds::{RewriteBounds, RewriteOutcome};
use super::inflate::{PLAIN_HEAD, trailer};
use super::table::{END, OffsetTable, block_len, count_points, header_len};
use crate::entry::blocks::BLOCK;
use crate::entry::head::field_values;
use crate::entry::layout::FIRST_READ;
use crate::entry::verified::read_piece;
use crate::entry::warc::{BLOCK_END, parse_record};
use crate::entry::{Body, BodyFile, Entry};
use crate::error::{Error, Result};
use crate::fs::DiskFile;
use crate::fs::size::{narrow, wide};

/// The number of bytes that are gathered before a write.
const BUFFER: usize = 256 << 10;

/// The block size of most file systems, in bytes.
pub(crate) const DISK_BLOCK: u64 = 4_096;

/// The room in the buffer, in bytes, for the output that a compressor still holds when it is
/// flushed.
const ROOM: usize = 192 << 10;

/// The number of bytes of a body that are compressed at once.
const PIECE: usize = 64 << 10;

/// The reason why a file is not rewritten completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewriteStop {
    /// The body is damaged.
    Damaged,
    /// The new file is not worth it, or a limit stopped the work.
    Refused(RewriteOutcome),
}

/// Whether compression may save space, judged by the length of the file, the head, and the
/// beginning of the body.
pub(crate) fn may_shrink(entry: &Entry) -> Result<bool> {
    if entry.first.length <= DISK_BLOCK || has_coding(entry.head()) {
        return Ok(false);
    }
    Ok(match entry.body() {
        Body::Whole(body) => is_compressible(body.get(..PIECE).unwrap_or(body)),
        Body::File(body) => is_compressible(&read_piece(body, 0, wide(PIECE))?),
    })
}

/// Whether the body has a content coding (RFC 9110 §8.4). All codings in use compress.
fn has_coding(head: &[u8]) -> bool {
    let is_coding = |value: &[u8]| !value.is_empty() && !value.eq_ignore_ascii_case(b"identity");
    field_values(head, "content-encoding").any(is_coding)
}

/// Compresses the file of an entry into an empty file. Stops if a large body makes that file longer
/// than `most` bytes. Returns the length of the compressed file in bytes, and the SHA-256 of the
/// uncompressed file.
pub(crate) fn pack(
    entry: &Entry,
    (path, file): (&Path, &dyn DiskFile),
    (most, bounds): (u64, &RewriteBounds<'_>),
) -> Result<Result<(u64, [u8; 32]), RewriteStop>> {
    let expanded = entry.first.length;
    let is_divided = expanded > wide(FIRST_READ);
    let points = if is_divided { count_points(entry.body_len()) } else { 0 };
    let mut packer = Packer::new((path, file), wide(header_len(points)));
    let begin = entry.bytes.get(..entry.first.body_offset()).unwrap_or_default();
    packer.feed(begin)?;
    if is_divided {
        packer.divide()?;
    }
    match entry.body() {
        Body::Whole(body) => packer.feed_body(body, is_divided)?,
        Body::File(body) => {
            if let Some(stop) = feed_file(&mut packer, body, (most, bounds))? {
                return Ok(Err(stop));
            }
        }
    }
    let (end, rest) = entry.tail().split_at_checked(BLOCK_END.len()).unwrap_or_default();
    packer.feed(end)?;
    packer.end_member()?;
    let (record, tail) = (entry.first.body_end() + END, packer.at());
    let mut left = rest;
    while !left.is_empty() {
        // The tail was verified when the entry was read, so `left` begins with a valid record.
        let after = parse_record(left).map_or(&[][..], |(_, _, after)| after);
        let one = left.get(..left.len() - after.len()).unwrap_or_default();
        packer.append(&PLAIN_HEAD)?;
        packer.feed(one)?;
        packer.end_member()?;
        left = after;
    }
    let start = if is_divided { wide(entry.first.body_offset()) } else { 0 };
    let table = OffsetTable { expanded, record, start, tail, length: 0, points: Vec::new() };
    packer.finish(table).map(Ok)
}

/// Compresses a body from its file. `None` if the body was compressed completely and is intact.
fn feed_file(
    packer: &mut Packer<'_>,
    body: &BodyFile,
    (most, bounds): (u64, &RewriteBounds<'_>),
) -> Result<Option<RewriteStop>> {
    let (mut verifier, mut at) = (body.verifier(), 0);
    let block = block_len(body.len());
    while at < body.len() {
        if let Some(refused) = bounds.refuse(0) {
            return Ok(Some(RewriteStop::Refused(refused)));
        }
        if packer.at() > most {
            return Ok(Some(RewriteStop::Refused(RewriteOutcome::NotWorth)));
        }
        let piece = read_piece(body, at, BLOCK)?;
        verifier.update(&piece);
        at += wide(piece.len());
        packer.feed(&piece)?;
        if at % block == 0 || at == body.len() {
            packer.divide()?;
        }
    }
    Ok((!verifier.finish()).then_some(RewriteStop::Damaged))
}

/// Whether compression saves at least a tenth. An empty body counts as compressible, because the
/// records around it may be.
fn is_compressible(bytes: &[u8]) -> bool {
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut compress = Compress::new(Compression::fast(), false);
    let most = bytes.len() - bytes.len() / 10;
    let done = compress.compress_vec(bytes, &mut out, FlushCompress::Finish);
    bytes.is_empty() || matches!(done, Ok(Status::StreamEnd)) && out.len() <= most
}

/// The writer of the gzip members of a compressed file.
struct Packer<'a> {
    path: &'a Path,
    file: &'a dyn DiskFile,
    compress: Compress,
    /// Compressed bytes that are not written yet.
    buffer: Vec<u8>,
    written: u64,
    points: Vec<u64>,
    /// The checksum of the uncompressed bytes of the current member. `len` is the number of these
    /// bytes.
    sum: crc32fast::Hasher,
    len: u64,
    /// The digest of all input.
    digest: Sha256,
}

impl<'a> Packer<'a> {
    /// Returns a packer that writes from `offset` on, which leaves room for the header.
    fn new((path, file): (&'a Path, &'a dyn DiskFile), offset: u64) -> Packer<'a> {
        Packer {
            path,
            file,
            compress: Compress::new(Compression::default(), false),
            buffer: Vec::with_capacity(BUFFER + ROOM),
            written: offset,
            points: Vec::new(),
            sum: crc32fast::Hasher::new(),
            len: 0,
            digest: Sha256::new(),
        }
    }

    /// The offset of the next compressed byte.
    fn at(&self) -> u64 {
        self.written + wide(self.buffer.len())
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        self.digest.update(bytes);
        self.sum.update(bytes);
        self.len += wide(bytes.len());
        for piece in bytes.chunks(PIECE) {
            self.deflate(piece, FlushCompress::None)?;
        }
        Ok(())
    }

    /// Compresses a body in memory.
    fn feed_body(&mut self, body: &[u8], is_divided: bool) -> Result<()> {
        self.feed(body)?;
        if is_divided && !body.is_empty() { self.divide() } else { Ok(()) }
    }

    /// Begins a new stretch, which can be expanded without the previous one.
    fn divide(&mut self) -> Result<()> {
        self.deflate(&[], FlushCompress::Sync)?;
        // The reset clears the dictionary.
        self.compress.reset();
        self.points.push(self.at());
        Ok(())
    }

    fn end_member(&mut self) -> Result<()> {
        self.deflate(&[], FlushCompress::Finish)?;
        self.compress.reset();
        let sum = std::mem::take(&mut self.sum).finalize();
        let len = std::mem::take(&mut self.len);
        self.append(&trailer(sum, len))
    }

    fn deflate(&mut self, mut bytes: &[u8], flush: FlushCompress) -> Result<()> {
        loop {
            self.buffer.reserve(bytes.len() + ROOM);
            let before = self.compress.total_in();
            let status = self.compress.compress_vec(bytes, &mut self.buffer, flush);
            let status = status.map_err(|error| self.failed(io::Error::other(error)))?;
            let used = narrow(self.compress.total_in() - before).unwrap_or(usize::MAX);
            bytes = bytes.get(used..).unwrap_or_default();
            let has_room = self.buffer.len() < self.buffer.capacity();
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => bytes.is_empty() && has_room,
            };
            if self.buffer.len() >= BUFFER {
                self.write()?;
            }
            if is_done {
                return Ok(());
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let written = self.file.write_all_at(&self.buffer, self.written);
        written.map_err(|error| self.failed(error))?;
        self.written += wide(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::disk("write", self.path, error)
    }

    /// Writes the remaining bytes, then the header. Without its header the file is invalid.
    fn finish(mut self, mut table: OffsetTable) -> Result<(u64, [u8; 32])> {
        let length = self.at();
        self.write()?;
        (table.length, table.points) = (length, std::mem::take(&mut self.points));
        let written = self.file.write_all_at(&table.header(), 0);
        written.map_err(|error| self.failed(error))?;
        Ok((length, self.digest.finalize().into()))
    }
}
