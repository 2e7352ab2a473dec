//! A request head (RFC 9112 §2 to §6): request line, fields, and the framing of the body.

use super::{PartProgress, Refusal, StepResult, is_value, run};
use crate::token::is_token_byte;

/// The most empty lines before a request line.
const MAX_EMPTY_LINES: u8 = 2;

/// The longest method in bytes; the longest registered one has 17.
const MAX_METHOD: usize = 64;

/// The number of bytes that are stored of the value of a checked field. A longer `Content-Length`
/// or `Transfer-Encoding` is refused.
const MAX_VALUE: usize = 40;

/// The maximum length of a body in bytes. Every implementation can count up to it.
const MAX_LENGTH: u64 = u64::MAX >> 1;

/// The beginning of a version; `0` or `1` follows.
const VERSION: &[u8] = b"HTTP/1.";

/// The framing of a request: where its body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    None,
    /// After this many bytes, at least one.
    Length(u64),
    Chunked,
}

/// A word of which the first `N` bytes are stored.
#[derive(Debug)]
struct BoundedWord<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for BoundedWord<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> BoundedWord<N> {
    fn push(&mut self, more: &[u8]) {
        for (slot, byte) in self.bytes.iter_mut().skip(self.len).zip(more) {
            *slot = *byte;
        }
        self.len = self.len.saturating_add(more.len());
    }

    /// The word; `None` if it was too long.
    fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}

/// The state of a request head.
#[derive(Debug, Default)]
pub(super) struct Head {
    at: HeadPosition,
    empty_lines: u8,
    method: BoundedWord<MAX_METHOD>,
    /// The number of bytes of the version that were read.
    version: usize,
    /// Whether the version is 1.0.
    old: bool,
    fields: FieldLines,
    host: bool,
    upgrade: bool,
    /// The framing that the fields read so far declare, if any. A length may be 0 here.
    framing: Option<Framing>,
}

#[derive(Clone, Copy, Debug, Default)]
enum HeadPosition {
    /// Before the request line, where empty lines are allowed.
    #[default]
    Before,
    EmptyLf,
    Method,
    /// Before the first byte of the target.
    TargetStart,
    Target,
    Version,
    LineLf,
    FieldLines,
}

impl Head {
    /// Reads the next bytes.
    pub(super) fn step(&mut self, bytes: &[u8]) -> StepResult {
        let Some(&byte) = bytes.first() else { return Ok(PartProgress::More(0)) };
        match (self.at, byte) {
            (HeadPosition::Before, b'\r') if self.empty_lines < MAX_EMPTY_LINES => {
                self.empty_lines += 1;
                self.move_to(HeadPosition::EmptyLf)
            }
            (HeadPosition::Before | HeadPosition::Method, _) => self.method(bytes),
            (HeadPosition::EmptyLf, b'\n') => self.move_to(HeadPosition::Before),
            (HeadPosition::TargetStart | HeadPosition::Target, _) => self.target(bytes),
            (HeadPosition::Version, _) => self.version(byte),
            (HeadPosition::LineLf, b'\n') => self.move_to(HeadPosition::FieldLines),
            (HeadPosition::EmptyLf | HeadPosition::LineLf, _) => refuse(0, "a CR without its LF"),
            (HeadPosition::FieldLines, _) => self.fields(bytes),
        }
    }

    /// Whether no byte has been read.
    pub(super) fn is_untouched(&self) -> bool {
        matches!(self.at, HeadPosition::Before) && self.empty_lines == 0
    }

    /// The framing of the body, once the head is complete.
    pub(super) fn framing(&self) -> Framing {
        match self.framing {
            None | Some(Framing::Length(0)) => Framing::None,
            Some(framing) => framing,
        }
    }

    /// Whether another protocol may follow on this connection.
    pub(super) fn switches(&self) -> bool {
        self.upgrade || self.is_connect()
    }

    fn is_connect(&self) -> bool {
        self.method.get() == Some(b"CONNECT")
    }

    /// Accepts one byte and moves to the next position.
    #[expect(clippy::unnecessary_wraps, reason = "it ends steps that may also refuse")]
    fn move_to(&mut self, next: HeadPosition) -> StepResult {
        self.at = next;
        Ok(PartProgress::More(1))
    }

