//! Zstandard (RFC 8878): a sequence of frames with a bounded window.

use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::{Coding, DecodeStep, Fault, LayerDecoder};

/// The largest window as a power of two: 8 MiB, the limit of the coding `zstd` (RFC 9659 §3) and of
/// browsers.
const MAX_WINDOW_LOG: u32 = 23;

/// The first bytes of a frame (RFC 8878 §3.1.1).
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes of a skippable frame; the low half of the first byte may vary (§3.1.2).
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// The coding `zstd`.
pub(super) struct Zstd {
    /// The decoder. `None` if its memory could not be allocated.
    decoder: Option<Decoder<'static>>,
    state: ZstdState,
    /// Whether a frame is complete. Then the bytes after it may be anything.
    has_frame: bool,
}

enum ZstdState {
    /// The first bytes of a frame.
    Magic {
        got: [u8; 4],
        count: usize,
    },
    Frame,
    /// The data has ended. Later bytes are dropped.
    Ended,
}

const BETWEEN: ZstdState = ZstdState::Magic { got: [0; 4], count: 0 };

impl Zstd {
    pub(super) fn new() -> Self {
        let decoder = Decoder::new().ok().and_then(|mut decoder| {
            decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).ok()?;
            Some(decoder)
        });
        Self { decoder, state: BETWEEN, has_frame: false }
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault> {
        let damaged = Fault::Damaged(Coding::Zstd);
        let decoder = self.decoder.as_mut().ok_or(damaged)?;
        let status = decoder.run_on_buffers(input, output).map_err(|_| damaged)?;
        if status.remaining == 0 {
            self.has_frame = true;
            self.state = BETWEEN;
        }
        Ok(DecodeStep { taken: status.bytes_read, made: status.bytes_written })
    }
}

/// Whether these bytes begin a frame or a skippable frame.
fn is_frame(magic: [u8; 4]) -> bool {
    let [first, rest @ ..] = magic;
    magic == FRAME || [&[first & 0xf0][..], &rest].concat() == SKIPPED
}

impl LayerDecoder for Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault> {
        match &mut self.state {
            ZstdState::Magic { got, count } => {
                let mut taken = 0;
                for (to, from) in got.iter_mut().skip(*count).zip(input) {
                    *to = *from;
                    taken += 1;
                }
                *count += taken;
                if *count < got.len() {
                    return Ok(DecodeStep { taken, made: 0 });
                }
                let magic = *got;
                if is_frame(magic) {
                    self.state = ZstdState::Frame;
                    // The decoder reads all four bytes and produces no output.
                    self.run(&magic, output)?;
                } else if self.has_frame {
                    self.state = ZstdState::Ended;
                } else {
                    return Err(Fault::Damaged(Coding::Zstd));
                }
                Ok(DecodeStep { taken, made: 0 })
            }
            ZstdState::Frame => self.run(input, output),
            ZstdState::Ended => Ok(DecodeStep { taken: input.len(), made: 0 }),
        }
    }

    fn may_end(&self) -> bool {
        match self.state {
            // Fewer than four bytes after a frame are not a frame.
            ZstdState::Magic { count, .. } => count == 0 || self.has_frame,
            ZstdState::Ended => true,
            ZstdState::Frame => false,
        }
    }
}
