//! What HTTP says of stored answers, as pure functions: no I/O, no daemon, no clock.

pub mod coding;
