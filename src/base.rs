//! The basis of every layer: the clock, tasks, the mode, owners, small files, the texts of pages.

pub mod basic;
pub(crate) mod blocking;
pub mod clock;
pub mod context;
pub mod control_path;
pub mod error_chain;
pub mod escape;
pub mod exit;
pub mod hooks;
pub mod live;
pub mod log;
pub mod mode;
pub mod observer;
pub mod owner;
pub mod pace;
pub mod patient_io;
pub mod process_group;
pub mod reload;
pub mod run_directory;
pub mod shown;
pub mod site_login;
pub mod small_file;
pub mod spelling;
pub mod statistics;
pub mod tasks;
pub mod text;
