//! Decompression of single stretches and of whole gzip members.

use std::io;

use flate2::{Decompress, FlushDecompress, Status};

use super::table::{Stretch, TRAILER};
use crate::entry::warc::Reason;
use crate::fs::DiskFile;
use crate::fs::size::{at_most, narrow, wide};

/// The number of compressed bytes read at once.
const INPUT: usize = 32 << 10;

/// The header of every member except the first: deflate, without further information.
pub(super) const PLAIN_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The reason given for a compressed file that cannot be expanded.
pub(crate) const BROKEN: Reason = "its compressed form is damaged";

/// The reason why a file could not be expanded, inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DamagedGzip(Reason);

/// Builds the read error for a damaged compressed file, which [`reason_of`] tells apart from a
/// failure of the disk.
pub(super) fn broken(reason: Reason) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, DamagedGzip(reason))
}

/// Returns why the compressed file is damaged. `None` if `error` is another failure.
pub(crate) fn reason_of(error: &io::Error) -> Option<Reason> {
    error.get_ref()?.downcast_ref::<DamagedGzip>().map(|broken| broken.0)
}

/// A stretch being expanded from its beginning.
#[derive(Debug)]
pub(super) struct Inflater {
    stretch: Stretch,
    inflate: Decompress,
    /// The offset in the uncompressed file of the next byte to expand.
    at: u64,
    /// The offset of the first compressed byte not yet read.
    packed_at: u64,
    input: Vec<u8>,
    /// The number of bytes of `input` that are already expanded.
    used: usize,
    is_ended: bool,
}

impl Inflater {
    pub(super) fn new(stretch: Stretch) -> Inflater {
        Inflater {
            stretch,
            inflate: Decompress::new(false),
            at: stretch.from,
            packed_at: stretch.packed_from,
            input: Vec::new(),
            used: 0,
            is_ended: false,
        }
    }

    pub(super) fn stretch(&self) -> Stretch {
        self.stretch
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Expands the next bytes, at most the length of `buffer`. Returns 0 at the end of the stretch.
    pub(super) fn read(&mut self, file: &dyn DiskFile, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(buffer) = at_most(buffer, self.stretch.to - self.at) else { return Ok(0) };
        loop {
            let (used, made) = self.step(file, buffer)?;
            if made > 0 {
                return Ok(narrow(made).unwrap_or(usize::MAX).min(buffer.len()));
            }
            if used == 0 || self.is_ended {
                // The stretch is shorter than the table says.
                return Err(broken(BROKEN));
            }
        }
    }

    /// Reads the rest of the compressed bytes of the stretch, which must expand to nothing. Returns
    /// false if they do not, or if the end of the deflate stream is in the wrong place: it must be
    /// at the end of the last stretch of a member (`is_last`), and of no other stretch.
    pub(super) fn is_at_end(&mut self, file: &dyn DiskFile, is_last: bool) -> io::Result<bool> {
        let mut more = [0];
        while !self.is_ended {
            let (used, made) = self.step(file, &mut more)?;
            if made > 0 {
                return Ok(false);
            }
            if used == 0 {
                break;
            }
        }
        let is_used = self.used == self.input.len() && self.packed_at == self.stretch.packed_to;
        Ok(is_used && self.at == self.stretch.to && self.is_ended == is_last)
    }

    /// Expands some bytes into `buffer`. Returns the number of compressed bytes that were used, and
    /// the number of expanded bytes.
    fn step(&mut self, file: &dyn DiskFile, buffer: &mut [u8]) -> io::Result<(u64, u64)> {
        self.fill(file)?;
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let input = self.input.get(self.used..).unwrap_or_default();
        let status = self.inflate.decompress(input, buffer, FlushDecompress::None);
        let status = status.map_err(|_| broken(BROKEN))?;
        let used = self.inflate.total_in() - before.0;
        let made = self.inflate.total_out() - before.1;
        self.used += narrow(used).unwrap_or(usize::MAX);
        self.at += made;
        self.is_ended |= status == Status::StreamEnd;
        Ok((used, made))
    }

    /// Reads the next compressed bytes if all bytes read before are used.
    fn fill(&mut self, file: &dyn DiskFile) -> io::Result<()> {
        if self.used < self.input.len() {
            return Ok(());
        }
        let left = narrow(self.stretch.packed_to - self.packed_at).unwrap_or(usize::MAX);
        self.input.resize(left.min(INPUT), 0);
        self.used = 0;
        if self.input.is_empty() {
            return Ok(());
        }
        let read = file.read_at(&mut self.input, self.packed_at)?;
        if read == 0 {
            return Err(broken("it became shorter while it was being read"));
        }
        self.input.truncate(read);
        self.packed_at += wide(read);
        Ok(())
    }
}

/// Expands consecutive members completely, to exactly `expanded` bytes.
pub(super) fn members(mut packed: &[u8], expanded: usize) -> Result<Vec<u8>, Reason> {
    let mut all = Vec::with_capacity(expanded);
    while !packed.is_empty() {
        let deflated = packed.strip_prefix(&PLAIN_HEAD).ok_or(BROKEN)?;
        let (mut inflate, begin) = (Decompress::new(false), all.len());
        loop {
            // One byte more than allowed, so that excess output is detected.
            let room = (expanded + 1).saturating_sub(all.len());
            all.reserve(room);
            let input = deflated.get(used(&inflate)..).unwrap_or_default();
            let before = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress_vec(input, &mut all, FlushDecompress::None);
            let status = status.map_err(|_| BROKEN)?;
            if all.len() > expanded {
                return Err(BROKEN);
            }
            if status == Status::StreamEnd {
                break;
            }
            if before == (inflate.total_in(), inflate.total_out()) {
                return Err(BROKEN);
            }
        }
        let rest = deflated.get(used(&inflate)..).unwrap_or_default();
        let (trailer, rest) = rest.split_first_chunk().ok_or(BROKEN)?;
        let member = all.get(begin..).unwrap_or_default();
        if *trailer != self::trailer(crc32fast::hash(member), wide(member.len())) {
            return Err(BROKEN);
        }
        packed = rest;
    }
    if all.len() == expanded { Ok(all) } else { Err(BROKEN) }
}

fn used(inflate: &Decompress) -> usize {
    narrow(inflate.total_in()).unwrap_or(usize::MAX)
}

/// Builds the trailer of a gzip member that has the checksum `sum` and `len` uncompressed bytes.
pub(super) fn trailer(sum: u32, len: u64) -> [u8; 8] {
    let mut trailer = [0; 8];
    // RFC 1952 §2.3.1: the length modulo 2³².
    let [a, b, c, d, ..] = len.to_le_bytes();
    trailer[..4].copy_from_slice(&sum.to_le_bytes());
    trailer[4..].copy_from_slice(&[a, b, c, d]);
    trailer
}

const _: () = assert!(TRAILER == 8);
