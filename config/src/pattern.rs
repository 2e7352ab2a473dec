//! Patterns for URLs and hosts, and indexed lists of them.

pub(crate) mod host;
mod index;
pub(crate) mod parts;
pub(crate) mod set;
pub(crate) mod spec;
pub(crate) mod wildcard;
