//! Ranges (RFC 9110 §14): requested, received and stored bytes.
//!
//! ```text
//! Range: bytes=0-99,-5 ── Ranges::parse ── satisfy(length) ── Whole | One | Several | Nothing
//!                                    └──── within(stored) ── the requested bytes, if all are stored
//! If-Range: "a" ───────── if_range::is_satisfied, validator
//! Content-Range: … ────── ContentRange::parse ── parse_received: the bytes of a 206
//! several ranges ──────── Multipart: length first, then bytes
//! ```
//!
//! All numbers come from untrusted peers. Positions are at most [`MAX_POSITION`], the number of
//! ranges is at most [`MAX_RANGES`], and no addition or subtraction can overflow.

mod content;
pub mod if_range;
mod multipart;
mod requested;
mod stored;

pub use content::{BadContentRange, ContentRange, PartMismatch, ReceivedRange, parse_received};
pub use multipart::{BodyPiece, Multipart};
pub use requested::{MAX_RANGES, RangeSelection, Ranges};
pub use stored::StoredRanges;

/// The maximum position. No operating system supports longer files.
pub const MAX_POSITION: u64 = i64::MAX.unsigned_abs();

/// A non-empty range of bytes of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// The bytes from `start` to `end`, exclusive; `None` if the range is empty.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start < end { Some(Self { start, end }) } else { None }
    }

    /// The position of the first byte, counted from 0.
    #[must_use]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The position after the last byte.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.end
    }

    /// The position of the last byte, as in the protocol.
    #[must_use]
    pub const fn last(self) -> u64 {
        self.end - 1
    }

    /// The number of bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether `other` lies within this range.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Sorts the ranges, and joins those that overlap or have at most `gap` bytes between them.
fn merged(mut spans: Vec<Span>, gap: u64) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(span.end);
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// Parses one or more decimal digits. A number that is too large saturates.
///
/// `None` for any other byte, including a sign or a space.
fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = text
        .bytes()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(number)
}

#[cfg(test)]
mod tests;