    fn method(&mut self, bytes: &[u8]) -> StepResult {
        self.at = HeadPosition::Method;
        let (token, rest) = split(bytes, is_token_byte);
        self.method.push(token);
        if self.method.get().is_none() {
            return refuse(0, "the method is too long");
        }
        match rest.first() {
            None => Ok(PartProgress::More(token.len())),
            Some(b' ') if self.method.len > 0 => {
                self.at = HeadPosition::TargetStart;
                Ok(PartProgress::More(token.len() + 1))
            }
            Some(_) => refuse(token.len(), "the method is not a token"),
        }
    }

    fn target(&mut self, bytes: &[u8]) -> StepResult {
        let (target, rest) = split(bytes, |byte| byte > b' ' && byte != 0x7f);
        if !target.is_empty() {
            self.at = HeadPosition::Target;
        }
        match rest.first() {
            None => Ok(PartProgress::More(target.len())),
            Some(b' ') if matches!(self.at, HeadPosition::Target) => {
                self.at = HeadPosition::Version;
                Ok(PartProgress::More(target.len() + 1))
            }
            Some(_) => refuse(target.len(), "the target is not followed by a version"),
        }
    }

    fn version(&mut self, byte: u8) -> StepResult {
        match (VERSION.get(self.version), byte) {
            (Some(&expected), _) if byte == expected => {}
            (None, b'0' | b'1') if self.version == VERSION.len() => self.old = byte == b'0',
            (None, b'\r') if self.version > VERSION.len() => {
                return self.move_to(HeadPosition::LineLf);
            }
            _ => return refuse(0, "the version is neither HTTP/1.0 nor HTTP/1.1"),
        }
        self.version += 1;
        Ok(PartProgress::More(1))
    }

    fn fields(&mut self, bytes: &[u8]) -> StepResult {
        let (taken, judged) = match self.fields.step(bytes)? {
            LineProgress::More(taken) => return Ok(PartProgress::More(taken)),
            LineProgress::Field(taken, kind) => {
                (taken, self.field(kind).map(|()| PartProgress::More(taken)))
            }
            LineProgress::End(taken) => (taken, self.end().map(|()| PartProgress::Done(taken))),
        };
        // The whole line is invalid, so its LF must not pass.
        judged.map_err(|why| Refusal { at: taken.saturating_sub(1), why })
    }

    /// Checks a complete field against the fields before it.
    fn field(&mut self, kind: FieldKind) -> Result<(), &'static str> {
        match kind {
            FieldKind::Other => {}
            FieldKind::Upgrade => self.upgrade = true,
            FieldKind::Host if self.host => return Err("two hosts"),
            FieldKind::Host => self.host = true,
            FieldKind::Length => return self.frame(self.fields.length()?),
            FieldKind::Coding if self.old => return Err("a transfer coding in HTTP/1.0"),
            FieldKind::Coding => return self.frame(self.fields.coding()?),
        }
        Ok(())
    }

    /// Records the framing that a field declares. Only one field may declare a framing (RFC 9112
    /// §6.3).
    fn frame(&mut self, framing: Framing) -> Result<(), &'static str> {
        match (self.framing.replace(framing), framing) {
            (None, _) => Ok(()),
            (Some(Framing::Length(_)), Framing::Length(_)) => Err("two lengths"),
            (Some(Framing::Chunked), Framing::Chunked) => Err("two transfer codings"),
            _ => Err("both a length and a transfer coding"),
        }
    }

    /// Checks the head as a whole.
    fn end(&self) -> Result<(), &'static str> {
        if !self.host && !self.old {
            return Err("no host");
        }
        // RFC 9110 §9.3.6: the bytes after the head of a CONNECT belong to the tunnel.
        if self.is_connect() && self.framing() != Framing::None {
            return Err("CONNECT with a body");
        }
        Ok(())
    }
}

/// The field lines of a head or of trailers, including the empty line.
#[derive(Debug, Default)]
pub(super) struct FieldLines {
    at: FieldPosition,
    /// The name, if it is at most as long as the longest name of a [`FieldKind`].
    name: BoundedWord<17>,
    kind: FieldKind,
    /// The value of a `Host`, `Content-Length` or `Transfer-Encoding` field, without surrounding
    /// white space.
    value: BoundedWord<MAX_VALUE>,
    /// Whether there was white space after the value.
    gap: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum FieldPosition {
    #[default]
    Start,
    Name,
    Value,
    Lf,
    LastLf,
}

/// The fields that are checked: those that determine where a request ends and what follows, and
/// `Host`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum FieldKind {
    #[default]
    Other,
    Host,
    Length,
    Coding,
    Upgrade,
}

/// The progress in reading field lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LineProgress {
    More(usize),
    /// This many bytes were read. The last one is the LF of a field.
    Field(usize, FieldKind),
    /// This many bytes were read. The last one is the LF of the empty line.
    End(usize),
}

