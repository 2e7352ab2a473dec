//! The daemon and its command line.

pub mod base;
pub mod cli;
pub mod daemon;
pub mod fetch;
pub mod net;
pub mod page;
pub mod proxy;
pub mod server;
pub mod site;
pub mod storage;
#[cfg(feature = "tier")]
pub mod tier;
pub mod tls;
