//! The fields that isolate a response from other sites.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Adds the fields that keep a response from pages of other sites: from the page that opened its
/// window, and, unless `is_public`, from pages that would load it (Fetch §3.7, HTML §7.1.3).
pub fn isolate(fields: &mut HeaderMap, is_public: bool) {
    let policy = if is_public { "cross-origin" } else { "same-origin" };
    fields.insert(RESOURCE_POLICY, HeaderValue::from_static(policy));
    fields.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
}
