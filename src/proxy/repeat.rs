//! Whether the same answer may be given again to who asks with the same bytes, and for how long.

use hyper::header::RANGE;
use tracing::Level;

use super::ask::Ask;
use super::choose::Found;
use super::decide::Decision;
use super::verdict::exchange;
use crate::base::mode::Mode;
use crate::daemon::Daemon;
use crate::server::repeat::{Grounds, same_age_until};
use crate::storage::store::Kept;
use wwwoffle_http::caching::control::RequestControl;
use wwwoffle_http::caching::freshness::current_age;
use wwwoffle_http::caching::reuse::Reuse;

/// What the answer to `ask` follows from besides its bytes, if that is little enough to be compared.
pub(super) fn grounds(
    daemon: &Daemon,
    ask: &Ask,
    kept: Option<&Kept>,
    found: &Found,
    decision: Decision,
) -> Option<Grounds> {
    // Whoever reads the log wants to see each request in it.
    let is_told = tracing::enabled!(Level::DEBUG);
    if decision != Decision::Serve || ask.near.is_some() || is_told {
        return None;
    }
    let (kept, shelves) = (kept?, found.shelves()?);
    let is_anybody = !ask.is_personal() && ask.config.allowed_users.users.is_empty();
    // A range may be answered from parts, which lie on no shelf.
    let is_plain = !ask.fields.contains_key(RANGE) && ask.control == RequestControl::default();
    if !is_anybody || !is_plain || !lasts(ask, kept) {
        return None;
    }
    let age = current_age(&kept.fields, exchange(kept), ask.now).at_least;
    Some(Grounds {
        config: ask.config.clone(),
        mode: ask.mode,
        dials_since: daemon.base.mode.dials_since(),
        shelves: shelves.clone(),
        made: ask.now,
        until: same_age_until(age, ask.now),
    })
}

/// Whether what is kept may be served for a second more, whatever that second brings.
fn lasts(ask: &Ask, kept: &Kept) -> bool {
    if kept.status.is_server_error() {
        return false;
    }
    match ask.mode {
        Mode::Offline | Mode::Autodial => true,
        Mode::Online => ask.verdict.is_some_and(|verdict| {
            let is_by_the_book = verdict.by.is_none() && ask.overruled.is_none();
            verdict.reuse == Reuse::Fresh && is_by_the_book && verdict.freshness.ttl() >= 1
        }),
    }
}
