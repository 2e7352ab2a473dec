//! Limits what pages of other sites can do with our addresses. These pages may load public files,
//! and may open a page of ours in a window unless the response could be a file.
//!
//! Without these limits they could find out from the result which URLs are stored. Browsers name
//! the site that causes a request only to trustworthy origins (Fetch Metadata §2), so the response
//! carries the restriction, too. At the plain HTTP address of a proxy in the network, only the
//! response keeps other sites out.

use hyper::HeaderMap;
use hyper::header::HeaderName;

use super::api;
use super::route::PathRoutes;
use crate::page::guard::OtherSites;
use crate::page::isolation;
use crate::proxy::intent::SEC_FETCH_DEST;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Whether pages of any site may load `path`. The user's own files are sandboxed, so the browser
/// treats each of them as another site.
fn is_public(path: &str) -> bool {
    PathRoutes::at(path).is_public()
}

/// Whether another site may make a browser send this request for `path`.
pub(super) fn other_sites(path: &str, fields: &HeaderMap) -> OtherSites {
    let is = |name: &HeaderName, value: &str| fields.get(name).is_some_and(|found| found == value);
    let opens_window = || is(&SEC_FETCH_MODE, "navigate") && is(&SEC_FETCH_DEST, "document");
    // The site that opens a download is checked later, because that check must also cover browsers
    // that do not send these fields.
    let is_allowed = is_public(path) || (!api::has(path) && opens_window());
    if is_allowed { OtherSites::Allowed } else { OtherSites::Refused }
}

/// Adds the fields that protect a response for `path` from two kinds of pages of other sites: pages
/// that would load the response, and a page that opened the window in which the response is shown.
pub(super) fn isolate(fields: &mut HeaderMap, path: &str) {
    isolation::isolate(fields, is_public(path));
}
