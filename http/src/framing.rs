//! Checks the framing of client requests strictly by RFC 9112, byte by byte, below hyper.
//!
//! hyper is lenient: it ignores a `Content-Length` beside a `Transfer-Encoding`, accepts lines that
//! end in a bare LF, and more. A proxy must be strict, because the next server may read the same
//! bytes differently (request smuggling). The gate therefore parses the framing independently. It
//! does not change a valid stream. In an invalid stream it overwrites the offending byte with NUL
//! and lets no later byte pass. In a head, it does so at the latest at the LF that would complete
//! the head. hyper then fails to parse the head, answers 400 and closes the connection, and no
//! request is created. hyper does not parse an incomplete head again before it sees an end of
//! input, so the gate supplies an end ([`Gate::ending`]). In a body, hyper sees an error or an
//! early end.
//!
//! After a head with `CONNECT` or `Upgrade` (and its body) the bytes belong to another protocol and
//! pass unchecked. The gate does not know whether the switch is granted. The proxy closes the
//! connection after any response that does not grant it, so unchecked bytes are never parsed as a
//! request.
//!
//! Where RFC 9112 leaves a choice, the gate refuses: a bare LF as line end (§2.2), repeated equal
//! lengths (§6.3), folded fields (§5.2), and transfer codings other than `chunked` (§6.1), which we
//! cannot decode. Up to two empty lines before a request pass (§2.2).

#[cfg(test)]
mod cases;
mod chunk;
mod head;
#[cfg(test)]
mod tests;

use self::chunk::Chunks;
use self::head::{Framing, Head};

/// The position of an offending byte, and the reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Refusal {
    at: usize,
    why: &'static str,
}

/// The progress in reading a part of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PartProgress {
    /// This many bytes belong to the part, and more follow.
    More(usize),
    /// This many bytes belong to the part. They complete it.
    Done(usize),
}

type StepResult = Result<PartProgress, Refusal>;

/// A gate that checks the bytes of one connection.
#[derive(Debug, Default)]
pub struct Gate {
    state: GateState,
    /// The head that is being read.
    head: Head,
    /// Position within a chunked body.
    chunks: Chunks,
    /// The number of completed requests.
    heads: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum GateState {
    #[default]
    Head,
    /// A body of which this many bytes remain, at least one.
    Length(u64),
    Chunked,
    /// Another protocol.
    Through,
    Refusal {
        why: &'static str,
        /// Whether hyper still needs an end of input after the refused head.
        open: bool,
    },
}

impl Gate {
    /// Checks bytes from the client and returns how many may pass. If not all may pass, the last
    /// passing byte was overwritten, and no later byte ever passes.
    pub fn pass(&mut self, bytes: &mut [u8]) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.step(rest) {
                Ok(0) => break,
                Ok(passed) => at += passed,
                Err(refused) => {
                    let open = matches!(self.state, GateState::Head);
                    self.state = GateState::Refusal { why: refused.why, open };
                    at += refused.at;
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = 0;
                    }
                    return (at + 1).min(bytes.len());
                }
            }
        }
        at
    }

    /// The number of completed requests, if the next byte begins another request.
    #[must_use]
    pub fn between(&self) -> Option<usize> {
        (matches!(self.state, GateState::Head) && self.head.is_untouched()).then_some(self.heads)
    }

    /// Whether the body of a request is incomplete.
    #[must_use]
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, GateState::Length(_) | GateState::Chunked)
    }

    /// The reason why the client was refused, if it was refused.
    #[must_use]
    pub fn refused(&self) -> Option<&'static str> {
        match self.state {
            GateState::Refusal { why, .. } => Some(why),
            _ => None,
        }
    }

    /// The bytes that hyper reads once in place of the bytes after a refused head.
    pub fn ending(&mut self) -> &'static [u8] {
        let GateState::Refusal { open, .. } = &mut self.state else { return b"" };
        if std::mem::take(open) { b"\r\n\r\n" } else { b"" }
    }

    /// Reads a run of bytes that belong together. Returns zero only after a refusal.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let step = match self.state {
            GateState::Refusal { .. } => return Ok(0),
            GateState::Through => return Ok(bytes.len()),
            GateState::Length(left) => {
                let (taken, left) = split_length(left, bytes.len());
                self.state = GateState::Length(left);
                if left == 0 { PartProgress::Done(taken) } else { PartProgress::More(taken) }
            }
            GateState::Chunked => self.chunks.step(bytes)?,
            GateState::Head => match self.head.step(bytes)? {
                PartProgress::More(taken) => PartProgress::More(taken),
                PartProgress::Done(taken) => match self.head.framing() {
                    Framing::None => PartProgress::Done(taken),
                    Framing::Length(length) => {
                        self.state = GateState::Length(length);
                        PartProgress::More(taken)
                    }
                    Framing::Chunked => {
                        self.chunks = Chunks::default();
                        self.state = GateState::Chunked;
                        PartProgress::More(taken)
                    }
                },
            },
        };
        Ok(match step {
            PartProgress::More(taken) => taken,
            PartProgress::Done(taken) => {
                self.heads += 1;
                self.state =
                    if self.head.switches() { GateState::Through } else { GateState::Head };
                self.head = Head::default();
                taken
            }
        })
    }
}

/// How many of `there` bytes belong to a body of which `left` bytes remain, and how many bytes of
/// the body remain after them.
fn split_length(left: u64, there: usize) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(there, |left| left.min(there));
    (taken, left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX)))
}

/// The number of leading bytes that are `allowed`.
fn run(bytes: &[u8], allowed: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !allowed(byte)).unwrap_or(bytes.len())
}

/// Whether a field value may contain the byte: `field-vchar`, SP and HTAB (RFC 9110 §5.5).
fn is_value(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f) || byte == b'\t'
}
