//! Brotli (RFC 7932).

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Coding, DecodeStep, Fault, LayerDecoder};

type BrotliStream = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// The coding `br`.
pub(super) struct Brotli {
    state: Box<BrotliStream>,
    total: usize,
    has_begun: bool,
    /// Whether the data has ended. Later bytes are dropped, as in browsers.
    has_ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let new = || StandardAlloc::default();
        // Strict mode excludes the windows of up to 1 GiB that go beyond RFC 7932.
        let state = Box::new(BrotliStream::new_strict(new(), new(), new()));
        Self { state, total: 0, has_begun: false, has_ended: false }
    }
}

impl LayerDecoder for Brotli {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault> {
        if self.has_ended {
            return Ok(DecodeStep { taken: input.len(), made: 0 });
        }
        self.has_begun |= !input.is_empty();
        let (mut taken, mut made) = (0, 0);
        let result = BrotliDecompressStream(
            &mut input.len(),
            &mut taken,
            input,
            &mut output.len(),
            &mut made,
            output,
            &mut self.total,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultSuccess => self.has_ended = true,
            BrotliResult::ResultFailure => return Err(Fault::Damaged(Coding::Brotli)),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
        }
        Ok(DecodeStep { taken, made })
    }

    fn may_end(&self) -> bool {
        self.has_ended || !self.has_begun
    }
}
