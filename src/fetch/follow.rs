//! What a kept answer leads to: the place a redirect names, and whatever else is to be fetched then.

use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_spool::{Error, Outgoing};

use super::attempt::base;
use super::recurse::runs::Runs;
use super::{recurse, successor};
use crate::api::Event;
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::fetch::context::FetchContext;
use crate::proxy::choose;
use crate::storage::store::Kept;
use wwwoffle_http::redirect::location;

/// An answer that is kept, while its request is on the queue still.
#[derive(Debug)]
pub(super) struct Answered<'a> {
    /// The request as it was recorded, with its secrets.
    pub(super) request: &'a Parts,
    /// Where its answer lies.
    pub(super) places: &'a Places,
    /// The status of the answer.
    pub(super) status: StatusCode,
    /// Its fields.
    pub(super) fields: &'a HeaderMap,
    /// The answer as it lies in the spool, where that is known already.
    pub(super) known: Option<Arc<Kept>>,
}

/// What is to be done before a request leaves the queue.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// What goes onto the queue.
    pub(super) next: Vec<Outgoing>,
    /// What is told when it is there.
    pub(super) events: Vec<Event>,
}

impl Answered<'_> {
    /// The answer as it lies in the spool; `None` when it has gone from there meanwhile.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub(super) async fn kept(&self, context: &FetchContext) -> Result<Option<Arc<Kept>>, Error> {
        if let Some(kept) = &self.known {
            return Ok(Some(Arc::clone(kept)));
        }
        let shared = context.base.config().caching.shared;
        let request = || self.request.headers.clone();
        let found = choose::find(&context.storage.store, self.places, shared, request).await?;
        Ok(found.own().or(found.near()).map(Arc::clone))
    }
}

/// What an answer leads to, as the `runs` that want it have it. It is asked again for the same answer when the daemon ended before the
/// request had left the queue; what is on the queue or kept already is not asked for twice.
///
/// # Errors
///
/// Why it cannot be told, in words for a person: then the request stays on the queue.
pub(super) async fn follow(
    context: &Arc<FetchContext>,
    runs: &Runs,
    outgoing: &Outgoing,
    answered: &Answered<'_>,
) -> Result<Following, String> {
    let Some(target) = location(base(outgoing), answered.status, answered.fields) else {
        let kept = answered.kept(context).await.map_err(|error| error_chain(&error))?;
        let Some(kept) = kept else { return Ok(Following::default()) };
        let request = answered.request;
        let mut next = recurse::follow::follow(context, runs, outgoing, request, &kept).await?;
        for next in &mut next {
            next.asked_from = outgoing.asked_from;
            // Whoever wants a page first or last means all of it, and not where it leads.
            if next.class.is_some() {
                next.priority = outgoing.priority;
            }
        }
        return Ok(Following { next, events: Vec::new() });
    };
    let request = answered.request;
    let mut following =
        successor::redirect(context, outgoing, request, answered.status, &target).await?;
    following.next.retain_mut(|next| recurse::outcome::redirected(context, runs, outgoing, next));
    Ok(following)
}
