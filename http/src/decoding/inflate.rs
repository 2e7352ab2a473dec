//! Deflate (RFC 1951), raw or in a zlib frame (RFC 1950).

use flate2::{Decompress, FlushDecompress, Status};

use super::{Coding, DecodeStep, Fault, LayerDecoder};

/// A deflate decoder.
pub(super) struct Inflate {
    state: Decompress,
    coding: Coding,
}

impl Inflate {
    /// Creates a decoder. With `has_frame`, the decoder verifies the zlib header and checksum.
    pub(super) fn new(coding: Coding, has_frame: bool) -> Self {
        Self { state: Decompress::new(has_frame), coding }
    }

    /// Resets the decoder for the next raw data.
    pub(super) fn reset_decoder(&mut self) {
        self.state.reset(false);
    }

    /// Decodes one step. Also returns whether the data has ended.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(DecodeStep, bool), Fault> {
        let (taken, made) = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| Fault::Damaged(self.coding))?;
        let since = |now: u64, then: u64| usize::try_from(now.saturating_sub(then));
        let step = DecodeStep {
            taken: since(self.state.total_in(), taken).unwrap_or(input.len()),
            made: since(self.state.total_out(), made).unwrap_or(output.len()),
        };
        Ok((step, status == Status::StreamEnd))
    }
}

/// The coding `deflate`. By RFC 9110 §8.4.1.2 it means the zlib format, but some servers send raw
/// deflate. The first two bytes show which format it is.
pub(super) enum Deflate {
    /// No byte has been read.
    Nothing,
    /// A byte with which both formats may begin.
    First(u8),
    Inside(Inflate),
    /// The data has ended. Later bytes are dropped, as in browsers.
    Ended,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self::Nothing
    }
}

/// Whether a zlib stream may begin with this byte (RFC 1950 §2.2): method 8 and a window of at most
/// 32 KiB. Raw deflate with this byte begins with a stored block, which gives no output yet.
fn may_be_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

/// Whether the second byte completes a zlib header: no dictionary is used, and the two bytes as a
/// number are a multiple of 31.
fn is_zlib(first: u8, second: u8) -> bool {
    second & 0x20 == 0 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

impl LayerDecoder for Deflate {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault> {
        match self {
            Self::Nothing | Self::First(_) => {
                let Some(byte) = input.first().copied() else { return Ok(DecodeStep::default()) };
                let inflate = match self {
                    Self::First(first) => {
                        let has_frame = is_zlib(*first, byte);
                        let mut inflate = Inflate::new(Coding::Deflate, has_frame);
                        inflate.step(&[*first], output)?;
                        inflate
                    }
                    _ if may_be_zlib(byte) => {
                        *self = Self::First(byte);
                        return Ok(DecodeStep { taken: 1, made: 0 });
                    }
                    _ => Inflate::new(Coding::Deflate, false),
                };
                *self = Self::Inside(inflate);
                self.step(input, output)
            }
            Self::Inside(inflate) => {
                let (step, is_end) = inflate.step(input, output)?;
                if is_end {
                    *self = Self::Ended;
                }
                Ok(step)
            }
            Self::Ended => Ok(DecodeStep { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        matches!(self, Self::Nothing | Self::Ended)
    }
}
