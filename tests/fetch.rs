//! The queue and fetching: order, schedules, recursion and whole pages.

mod browser_fetch;
mod estimate;
mod fetching;
mod forms;
mod hostile_sites;
mod lifecycle;
pub(crate) mod monitor;
mod order;
mod pages;
mod progress;
mod recursion;
mod refresh_form;
mod sent_once;
mod whole;
