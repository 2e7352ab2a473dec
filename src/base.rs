//! TODO.

pub mod basic;
pub mod clock;
pub mod error_chain;
pub mod log;
pub mod mode;
pub mod owner;
pub mod pace;
pub mod small_file;
pub mod spelling;
pub mod tasks;
