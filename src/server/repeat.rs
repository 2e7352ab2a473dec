//! Requests that repeat another one, byte for byte: they get the answer that the other one got, beneath
//! hyper and without being read again.
//!
//! What a request from the spool is answered follows from its bytes, from whose connection it comes by
//! ([`Whence`]), and from what else is in force: the configuration, the mode, what is kept, and the time
//! ([`crate::proxy::repeat::Grounds`]). So for as long as these are the same the answer is; the first one is remembered as it went
//! out ([`Ready`]), at most until its `Age` would be another, which is less than a second. Only what says
//! nothing of who asks is remembered, and only where the proxy has no users.
//!
//! A connection takes an answer from here (`Repeater`) only while hyper has nothing of its client to
//! read or to answer: then the next byte of the client begins a request, and the next one to it an answer.

mod exchange;
mod ready;
mod repeater;
#[cfg(test)]
mod tests;

pub use self::exchange::{Counted, Exchange};
pub use self::ready::{Ready, Repeats, Whence};
pub(super) use self::repeater::Repeater;
