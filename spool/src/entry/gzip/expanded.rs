//! A compressed file, read by the offsets of the uncompressed file.

use std::io;
use std::sync::{Arc, Mutex};

use super::inflate::{self, BROKEN, Inflater, broken};
use super::table::{OffsetTable, TRAILER};
use crate::entry::verified::copy;
use crate::entry::warc::Reason;
use crate::fs::parallel::lock;
use crate::fs::size::{narrow, wide};
use crate::fs::{DiskFile, Stamp, read_exactly};
use sha2::{Digest, Sha256};

/// The largest number of readers of one file whose positions are remembered. Each of these readers
/// expands a stretch only once.
const MAX_CURSORS: usize = 4;

/// The largest number of bytes that are expanded in one step. [`LEAST_WINDOW`] is the smallest.
const WINDOW: usize = 64 << 10;
const LEAST_WINDOW: usize = 8 << 10;

/// A compressed file that is read by the offsets of the uncompressed file.
///
/// A stretch is a range that can be expanded without other ranges. For each of up to
/// [`MAX_CURSORS`] readers, the bytes expanded last and the state of the decompressor are held
/// until the reader reaches the end of a stretch. They take about 150 KiB for each reader.
#[derive(Debug)]
pub(crate) struct ExpandedFile {
    file: Arc<dyn DiskFile>,
    table: OffsetTable,
    /// The most recently used cursor is last.
    cursors: Mutex<Vec<StretchCursor>>,
}

/// The position of one reader in the expanded file.
#[derive(Debug)]
struct StretchCursor {
    inflating: Inflater,
    /// The bytes expanded last. They end at the position of `inflating`.
    window: Vec<u8>,
}

impl StretchCursor {
    fn window_start(&self) -> u64 {
        self.inflating.at() - wide(self.window.len())
    }

    /// Whether the cursor can return the bytes at `offset` without expanding the stretch from its
    /// beginning.
    fn can_reach(&self, offset: u64) -> bool {
        (self.window_start()..self.inflating.stretch().to).contains(&offset)
    }

    /// Copies the bytes at `offset`, which must be in the cursor's stretch and not before its
    /// window.
    fn read(&mut self, file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        while offset >= self.inflating.at() {
            self.window.resize(buffer.len().clamp(LEAST_WINDOW, WINDOW), 0);
            let read = self.inflating.read(file, &mut self.window);
            self.window.truncate(*read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Err(broken(BROKEN));
            }
        }
        Ok(copy(&self.window, offset - self.window_start(), buffer))
    }
}

impl ExpandedFile {
    pub(super) fn new(file: Arc<dyn DiskFile>, table: OffsetTable) -> ExpandedFile {
        ExpandedFile { file, table, cursors: Mutex::default() }
    }

    /// Takes the most advanced cursor that can reach `offset` out of the list, or creates one.
    /// `None` if no stretch contains `offset`.
    fn cursor(&self, offset: u64) -> Option<StretchCursor> {
        let mut cursors = lock(&self.cursors);
        let reaching = cursors.iter().enumerate().filter(|(_, cursor)| cursor.can_reach(offset));
        let nearest = reaching.max_by_key(|(_, cursor)| cursor.inflating.at());
        if let Some(index) = nearest.map(|(index, _)| index) {
            return Some(cursors.remove(index));
        }
        let stretch = self.table.stretch_at(offset)?;
        Some(StretchCursor { inflating: Inflater::new(stretch), window: Vec::new() })
    }

    fn read_record(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut cursor = self.cursor(offset).ok_or_else(|| broken(BROKEN))?;
        // After a failed read, the cursor is dropped.
        let read = cursor.read(&*self.file, buffer, offset)?;
        if offset + wide(read) == cursor.inflating.stretch().to {
            // The next read is in another stretch, so the cursor is dropped: an idle open file
            // holds no memory.
            return Ok(read);
        }
        let mut cursors = lock(&self.cursors);
        if cursors.len() >= MAX_CURSORS {
            cursors.remove(0);
        }
        cursors.push(cursor);
        Ok(read)
    }

    /// Expands the records after the first.
    fn tail(&self) -> io::Result<Vec<u8>> {
        let len = |len| narrow(len).map_err(broken);
        let packed_len = len(self.table.length - self.table.tail)?;
        let packed = read_exactly(&*self.file, packed_len, self.table.tail)?;
        let expanded = len(self.table.expanded - self.table.record)?;
        inflate::members(&packed, expanded).map_err(broken)
    }

    /// Expands the whole file, and checks that other programs can expand it too: each stretch must
    /// end where the table says, and the gzip checksums must match. Returns the SHA-256 of the
    /// uncompressed file, or why the file is damaged.
    pub(super) fn verify(&self) -> io::Result<Result<[u8; 32], Reason>> {
        match self.expand() {
            Err(error) => match inflate::reason_of(&error) {
                Some(reason) => Ok(Err(reason)),
                None => Err(error),
            },
            Ok(digest) => Ok(Ok(digest)),
        }
    }

    fn expand(&self) -> io::Result<[u8; 32]> {
        let (mut digest, mut sum) = (Sha256::new(), crc32fast::Hasher::new());
        let mut piece = vec![0; WINDOW];
        for stretch in self.table.stretches() {
            let mut inflating = Inflater::new(stretch);
            loop {
                let read = inflating.read(&*self.file, &mut piece)?;
                let piece = piece.get(..read).filter(|piece| !piece.is_empty());
                let Some(piece) = piece else { break };
                digest.update(piece);
                sum.update(piece);
            }
            let is_last = stretch.to == self.table.record;
            if !inflating.is_at_end(&*self.file, is_last)? {
                return Err(broken(BROKEN));
            }
        }
        let trailer = read_exactly(&*self.file, 8, self.table.tail - TRAILER)?;
        if trailer != inflate::trailer(sum.finalize(), self.table.record) {
            return Err(broken("its compressed form does not match its checksum"));
        }
        digest.update(self.tail()?);
        Ok(digest.finalize().into())
    }
}

impl DiskFile for ExpandedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if buffer.is_empty() || offset >= self.table.expanded {
            return Ok(0);
        }
        match offset.checked_sub(self.table.record) {
            None => self.read_record(buffer, offset),
            Some(within) => Ok(copy(&self.tail()?, within, buffer)),
        }
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn identity(&self) -> io::Result<u64> {
        self.file.identity()
    }

    fn opened_as(&self) -> Option<Stamp> {
        self.file.opened_as()
    }
}
