//! What a fetch would bring, told before anything is fetched.
//!
//! What is kept is walked by the code that fetches, with a run of its own that nobody else sees: so scope,
//! classes, limits, traps, rules and what is known of `robots.txt` count as they would. Nothing is asked of
//! anybody, and nothing is put on the queue. What is kept is measured; what is not is counted, with a
//! length that others like it have (`sizes`).

mod queue;
mod run;
mod sizes;

use std::time::Duration;

use tokio::sync::Semaphore;
use wwwoffle_spool::RequestKind;

use super::recurse::choose::part;
use crate::api::aim::PartClass;
use wwwoffle_html::references as links;

pub use queue::plan as plan_queue;
pub use run::{NotPlanned, plan as plan_runs};

/// How long is looked; what was not looked at then counts as not kept.
const MAX_TIME: Duration = Duration::from_secs(10);

/// How many plans are made at once.
const MAX_PLANS: usize = 2;

/// Lets few plans be made at a time.
#[derive(Debug)]
pub(super) struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Self {
        Self(Semaphore::new(MAX_PLANS))
    }
}

/// The class of a request: what a page has called it, or what its name says of a part that a browser has
/// asked for.
fn class(kind: RequestKind, class: Option<&str>, url: &str) -> Option<PartClass> {
    match class.and_then(links::Class::parse) {
        Some(class) => part(class),
        None if kind == RequestKind::Part => links::Class::of_name(url).and_then(part),
        None => None,
    }
}
