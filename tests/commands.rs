//! The command line, the configuration and hooks.

mod browse;
mod config_changes;
mod config_pages;
mod edit_verbs;
mod hooks;
mod manual;
mod service;
mod verbs;
