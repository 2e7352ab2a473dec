//! Looks up the stored copy for a request and decides, without side effects.

use std::sync::Arc;

#[cfg(feature = "tier")]
use hyper::Method;
use hyper::header::AUTHORIZATION;

use super::ask::ProxyRequest;
use super::choose::{self, CopyLookup, is_invalid};
#[cfg(feature = "tier")]
use super::decide::MethodKind;
use super::decide::{CopyState, Decision, OnlineUse, decide};
use super::memento::{self, NotChosen};
#[cfg(feature = "tier")]
use super::rules::{StoragePolicy, vary_rules};
use super::site_logins::LoginClient;
use super::verdict::is_of_use;
use super::{near, ranges, verdict};
use crate::base::mode::Mode;
use crate::proxy::context::ProxyContext;
use crate::storage::feed::ArrivingResponse;
use crate::storage::store::StoredCopy;
#[cfg(feature = "tier")]
use crate::tier::{Others, TierDemand, TierFind};
#[cfg(feature = "tier")]
use wwwoffle_config::UrlParts;
#[cfg(feature = "tier")]
use wwwoffle_http::caching::conditional::Conditions;
use wwwoffle_http::caching::noise::Nearness;

/// The stored copies for a request, and the decision.
#[derive(Debug)]
pub(super) struct RequestPlan {
    /// The copy that answers the request, if necessary after revalidation.
    pub(super) copy: Option<Arc<StoredCopy>>,
    /// A response from the archive tier that is served while it is stored. Then there is no copy.
    pub(super) arriving: Option<Box<ArrivingResponse>>,
    /// All copies.
    pub(super) found: CopyLookup,
    /// The decision.
    pub(super) decision: Decision,
}

/// Looks up the stored copies for `ask` and decides how to respond. Offline, if no copy or only a
/// server error is stored, also looks under equivalent URLs. Records the input of the decision in
/// `ask`. Without `client`, no copy behind a login is opened.
pub(super) async fn plan_request(
    context: &ProxyContext,
    ask: &mut ProxyRequest,
    client: Option<LoginClient>,
) -> Result<RequestPlan, NotChosen> {
    // In every mode, only the spool has the response to a form.
    let mode = if ask.asked.form_answer { Mode::Offline } else { ask.start.mode };
    let mut found = choose::look_up(context, ask, client).await?;
    if client.is_some() && found.own().is_none() && found.locked.is_none() {
        match pull_from_tier(context, ask, &found).await {
            TierAnswer::Nothing => {}
            #[cfg(feature = "tier")]
            TierAnswer::Stored => found = choose::look_up(context, ask, client).await?,
            #[cfg(feature = "tier")]
            TierAnswer::Arriving(response) => {
                let (arriving, decision) = (Some(response), Decision::Serve);
                return Ok(RequestPlan { copy: None, arriving, found, decision });
            }
        }
    }
    if found.keeps_password && mode != Mode::Offline {
        // The person has typed the password for the copy. The site asks for Digest again.
        ask.head.fields.remove(AUTHORIZATION);
    }
    if found.fallback_copy().is_some_and(|copy| !copy.status.is_server_error()) {
        ask.copy.near = found.is_respelled().then_some(Nearness::Spelling);
    } else if found.locked.is_none()
        && let Some((near, copy)) = Box::pin(near::find(context, ask)).await?
    {
        ask.copy.near = Some(near);
        found = CopyLookup::replacing(copy);
    }
    let then = memento::choose(context, ask, &found).await?;
    let copy = if mode == Mode::Offline { found.fallback_copy() } else { found.own() };
    let verdict = copy.map(|copy| verdict::verdict(context, ask, copy));
    ask.copy.verdict =
        verdict.filter(|verdict| copy.is_some_and(|copy| is_of_use(mode, copy, verdict)));
    let copy = copy.filter(|_| ask.copy.verdict.is_some()).map(Arc::clone);
    let online = ask.copy.verdict.map_or_else(OnlineUse::default, |verdict| verdict.reuse.into());
    ask.asked.dated = then.is_some();
    // A version is never revalidated.
    ask.copy.verdict = ask.copy.verdict.filter(|_| then.is_none());
    let copy = then.or(copy);
    let how = match usable_form(ask, copy.as_deref()) {
        CopyState::Nothing if found.locked.is_some() => CopyState::Locked,
        how => how,
    };
    if how == CopyState::Uncoded {
        // A copy that cannot be decoded is requested again in a coding that this client accepts.
        ask.codings.use_client_codings();
    }
    let mut asked = ask.asked;
    asked.reload |= mode == Mode::Autodial && is_invalid(copy.as_deref());
    let decision = decide(mode, how, online, asked);
    Ok(RequestPlan { copy, arriving: None, found, decision })
}

