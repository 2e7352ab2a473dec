//! The command line, the configuration and hooks.

mod browse;
mod config_changes;
mod config_pages;
mod edit_verbs;
mod elsewhere;
mod fixture_clients;
mod fixture_faults;
mod fixture_requests;
mod fixture_sockets;
mod fixtures;
mod hooks;
mod manual;
mod profiles;
mod service;
mod setup;
mod verbs;
