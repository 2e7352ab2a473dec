//! TODO.

pub mod certificates;
pub mod connection;
pub mod link;
pub mod upstream;
