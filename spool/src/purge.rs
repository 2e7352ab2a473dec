//! Purging old entries: makes a plan and carries it out.
//!
//! [`plan::Planner`] turns candidates into a [`plan::Plan`] and changes nothing. A plan is a rule,
//! not a list: it gives the fate of any entry from its properties and its age at the time of the
//! plan. So it takes little memory for any spool. [`Sweep`] visits each entry once more and judges
//! its present state, so an entry that was used or replaced in the meantime stays.

mod candidates;
mod compress;
pub mod plan;
mod sweep;
pub(crate) mod trim;

pub use crate::fs::{Space, space};
pub use crate::notes::pins::MAX_PINS;
pub use candidates::{Candidates, SizedEntry};
pub use compress::{CompressFailure, CompressStep, CompressionPass};
pub use sweep::{Sweep, SweepStep};
