//! Ranges of what is kept, and what is kept of ranges.
//!
//! ```text
//! kept::answer ── serve::of_whole ── 206 of what is kept whole, 412, 416; or the whole
//! ```
//!
//! What a range is, and which bytes are meant by it, is in [`crate::caching::range`].

mod body;
pub(super) mod serve;

use hyper::header::RANGE;
use hyper::{HeaderMap, Method};

use super::ask::Ask;
use crate::caching::range::Ranges;

/// The ranges that are asked for. Only GET has any (RFC 9110 §14.2).
fn asked(ask: &Ask) -> Option<Ranges> {
    if ask.method == Method::GET { ranges(&ask.fields) } else { None }
}

/// The ranges of a field that is there once and can be read.
fn ranges(fields: &HeaderMap) -> Option<Ranges> {
    let mut all = fields.get_all(RANGE).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    Ranges::parse(only.to_str().ok()?)
}
