//! The table of a compressed file, in an extra field of its first gzip header (RFC 1952 §2.3.1.1).
//! Other programs skip this field.
//!
//! ```text
//! version    1 byte, 1
//! expanded   8 bytes: the length of the whole uncompressed file
//! record     8: the uncompressed length of record 1
//! start      8: where the body begins in record 1; 0: record 1 is not divided
//! block      8: the length of a block of the body; 0 if record 1 is not divided
//! tail       8: where member 2 begins in the compressed file
//! length     8: the length of the compressed file
//! points     8 each: where each block of the body begins in the compressed file, and the end of record 1
//! check      4: CRC-32 of all bytes before this field
//! ```
//!
//! Numbers are little-endian, as in gzip. The compressor restarts at each point, so the bytes after
//! a point can be expanded without the bytes before it. A file that is small enough to be read at
//! once is not divided.

use crate::entry::blocks::{BLOCK, MAX_BLOCKS};
use crate::entry::layout::{FIRST_READ, MAX_TAIL};
use crate::entry::warc::{BLOCK_END, Reason};
use crate::fs::size::wide;

/// The first bytes of a gzip member.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The header of the first member, up to the length of its extra field: deflate, an extra field, no
/// time, no operating system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255];

/// The name of our subfield of the extra field.
const NAME: [u8; 2] = *b"WO";

const VERSION: u8 = 1;

/// The number of bytes before the table: header, length of the extra field, name and length of our
/// subfield.
const BEFORE: usize = HEAD.len() + 2 + NAME.len() + 2;

/// The length of the table without its points.
const FIXED: usize = 1 + 6 * 8 + 4;

/// The longest header of a first member, in bytes.
pub(super) const MAX_HEADER: usize = BEFORE + FIXED + 8 * (MAX_BLOCKS + 1);

/// The length of a member's trailer: a CRC-32 and a length.
pub(super) const TRAILER: u64 = 8;

/// The largest compression ratio of deflate: a match of 258 bytes takes two bits.
const MOST_FOR_A_BYTE: u64 = 1_032;

/// The length of the end of a record. The end forms a separate stretch, because it is read together
/// with the tail, not with the last block of the body.
pub(super) const END: u64 = 4;
const _: () = assert!(BLOCK_END.len() == 4);

/// The parsed table of a compressed file. All its lengths and offsets are consistent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OffsetTable {
    /// The length of the uncompressed file.
    pub(super) expanded: u64,
    /// The length of the first record when it is expanded.
    pub(super) record: u64,
    /// The offset of the body in the first record. 0 if the record is not divided.
    pub(super) start: u64,
    /// The offset of member 2 in the compressed file.
    pub(super) tail: u64,
    /// The length of the compressed file.
    pub(super) length: u64,
    /// The offsets in the compressed file of each block of the body, and of the end of record 1.
    pub(super) points: Vec<u64>,
}

/// A range that can be expanded without other ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The range `from..to` of the uncompressed file.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The range `packed_from..packed_to` of the compressed file, which expands to it.
    pub(super) packed_from: u64,
    pub(super) packed_to: u64,
}

/// The length of a block for a body of `body_len` bytes: [`BLOCK`], doubled until there are at most
/// [`MAX_BLOCKS`] blocks.
pub(super) fn block_len(body_len: u64) -> u64 {
    let mut len = BLOCK;
    while body_len.div_ceil(len) > wide(MAX_BLOCKS) {
        len = len.saturating_mul(2);
    }
    len
}

/// The number of points for a body: one for each block, and one for the end.
pub(super) fn count_points(body_len: u64) -> usize {
    let blocks = body_len.div_ceil(block_len(body_len));
    usize::try_from(blocks).unwrap_or(usize::MAX).saturating_add(1)
}

/// The length of a header whose table has this many points.
pub(super) fn header_len(points: usize) -> usize {
    BEFORE + FIXED + 8 * points
}

impl OffsetTable {
    fn is_divided(&self) -> bool {
        self.start > 0
    }

    /// The length of the body, if the record is divided into stretches.
    fn body_len(&self) -> u64 {
        self.record.saturating_sub(END).saturating_sub(self.start)
    }

    fn block_len(&self) -> u64 {
        if self.is_divided() { block_len(self.body_len()) } else { 0 }
    }

    /// The length of the header that contains this table.
    pub(super) fn header_len(&self) -> u64 {
        wide(header_len(self.points.len()))
    }

    /// The stretch of the first record that contains `offset`. `None` after the first record.
    pub(super) fn stretch_at(&self, offset: u64) -> Option<Stretch> {
        if offset >= self.record {
            return None;
        }
        let Some(within) = offset.checked_sub(self.start).filter(|_| self.is_divided()) else {
            return self.stretch(0);
        };
        if offset >= self.record.saturating_sub(END) {
            return self.stretch(self.points.len());
        }
        self.stretch(usize::try_from(within / self.block_len()).ok()?.checked_add(1)?)
    }

