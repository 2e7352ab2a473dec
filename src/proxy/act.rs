//! Carries out a decision.

use std::sync::Arc;

use hyper::Response;
use tracing::debug;

use super::ask::ProxyRequest;
use super::body::Body;
use super::choose::CopyLookup;
use super::decide::{Decision, DecisionRefusal};
use super::finish::undecodable_message;
use super::plan::RequestPlan;
use super::receive::RequestRest;
use super::recode::Undecodable;
use super::status::{CacheStatus, HitReason};
use super::{Client, form_again, forward, memento, offline, origin_fetch, recode, serve_copy};
use crate::base::mode::Mode;
use crate::proxy::context::ProxyContext;
use wwwoffle_http::caching::reuse::Reuse;

/// Carries out the decision of `plan`.
pub(super) async fn execute_decision(
    context: &Arc<ProxyContext>,
    client: &Client,
    ask: ProxyRequest,
    plan: RequestPlan,
    rest: RequestRest,
) -> Response<Body> {
    let RequestPlan { copy, arriving, found, decision } = plan;
    if let Some(response) = arriving {
        return serve_copy::serve_arriving(context, &ask, *response);
    }
    match (decision, copy) {
        (Decision::Serve, Some(copy)) => {
            let reason = hit_reason(&ask);
            let response = serve_copy::serve(context, &ask, &copy, CacheStatus::Hit(reason));
            if ask.asked.form_answer || !ask.start.mode.may_dial() {
                return response;
            }
            match recode::look_ahead(response).await {
                Ok(response) => response,
                Err(undecodable) => fetch_again(context, client, ask, &undecodable).await,
            }
        }
        (Decision::ServeVersion, Some(copy)) => memento::serve(context, &ask, &copy),
        (Decision::ServeAndRefresh, Some(copy)) => {
            offline::queue_refresh(context, &ask, &copy).await
        }
        (Decision::ServeAndRevalidate, Some(copy)) => {
            let status = CacheStatus::Hit(reuse_reason(&ask));
            match recode::look_ahead(serve_copy::serve(context, &ask, &copy, status)).await {
                Ok(response) => {
                    origin_fetch::revalidate(context, client, ask, &found);
                    response
                }
                Err(undecodable) => fetch_again(context, client, ask, &undecodable).await,
            }
        }
        (Decision::Revalidate | Decision::Fetch, _) => {
            Box::pin(origin_fetch::fetch(context, client, ask, &found)).await
        }
        (Decision::Pass, _) => Box::pin(forward::send(context, client, &ask, &found, rest)).await,
        (Decision::QueuePage, _) => offline::queue_page(context, &ask).await,
        (Decision::QueuePart, _) => offline::queue_part(context, &ask).await,
        (Decision::Confirm, Some(copy)) if ask.asked.form_answer => {
            form_again::confirm(context, &ask, &copy)
        }
        (Decision::Confirm, copy) => offline::confirm(context, &ask, copy.is_some()),
        (Decision::Refuse(DecisionRefusal::Login), _) => {
            offline::ask_for_login(context, &ask, found.locked)
        }
        (Decision::Refuse(refusal), _) => offline::refuse(context, &ask, refusal),
        // Unreachable: these decisions require a stored copy.
        (
            Decision::Serve
            | Decision::ServeVersion
            | Decision::ServeAndRefresh
            | Decision::ServeAndRevalidate,
            None,
        ) => offline::refuse(context, &ask, DecisionRefusal::NotKept),
    }
}

/// Responds if the stored body cannot be decoded. If it is damaged, asks the origin as if nothing
/// was stored, or refuses the request if it has `only-if-cached`. Any other fault of the body leads
/// to a message.
async fn fetch_again(
    context: &Arc<ProxyContext>,
    client: &Client,
    mut ask: ProxyRequest,
    undecodable: &Undecodable,
) -> Response<Body> {
    debug!(url = undecodable.url, error = %undecodable.fault, "the stored body cannot be decoded");
    if !undecodable.is_damaged() {
        return undecodable_message(context, &ask.reader(), undecodable);
    }
    if ask.copy.control.only_if_cached {
        return offline::refuse(context, &ask, DecisionRefusal::NotKept);
    }
    ask.copy.verdict = None;
    ask.codings.use_client_codings();
    Box::pin(origin_fetch::fetch(context, client, ask, &CopyLookup::default())).await
}

/// The reason why the stored copy is served.
fn hit_reason(ask: &ProxyRequest) -> HitReason {
    match ask.start.mode {
        _ if ask.asked.form_answer => HitReason::FormAnswer,
        Mode::Offline if ask.form.is_some() => HitReason::SameBody,
        Mode::Offline => ask.copy.near.map_or(HitReason::Offline, HitReason::Near),
        Mode::Autodial => HitReason::Autodial,
        Mode::Online => reuse_reason(ask),
    }
}

/// The reason why the stored copy is served while online.
fn reuse_reason(ask: &ProxyRequest) -> HitReason {
    let verdict = ask.copy.verdict.as_ref();
    let by = match verdict.map(|verdict| (verdict.reuse, verdict.by)) {
        Some((Reuse::StaleTaken, _)) => Some("max-stale"),
        Some((Reuse::Refreshing, _)) => Some("stale-while-revalidate"),
        Some((_, Some(option))) => Some(option.as_str()),
        Some((_, None)) | None => ask.copy.overruled,
    };
    HitReason::Reused { ttl: verdict.map_or(0, |verdict| verdict.freshness.ttl()), by }
}
