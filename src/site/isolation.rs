//! What pages of other sites may do with addresses of ours: open a page in a window, and load public files.
//!
//! Without that they could tell by the outcome which URLs are stored. Browsers say which site makes them
//! send a request at addresses that they trust alone (Fetch Metadata §2), so the response says it too: at the
//! plain address of a proxy in the network the response alone keeps other sites out.

use hyper::HeaderMap;
use hyper::header::HeaderName;

use super::{api, entry, local};
use crate::page::guard::OtherSites;
use crate::page::isolation;
use crate::proxy::intent::SEC_FETCH_DEST;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Whether a page of any site may load what is at `path`. The user's own files are sandboxed, so to a
/// browser each of them is another site.
fn is_public(path: &str) -> bool {
    entry::sets_up(path) || local::at(path).is_some()
}

/// Whether another site may make a browser send this request for `path`.
pub(super) fn other_sites(path: &str, fields: &HeaderMap) -> OtherSites {
    let is = |name: &HeaderName, value: &str| fields.get(name).is_some_and(|found| found == value);
    let opens_window = || is(&SEC_FETCH_MODE, "navigate") && is(&SEC_FETCH_DEST, "document");
    let is_allowed = is_public(path) || (!api::has(path) && opens_window());
    if is_allowed { OtherSites::Allowed } else { OtherSites::Refused }
}

/// Adds the fields that keep a response for `path` from other sites: from the page that would load it, and
/// from the one that opened its window.
pub(super) fn isolate(fields: &mut HeaderMap, path: &str) {
    isolation::isolate(fields, is_public(path));
}