impl FieldLines {
    /// Reads the next bytes.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<LineProgress, Refusal> {
        let Some(&byte) = bytes.first() else { return Ok(LineProgress::More(0)) };
        match (self.at, byte) {
            (FieldPosition::Start, b'\r') => {
                self.at = FieldPosition::LastLf;
                Ok(LineProgress::More(1))
            }
            (FieldPosition::Start, b' ' | b'\t') => refuse(0, "white space before a field"),
            (FieldPosition::Start, _) => {
                *self = Self { at: FieldPosition::Name, ..Self::default() };
                self.name(bytes)
            }
            (FieldPosition::Name, _) => self.name(bytes),
            (FieldPosition::Value, _) => self.value(bytes),
            (FieldPosition::Lf, b'\n') => {
                self.at = FieldPosition::Start;
                Ok(LineProgress::Field(1, self.kind))
            }
            (FieldPosition::LastLf, b'\n') => Ok(LineProgress::End(1)),
            (FieldPosition::Lf | FieldPosition::LastLf, _) => refuse(0, "a CR without its LF"),
        }
    }

    fn name(&mut self, bytes: &[u8]) -> Result<LineProgress, Refusal> {
        let (name, rest) = split(bytes, is_token_byte);
        self.name.push(name);
        match rest.first() {
            None => Ok(LineProgress::More(name.len())),
            Some(b':') if self.name.len > 0 => {
                self.kind = FieldKind::of(self.name.get().unwrap_or_default());
                self.at = FieldPosition::Value;
                Ok(LineProgress::More(name.len() + 1))
            }
            Some(_) => refuse(name.len(), "a field's name is not a token"),
        }
    }

    fn value(&mut self, bytes: &[u8]) -> Result<LineProgress, Refusal> {
        let (value, rest) = split(bytes, is_value);
        if let Some(allowed) = self.kind.alphabet() {
            self.remember(value, allowed)?;
        }
        match rest.first() {
            None => Ok(LineProgress::More(value.len())),
            Some(b'\r') => {
                self.at = FieldPosition::Lf;
                Ok(LineProgress::More(value.len() + 1))
            }
            Some(b'\n') => refuse(value.len(), "an LF without its CR"),
            Some(_) => refuse(value.len(), "a control byte in a field"),
        }
    }

    /// The framing declared by `Content-Length`.
    fn length(&self) -> Result<Framing, &'static str> {
        let digits = self.value.get().and_then(|digits| str::from_utf8(digits).ok());
        digits
            .and_then(|digits| digits.parse().ok())
            .filter(|length| *length <= MAX_LENGTH)
            .map(Framing::Length)
            .ok_or("the length is not a number, or too large")
    }

    /// The framing declared by `Transfer-Encoding`.
    fn coding(&self) -> Result<Framing, &'static str> {
        let coding = self.value.get().unwrap_or_default();
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        chunked.then_some(Framing::Chunked).ok_or("a transfer coding other than chunked")
    }

    fn remember(&mut self, value: &[u8], allowed: fn(u8) -> bool) -> Result<(), Refusal> {
        for (at, &byte) in value.iter().enumerate() {
            if byte == b' ' || byte == b'\t' {
                self.gap = self.value.len > 0;
            } else if self.gap || !allowed(byte) {
                return refuse(at, "a byte that the field cannot hold");
            } else {
                self.value.push(&[byte]);
            }
        }
        Ok(())
    }
}

impl FieldKind {
    fn of(name: &[u8]) -> Self {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => Self::Host,
            7 if is(b"upgrade") => Self::Upgrade,
            14 if is(b"content-length") => Self::Length,
            17 if is(b"transfer-encoding") => Self::Coding,
            _ => Self::Other,
        }
    }

    /// The bytes that the value may contain. `None` if the value is not checked.
    fn alphabet(self) -> Option<fn(u8) -> bool> {
        match self {
            Self::Host => Some(is_host),
            Self::Length => Some(|byte| byte.is_ascii_digit()),
            Self::Coding => Some(is_token_byte),
            Self::Other | Self::Upgrade => None,
        }
    }
}

/// Whether `uri-host [ ":" port ]` may contain the byte (RFC 9110 §7.2, RFC 3986 §3.2.2).
fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte)
}

fn split(bytes: &[u8], allowed: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at_checked(run(bytes, allowed)).unwrap_or((bytes, &[]))
}

fn refuse<T>(at: usize, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal { at, why })
}
