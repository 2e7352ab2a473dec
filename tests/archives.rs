//! Import and export: WARC, WACZ, HAR and the spool of WWWOFFLE 2.9.

mod browsable;
mod captures;
pub(crate) mod exchange;
mod export_index;
mod former_pages;
mod former_requests;
mod former_spool;
mod har;
mod queued_captures;
mod readers;
