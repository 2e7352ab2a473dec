//! A request's head (RFC 9112 §2 to §6): its line, its fields, and what they say of its body.

use super::{Refused, Step, Stepped, is_token, is_value, run};

/// The most empty lines before a request line.
const MAX_EMPTY_LINES: u8 = 2;

/// The longest method, in bytes; the longest one registered has 17.
const MAX_METHOD: usize = 64;

/// The most bytes of a value that are remembered: twice what a length takes.
const MAX_VALUE: usize = 40;

/// The largest body, in bytes; more cannot be counted by everyone.
const MAX_LENGTH: u64 = u64::MAX >> 1;

/// What a version begins with; `0` or `1` follows.
const VERSION: &[u8] = b"HTTP/1.";

/// How the body of a request ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    None,
    /// After so many bytes, more than none.
    Length(u64),
    Chunked,
}

/// A word of which the first `N` bytes are remembered.
#[derive(Debug)]
struct Word<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Word<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Word<N> {
    fn push(&mut self, more: &[u8]) {
        for (slot, byte) in self.bytes.iter_mut().skip(self.len).zip(more) {
            *slot = *byte;
        }
        self.len = self.len.saturating_add(more.len());
    }

    /// The word; `None` when it did not fit.
    fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}

/// What is known of a head.
#[derive(Debug, Default)]
pub(super) struct Head {
    at: At,
    empty_lines: u8,
    method: Word<MAX_METHOD>,
    /// How much of the version has been read.
    version: usize,
    /// Whether the version is 1.0.
    old: bool,
    fields: Fields,
    host: bool,
    upgrade: bool,
    /// What the fields so far say of the body; a length may be 0 here.
    framing: Option<Framing>,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    /// Before the request line, where an empty line may be.
    #[default]
    Before,
    EmptyLf,
    Method,
    /// Before the first byte of the target.
    TargetStart,
    Target,
    Version,
    LineLf,
    Fields,
}

impl Head {
    /// Reads on.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Stepped {
        let Some(&byte) = bytes.first() else { return Ok(Step::More(0)) };
        match (self.at, byte) {
            (At::Before, b'\r') if self.empty_lines < MAX_EMPTY_LINES => {
                self.empty_lines += 1;
                self.go(At::EmptyLf)
            }
            (At::Before | At::Method, _) => self.method(bytes),
            (At::EmptyLf, b'\n') => self.go(At::Before),
            (At::TargetStart | At::Target, _) => self.target(bytes),
            (At::Version, _) => self.version(byte),
            (At::LineLf, b'\n') => self.go(At::Fields),
            (At::EmptyLf | At::LineLf, _) => refuse(0, "a CR without its LF"),
            (At::Fields, _) => self.fields(bytes),
        }
    }

    /// Whether nothing of it has been read.
    pub(super) fn is_untouched(&self) -> bool {
        matches!(self.at, At::Before) && self.empty_lines == 0
    }

    /// How the body ends, once the head has.
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

    /// One byte taken, and on to the next part.
    #[expect(clippy::unnecessary_wraps, reason = "it ends steps that may also refuse")]
    fn go(&mut self, next: At) -> Stepped {
        self.at = next;
        Ok(Step::More(1))
    }

    fn method(&mut self, bytes: &[u8]) -> Stepped {
        self.at = At::Method;
        let (token, rest) = split(bytes, is_token);
        self.method.push(token);
        if self.method.get().is_none() {
            return refuse(0, "the method is too long");
        }
        match rest.first() {
            None => Ok(Step::More(token.len())),
            Some(b' ') if self.method.len > 0 => {
                self.at = At::TargetStart;
                Ok(Step::More(token.len() + 1))
            }
            Some(_) => refuse(token.len(), "the method is not a token"),
        }
    }

    fn target(&mut self, bytes: &[u8]) -> Stepped {
        let (target, rest) = split(bytes, |byte| byte > b' ' && byte != 0x7f);
        if !target.is_empty() {
            self.at = At::Target;
        }
        match rest.first() {
            None => Ok(Step::More(target.len())),
            Some(b' ') if matches!(self.at, At::Target) => {
                self.at = At::Version;
                Ok(Step::More(target.len() + 1))
            }
            Some(_) => refuse(target.len(), "the target is not followed by a version"),
        }
    }

    fn version(&mut self, byte: u8) -> Stepped {
        match (VERSION.get(self.version), byte) {
            (Some(&expected), _) if byte == expected => {}
            (None, b'0' | b'1') if self.version == VERSION.len() => self.old = byte == b'0',
            (None, b'\r') if self.version > VERSION.len() => return self.go(At::LineLf),
            _ => return refuse(0, "the version is neither HTTP/1.0 nor HTTP/1.1"),
        }
        self.version += 1;
        Ok(Step::More(1))
    }

    fn fields(&mut self, bytes: &[u8]) -> Stepped {
        let (taken, judged) = match self.fields.step(bytes)? {
            Line::More(taken) => return Ok(Step::More(taken)),
            Line::Field(taken, kind) => (taken, self.field(kind).map(|()| Step::More(taken))),
            Line::End(taken) => (taken, self.end().map(|()| Step::Done(taken))),
        };
        // The line is at fault as a whole, so its LF is withheld.
        judged.map_err(|why| Refused { at: taken.saturating_sub(1), why })
    }

    /// Judges a field, whole now, by those before it.
    fn field(&mut self, kind: Kind) -> Result<(), &'static str> {
        match kind {
            Kind::Other => {}
            Kind::Upgrade => self.upgrade = true,
            Kind::Host if self.host => return Err("two hosts"),
            Kind::Host => self.host = true,
            Kind::Length => return self.frame(self.fields.length()?),
            Kind::Coding if self.old => return Err("a transfer coding in HTTP/1.0"),
            Kind::Coding => return self.frame(self.fields.coding()?),
        }
        Ok(())
    }

    /// Takes in what one field says of the body: RFC 9112 §6.3 lets only one say anything.
    fn frame(&mut self, framing: Framing) -> Result<(), &'static str> {
        match (self.framing.replace(framing), framing) {
            (None, _) => Ok(()),
            (Some(Framing::Length(_)), Framing::Length(_)) => Err("two lengths"),
            (Some(Framing::Chunked), Framing::Chunked) => Err("two transfer codings"),
            _ => Err("both a length and a transfer coding"),
        }
    }

    /// Judges the head as a whole.
    fn end(&self) -> Result<(), &'static str> {
        if !self.host && !self.old {
            return Err("no host");
        }
        // RFC 9110 §9.3.6: what follows the head is the tunnel's.
        if self.is_connect() && self.framing() != Framing::None {
            return Err("CONNECT with a body");
        }
        Ok(())
    }
}

