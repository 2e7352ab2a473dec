//! The daemon and its command line.

pub mod api;
pub mod cli;
pub mod clock;
pub mod control_path;
pub mod exit;
pub mod mode;
pub mod pages;
pub mod server;
pub mod upstream;
