//! Outgoing connections, and the state of the link.

pub mod certificates;
pub mod connection;
pub mod context;
pub mod link;
mod netlink;
pub mod upstream;
