//! The server: who is let in, and how it comes to an end.

pub mod tasks;
