//! Fetches a page with its sub-resources, and the pages it links to, to a given depth.
//!
//! ```text
//! stored response ─ read ─ references ─ choose ─┬─ a sub-resource: fetched with the page
//!                                               ├─ a link: scope, traps, limits, robots ─ run
//!                                               └─ left out, with its reason
//! ```
//!
//! The remaining requests are in the queue, where each names the [runs](run) that want it. The
//! results are in the spool. So a fetch continues when a killed daemon is started again.

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
mod sub_resource;
pub mod traps;

pub(crate) use begin::begin_at;
pub(super) use begin::first;
pub use begin::{NotBegun, begin};
