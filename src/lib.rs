//! The daemon and its command line.

pub mod api;
pub mod exit;
pub mod mode;
pub mod pages;
