//! Our own pages, message pages, modified pages and the gateway.

pub(crate) mod browser;
mod collections;
mod former_addresses;
pub(crate) mod gateway;
pub(crate) mod gateway_browser;
mod home;
mod library;
mod local_files;
mod messages;
mod mistakes;
mod modified;
mod own_pages;
mod statistics;
pub(crate) mod ui;
mod usage;
