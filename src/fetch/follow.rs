//! The requests that follow from a stored response: the target of a redirect, and references.

use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Error, Outgoing};
use wwwoffle_url::CanonicalUrl;

use super::attempt::request_url;
use super::recurse::runs::Runs;
use super::{recurse, successor};
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::fetch::context::FetchContext;
use crate::proxy::choose;
use crate::proxy::rules::vary_rules;
use crate::storage::store::StoredCopy;
use wwwoffle_api::Event;
use wwwoffle_http::redirect::location;

/// A stored response whose request is still in the queue.
#[derive(Debug)]
pub(super) struct StoredAnswer<'a> {
    /// The recorded request with its secrets.
    pub(super) request: &'a Parts,
    /// The places of the response.
    pub(super) places: &'a Places,
    /// The status of the response.
    pub(super) status: StatusCode,
    /// The fields of the response.
    pub(super) fields: &'a HeaderMap,
    /// The stored copy, if it was looked up already.
    pub(super) known: Option<Arc<StoredCopy>>,
}

/// The actions to perform before a request leaves the queue.
#[derive(Debug, Default)]
pub(super) struct FollowUps {
    /// The requests to queue.
    pub(super) next: Vec<Outgoing>,
    /// The events to report when the requests are queued.
    pub(super) events: Vec<Event>,
}

impl StoredAnswer<'_> {
    /// Returns the stored copy; `None` if it has been removed. Looks it up if it is not `known`.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(super) async fn stored_copy(
        &self,
        context: &FetchContext,
    ) -> Result<Option<Arc<StoredCopy>>, Error> {
        if let Some(copy) = &self.known {
            return Ok(Some(Arc::clone(copy)));
        }
        let config = context.base.config();
        let url = CanonicalUrl::parse(self.places.public.url(), &context.base.local);
        let rules = url.map(|url| vary_rules(&config, &UrlParts::of(&url))).unwrap_or_default();
        let request = || self.request.headers.clone();
        let how = (config.caching.shared, &rules);
        let found = choose::find(&context.storage.store, self.places, how, request).await?;
        Ok(found.own().or(found.fallback_copy()).map(Arc::clone))
    }
}

/// Returns the requests that follow from a response, for the `runs` that want it. If the daemon
/// ends before `outgoing` leaves the queue, the same requests are determined again from the stored
/// response. URLs that are queued or stored are not requested twice.
///
/// # Errors
///
/// The reason, in words for the user. The request then stays in the queue.
pub(super) async fn follow(
    context: &Arc<FetchContext>,
    runs: &Runs,
    outgoing: &Outgoing,
    answered: &StoredAnswer<'_>,
) -> Result<FollowUps, String> {
    let Some(target) = location(request_url(outgoing), answered.status, answered.fields) else {
        let copy = answered.stored_copy(context).await.map_err(|error| error_chain(&error))?;
        let Some(copy) = copy else { return Ok(FollowUps::default()) };
        let request = answered.request;
        let mut next = recurse::follow::follow(context, runs, outgoing, request, &copy).await?;
        for next in &mut next {
            next.summary.asked_from = outgoing.summary.asked_from;
            // The priority of a page covers its sub-resources, but not the pages it links to.
            if next.summary.class.is_some() {
                next.summary.priority = outgoing.summary.priority;
            }
        }
        return Ok(FollowUps { next, events: Vec::new() });
    };
    let request = answered.request;
    let mut following =
        successor::redirect(context, outgoing, request, answered.status, &target).await?;
    // For a run, a redirect to another spelling of the same URL leads to the same page.
    following.next.retain_mut(|next| {
        next.summary.place.key() == outgoing.summary.place.key()
            || recurse::outcome::redirected(context, runs, outgoing, next)
    });
    Ok(following)
}
