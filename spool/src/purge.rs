//! Removing what has been kept for long enough: a plan, and what comes of it.
//!
//! [`plan::Planner`] weighs candidates and makes a [`plan::Plan`] of them, without touching anything. A plan is a rule
//! rather than a list: of each entry it tells the fate, from what that is and how old it was at the time of the
//! plan. So it takes little memory whatever the size of the spool, and who carries it out ([`Sweep`]) comes by
//! each entry once more and judges it as it is by then: what has been used or stored anew meanwhile stays.

mod candidates;
mod compress;
pub mod plan;
mod sweep;
pub(crate) mod trim;

pub use crate::fs::{Space, space};
pub use crate::notes::pins::MAX_PINS;
pub use candidates::{Candidates, Found};
pub use compress::{NotPacked, Packed, Packing};
pub use sweep::{Step, Sweep};
