//! TODO.

pub mod entry_info;
pub mod exchange;
pub mod own;
pub mod pages;