    /// The stretches of the first record, in order.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        (0..=self.points.len()).filter_map(|index| self.stretch(index))
    }

    fn stretch(&self, index: usize) -> Option<Stretch> {
        let last = self.points.len();
        let packed_from = match index.checked_sub(1) {
            None => self.header_len(),
            Some(before) => *self.points.get(before)?,
        };
        let packed_to = match self.points.get(index) {
            Some(next) => *next,
            None => self.tail.checked_sub(TRAILER)?,
        };
        let to = if index == last { self.record } else { self.start_of(index + 1)? };
        Some(Stretch { from: self.start_of(index)?, to, packed_from, packed_to })
    }

    /// The offset of a stretch in the uncompressed file.
    fn start_of(&self, index: usize) -> Option<u64> {
        let Some(blocks) = index.checked_sub(1) else { return Some(0) };
        if index == self.points.len() {
            return self.record.checked_sub(END);
        }
        self.start.checked_add(self.block_len().checked_mul(wide(blocks))?)
    }

    /// Builds the header of the first member, with the table.
    pub(super) fn header(&self) -> Vec<u8> {
        let len = header_len(self.points.len());
        let mut header = Vec::with_capacity(len);
        header.extend_from_slice(&HEAD);
        let part = u16::try_from(len - BEFORE).unwrap_or(u16::MAX);
        header.extend_from_slice(&part.saturating_add(4).to_le_bytes());
        header.extend_from_slice(&NAME);
        header.extend_from_slice(&part.to_le_bytes());
        header.push(VERSION);
        let numbers =
            [self.expanded, self.record, self.start, self.block_len(), self.tail, self.length];
        for number in numbers.iter().chain(&self.points) {
            header.extend_from_slice(&number.to_le_bytes());
        }
        let check = crc32fast::hash(header.get(BEFORE..).unwrap_or_default());
        header.extend_from_slice(&check.to_le_bytes());
        header
    }

    /// The length of the header that begins with these bytes. `None` if this program did not write
    /// the header.
    pub(super) fn header_len_of(beginning: &[u8]) -> Option<usize> {
        let rest = beginning.strip_prefix(&HEAD)?;
        let (extra, rest) = rest.split_first_chunk()?;
        let rest = rest.strip_prefix(&NAME)?;
        let (part, _) = rest.split_first_chunk()?;
        let (extra, part) = (u16::from_le_bytes(*extra), u16::from_le_bytes(*part));
        let len = BEFORE + usize::from(part);
        (extra.checked_sub(4) == Some(part) && len <= MAX_HEADER).then_some(len)
    }

    /// Parses a complete header, of a file of `file_len` bytes.
    pub(super) fn parse(header: &[u8], file_len: u64) -> Result<OffsetTable, Reason> {
        let wrong = "the table in its gzip header is invalid";
        let len = OffsetTable::header_len_of(header).ok_or(wrong)?;
        let table = header.get(BEFORE..len).ok_or(wrong)?;
        let (table, check) = table.split_last_chunk().ok_or(wrong)?;
        if crc32fast::hash(table) != u32::from_le_bytes(*check) {
            return Err("the table in its gzip header does not match its checksum");
        }
        let (&version, numbers) = table.split_first().ok_or(wrong)?;
        let (numbers, rest) = numbers.as_chunks();
        if version != VERSION || !rest.is_empty() {
            return Err(wrong);
        }
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let mut next = || numbers.next().ok_or(wrong);
        let (expanded, record, start) = (next()?, next()?, next()?);
        let (block, tail, length) = (next()?, next()?, next()?);
        let table =
            OffsetTable { expanded, record, start, tail, length, points: numbers.collect() };
        if length != file_len {
            return Err("its length differs from that of the compressed file as written");
        }
        if block != table.block_len() || !table.is_consistent() {
            return Err(wrong);
        }
        Ok(table)
    }

    /// Whether all numbers are consistent: no offset is outside the file, and no stretch is longer
    /// than its compressed bytes allow.
    fn is_consistent(&self) -> bool {
        let is_small = self.expanded <= wide(FIRST_READ);
        let after_record = self.expanded.checked_sub(self.record);
        let Some(tail) = after_record.filter(|&tail| tail <= wide(MAX_TAIL)) else { return false };
        let points = if self.is_divided() {
            let fits = self.start.checked_add(END).is_some_and(|least| least <= self.record);
            if !fits || self.start > wide(FIRST_READ) {
                return false;
            }
            count_points(self.body_len())
        } else {
            0
        };
        if is_small == self.is_divided() || self.record < END || self.points.len() != points {
            return false;
        }
        let Some(end) = self.tail.checked_sub(TRAILER) else { return false };
        let begin = self.header_len();
        let all = [begin].into_iter().chain(self.points.iter().copied()).chain([end]);
        let rises = all.clone().zip(all.skip(1)).all(|(one, next)| one < next);
        let packed_tail = self.length.checked_sub(self.tail);
        rises
            && self.tail <= self.length
            && packed_tail.is_some_and(|packed| fits(tail, packed) && packed <= max_packed_tail())
            && self.stretches().all(|one| fits(one.to - one.from, one.packed_to - one.packed_from))
    }
}

