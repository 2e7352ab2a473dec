//! Content codings undone, piece by piece, in memory that does not grow with the body.
//!
//! No I/O and no clock: bytes in, bytes out. What is damaged, cut short or a decompression bomb is a
//! [`Fault`], and what came before it is never taken for the whole.
//!
//! # Bounds
//!
//! A step looks at [`INPUT`] bytes and makes at most what its caller has room for; a call takes a few
//! of them. A decoder holds one window: 32 KiB of gzip and deflate, at most 8 MiB of zstd
//! (RFC 9659 §3), at most 16 MiB of brotli (RFC 7932 §9.1; larger windows are no coding of the web).
//! [`MAX_LAYERS`] codings are undone one behind the other. No layer may make more than [`FREE`] bytes
//! and then [`MAX_RATIO`] times what the first one has taken.

mod brotli;
mod gzip;
mod inflate;
#[cfg(test)]
mod tests;
mod zstd;

use std::fmt;
use std::ops::Range;

/// How many codings of one body are undone; one is usual.
pub const MAX_LAYERS: usize = 3;

/// How much of its input a step sees, in bytes.
pub const INPUT: usize = 16 * 1024;

/// How many steps one call takes at most: whoever calls from async code can let others go on
/// between calls.
const STEPS: u32 = 16;

/// How much may be made of any body, in bytes, before its ratio counts.
pub const FREE: u64 = 1024 * 1024;

/// How many times what was taken of it may be made of a body. Text comes to 5 or 20, the dullest log to
/// 200; deflate can reach 1032, brotli and zstd far more, with long runs of the same alone.
pub const MAX_RATIO: u64 = 500;

/// A content coding that can be undone (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `gzip`, `x-gzip`.
    Gzip,
    /// `deflate`: the zlib format, or without its frame, as some servers send it.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// The coding of this name, in any letter case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match () {
            // RFC 9110 §8.4.1.3: the two are the same.
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () if is("zstd") => Some(Self::Zstd),
            () => None,
        }
    }

    /// Its name in `Content-Encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a body cannot be decoded, or not to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not what its coding says, or needs more memory than codings of the web may.
    #[error("the body is not {0} that can be undone")]
    Damaged(Coding),
    /// It ends too early.
    #[error("the {0} body ends too early")]
    Truncated(Coding),
    /// A decompression bomb.
    #[error(
        "the compressed body expands to more than {MAX_RATIO} times its length: a program that takes it \
         compressed gets it, and any program does with request-compressed-data = false for its address"
    )]
    Expands,
}

/// What a call made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing, without more input.
    Hungry,
    /// Nothing yet: there is much input for little output. To be called again.
    Busy,
    /// Nothing: the body is at its end.
    End,
}

/// What a step took of its input and made in its output.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    taken: usize,
    made: usize,
}

/// One coding being undone.
trait Undo: Send {
    /// Decodes some of `input`. With input it takes or makes at least one byte, else it is stuck;
    /// what follows the end of the coded data is taken and dropped.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault>;

    /// Whether the input may end here.
    fn may_end(&self) -> bool;
}

/// A body being decoded.
pub struct Decoder {
    /// In the order they are undone.
    layers: Vec<Layer>,
    taken: u64,
}

struct Layer {
    coding: Coding,
    undo: Box<dyn Undo>,
    /// What the layer before has made.
    held: Box<[u8]>,
    /// What of it is not taken yet.
    waiting: Range<usize>,
    /// The output was full: more may come without input.
    was_full: bool,
    made: u64,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| layer.coding)).finish()
    }
}

impl Decoder {
    /// Undoes `codings`, in this order: the one that was applied last comes first.
    #[must_use]
    pub fn new(codings: &[Coding]) -> Self {
        let layers = codings.iter().map(|coding| Layer::new(*coding)).collect();
        Self { layers, taken: 0 }
    }

    /// How much of the coded body was used for what was made, in bytes.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Decodes some of `input`, which is shortened by what was taken, into `output`, which must not
    /// be empty. `is_last` says that nothing follows `input`.
    ///
    /// # Errors
    ///
    /// [`Fault`]; the decoder is of no use any more then.
    pub fn decode(
        &mut self,
        input: &mut &[u8],
        is_last: bool,
        output: &mut [u8],
    ) -> Result<Made, Fault> {
        let mut source = Source { input, is_last, taken: &mut self.taken, steps: STEPS };
        read(&mut self.layers, &mut source, output)
    }
}

/// What comes in, and how much work may still be done.
struct Source<'a, 'b> {
    input: &'a mut &'b [u8],
    is_last: bool,
    taken: &'a mut u64,
    steps: u32,
}

impl Source<'_, '_> {
    fn read(&mut self, output: &mut [u8]) -> Made {
        let length = output.len().min(self.input.len());
        if length == 0 {
            return if self.is_last { Made::End } else { Made::Hungry };
        }
        let (now, later) = self.input.split_at(length);
        if let Some(room) = output.get_mut(..length) {
            room.copy_from_slice(now);
        }
        *self.input = later;
        Made::Bytes(length)
    }
}

/// Reads what the last of `layers` makes of what the ones before it make of the source.
fn read(
    layers: &mut [Layer],
    source: &mut Source<'_, '_>,
    output: &mut [u8],
) -> Result<Made, Fault> {
    let Some((last, before)) = layers.split_last_mut() else { return Ok(source.read(output)) };
    loop {
        if last.has_more() {
            let Some(left) = source.steps.checked_sub(1) else { return Ok(Made::Busy) };
            source.steps = left;
            let step = last.step(output)?;
            if before.is_empty() {
                *source.taken = source.taken.saturating_add(count(step.taken));
            }
            if last.made > FREE.saturating_add(source.taken.saturating_mul(MAX_RATIO)) {
                return Err(Fault::Expands);
            }
            if step.made > 0 {
                return Ok(Made::Bytes(step.made));
            }
            continue;
        }
        match read(before, source, &mut last.held)? {
            Made::Bytes(length) => last.waiting = 0..length,
            Made::End if last.may_end() => return Ok(Made::End),
            Made::End => return Err(Fault::Truncated(last.coding)),
            made => return Ok(made),
        }
    }
}

impl Layer {
    fn new(coding: Coding) -> Self {
        let undo: Box<dyn Undo> = match coding {
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

    /// An empty body is nothing coded and nothing lost: servers mark empty answers as coded, too.
    fn may_end(&self) -> bool {
        self.undo.may_end()
    }

    fn step(&mut self, output: &mut [u8]) -> Result<Step, Fault> {
        let waiting = self.held.get(self.waiting.clone()).unwrap_or_default();
        let Step { taken, made } = self.undo.step(waiting, output)?;
        if taken == 0 && made == 0 && !waiting.is_empty() {
            return Err(Fault::Damaged(self.coding));
        }
        self.waiting.start = self.waiting.start.saturating_add(taken).min(self.waiting.end);
        self.was_full = made > 0 && made == output.len();
        self.made = self.made.saturating_add(count(made));
        Ok(Step { taken, made })
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
