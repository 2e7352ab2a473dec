//! Changes of the spool that a person requests, with a daemon or without one: moving entries to
//! other URLs, writing responses, and compression.
//!
//! Everything here blocks.

pub mod compress;
pub mod rename;
pub mod write;
