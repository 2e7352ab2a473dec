//! Decodes content codings incrementally, in memory that does not grow with the body.
//!
//! No I/O and no clock: bytes in, bytes out. Damage, truncation and decompression bombs are
//! reported as a [`Fault`]. The output before a fault is never taken for a complete body.
//!
//! # Bounds
//!
//! A step reads up to [`INPUT`] bytes and writes at most as many bytes as fit into the caller's
//! buffer. A call makes a few steps. A decoder holds one window: 32 KiB for gzip and deflate, up to
//! 8 MiB for zstd (RFC 9659 §3) and up to 16 MiB for brotli (RFC 7932 §9.1; larger windows are not
//! used on the web). At most [`MAX_LAYERS`] codings are stacked. A layer may produce [`FREE`]
//! bytes, and beyond that at most [`MAX_RATIO`] times the input of the first layer.

mod brotli;
mod gzip;
mod inflate;
#[cfg(test)]
mod tests;
mod zstd;

use std::fmt;
use std::ops::Range;

/// The maximum number of codings of one body that are decoded. Usually there is one.
pub const MAX_LAYERS: usize = 3;

/// The most input that one step reads, in bytes.
pub const INPUT: usize = 16 * 1024;

/// The most steps in one call, so that async callers can yield between calls.
const STEPS: u32 = 16;

/// The number of decoded bytes that any body may have. The ratio limits only the bytes beyond this
/// number.
pub const FREE: u64 = 1024 * 1024;

/// The largest ratio of output to input. Text reaches 5 to 20, repetitive logs 200. Deflate can
/// reach 1032, and brotli and zstd far more, but only with long runs of one byte.
pub const MAX_RATIO: u64 = 500;

wwwoffle_url::named! {
    /// A supported content coding (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Coding {
        /// `gzip`, `x-gzip`.
        Gzip = "gzip",
        /// `deflate`: the zlib format, or raw deflate, which some servers send.
        Deflate = "deflate",
        /// `br`.
        Brotli = "br",
        /// `zstd`.
        Zstd = "zstd",
    }
}

impl Coding {
    /// Parses the name of a coding, in any letter case. `None` for an unsupported coding.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match () {
            // RFC 9110 §8.4.1.3: the two names are equivalent.
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () if is("zstd") => Some(Self::Zstd),
            () => None,
        }
    }
}

/// The reason why a body cannot be decoded completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The data is invalid, or decoding it would need more memory than the codings of the web may
    /// use.
    #[error("the {0} body is damaged or needs too much memory")]
    Damaged(Coding),
    /// The body ends too early.
    #[error("the {0} body ends too early")]
    Truncated(Coding),
    /// A decompression bomb.
    #[error(
        "the compressed body expands to more than {MAX_RATIO} times its length; only clients that accept it \
         compressed get it, unless request-compressed-data = false is set for its address"
    )]
    Expands,
}

/// The result of a call of [`Decoder::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// This many bytes were written, at least one.
    Bytes(usize),
    /// More input is needed.
    Hungry,
    /// Nothing was written yet, because much input gives little output. Call again.
    Busy,
    /// The body has ended.
    End,
}

/// The numbers of bytes that a step read and wrote.
#[derive(Clone, Copy, Debug, Default)]
struct DecodeStep {
    taken: usize,
    made: usize,
}

/// A decoder for one coding.
trait LayerDecoder: Send {
    /// Decodes some of `input`. If `input` is not empty, a step must read or write at least one
    /// byte; otherwise the decoder is stuck. Bytes after the end of the coded data are read and
    /// dropped.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<DecodeStep, Fault>;

    /// Whether the input may end here.
    fn may_end(&self) -> bool;
}

/// A decoder for one body.
pub struct Decoder {
    /// The decoders, in the order of decoding.
    layers: Vec<Layer>,
    taken: u64,
}

struct Layer {
    coding: Coding,
    undo: Box<dyn LayerDecoder>,
    /// Output of the previous layer.
    held: Box<[u8]>,
    /// The range of `held` that has not been read.
    waiting: Range<usize>,
    /// Whether the output buffer was full, so that more output may follow without input.
    was_full: bool,
    made: u64,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| layer.coding)).finish()
    }
}

