//! A chunked body (RFC 9112 §7.1), including its trailers.

use super::head::{FieldLines, LineProgress};
use super::{PartProgress, Refusal, StepResult, is_value, run, split_length};

/// The maximum number of hexadecimal digits in a chunk size. A size with 15 digits cannot overflow
/// 63 bits.
const MAX_SIZE_DIGITS: u8 = 15;

/// The maximum number of bytes of extensions after one chunk size. No client is known to send
/// extensions.
const MAX_EXTENSION: usize = 1024;

/// The position within a chunked body.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: ChunkPosition,
    /// While the size is read: the size so far. After that: the remaining bytes of the chunk.
    size: u64,
    digits: u8,
    extension: usize,
    trailers: FieldLines,
}

#[derive(Clone, Copy, Debug, Default)]
enum ChunkPosition {
    #[default]
    Size,
    /// White space after a size: allowed only before `;` (RFC 9112 §7.1.1).
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
}

impl Chunks {
    /// Reads the next bytes.
    pub(super) fn step(&mut self, bytes: &[u8]) -> StepResult {
        let Some(&byte) = bytes.first() else { return Ok(PartProgress::More(0)) };
        let (taken, next) = match (self.at, byte) {
            (ChunkPosition::Size, _) => (1, self.size(byte)?),
            (ChunkPosition::Space, b' ' | b'\t') => (self.lengthen(1)?, ChunkPosition::Space),
            (ChunkPosition::Space, b';') => (1, ChunkPosition::Extension),
            (ChunkPosition::Extension, b'\r') => (1, ChunkPosition::SizeLf),
            (ChunkPosition::Extension, _) if is_value(byte) => {
                (self.lengthen(run(bytes, is_value))?, ChunkPosition::Extension)
            }
            (ChunkPosition::SizeLf, b'\n') if self.size == 0 => (1, ChunkPosition::Trailers),
            (ChunkPosition::SizeLf, b'\n') => (1, ChunkPosition::Data),
            (ChunkPosition::Data, _) => {
                let (taken, left) = split_length(self.size, bytes.len());
                self.size = left;
                (taken, if left == 0 { ChunkPosition::DataCr } else { ChunkPosition::Data })
            }
            (ChunkPosition::DataCr, b'\r') => (1, ChunkPosition::DataLf),
            (ChunkPosition::DataLf, b'\n') => {
                (self.digits, self.extension) = (0, 0);
                (1, ChunkPosition::Size)
            }
            (ChunkPosition::Trailers, _) => return self.trailer(bytes),
            (ChunkPosition::Space | ChunkPosition::Extension, _) => {
                return refuse("a byte beside a chunk's size");
            }
            (ChunkPosition::SizeLf | ChunkPosition::DataCr | ChunkPosition::DataLf, _) => {
                return refuse("a chunk's line does not end in CRLF");
            }
        };
        self.at = next;
        Ok(PartProgress::More(taken))
    }

    fn size(&mut self, byte: u8) -> Result<ChunkPosition, Refusal> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.digits >= MAX_SIZE_DIGITS {
                return Err(Refusal { at: 0, why: "a chunk's size is too long" });
            }
            self.digits += 1;
            // Before the first digit, `size` is 0, because the previous chunk is complete.
            self.size = (self.size << 4) | u64::from(digit);
            return Ok(ChunkPosition::Size);
        }
        match byte {
            b'\r' if self.digits > 0 => Ok(ChunkPosition::SizeLf),
            b';' if self.digits > 0 => Ok(ChunkPosition::Extension),
            b' ' | b'\t' if self.digits > 0 => Ok(ChunkPosition::Space),
            _ => Err(Refusal { at: 0, why: "a chunk's size is not a number" }),
        }
    }

    fn lengthen(&mut self, by: usize) -> Result<usize, Refusal> {
        self.extension += by;
        if self.extension > MAX_EXTENSION {
            return Err(Refusal { at: 0, why: "a chunk's extension is too long" });
        }
        Ok(by)
    }

    /// Reads trailers. They must be valid fields, but their contents do not affect the framing.
    fn trailer(&mut self, bytes: &[u8]) -> StepResult {
        self.at = ChunkPosition::Trailers;
        Ok(match self.trailers.step(bytes)? {
            LineProgress::More(taken) | LineProgress::Field(taken, _) => PartProgress::More(taken),
            LineProgress::End(taken) => PartProgress::Done(taken),
        })
    }
}

fn refuse(why: &'static str) -> StepResult {
    Err(Refusal { at: 0, why })
}
