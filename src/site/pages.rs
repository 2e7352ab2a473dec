//! The pages of our own site: pure functions from plain values to a [`Page`](crate::page::Page).

pub mod address;
pub mod authority;
pub mod code;
pub mod configuration;
pub mod control;
pub mod history;
pub mod info;
pub mod link;
pub mod lists;
pub mod missing;
pub mod monitor;
pub mod pac;
pub mod plan;
pub mod progress;
pub mod purge;
pub mod queue;
pub mod refresh;
mod schedule;
pub mod search;
pub mod statistics;
pub mod welcome;
