//! Caching as HTTP has it: RFC 9110 and RFC 9111 as pure functions.
//!
//! Nothing here does anything: no files, no sockets, no clock but the one that is passed in. Each rule
//! stands beside the clause it comes from, and each module has its table of cases.

pub mod range;
