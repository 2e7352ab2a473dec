//! Checksums for the blocks of a large body, so that a range can be verified without the rest.
//!
//! They form a metadata record after the body in the file:
//!
//! ```text
//! block-length: 1048576
//! crc-32: 0a1b2c3d 4e5f6071 …                    up to eight to a line
//! ```
//!
//! The last block may be shorter. At first a block has [`BLOCK`] bytes. Whenever [`MAX_BLOCKS`]
//! blocks are full, the length is doubled, so the record stays small for any body.

use crc32fast::Hasher;

use crate::entry::warc::Reason;
use crate::fs::size::wide;

/// The smallest length of a block, in bytes.
pub(crate) const BLOCK: u64 = 1 << 20;

/// The largest number of blocks of a body.
pub(crate) const MAX_BLOCKS: usize = 4_096;

/// The number of sums in one line.
const TO_A_LINE: usize = 8;

/// An upper bound, in bytes, for the text of [`MAX_BLOCKS`] sums: nine for each sum, nine for each
/// line of eight sums, and fewer than 64 for the first line.
pub(crate) const MAX_BLOCKS_TEXT: usize = MAX_BLOCKS * 11 + 64;

/// The checksums of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// The length in bytes of each block except the last.
    len: u64,
    sums: Vec<u32>,
}

impl Blocks {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn sum_at(&self, offset: u64) -> Option<u32> {
        let index = usize::try_from(offset / self.len).ok()?;
        self.sums.get(index).copied()
    }

    /// Returns the content of the metadata record.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = format!("block-length: {}\r\n", self.len);
        for line in self.sums.chunks(TO_A_LINE) {
            text.push_str("crc-32:");
            for sum in line {
                text.push(' ');
                text.push_str(&hex::encode(sum.to_be_bytes()));
            }
            text.push_str("\r\n");
        }
        text.into_bytes()
    }

    /// Parses the content of the metadata record for a body of `body_len` bytes.
    pub(crate) fn parse(text: &[u8], body_len: u64) -> Result<Blocks, Reason> {
        let wrong = "its list of checksums is invalid";
        let text = std::str::from_utf8(text).map_err(|_| wrong)?;
        let mut lines = text.strip_suffix("\r\n").ok_or(wrong)?.split("\r\n");
        let len = lines.next().and_then(|line| line.strip_prefix("block-length: ")).ok_or(wrong)?;
        let len: u64 = len.parse().map_err(|_| wrong)?;
        if !len.is_power_of_two() || len < BLOCK {
            return Err(wrong);
        }
        let many = usize::try_from(body_len.div_ceil(len)).map_err(|_| wrong)?;
        if many > MAX_BLOCKS {
            return Err(wrong);
        }
        let mut sums = Vec::with_capacity(many);
        for line in lines {
            for sum in line.strip_prefix("crc-32: ").ok_or(wrong)?.split(' ') {
                sums.push(u32::from_str_radix(sum, 16).map_err(|_| wrong)?);
            }
        }
        if sums.len() == many { Ok(Blocks { len, sums }) } else { Err(wrong) }
    }
}

/// The computation of the checksums of a body from its bytes in order.
#[derive(Debug)]
pub(crate) struct BlockSummer {
    blocks: Blocks,
    now: Hasher,
    filled: u64,
}

impl BlockSummer {
    pub(crate) fn new() -> BlockSummer {
        BlockSummer {
            blocks: Blocks { len: BLOCK, sums: Vec::new() },
            now: Hasher::new(),
            filled: 0,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(self.blocks.len - self.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.now.update(now);
            self.filled += wide(now.len());
            bytes = later;
            if self.filled == self.blocks.len {
                self.close();
            }
        }
    }

    /// Returns the checksums of all blocks.
    pub(crate) fn finish(mut self) -> Blocks {
        if self.filled > 0 {
            self.close();
        }
        self.blocks
    }

    fn close(&mut self) {
        let full = self.filled == self.blocks.len;
        self.blocks.sums.push(std::mem::take(&mut self.now).finalize());
        self.filled = 0;
        if full && self.blocks.sums.len() == MAX_BLOCKS {
            let len = self.blocks.len;
            let pairs = self.blocks.sums.chunks(2);
            self.blocks.sums = pairs
                .map(|pair| match *pair {
                    [first, second] => joined(first, second, len),
                    _ => pair.iter().copied().sum(),
                })
                .collect();
            self.blocks.len = len * 2;
        }
    }
}

/// Returns the CRC-32 of two consecutive ranges whose sums are `first` and `second`. The second
/// range has `len` bytes.
pub(crate) fn joined(first: u32, second: u32, len: u64) -> u32 {
    let mut sum = Hasher::new_with_initial_len(first, 0);
    sum.combine(&Hasher::new_with_initial_len(second, len));
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(body: &[u8], piece: usize) -> Blocks {
        let mut summing = BlockSummer::new();
        for piece in body.chunks(piece) {
            summing.update(piece);
        }
        summing.finish()
    }

    #[test]
    fn checksums_do_not_depend_on_the_piece_size() {
        let body: Vec<u8> = (0..=250).cycle().take((3 << 20) + 17).collect();
        let want: Vec<u32> = body.chunks(1 << 20).map(crc32fast::hash).collect();
        for piece in [999, 64 << 10, 5 << 20] {
            assert_eq!(summed(&body, piece).sums, want);
        }
        assert_eq!(joined(want[0], want[1], BLOCK), crc32fast::hash(&body[..2 << 20]));
    }

    #[test]
    fn block_length_doubles_at_the_maximum_count() {
        let mut summing = BlockSummer::new();
        let zeros = vec![0; 1 << 20];
        for _ in 0..=MAX_BLOCKS {
            summing.update(&zeros);
        }
        let blocks = summing.finish();
        assert_eq!((blocks.len, blocks.sums.len()), (2 * BLOCK, MAX_BLOCKS / 2 + 1));
        assert_eq!(blocks.sums[7], crc32fast::hash(&zeros.repeat(2)));
        let text = blocks.text();
        assert!(text.len() < MAX_BLOCKS_TEXT);
        assert_eq!(Blocks::parse(&text, BLOCK * (1 + wide(MAX_BLOCKS))), Ok(blocks));
    }

    #[test]
    fn an_invalid_block_list_is_refused() {
        let blocks = summed(&vec![7; 2 << 20], 1 << 20);
        let text = String::from_utf8(blocks.text()).unwrap();
        assert_eq!(Blocks::parse(text.as_bytes(), 2 << 20), Ok(blocks));
        for (text, len) in [
            (text.as_str(), 1 << 20),
            (text.as_str(), (2 << 20) + 1),
            ("", 0),
            ("block-length: 0\r\n", 0),
            ("block-length: 512\r\ncrc-32: 00000000\r\n", 512),
            ("block-length: 3145728\r\ncrc-32: 00000000\r\n", 512),
            ("block-length: 1048576\r\ncrc-32: 0000000x\r\n", 512),
            ("block-length: 1048576\r\ncrc-32: 00000000", 512),
            ("block-length: 1048576\r\ncrc-32: 00000000\r\n", u64::MAX),
            ("block-length: 99999999999999999999\r\n", 0),
        ] {
            assert!(Blocks::parse(text.as_bytes(), len).is_err(), "{text:?}, {len}");
        }
    }
}
