//! What a person changes of what is kept by hand, in the daemon or while there is none: other URLs, answers
//! that come from no origin, and whether it is compressed.
//!
//! Everything here blocks.

pub mod compress;
pub mod rename;
pub mod write;
