//! HTTP caching (RFC 9111): whether a stored response may be reused, as values and pure functions.
//!
//! Nothing here touches disk, network or clock. Each module covers one part of the standard, with
//! the clause beside each rule and a table of test cases.
//!
//! ```text
//! date        the three date formats
//! control     Cache-Control and Pragma in requests and responses
//! freshness   age, lifetime, heuristics
//! storing     which responses may be reused at all
//! reuse       whether a stored response answers a request now, or when the origin fails
//! vary        which of several stored variants to use (with language)
//! validate    conditional requests, and the effect of a 304 or a HEAD
//! conditional a client's own conditions, evaluated against a response
//! invalidate  which URLs an unsafe request invalidates
//! range       Range, If-Range, Content-Range; stored and missing ranges
//! coding      which codings to request, and what a client accepts
//! noise       arguments that select no content, and near URLs
//! like        other spellings of the same page, offered to the user
//! ```
//!
//! # Adding a rule
//!
//! 1. Put the rule into the module of its clause: `storing` decides whether a response may be reused at
//!    all, `freshness` for how long, and `reuse` combines both with the request and the options.
//! 2. A new directive is a field of `ResponseControl` or `RequestControl` in `control`. A new option
//!    that differs from the standard is a field of `reuse::Overrides` and a variant of
//!    `reuse::Override`, which names it in `Cache-Status`.
//! 3. Give a refusal its own variant of `storing::ReuseRefusal` or `reuse::RevalidationReason`.
//! 4. Add rows to the module's table, such as `reuse.txt`, with the clause above them.

pub mod coding;
pub mod conditional;
pub mod control;
pub mod date;
pub mod freshness;
pub mod invalidate;
pub mod language;
pub mod like;
pub mod noise;
pub mod range;
pub mod reuse;
pub mod storing;
pub mod validate;
pub mod vary;