impl Decoder {
    /// Creates a decoder for `codings` in this order: the coding that was applied last comes first.
    #[must_use]
    pub fn new(codings: &[Coding]) -> Self {
        let layers = codings.iter().map(|coding| Layer::new(*coding)).collect();
        Self { layers, taken: 0 }
    }

    /// The number of bytes of the coded body that were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.taken
    }

    /// Decodes some of `input` into `output`, which must not be empty. `input` is shortened by the
    /// bytes that were read. `is_last`: no further input follows.
    ///
    /// # Errors
    ///
    /// [`Fault`]. The decoder must not be used after that.
    pub fn decode(
        &mut self,
        input: &mut &[u8],
        is_last: bool,
        output: &mut [u8],
    ) -> Result<Output, Fault> {
        let mut source = Input { rest: input, is_last, taken: &mut self.taken, steps: STEPS };
        read(&mut self.layers, &mut source, output)
    }
}

/// The input of the first layer, and the remaining steps.
struct Input<'a, 'b> {
    rest: &'a mut &'b [u8],
    is_last: bool,
    taken: &'a mut u64,
    steps: u32,
}

impl Input<'_, '_> {
    fn read(&mut self, output: &mut [u8]) -> Output {
        let length = output.len().min(self.rest.len());
        if length == 0 {
            return if self.is_last { Output::End } else { Output::Hungry };
        }
        let (now, later) = self.rest.split_at(length);
        if let Some(room) = output.get_mut(..length) {
            room.copy_from_slice(now);
        }
        *self.rest = later;
        Output::Bytes(length)
    }
}

/// Reads the output of the last of `layers`. The layers before it supply its input from the source.
fn read(
    layers: &mut [Layer],
    source: &mut Input<'_, '_>,
    output: &mut [u8],
) -> Result<Output, Fault> {
    let Some((last, before)) = layers.split_last_mut() else { return Ok(source.read(output)) };
    loop {
        if last.has_more() {
            let Some(left) = source.steps.checked_sub(1) else { return Ok(Output::Busy) };
            source.steps = left;
            let step = last.step(output)?;
            if before.is_empty() {
                *source.taken = source.taken.saturating_add(count(step.taken));
            }
            if last.made > FREE.saturating_add(source.taken.saturating_mul(MAX_RATIO)) {
                return Err(Fault::Expands);
            }
            if step.made > 0 {
                return Ok(Output::Bytes(step.made));
            }
            continue;
        }
        match read(before, source, &mut last.held)? {
            Output::Bytes(length) => last.waiting = 0..length,
            Output::End if last.may_end() => return Ok(Output::End),
            Output::End => return Err(Fault::Truncated(last.coding)),
            made => return Ok(made),
        }
    }
}

impl Layer {
    fn new(coding: Coding) -> Self {
        let undo: Box<dyn LayerDecoder> = match coding {
            Coding::Gzip => Box::new(gzip::Gzip::new()),
            Coding::Deflate => Box::new(inflate::Deflate::new()),
            Coding::Brotli => Box::new(brotli::Brotli::new()),
            Coding::Zstd => Box::new(zstd::Zstd::new()),
        };
        let held = vec![0; INPUT].into_boxed_slice();
        Self { coding, undo, held, waiting: 0..0, was_full: false, made: 0 }
    }

    fn has_more(&self) -> bool {
        self.was_full || !self.waiting.is_empty()
    }

    /// Whether the input may end here. An empty body is valid: some servers mark empty responses as
    /// coded.
    fn may_end(&self) -> bool {
        self.undo.may_end()
    }

    fn step(&mut self, output: &mut [u8]) -> Result<DecodeStep, Fault> {
        let waiting = self.held.get(self.waiting.clone()).unwrap_or_default();
        let DecodeStep { taken, made } = self.undo.step(waiting, output)?;
        if taken == 0 && made == 0 && !waiting.is_empty() {
            return Err(Fault::Damaged(self.coding));
        }
        self.waiting.start = self.waiting.start.saturating_add(taken).min(self.waiting.end);
        self.was_full = made > 0 && made == output.len();
        self.made = self.made.saturating_add(count(made));
        Ok(DecodeStep { taken, made })
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
