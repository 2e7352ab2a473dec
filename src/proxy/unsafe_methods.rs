//! What an origin was told may have changed what it would answer: what is kept of that is not used
//! again before the origin has confirmed it (RFC 9111 §4.4). It stays readable offline.

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
use crate::net::upstream::{Origin, Scheme};
use crate::storage::store::Store;
use wwwoffle_http::caching::invalidate::{invalidated_urls, is_unsafe};

/// What was sent: its method, its target, and the fields that say whose it was.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub url: &'a CanonicalUrl,
    /// The fields.
    pub fields: &'a HeaderMap,
    /// Who sent it.
    pub owner: &'a Owner,
}

/// Whom that concerns.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// What is kept.
    pub store: &'a Store,
    /// The proxy's own names.
    pub local: &'a LocalHost,
    /// What is under way: it will be kept.
    pub downloads: &'a Downloads,
    /// But not the download that has brought the answer.
    pub by: Option<&'a Arc<Download>>,
}

/// Sees what the answer to a request as it was sent to `origin` changes: see [`answered`].
pub async fn answered_by(
    of: Of<'_>,
    (origin, request, places): (&Origin, &Parts, &Places),
    (status, answer): (StatusCode, &HeaderMap),
    when: SystemTime,
) {
    if !is_unsafe(&request.method) {
        return;
    }
    let scheme = match origin.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let text = format!("{scheme}://{origin}{}", request.uri);
    let Ok(url) = CanonicalUrl::parse(&text, of.local) else { return };
    let Some(owner) = places.owner() else { return };
    let sent = Sent { method: &request.method, url: &url, fields: &request.headers, owner: &owner };
    answered(of, sent, (status, answer), when).await;
}

/// Marks what a request makes invalid that was answered so, before the client knows.
pub async fn answered(
    of: Of<'_>,
    sent: Sent<'_>,
    (status, answer): (StatusCode, &HeaderMap),
    when: SystemTime,
) {
    let store = of.store;
    for mut url in invalidated_urls(sent.method, sent.url, status, answer, of.local) {
        debug!(url = url.as_str(), method = %sent.method, "what is kept is no longer valid");
        let none = HeaderMap::new();
        // Who sent it may have asked for the same without credentials before.
        let plain = Places::of(&mut url.without_credentials(), &none, sent.owner);
        let own = Places::of(&mut url, sent.fields, sent.owner).own;
        let mut places = vec![plain.public, plain.own];
        if !places.contains(&own) {
            places.push(own);
        }
        // First what comes: what is kept of it meanwhile is found here.
        of.downloads.outdate(&places, when, of.by);
        for place in &places {
            match store.entries(place).await {
                Ok(all) => {
                    for kept in all {
                        invalidate(store, Arc::new(kept), when).await;
                    }
                }
                Err(error) => {
                    warn!(error = error_chain(&error), "what is kept cannot be marked invalid");
                }
            }
            // Parts bear no such mark, and the rest of another page is of no use to them.
            if let Err(error) = store.remove_partial(place).await {
                warn!(error = error_chain(&error), "what is kept in part cannot be removed");
            }
        }
    }
}
