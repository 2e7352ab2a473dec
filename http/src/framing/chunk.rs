//! A chunked body (RFC 9112 §7.1), to its last trailer.

use super::head::{Fields, Line};
use super::{Refused, Step, Stepped, is_value, run, take};

/// The most hexadecimal digits of a chunk's size. One more than fits in a length of 63 bits would
/// be needed to overflow it.
const MAX_SIZE_DIGITS: u8 = 15;

/// The most bytes of extensions beside one size. Nobody is known to send any.
const MAX_EXTENSION: usize = 1024;

/// Where in a chunked body the client is.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: At,
    /// The size read so far, then what of the chunk is still to come.
    size: u64,
    digits: u8,
    extension: usize,
    trailers: Fields,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Size,
    /// White space after a size: allowed before `;` only (RFC 9112 §7.1.1).
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
}

impl Chunks {
    /// Reads on.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Stepped {
        let Some(&byte) = bytes.first() else { return Ok(Step::More(0)) };
        let (taken, next) = match (self.at, byte) {
            (At::Size, _) => (1, self.size(byte)?),
            (At::Space, b' ' | b'\t') => (self.lengthen(1)?, At::Space),
            (At::Space, b';') => (1, At::Extension),
            (At::Extension, b'\r') => (1, At::SizeLf),
            (At::Extension, _) if is_value(byte) => {
                (self.lengthen(run(bytes, is_value))?, At::Extension)
            }
            (At::SizeLf, b'\n') if self.size == 0 => (1, At::Trailers),
            (At::SizeLf, b'\n') => (1, At::Data),
            (At::Data, _) => {
                let (taken, left) = take(self.size, bytes.len());
                self.size = left;
                (taken, if left == 0 { At::DataCr } else { At::Data })
            }
            (At::DataCr, b'\r') => (1, At::DataLf),
            (At::DataLf, b'\n') => {
                (self.digits, self.extension) = (0, 0);
                (1, At::Size)
            }
            (At::Trailers, _) => return self.trailer(bytes),
            (At::Space | At::Extension, _) => return refuse("a byte beside a chunk's size"),
            (At::SizeLf | At::DataCr | At::DataLf, _) => {
                return refuse("a chunk's line does not end in CRLF");
            }
        };
        self.at = next;
        Ok(Step::More(taken))
    }

    fn size(&mut self, byte: u8) -> Result<At, Refused> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.digits >= MAX_SIZE_DIGITS {
                return Err(Refused { at: 0, why: "a chunk's size is too long" });
            }
            self.digits += 1;
            // What is left of the chunk before is 0.
            self.size = (self.size << 4) | u64::from(digit);
            return Ok(At::Size);
        }
        match byte {
            b'\r' if self.digits > 0 => Ok(At::SizeLf),
            b';' if self.digits > 0 => Ok(At::Extension),
            b' ' | b'\t' if self.digits > 0 => Ok(At::Space),
            _ => Err(Refused { at: 0, why: "a chunk's size is not a number" }),
        }
    }

    fn lengthen(&mut self, by: usize) -> Result<usize, Refused> {
        self.extension += by;
        if self.extension > MAX_EXTENSION {
            return Err(Refused { at: 0, why: "a chunk's extension is too long" });
        }
        Ok(by)
    }

    /// Trailers must be fields; what they say bears on no framing.
    fn trailer(&mut self, bytes: &[u8]) -> Stepped {
        self.at = At::Trailers;
        Ok(match self.trailers.step(bytes)? {
            Line::More(taken) | Line::Field(taken, _) => Step::More(taken),
            Line::End(taken) => Step::Done(taken),
        })
    }
}

fn refuse(why: &'static str) -> Stepped {
    Err(Refused { at: 0, why })
}
