//! Connections out, and whether there is a line.

pub mod certificates;
pub mod connection;
pub mod context;
pub mod link;
pub mod upstream;
