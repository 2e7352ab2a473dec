//! Small files beside the entries, written by the program or its user.
//!
//! Each file is read as a whole and replaced as a whole. A damaged file is moved to `damaged/` and
//! counts as missing, except [`pins`]: while the pins are unreadable, no entry may be purged.

pub(crate) mod imports;
pub(crate) mod local;
pub(crate) mod own_pages;
pub(crate) mod pins;
pub(crate) mod state;
pub(crate) mod statistics;
pub(crate) mod used;
