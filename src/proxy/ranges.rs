//! Ranges of stored copies, and segments stored from ranges.
//!
//! ```text
//! choose ──────── part::find ─────────── segments with the requested bytes: served like a stored page
//! serve_copy ──── serve::ranges ──────── 206, 412 or 416; otherwise the whole body
//! origin_fetch ── keep::forward_range ── a 206 of the origin: to the client, and stored as a segment
//! ```
//!
//! [`wwwoffle_http::caching::range`] parses ranges and computes their bytes.

mod body;
pub(super) mod keep;
pub mod part;
pub(super) mod serve;

use hyper::Method;
use hyper::header::RANGE;

use super::ask::ProxyRequest;
use wwwoffle_http::caching::range::Ranges;
use wwwoffle_http::caching::range::if_range::single;

/// The requested ranges. Only GET has ranges (RFC 9110 §14.2). A repeated field is ignored.
fn requested_ranges(ask: &ProxyRequest) -> Option<Ranges> {
    let field = single(&ask.head.fields, &RANGE).filter(|_| ask.head.method == Method::GET);
    Ranges::parse(field?)
}

/// Whether ranges are requested.
pub(super) fn has_ranges(ask: &ProxyRequest) -> bool {
    requested_ranges(ask).is_some()
}
