//! Unsafe requests invalidate the stored copies of the resources that they may have changed. An
//! invalid copy is not reused before the origin has confirmed it (RFC 9111 §4.4), but stays
//! readable offline.

use std::sync::Arc;
use std::time::SystemTime;

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use tracing::{debug, warn};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::download::{Download, Downloads};
use super::freshen::invalidate;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places};
use crate::net::upstream::Origin;
use crate::storage::store::Store;
use wwwoffle_http::caching::invalidate::{invalidated_urls, is_unsafe};

/// An unsafe request, as far as the invalidation needs it.
#[derive(Clone, Copy, Debug)]
pub struct UnsafeRequest<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub url: &'a CanonicalUrl,
    /// The fields.
    pub fields: &'a HeaderMap,
    /// The sender.
    pub owner: &'a Owner,
}

/// The copies and downloads that may be invalidated.
#[derive(Clone, Copy, Debug)]
pub struct InvalidationTargets<'a> {
    /// The stored copies.
    pub store: &'a Store,
    /// The proxy's own names.
    pub local: &'a LocalHost,
    /// The downloads under way, whose responses will be stored.
    pub downloads: &'a Downloads,
    /// The download of the response to the unsafe request. It stays valid.
    pub by: Option<&'a Arc<Download>>,
}

/// Invalidates copies after the response to a request in the form for `origin`: see
/// [`invalidate_after_response`].
pub async fn invalidate_after_request(
    of: InvalidationTargets<'_>,
    (origin, request, places): (&Origin, &Parts, &Places),
    (status, answer): (StatusCode, &HeaderMap),
    when: SystemTime,
) {
    if !is_unsafe(&request.method) {
        return;
    }
    let text = format!("{}://{origin}{}", origin.scheme.as_str(), request.uri);
    let Ok(url) = CanonicalUrl::parse(&text, of.local) else { return };
    let Some(owner) = places.owner() else { return };
    let sent = UnsafeRequest {
        method: &request.method,
        url: &url,
        fields: &request.headers,
        owner: &owner,
    };
    invalidate_after_response(of, sent, (status, answer), when).await;
}

/// Invalidates the copies that the request may have changed, according to its response. Runs before
/// the client gets the response.
pub async fn invalidate_after_response(
    of: InvalidationTargets<'_>,
    sent: UnsafeRequest<'_>,
    (status, answer): (StatusCode, &HeaderMap),
    when: SystemTime,
) {
    let store = of.store;
    for mut url in invalidated_urls(sent.method, sent.url, status, answer, of.local) {
        debug!(url = url.as_str(), method = %sent.method, "a stored copy is no longer valid");
        let none = HeaderMap::new();
        // The sender may have requested the same URL without credentials before.
        let plain = Places::of(&mut url.without_credentials(), &none, sent.owner);
        let own = Places::of(&mut url, sent.fields, sent.owner).own;
        let mut places = vec![plain.public, plain.own];
        if !places.contains(&own) {
            places.push(own);
        }
        // Downloads first: if one of them stores a copy in the meantime, the search for copies
        // finds it.
        of.downloads.invalidate(&places, when, of.by);
        for place in &places {
            match store.entries(place).await {
                Ok(all) => {
                    for copy in all {
                        invalidate(store, Arc::new(copy), when).await;
                    }
                }
                Err(error) => {
                    warn!(error = error_chain(&error), "a stored copy cannot be marked invalid");
                }
            }
            // Segments cannot be marked as invalid, and the remaining bytes of a changed page do
            // not fit them.
            if let Err(error) = store.remove_partial(place).await {
                warn!(error = error_chain(&error), "the segments of a page cannot be removed");
            }
        }
    }
}
