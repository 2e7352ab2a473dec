//! Answers requests that repeat an earlier one byte for byte. They get the same response, below
//! hyper and without being parsed again.
//!
//! The response to a request from the spool follows from its bytes, its connection ([`Whence`]),
//! and the state of the daemon: configuration, mode, stored copies and time
//! ([`crate::proxy::repeat::ReplayConditions`]). While these are the same, so is the response. The first
//! response is stored as sent ([`Ready`]), at most until its `Age` would change, which is less than
//! a second. Only requests that do not identify the client are remembered, and only if the proxy
//! has no users.
//!
//! A connection takes a response from here (`Repeater`) only while hyper has nothing to read or to
//! answer. Then the next byte of the client begins a request, and the next byte to it a response.

mod exchange;
mod ready;
mod repeater;
#[cfg(test)]
mod tests;

pub use self::exchange::{Counted, Exchange};
pub use self::ready::{Ready, Repeats, Whence};
pub(super) use self::repeater::Repeater;
