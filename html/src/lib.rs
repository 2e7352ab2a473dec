//! Documents as streams: finding the references in them, and rewriting them.
//!
//! Nothing here does I/O. A document may arrive in pieces of any size.

mod parser;
pub mod references;
pub mod rewrite;
