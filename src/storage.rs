//! Asynchronous access to spool and index, and their upkeep.

pub mod context;
pub mod edit;
pub mod lists;
pub mod purge;
pub mod spool_options;
pub mod statistics;
pub mod store;
pub mod versions;
