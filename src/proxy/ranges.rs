//! Ranges of what is kept, and what is kept of ranges.
//!
//! ```text
//! choose ─────── part::find ────── parts that have what is asked for: to the request they are a page
//! kept::answer ─ serve::ranges ─── 206 of it, 412, 416; or the whole
//! through ────── keep::pass ────── a 206 on its way: to the client, and to the spool as a part
//! ```
//!
//! What a range is, and which bytes are meant by it, is in [`wwwoffle_http::caching::range`].

mod body;
pub(super) mod keep;
pub mod part;
pub(super) mod serve;

use hyper::header::RANGE;
use hyper::{HeaderMap, Method};

use super::ask::Ask;
use wwwoffle_http::caching::range::Ranges;
use wwwoffle_http::caching::range::if_range::single;

/// The ranges that are asked for. Only GET has any (RFC 9110 §14.2).
fn asked(ask: &Ask) -> Option<Ranges> {
    if ask.method == Method::GET { ranges(&ask.fields) } else { None }
}

/// Whether ranges are asked for.
pub(super) fn are_asked(ask: &Ask) -> bool {
    asked(ask).is_some()
}

/// The ranges of a field that is there once and can be read.
fn ranges(fields: &HeaderMap) -> Option<Ranges> {
    Ranges::parse(single(fields, &RANGE)?)
}
