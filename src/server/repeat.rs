//! Answers requests that repeat an earlier one byte for byte. They get the same response without
//! being parsed by hyper.
//!
//! The response to a request from the spool depends only on the request's bytes, its connection
//! ([`ReplayScope`]), and the state of the daemon: configuration, mode, stored copies and time
//! ([`crate::proxy::repeat::ReplayConditions`]). While these are the same, the response is the
//! same. The first response is stored as sent ([`Ready`]), at most until its `Age` would change,
//! which is less than a second. A response is stored only if its request does not identify the
//! client, and the proxy has no users.
//!
//! A connection uses a stored response (`Replayer`) only while hyper has nothing to read or to
//! answer. At that moment the next byte of the client begins a request, and the next byte to the
//! client begins a response.

mod exchange;
mod ready;
mod replayer;
#[cfg(test)]
mod tests;

pub use self::exchange::{Exchange, ExchangeBody};
pub use self::ready::{Ready, ReplayCache, ReplayScope};
pub(super) use self::replayer::Replayer;
