//! Small files beside the entries: what the program and its user have written down.
//!
//! Each is read as a whole and replaced as a whole. A damaged one is moved to `damaged/` and counts
//! as missing, except [`pins`]: while the pins are unreadable, nothing may be purged.

pub(crate) mod imports;
pub(crate) mod local;
pub(crate) mod own_pages;
pub(crate) mod pins;
pub(crate) mod state;
pub(crate) mod statistics;
pub(crate) mod used;
