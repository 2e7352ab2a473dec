//! The server: who is let in, and how it comes to an end.

pub mod client_io;
pub mod connection;
pub mod control;
pub(crate) mod front;
pub mod gate;
mod http2;
pub mod identity;
pub mod listener;
pub mod places;
pub mod repeat;
mod run;
mod streams;
pub mod tasks;
mod tending;
mod waiting;

pub use run::{Refusal, Start, run};
