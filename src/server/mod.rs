//! The server: who is let in, and how it comes to an end.

pub mod client_io;
pub mod connection;
pub mod control;
mod gate;
pub mod listener;
mod run;
pub mod tasks;

pub use run::{Refusal, Start, run};
