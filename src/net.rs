//! Connections out, and whether there is a line.

pub mod certificates;
pub mod connection;
pub mod context;
pub mod link;
mod netlink;
pub mod upstream;
