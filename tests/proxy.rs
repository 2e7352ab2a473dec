//! The path of a request: caching, forwarding and the limits.

mod access_log;
mod bounds;
mod cache_tests;
pub(crate) mod caching;
mod codings;
pub(crate) mod conformance;
mod connections;
mod data_saver;
mod faults;
mod forms;
mod memory_hits;
mod near_copies;
mod offline;
mod recompress;
mod rules;
mod spellings;
mod variants;
mod wire;
