//! What a person changes of what is kept by hand, in the daemon or while there is none: other URLs, and answers
//! that come from no origin.
//!
//! Everything here blocks.

pub mod rename;
pub mod write;
