//! Ranges of what is kept, and what is kept of ranges.
//!
//! ```text
//! kept::answer ──── serve::of_whole ── 206 of what is kept whole, 412, 416; or the whole
//! part::Part::find ── answer ── decide ── Serve ────── Part::answer ── 206 of what is kept in part
//!                                  └───── Revalidate ─ through ─── 304 ── Part::validated
//! through ── 206 ── keep::pass ── to the client, and to the spool as a part; all of them make a whole
//! ```
//!
//! What a range is, and which bytes are meant by it, is in [`crate::caching::range`].

mod body;
pub(super) mod keep;
pub(super) mod part;
pub(super) mod serve;

use std::sync::Arc;

use hyper::header::RANGE;
use hyper::{HeaderMap, Method, Response};

use self::part::Part;
use super::ask::Ask;
use super::body::Body;
use super::conditional::Conditions;
use super::decide::{Decision, Kept as KeptFor, decide};
use super::status::CacheStatus;
use super::{Client, missing, through};
use crate::caching::range::Ranges;
use crate::caching::range::if_range::single;
use crate::daemon::Daemon;

/// Answers a request for ranges that are kept in part: they are to it what a whole page is to others.
pub(super) async fn answer(
    daemon: &Arc<Daemon>,
    client: &Client,
    ask: Ask,
    part: Arc<Part>,
) -> Response<Body> {
    let decision = decide(ask.mode, KeptFor::Whole, ask.asked);
    let serve = |why| part.answer(daemon, &Conditions::of(&ask.fields), CacheStatus::Hit(why));
    match decision {
        Decision::Serve => serve(super::why(ask.mode)),
        Decision::ServeAndRefresh => serve(missing::queue_refresh(daemon, &ask).await),
        Decision::Confirm => missing::confirm(daemon, &ask, true),
        Decision::Refuse(refusal) => missing::refuse(daemon, &ask, refusal),
        _ => through::fetch_part(daemon, client, ask, part).await,
    }
}

/// The ranges that are asked for. Only GET has any (RFC 9110 §14.2).
fn asked(ask: &Ask) -> Option<Ranges> {
    if ask.method == Method::GET { ranges(&ask.fields) } else { None }
}

/// The ranges of a field that is there once and can be read.
fn ranges(fields: &HeaderMap) -> Option<Ranges> {
    Ranges::parse(single(fields, &RANGE)?)
}
