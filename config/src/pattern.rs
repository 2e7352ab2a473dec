//! Patterns for URLs and hosts, and lists of them that find the one that decides.

pub(crate) mod host;
mod index;
pub(crate) mod parts;
pub(crate) mod set;
pub(crate) mod spec;
pub(crate) mod wildcard;
