//! The daemon and its command line.

pub mod access;
pub mod api;
pub mod caching;
pub mod certificates;
pub mod cli;
pub mod clock;
pub mod connection;
pub mod control_path;
pub mod daemon;
pub mod error_chain;
pub mod exit;
pub mod fetch;
pub mod hooks;
pub mod info;
pub mod live;
pub mod log;
pub mod mode;
pub mod own;
pub mod pages;
pub mod proxy;
pub mod server;
pub mod small_file;
pub mod store;
pub mod tls;
pub mod tls_provider;
pub mod upstream;
