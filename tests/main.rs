//! End-to-end tests of the whole program: the real binary, real sockets, and the tests' own origin.
//!
//! Each file covers one subject, and `harness` is their common base. No test waits for a fixed
//! time: each wait is for a condition and has a limit, after which it fails and names the
//! condition.
//!
//! A test that needs a tool or an account that a machine may lack is marked `#[ignore = "needs …"]`, one
//! that takes more than 5 seconds `#[ignore = "slow"]`. With `--include-ignored` they run, as in `.ci/run`;
//! then a missing tool is a failure that names it.
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

mod access;
mod authority;
mod bad;
mod belongs;
mod bounds;
mod browse;
mod browser;
mod by_hand;
mod cache_tests;
mod caching;
mod certificates;
mod cli;
mod clock;
mod codings;
mod config;
mod configuration;
mod conformance;
mod connections;
mod crash;
mod cross_site;
mod descriptors;
mod disk;
mod exchange;
mod export_index;
mod fetching;
mod former;
mod former_spool;
mod forms;
mod fsck;
mod fuzz;
mod gateway;
mod gateway_browser;
mod gzip;
mod har;
mod harness;
mod history;
mod home;
mod hooks;
mod hot;
mod http2;
mod http2_hostile;
mod http2_strict;
mod https;
mod https_bad;
mod https_browsers;
mod https_clients;
mod https_h2;
mod https_port;
mod identity;
mod index_pages;
mod info;
mod info_buttons;
mod info_warc;
mod intercept;
mod intercept_web;
mod inward;
mod limits;
mod link;
mod lists;
mod lists_chosen;
mod lists_done;
mod lists_room;
mod lists_whole;
mod local_files;
mod messages;
mod mistakes;
mod modified;
mod monitor;
mod never;
mod offline;
mod offline_choice;
mod online;
mod opened;
mod own_addresses;
mod owners;
mod owners_any;
mod pages;
mod parent;
mod parts;
mod passwd;
mod permissions;
mod plan;
mod progress;
mod purge;
mod purge_parts;
mod queue;
mod queue_forms;
mod queue_order;
mod queue_pages;
mod ranges;
mod recurse;
mod recurse_bad;
mod referred;
mod refresh_form;
mod resume;
mod routes;
mod rules;
mod shared;
mod spellings;
mod statistics;
mod stuck;
mod tls_sessions;
mod tools;
mod ui;
mod undo;
mod variants;
mod websocket;
mod whole;
mod wire;
