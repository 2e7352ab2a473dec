//! What a client sends, watched byte by byte beneath hyper and held to the letter of RFC 9112.
//!
//! hyper is forgiving: it drops a `Content-Length` that stands beside a `Transfer-Encoding`, takes
//! lines that end in a bare LF, and more. A proxy must not be, for what it reads in one way the
//! next server may read in another. So the gate follows the framing itself. It changes nothing in a
//! sound stream. Where the stream is not sound it overwrites the offending byte, at the latest the
//! LF that would complete the head, with NUL, and lets nothing after it pass: hyper finds a head
//! that cannot be parsed, answers 400 and closes, and no request was ever made of it. Since hyper
//! does not look again at a head it has begun on before it sees its end, it is shown one
//! ([`Gate::ending`]). In a body, what it finds is an error or an early end.
//!
//! After a head with `CONNECT` or `Upgrade` (and its body) bytes belong to another protocol, and
//! pass. Whether the change of protocol is granted is not known here: every answer that does not
//! grant it ends the connection (the proxy sees to it), so what passed unwatched is never
//! read as a request.
//!
//! Where RFC 9112 leaves the choice, the gate refuses: a bare LF as the end of a line (§2.2), equal
//! lengths said twice (§6.3), folded fields (§5.2), a transfer coding besides `chunked` (§6.1: none
//! is understood here). Of empty lines before a request (§2.2) two pass.

#[cfg(test)]
mod cases;
mod chunk;
mod head;
#[cfg(test)]
mod tests;

use self::chunk::Chunks;
use self::head::{Framing, Head};

/// A refusal: which byte of those looked at, and what is wrong with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Refused {
    at: usize,
    why: &'static str,
}

/// How far a part of a request has been read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    /// So many bytes belong to it, and more follow.
    More(usize),
    /// So many bytes belong to it, and they are its last.
    Done(usize),
}

type Stepped = Result<Step, Refused>;

/// The watcher of one connection.
#[derive(Debug, Default)]
pub struct Gate {
    state: State,
    /// What is known of the current head.
    head: Head,
    /// Where in a chunked body the client is.
    chunks: Chunks,
    /// How many requests have passed to their end.
    heads: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Head,
    /// A body of which so many bytes, more than none, are still to come.
    Length(u64),
    Chunked,
    /// Another protocol.
    Through,
    Refused {
        why: &'static str,
        /// Whether a head was refused whose end hyper has yet to be shown.
        open: bool,
    },
}

impl Gate {
    /// Looks at what has come from the client, and says how many of the bytes may pass. When they
    /// are not all, the last of them has been overwritten, and after it no byte passes ever.
    pub fn pass(&mut self, bytes: &mut [u8]) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.step(rest) {
                Ok(0) => break,
                Ok(passed) => at += passed,
                Err(refused) => {
                    let open = matches!(self.state, State::Head);
                    self.state = State::Refused { why: refused.why, open };
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

    /// How many requests have passed to their end, if the next byte begins another one.
    #[must_use]
    pub fn between(&self) -> Option<usize> {
        (matches!(self.state, State::Head) && self.head.is_untouched()).then_some(self.heads)
    }

    /// Why the client was refused, if it was.
    #[must_use]
    pub fn refused(&self) -> Option<&'static str> {
        match self.state {
            State::Refused { why, .. } => Some(why),
            _ => None,
        }
    }

    /// What is to be read, once, in place of what a refused client sends after its bad head.
    pub fn ending(&mut self) -> &'static [u8] {
        let State::Refused { open, .. } = &mut self.state else { return b"" };
        if std::mem::take(open) { b"\r\n\r\n" } else { b"" }
    }

    /// Takes as many bytes as belong together; none only after a refusal.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Refused> {
        let step = match self.state {
            State::Refused { .. } => return Ok(0),
            State::Through => return Ok(bytes.len()),
            State::Length(left) => {
                let (taken, left) = take(left, bytes.len());
                self.state = State::Length(left);
                if left == 0 { Step::Done(taken) } else { Step::More(taken) }
            }
            State::Chunked => self.chunks.step(bytes)?,
            State::Head => match self.head.step(bytes)? {
                Step::More(taken) => Step::More(taken),
                Step::Done(taken) => match self.head.framing() {
                    Framing::None => Step::Done(taken),
                    Framing::Length(length) => {
                        self.state = State::Length(length);
                        Step::More(taken)
                    }
                    Framing::Chunked => {
                        self.chunks = Chunks::default();
                        self.state = State::Chunked;
                        Step::More(taken)
                    }
                },
            },
        };
        Ok(match step {
            Step::More(taken) => taken,
            Step::Done(taken) => {
                self.heads += 1;
                self.state = if self.head.switches() { State::Through } else { State::Head };
                self.head = Head::default();
                taken
            }
        })
    }
}

/// How many of `there` bytes belong to a length of which `left` are to come, and what is left then.
fn take(left: u64, there: usize) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(there, |left| left.min(there));
    (taken, left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX)))
}

/// How many bytes at the beginning are all `allowed`.
fn run(bytes: &[u8], allowed: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !allowed(byte)).unwrap_or(bytes.len())
}

/// `field-vchar`, SP and HTAB (RFC 9110 §5.5): what a value may hold.
fn is_value(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f) || byte == b'\t'
}

/// `tchar` (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