/// The lines of a head or of trailers, to the empty one.
#[derive(Debug, Default)]
pub(super) struct Fields {
    at: FieldAt,
    /// As long as the longest name of a [`Kind`].
    name: Word<17>,
    kind: Kind,
    /// What a field that bears on framing says, without the white space around it.
    value: Word<MAX_VALUE>,
    /// Whether white space has followed the value.
    gap: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum FieldAt {
    #[default]
    Start,
    Name,
    Value,
    Lf,
    LastLf,
}

/// The fields that bear on where a request ends and what follows it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Kind {
    #[default]
    Other,
    Host,
    Length,
    Coding,
    Upgrade,
}

/// How far the lines have been read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Line {
    More(usize),
    /// So many bytes, the last of them the LF of a field.
    Field(usize, Kind),
    /// So many bytes, the last of them the LF of the empty line.
    End(usize),
}

impl Fields {
    /// Reads on.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<Line, Refused> {
        let Some(&byte) = bytes.first() else { return Ok(Line::More(0)) };
        match (self.at, byte) {
            (FieldAt::Start, b'\r') => {
                self.at = FieldAt::LastLf;
                Ok(Line::More(1))
            }
            (FieldAt::Start, b' ' | b'\t') => refuse(0, "white space before a field"),
            (FieldAt::Start, _) => {
                *self = Self { at: FieldAt::Name, ..Self::default() };
                self.name(bytes)
            }
            (FieldAt::Name, _) => self.name(bytes),
            (FieldAt::Value, _) => self.value(bytes),
            (FieldAt::Lf, b'\n') => {
                self.at = FieldAt::Start;
                Ok(Line::Field(1, self.kind))
            }
            (FieldAt::LastLf, b'\n') => Ok(Line::End(1)),
            (FieldAt::Lf | FieldAt::LastLf, _) => refuse(0, "a CR without its LF"),
        }
    }

    fn name(&mut self, bytes: &[u8]) -> Result<Line, Refused> {
        let (name, rest) = split(bytes, is_token);
        self.name.push(name);
        match rest.first() {
            None => Ok(Line::More(name.len())),
            Some(b':') if self.name.len > 0 => {
                self.kind = Kind::of(self.name.get().unwrap_or_default());
                self.at = FieldAt::Value;
                Ok(Line::More(name.len() + 1))
            }
            Some(_) => refuse(name.len(), "a field's name is not a token"),
        }
    }

    fn value(&mut self, bytes: &[u8]) -> Result<Line, Refused> {
        let (value, rest) = split(bytes, is_value);
        if let Some(allowed) = self.kind.alphabet() {
            self.remember(value, allowed)?;
        }
        match rest.first() {
            None => Ok(Line::More(value.len())),
            Some(b'\r') => {
                self.at = FieldAt::Lf;
                Ok(Line::More(value.len() + 1))
            }
            Some(b'\n') => refuse(value.len(), "an LF without its CR"),
            Some(_) => refuse(value.len(), "a control byte in a field"),
        }
    }

    /// What a `Content-Length` says.
    fn length(&self) -> Result<Framing, &'static str> {
        let digits = self.value.get().and_then(|digits| str::from_utf8(digits).ok());
        digits
            .and_then(|digits| digits.parse().ok())
            .filter(|length| *length <= MAX_LENGTH)
            .map(Framing::Length)
            .ok_or("the length is not a number, or too large")
    }

    /// What a `Transfer-Encoding` says.
    fn coding(&self) -> Result<Framing, &'static str> {
        let coding = self.value.get().unwrap_or_default();
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        chunked.then_some(Framing::Chunked).ok_or("a transfer coding other than chunked")
    }

    fn remember(&mut self, value: &[u8], allowed: fn(u8) -> bool) -> Result<(), Refused> {
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

impl Kind {
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

    /// What the value is made of, where that matters here.
    fn alphabet(self) -> Option<fn(u8) -> bool> {
        match self {
            Self::Host => Some(is_host),
            Self::Length => Some(|byte| byte.is_ascii_digit()),
            Self::Coding => Some(is_token),
            Self::Other | Self::Upgrade => None,
        }
    }
}

/// The bytes of `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2).
fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte)
}

fn split(bytes: &[u8], allowed: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at_checked(run(bytes, allowed)).unwrap_or((bytes, &[]))
}

fn refuse<T>(at: usize, why: &'static str) -> Result<T, Refused> {
    Err(Refused { at, why })
}
