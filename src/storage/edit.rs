//! Changes of the spool by hand, in the daemon or without one: other URLs, written responses, and
//! compression.
//!
//! Everything here blocks.

pub mod compress;
pub mod rename;
pub mod write;
