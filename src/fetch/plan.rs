//! Estimates the downloads of a fetch before anything is fetched.
//!
//! The stored copies are walked by the same code as in a recursive fetch, with a separate run. So
//! scope, classes, limits, traps, rules and known `robots.txt` files have the same effect as in a
//! fetch. No request is sent and nothing is queued. Stored copies are measured. Missing responses
//! are counted with a typical size (`sizes`).

mod queue;
mod run;
mod sizes;

use std::time::Duration;

use wwwoffle_spool::RequestKind;

use super::recurse::choose::part;
use wwwoffle_api::fetch_spec::PartClass;
use wwwoffle_html::references as links;

pub use queue::plan as plan_queue;
pub use run::{NotPlanned, plan as plan_runs};

/// The time limit. Responses that are not examined within it count as not stored.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The largest number of simultaneous plans.
pub(super) const MAX_PLANS: usize = 2;

/// The class of the sub-resource that a request is for; `None` for a page. It is the class that the
/// page named, or is guessed from the URL of a sub-resource that a browser requested.
fn class(kind: RequestKind, class: Option<&str>, url: &str) -> Option<PartClass> {
    match class.and_then(links::Class::parse) {
        Some(class) => part(class),
        None if kind == RequestKind::Part => links::Class::of_name(url).and_then(part),
        None => None,
    }
}