/// An upper bound for the compressed length of the records after the first.
fn max_packed_tail() -> u64 {
    2 * wide(MAX_TAIL)
}

fn fits(expanded: u64, packed: u64) -> bool {
    expanded <= packed.saturating_mul(MOST_FOR_A_BYTE)
}

pub(super) fn is_gzip(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table of a file with a body of `body_len` bytes. Each stretch is compressed to a tenth.
    fn table(body_len: u64) -> OffsetTable {
        let (start, tail_len) = (700, 1_500);
        let record = start + body_len + END;
        let expanded = record + tail_len;
        let is_divided = expanded > wide(FIRST_READ);
        let count = if is_divided { count_points(body_len) } else { 0 };
        let mut at = wide(header_len(count)) + start;
        let mut points = Vec::new();
        for index in 0..count {
            points.push(at);
            let left = body_len - (block_len(body_len) * wide(index)).min(body_len);
            at += left.min(block_len(body_len)).max(END) / 10 + 5;
        }
        if !is_divided {
            at += body_len / 10;
        }
        let tail = at + END + TRAILER;
        let start = if is_divided { start } else { 0 };
        OffsetTable { expanded, record, start, tail, length: tail + tail_len, points }
    }

    /// Replaces the check of a header by the correct value, even if its numbers are invalid.
    fn with_check(header: &[u8]) -> Vec<u8> {
        let (table, _) = header[BEFORE..].split_last_chunk::<4>().unwrap();
        let check = crc32fast::hash(table).to_le_bytes();
        [&header[..header.len() - 4], &check].concat()
    }

    #[test]
    fn an_offset_table_round_trips() {
        let mega = 1 << 20;
        for body_len in [0, 1, 100_000, 131_000, mega, mega + 1, 5 * mega, 4_096 * mega, 1 << 40] {
            let table = table(body_len);
            let header = table.header();
            assert_eq!(wide(header.len()), table.header_len());
            assert!(header.len() <= MAX_HEADER && header.len() < 65_535, "{body_len}");
            assert_eq!(OffsetTable::header_len_of(&header[..20]), Some(header.len()));
            assert_eq!(OffsetTable::parse(&header, table.length), Ok(table.clone()), "{body_len}");
            assert!(OffsetTable::parse(&header, table.length - 1).is_err(), "it was cut");
            let all: Vec<_> = table.stretches().collect();
            assert_eq!(all.len(), table.points.len() + 1);
            let mut at = (0, table.header_len());
            for one in all {
                assert_eq!((one.from, one.packed_from), at, "{body_len}");
                for offset in [one.from, one.to - 1] {
                    assert_eq!(table.stretch_at(offset), Some(one), "{body_len} {offset}");
                }
                at = (one.to, one.packed_to);
            }
            assert_eq!(at, (table.record, table.tail - TRAILER));
            assert_eq!(table.stretch_at(table.record), None);
        }
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        let header = table(3 << 20).header();
        let length = table(3 << 20).length;
        for index in 0..header.len() {
            for bit in 0..8 {
                let mut changed = header.clone();
                changed[index] ^= 1 << bit;
                assert!(OffsetTable::parse(&changed, length).is_err(), "byte {index}, bit {bit}");
            }
            assert!(OffsetTable::parse(&header[..index], length).is_err(), "cut at {index}");
        }
    }

    /// Whether the table is safe to use: no number points outside the file.
    fn is_safe(table: &OffsetTable) -> bool {
        let stretches: Vec<_> = table.stretches().collect();
        stretches.len() == table.points.len() + 1
            && stretches.iter().all(|one| {
                one.from < one.to
                    && one.packed_from < one.packed_to
                    && one.packed_to <= table.length
                    && fits(one.to - one.from, one.packed_to - one.packed_from)
            })
            && table.expanded - table.record <= wide(MAX_TAIL)
            && table.tail <= table.length
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_false_table_with_a_valid_checksum_is_harmless(
            body_len in prop_oneof![Just(90_000), Just(200_000), 0_u64..9 << 20],
            lies in proptest::collection::vec(
                (0..14_usize, prop_oneof![
                    any::<u64>(), 0..99_u64, Just(u64::MAX), Just(0), (0..64_u32).prop_map(|bit| 1 << bit),
                ], any::<bool>()),
                1..4,
            ),
        ) {
            let sound = table(body_len);
            let mut header = sound.header();
            for (number, value, is_added) in lies {
                let Some(place) = header.get_mut(BEFORE + 1 + 8 * number..).and_then(<[u8]>::first_chunk_mut)
                else { continue };
                let before = u64::from_le_bytes(*place);
                *place = if is_added { before.wrapping_add(value) } else { value }.to_le_bytes();
            }
            let header = with_check(&header);
            if let Ok(table) = OffsetTable::parse(&header, sound.length) {
                prop_assert!(is_safe(&table), "{table:?}");
            }
        }
    }
}
