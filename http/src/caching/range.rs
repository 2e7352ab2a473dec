//! Ranges (RFC 9110 §14): what is asked for, what an origin sent, what is there and what lacks.
//!
//! ```text
//! Range: bytes=0-99,-5 ── Ranges::parse ── satisfy(length) ── Whole | One | Several | None
//!                                    └──── within(held)   ── what of it is there already
//! If-Range: "a" ───────── if_range::holds, validator
//! Content-Range: … ────── ContentRange::parse ── received: which bytes a 206 brings
//! several parts ───────── Multipart: lengths first, then bytes
//! ```
//!
//! Every number comes from strangers: positions are bounded by [`MAX_POSITION`], ranges by
//! [`MAX_RANGES`], and nothing is added or subtracted that could run over.

mod asked;
mod content;
mod held;
pub mod if_range;
mod multipart;

pub use asked::{MAX_RANGES, Ranges, Satisfied};
pub use content::{BadContentRange, ContentRange, Misfit, Received, received};
pub use held::Held;
pub use multipart::{Multipart, Stretch};

/// The last position that is dealt with: no file is longer, on any system.
pub const MAX_POSITION: u64 = i64::MAX.unsigned_abs();

/// Some bytes of a representation, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// The bytes from `start` up to, and without, `end`; `None` where there are none.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start < end { Some(Self { start, end }) } else { None }
    }

    /// The first byte, counted from 0.
    #[must_use]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Behind the last byte.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.end
    }

    /// The last byte, as the protocol counts.
    #[must_use]
    pub const fn last(self) -> u64 {
        self.end - 1
    }

    /// How many bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether all bytes of `other` are among these.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// One or more decimal digits; a number that is too large is the largest there is.
///
/// `None` for anything but digits: no sign, no blank.
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
