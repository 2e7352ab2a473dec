//! Documents as streams: the references in them, and how they are rewritten.
//!
//! Nothing here does I/O. A document may arrive in pieces of any size.

pub mod references;
pub mod rewrite;
