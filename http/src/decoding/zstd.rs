//! Zstandard (RFC 8878): frames one behind the other, with a window that is bounded.

use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::{Coding, Fault, Step, Undo};

/// The largest window as a power of two: 8 MiB, the most that the coding `zstd` may need
/// (RFC 9659 §3) and that browsers give.
const MAX_WINDOW_LOG: u32 = 23;

/// What a frame begins with, in order (RFC 8878 §3.1.1).
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The same of a frame to be skipped, but that the low half of the first byte is free (§3.1.2).
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// The coding `zstd`.
pub(super) struct Zstd {
    /// `None` when there was no memory for it.
    decoder: Option<Decoder<'static>>,
    state: State,
    /// Whether a whole frame has come: what follows it need not be one.
    has_frame: bool,
}

enum State {
    /// The first bytes of a frame.
    Magic {
        got: [u8; 4],
        count: usize,
    },
    Frame,
    /// What follows is dropped.
    Ended,
}

const BETWEEN: State = State::Magic { got: [0; 4], count: 0 };

impl Zstd {
    pub(super) fn new() -> Self {
        let decoder = Decoder::new().ok().and_then(|mut decoder| {
            decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).ok()?;
            Some(decoder)
        });
        Self { decoder, state: BETWEEN, has_frame: false }
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        let damaged = Fault::Damaged(Coding::Zstd);
        let decoder = self.decoder.as_mut().ok_or(damaged)?;
        let status = decoder.run_on_buffers(input, output).map_err(|_| damaged)?;
        if status.remaining == 0 {
            self.has_frame = true;
            self.state = BETWEEN;
        }
        Ok(Step { taken: status.bytes_read, made: status.bytes_written })
    }
}

/// Whether these bytes begin a frame of either kind.
fn is_frame(magic: [u8; 4]) -> bool {
    let [first, rest @ ..] = magic;
    magic == FRAME || [&[first & 0xf0][..], &rest].concat() == SKIPPED
}

impl Undo for Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        match &mut self.state {
            State::Magic { got, count } => {
                let mut taken = 0;
                for (to, from) in got.iter_mut().skip(*count).zip(input) {
                    *to = *from;
                    taken += 1;
                }
                *count += taken;
                if *count < got.len() {
                    return Ok(Step { taken, made: 0 });
                }
                let magic = *got;
                if is_frame(magic) {
                    self.state = State::Frame;
                    // Nothing comes out of four bytes, and all of them go in.
                    self.run(&magic, output)?;
                } else if self.has_frame {
                    self.state = State::Ended;
                } else {
                    return Err(Fault::Damaged(Coding::Zstd));
                }
                Ok(Step { taken, made: 0 })
            }
            State::Frame => self.run(input, output),
            State::Ended => Ok(Step { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        match self.state {
            // Fewer than four bytes behind a frame are no frame.
            State::Magic { count, .. } => count == 0 || self.has_frame,
            State::Ended => true,
            State::Frame => false,
        }
    }
}
