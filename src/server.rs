//! The server: the connections of clients, and the control socket.

pub mod client_io;
pub mod connection;
pub mod context;
pub mod control;
mod front;
mod http2;
pub mod listener;
mod parking;
mod redirected;
pub mod repeat;
mod resets;
mod service;
pub mod slots;
mod streams;
mod waiting;
