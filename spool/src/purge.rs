//! Removing what has been kept for long enough: a plan, and what comes of it.
//!
//! [`plan::Planner`] weighs candidates and makes a [`plan::Plan`] of them, without touching anything. A plan is a rule
//! rather than a list: of each entry it tells the fate, from what that is and how old it was at the time of the
//! plan. So it takes little memory whatever the size of the spool, and who carries it out ([`Sweep`]) comes by
//! each entry once more and judges it as it is by then: what has been used or stored anew meanwhile stays.

mod candidates;
mod compress;
pub(crate) mod pins;
pub mod plan;
mod space;
mod sweep;

pub use candidates::{Candidates, Found};
pub use compress::{NotPacked, Packed, Packing};
pub use pins::MAX_PINS;
pub use space::{Space, space};
pub use sweep::{Step, Sweep};
