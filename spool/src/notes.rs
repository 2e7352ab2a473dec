//! Small files beside the entries, written by the program or its user.
//!
//! Files of the program are replaced as a whole. A damaged file counts as missing, except [`pins`],
//! because while they are unreadable no entry may be purged, and [`collections`].

pub(crate) mod collections;
pub(crate) mod imports;
pub(crate) mod local;
pub(crate) mod own_pages;
pub(crate) mod pins;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod statistics;
pub(crate) mod usage;
pub(crate) mod used;