/// What the archive tier has for a request.
enum TierAnswer {
    Nothing,
    /// The spool has an entry now.
    #[cfg(feature = "tier")]
    Stored,
    #[cfg(feature = "tier")]
    Arriving(Box<ArrivingResponse>),
}

/// Looks the URL up in the archive tier after a local miss, also if the spool has only other
/// variants.
#[cfg(feature = "tier")]
async fn pull_from_tier(
    context: &ProxyContext,
    ask: &ProxyRequest,
    found: &CopyLookup,
) -> TierAnswer {
    let Some(tier) = &context.traffic.tier else { return TierAnswer::Nothing };
    let may = matches!(ask.asked.method, MethodKind::Get | MethodKind::Head)
        && ask.form.is_none()
        && ask.asked.standing == StoragePolicy::Usual
        // The origin is asked in any case.
        && !(ask.asked.reload && ask.start.mode == Mode::Online)
        // The catalogue knows only the fields that responses name in `Vary`.
        && vary_rules(&ask.start.config, &UrlParts::of(&ask.bare)).added.is_empty();
    if !may {
        return TierAnswer::Nothing;
    }
    let request = ask.origin_request(&context.base.pseudonym).into_parts().0.headers;
    let others = if found.is_empty() { Others::Missing } else { Others::InSpool };
    let whole = TierDemand { others, may_stream: false };
    let demand = TierDemand { may_stream: may_stream(ask), ..whole };
    let place = &ask.places.public;
    let mut found = Box::pin(tier.find(place, &request, demand)).await;
    if let TierFind::Arriving(response) = &found
        && !ask.codings.deliver(response.status, &response.fields).is_readable()
    {
        // The whole response can be requested again in a coding that the client accepts.
        found = Box::pin(tier.find(place, &request, whole)).await;
    }
    match found {
        TierFind::Nothing => TierAnswer::Nothing,
        TierFind::Stored => TierAnswer::Stored,
        TierFind::Arriving(response) => TierAnswer::Arriving(response),
    }
}

/// Whether the answer to a request may be a body that still arrives: not its head or a part of it,
/// and no comparison with the client's copy.
#[cfg(feature = "tier")]
fn may_stream(ask: &ProxyRequest) -> bool {
    ask.head.method == Method::GET
        && ask.start.mode == Mode::Offline
        && !ranges::has_ranges(ask)
        && !ask.head.fields.contains_key("accept-datetime")
        && Conditions::of(&ask.head.fields) == Conditions::default()
}

/// Without the feature `tier` there is no tier.
#[cfg(not(feature = "tier"))]
async fn pull_from_tier(_: &ProxyContext, _: &ProxyRequest, _: &CopyLookup) -> TierAnswer {
    std::future::ready(TierAnswer::Nothing).await
}

/// Whether, and in which form, the client can read the stored copy.
fn usable_form(ask: &ProxyRequest, copy: Option<&StoredCopy>) -> CopyState {
    match copy {
        None => CopyState::Nothing,
        Some(copy) if reads(ask, copy) => CopyState::Whole,
        Some(_) => CopyState::Uncoded,
    }
}

/// Whether the client can read the stored copy. A range cannot be served from a copy that must be
/// decoded.
pub(super) fn reads(ask: &ProxyRequest, copy: &StoredCopy) -> bool {
    let delivery = ask.codings.deliver(copy.status, &copy.fields);
    delivery.is_readable() && !(delivery.is_decoded() && ranges::has_ranges(ask))
}
