//! Reading any range of a body. Every byte is verified before it is returned.

use std::ops::Range;
use std::sync::Arc;

use crate::entry::blocks::{BLOCK, BlockSummer, Blocks, joined};
use crate::entry::{Body, BodyBytes, BodyFile, Entry};
use crate::error::{Result, SpoolFault};
use crate::fs::size::{narrow, wide};

/// The number of bytes that [`VerifiedReader::copy_to`] passes on at once.
const PIECE: usize = 256 << 10;

/// A reader of a body at any offset, in any order. It holds at most 1 MiB of the body in memory.
///
/// Sequential reads read each byte from the disk once, or twice if the blocks of a very large body
/// are longer than 1 MiB. A body stored before blocks had checksums is verified as a whole at the
/// first read.
#[derive(Debug)]
pub struct VerifiedReader {
    source: BodySource,
    len: u64,
}

#[derive(Debug)]
enum BodySource {
    Whole(BodyBytes),
    File(BlockReader),
    Segments { all: Arc<[Entry]>, current: Option<(usize, Box<VerifiedReader>)> },
}

impl VerifiedReader {
    pub(crate) fn of(body: &Body) -> VerifiedReader {
        match body {
            Body::Whole(whole) => {
                VerifiedReader { len: wide(whole.len()), source: BodySource::Whole(whole.clone()) }
            }
            Body::File(file) => VerifiedReader {
                len: file.len(),
                source: BodySource::File(BlockReader::new(file.clone())),
            },
        }
    }

    /// Returns a reader for segments of one body.
    pub(crate) fn of_segments(all: Arc<[Entry]>) -> VerifiedReader {
        let len = all.iter().filter_map(|segment| span(segment).map(|span| span.1)).max();
        VerifiedReader {
            source: BodySource::Segments { all, current: None },
            len: len.unwrap_or(0),
        }
    }

    /// Reads at `offset` of the body, at most the length of `buffer`; it may return fewer bytes
    /// than are available. Returns 0 at the end of the body, and where bytes are missing.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_damaged`] if the bytes are not those that were stored: call
    /// [`crate::Spool::set_aside`] for an entry, [`crate::Spool::repair_partial`] for segments. Or
    /// if the disk fails.
    pub fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if offset >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        match &mut self.source {
            BodySource::Whole(whole) => Ok(copy(whole, offset, buffer)),
            BodySource::File(file) => {
                let (start, piece) = file.piece_at(offset)?;
                Ok(copy(piece, offset - start, buffer))
            }
            BodySource::Segments { all, current } => read_segments(all, current, offset, buffer),
        }
    }

    /// Passes a range of the body to `to`, in pieces. Fails before a damaged byte is passed.
    pub(crate) fn copy_to(
        &mut self,
        range: Range<u64>,
        mut to: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mut piece, mut offset) = (vec![0; PIECE], range.start);
        while offset < range.end {
            let most = narrow(range.end - offset).unwrap_or(usize::MAX).min(PIECE);
            let read = self.read_at(offset, piece.get_mut(..most).unwrap_or_default())?;
            if read == 0 {
                return Err(SpoolFault::WriterBroken.into());
            }
            to(piece.get(..read).unwrap_or_default())?;
            offset += wide(read);
        }
        Ok(())
    }

    /// The length of the body in bytes. For segments: the largest offset at which one of them ends.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the body has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The beginning and end of a segment in the complete body. `None` if the entry is not a segment.
pub(crate) fn span(segment: &Entry) -> Option<(u64, u64)> {
    let start = segment.part()?.start;
    Some((start, start.checked_add(segment.body_len())?))
}

fn read_segments(
    all: &[Entry],
    current: &mut Option<(usize, Box<VerifiedReader>)>,
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize> {
    let covers = |segment: &Entry| span(segment).filter(|span| (span.0..span.1).contains(&offset));
    let still =
        current.as_ref().is_some_and(|(index, _)| all.get(*index).and_then(covers).is_some());
    if !still {
        // The segment that extends farthest serves the most later reads.
        let best = all
            .iter()
            .enumerate()
            .filter_map(|(index, segment)| covers(segment).map(|(_, end)| (end, index)));
        *current = best.max().and_then(|(_, index)| {
            Some((index, Box::new(VerifiedReader::of(all.get(index)?.body()))))
        });
    }
    let Some((index, reader)) = current else { return Ok(0) };
    let start = all.get(*index).and_then(span).map_or(0, |span| span.0);
    reader.read_at(offset.saturating_sub(start), buffer)
}

/// Copies the bytes from `offset` on into `buffer`. Returns how many were copied.
pub(crate) fn copy(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let offset = narrow(offset).unwrap_or(usize::MAX);
    let rest = bytes.get(offset..).unwrap_or_default();
    let len = rest.len().min(buffer.len());
    if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
        to.copy_from_slice(from);
    }
    len
}

