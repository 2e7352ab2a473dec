//! When what is kept may be used again: HTTP caching (RFC 9111) as values and pure functions.
//!
//! Nothing here touches disk, network or clock. Each module is one part of the standard, with the
//! clause beside each rule and a table for a test:
//!
//! ```text
//! date        the three forms of a date, and what is none
//! control     Cache-Control and Pragma, of requests and of answers
//! freshness   age, lifetime, heuristics
//! storing     which answers may be used again at all
//! reuse       may this kept answer answer this request now; and if its origin fails?
//! vary        which of several kept answers is the one (with language)
//! validate    asking about them, and what a 304 or a HEAD changes
//! invalidate  what a change makes invalid
//! range       Range, If-Range, Content-Range; which parts are there and which lack
//! coding      what origins may send, and what a client takes
//! noise       arguments that select no content, and URLs near to one another
//! like        other spellings of the same page, for a person to choose from
//! ```

pub mod coding;
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
