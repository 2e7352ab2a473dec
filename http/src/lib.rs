//! HTTP as pure functions: caching, codings, framing and header fields.
//!
//! Nothing here does I/O or knows an asynchronous runtime. Time is an argument.

pub mod caching;
pub mod decoding;
pub mod fields;
pub mod framing;
pub mod head;
pub mod media_type;
pub mod redirect;
pub mod retry_after;
pub mod token;
