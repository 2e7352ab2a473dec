//! End-to-end tests of the whole program: the real binary, real sockets, and an origin of the
//! tests.
//!
//! Each folder covers one part of the program, and `harness` is the common base. No test waits for
//! a fixed time. Each wait is for a condition and has a limit, after which it fails and names the
//! condition.
//!
//! A test that needs a tool or an account that a machine may lack is marked `#[ignore = "needs
//! …"]`. A test that takes more than 5 seconds is marked `#[ignore = "slow"]`. With
//! `--include-ignored`, as in `.ci/run`, these tests run too. A missing tool is then a failure that
//! names the tool.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test fails by panicking, and the daemon's rules for files and clocks do not apply to it"
)]

mod archives;
mod commands;
mod downloads;
mod fetch;
mod ftp;
mod fuzz;
mod harness;
mod index;
mod network;
mod proxy;
mod security;
mod site;
mod storage;
mod tier;
mod tls;
mod tools;
