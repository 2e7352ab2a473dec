//! The checks of the fuzz targets: one function of bytes for each, which panics if an invariant is
//! violated.
//!
//! libFuzzer calls them through `fuzz_targets/`, and `tests/fuzz.rs` calls them on stable Rust with
//! every file of `corpus/`. So a file that once showed a fault stays there as a test.

pub mod archives;
pub mod canonical;
pub mod classic;
pub mod decide;
pub mod decoding;
pub mod easylist;
pub mod edit;
pub mod entry;
pub mod fields;
pub mod files;
pub mod gate;
pub mod gateway;
pub mod hello;
mod input;
pub mod links;
pub mod listing;
pub mod packed;
pub mod plans;
pub mod range;
pub mod reference;
#[path = "../../spool/tests/support/sim.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "the tests use all of it")]
mod sim;

/// A target: a function that panics if a check fails.
pub type Target = fn(&[u8]);

/// All targets, by the name of their corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("archives", archives::run),
    ("canonical", canonical::run),
    ("classic", classic::run),
    ("decide", decide::run),
    ("decoding", decoding::run),
    ("easylist", easylist::run),
    ("edit", edit::run),
    ("entry", entry::run),
    ("fields", fields::run),
    ("files", files::run),
    ("gate", gate::run),
    ("gateway", gateway::run),
    ("hello", hello::run),
    ("links", links::run),
    ("listing", listing::run),
    ("packed", packed::run),
    ("plans", plans::run),
    ("range", range::run),
    ("reference", reference::run),
];