/// A reader of a body file in pieces of [`BLOCK`] bytes. Each piece is verified.
#[derive(Debug)]
struct BlockReader {
    file: BodyFile,
    /// The current piece, which begins at the offset `start` of the body.
    piece: Vec<u8>,
    start: u64,
    /// For a block longer than a piece: the offset of the last verified block, and the checksums of
    /// its pieces. A piece that is read again is compared with them.
    block: (u64, Vec<u32>),
}

/// The reason for a body that does not match its checksums.
const OTHER: &str = "its body does not match its checksums";

impl BlockReader {
    fn new(file: BodyFile) -> BlockReader {
        BlockReader { file, piece: Vec::new(), start: 0, block: (0, Vec::new()) }
    }

    /// Returns the piece that contains `offset`, and its offset in the body.
    fn piece_at(&mut self, offset: u64) -> Result<(u64, &[u8])> {
        let start = offset - offset % BLOCK;
        if self.piece.is_empty() || start != self.start {
            self.load(start)?;
        }
        Ok((self.start, &self.piece))
    }

    fn load(&mut self, start: u64) -> Result<()> {
        let blocks = blocks(&self.file)?;
        let want = if blocks.len() == BLOCK {
            blocks.sum_at(start)
        } else {
            let block = start - start % blocks.len();
            if self.block.1.is_empty() || self.block.0 != block {
                self.block.1.clear();
                self.block = (block, verify_block(&self.file, blocks, block)?);
            }
            let index = narrow((start - block) / BLOCK).ok();
            index.and_then(|index| self.block.1.get(index)).copied()
        };
        self.piece.clear();
        let piece = read_piece(&self.file, start, BLOCK)?;
        if Some(crc32fast::hash(&piece)) != want {
            return Err(self.file.damaged(OTHER));
        }
        (self.piece, self.start) = (piece, start);
        Ok(())
    }
}

/// Reads and verifies a block longer than a piece. Returns the checksums of its pieces.
fn verify_block(file: &BodyFile, blocks: &Blocks, block: u64) -> Result<Vec<u32>> {
    let end = block.saturating_add(blocks.len()).min(file.len());
    let (mut sums, mut all, mut start) = (Vec::new(), 0, block);
    while start < end {
        let piece = read_piece(file, start, BLOCK)?;
        let (sum, len) = (crc32fast::hash(&piece), wide(piece.len()));
        all = if sums.is_empty() { sum } else { joined(all, sum, len) };
        sums.push(sum);
        start += len;
    }
    if blocks.sum_at(block) == Some(all) { Ok(sums) } else { Err(file.damaged(OTHER)) }
}

/// Passes a body to `to` in pieces, unverified.
pub(crate) fn for_each_piece(file: &BodyFile, mut to: impl FnMut(&[u8])) -> Result<()> {
    let mut start = 0;
    while start < file.len() {
        let piece = read_piece(file, start, BLOCK)?;
        to(&piece);
        start += wide(piece.len());
    }
    Ok(())
}

/// Reads `most` bytes of a body from the offset `start` on, or fewer at the end of the body.
pub(crate) fn read_piece(file: &BodyFile, start: u64, most: u64) -> Result<Vec<u8>> {
    let len = file.len().saturating_sub(start).min(most);
    let mut piece = vec![0; narrow(len).unwrap_or(0)];
    let mut read = 0;
    while let Some(rest) = piece.get_mut(read..).filter(|rest| !rest.is_empty()) {
        read += file.read_at(start + wide(read), rest)?;
    }
    Ok(piece)
}

/// The checksums of a body. If the file has none, the complete body is verified and they are
/// computed.
fn blocks(file: &BodyFile) -> Result<&Blocks> {
    if let Some(blocks) = file.blocks.get() {
        return Ok(blocks);
    }
    let (mut verifier, mut summing) = (file.verifier(), BlockSummer::new());
    for_each_piece(file, |piece| {
        verifier.update(piece);
        summing.update(piece);
    })?;
    if !verifier.finish() {
        return Err(file.damaged("its body does not match its digest"));
    }
    Ok(file.blocks.get_or_init(|| summing.finish()))
}
