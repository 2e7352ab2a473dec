//! Fetching a page with its parts, and the pages it links to, to a depth.
//!
//! ```text
//! an answer is kept ─ read ─ links ─ choose ─┬─ a part: fetched with the page
//!                                            ├─ a link: scope, traps, limits, robots ─ run
//!                                            └─ left out, with its reason
//! ```
//!
//! What is still to do is on the outgoing queue, where each request names the [runs](run) that want it;
//! what was brought is in the spool. So a daemon that is killed goes on where it was.

pub(super) mod ask_robots;
mod begin;
pub mod choose;
pub(crate) mod complete;
pub(super) mod follow;
pub(super) mod keep;
pub mod outcome;
pub(crate) mod read;
pub mod robots;
pub mod run;
pub mod runs;
mod sub;
pub mod traps;

pub(crate) use begin::begin_at;
pub(super) use begin::first;
pub use begin::{NotBegun, begin};
