//! Deflate (RFC 1951), bare or in its zlib frame (RFC 1950).

use flate2::{Decompress, FlushDecompress, Status};

use super::{Coding, Fault, Step, Undo};

/// Deflated data being inflated.
pub(super) struct Inflate {
    state: Decompress,
    coding: Coding,
}

impl Inflate {
    /// The zlib frame is checked with its sum, if there is one.
    pub(super) fn new(coding: Coding, has_frame: bool) -> Self {
        Self { state: Decompress::new(has_frame), coding }
    }

    /// Makes it ready for other data without a frame.
    pub(super) fn again(&mut self) {
        self.state.reset(false);
    }

    /// One step, and whether the data is at its end.
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<(Step, bool), Fault> {
        let (taken, made) = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| Fault::Damaged(self.coding))?;
        let since = |now: u64, then: u64| usize::try_from(now.saturating_sub(then));
        let step = Step {
            taken: since(self.state.total_in(), taken).unwrap_or(input.len()),
            made: since(self.state.total_out(), made).unwrap_or(output.len()),
        };
        Ok((step, status == Status::StreamEnd))
    }
}

/// The coding `deflate`. It names the zlib format (RFC 9110 §8.4.1.2), but servers have always sent
/// bare deflate too; the first two bytes tell.
pub(super) enum Deflate {
    /// Nothing has come.
    Nothing,
    /// A byte that both formats may begin with.
    First(u8),
    Inside(Inflate),
    /// What follows is dropped, as browsers do.
    Ended,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self::Nothing
    }
}

/// Whether a zlib stream may begin so (RFC 1950 §2.2): method 8, a window of at most 32 KiB. Bare
/// deflate with such a byte begins with a stored block, of which nothing comes out yet.
fn may_be_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

/// Whether the second byte completes the header: no dictionary, and both a multiple of 31.
fn is_zlib(first: u8, second: u8) -> bool {
    second & 0x20 == 0 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

impl Undo for Deflate {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        match self {
            Self::Nothing | Self::First(_) => {
                let Some(byte) = input.first().copied() else { return Ok(Step::default()) };
                let inflate = match self {
                    Self::First(first) => {
                        let has_frame = is_zlib(*first, byte);
                        let mut inflate = Inflate::new(Coding::Deflate, has_frame);
                        inflate.step(&[*first], output)?;
                        inflate
                    }
                    _ if may_be_zlib(byte) => {
                        *self = Self::First(byte);
                        return Ok(Step { taken: 1, made: 0 });
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
            Self::Ended => Ok(Step { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        matches!(self, Self::Nothing | Self::Ended)
    }
}
