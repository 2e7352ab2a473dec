//! Lists, search, and the information about a stored page.

mod documents;
pub(crate) mod index_pages;
mod info;
mod info_buttons;
mod info_warc;
pub(crate) mod paging;
mod results;
mod search;
mod selection;
mod whole_list;
