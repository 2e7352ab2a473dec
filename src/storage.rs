//! Asynchronous access to spool and index, and their upkeep.

pub mod body;
pub(crate) mod body_pieces;
mod buffers;
pub mod collections;
pub mod context;
pub mod decoded;
pub mod edit;
pub mod feed;
pub mod lists;
pub mod lookup;
pub mod purge;
pub mod spool_options;
pub mod statistics;
pub mod store;
pub mod versions;
