//! One request, phase by phase: read the target, look up stored copies, decide, act.
//!
//! ```text
//! handle ── target ── own page ───────────────────────────── the site, through the server
//!              ├───── /http/host/ ── gateway ─ resource, below
//!              ├───── admit ── 407
//!              ├───── CONNECT ── site ── intercept ───────── HTTP inside TLS, from the top
//!              │                   └──── tunnel
//!              └───── resource ── ask ─┬─ stand_in, if an alias or a block applies
//!                                     └─ decide ── Serve ─── kept, memento
//!                                              ├───── Fetch ─── through ── download
//!                                              ├───── Pass ──── pass
//!                                              └───── Queue ─── missing
//! ```

pub mod access;
pub(crate) mod admit;
mod amend;
pub mod ask;
pub mod audience;
pub mod body;
pub(crate) mod censor;
pub mod choose;
pub mod conditional;
pub mod context;
pub mod decide;
pub mod download;
mod form_again;
mod forwards;
pub mod freshen;
pub(crate) mod gateway;
pub mod http2;
pub mod intent;
mod intercept;
pub mod interims;
pub mod keep;
mod kept;
pub mod last;
pub(crate) mod like;
pub mod link_probe;
mod memento;
mod metered;
mod missing;
mod modify;
mod near;
mod outcome;
mod pass;
mod plan;
mod protocols;
pub mod ranges;
pub(crate) mod recode;
pub mod rehearsal;
pub mod repeat;
pub mod reply;
pub mod rules;
pub mod site;
mod small_body;
mod stand_in;
pub mod status;
pub mod target;
mod through;
pub mod tickets;
mod tunnel;
pub mod unsafe_methods;
pub(crate) mod verdict;
pub mod visitor;
mod websocket;

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ALT_SVC, PROXY_AUTHORIZATION, UPGRADE};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, Version};
use tracing::debug;

use self::amend::Amendment;
use self::ask::ProxyRequest;
use self::audience::Audience;
use self::body::Body;
use self::choose::CopyLookup;
use self::decide::{Decision, DecisionRefusal};
use self::forwards::{Forwards, about_us, forwards_left};
use self::interims::Interims;
use self::last::{LastAction, LastKey};
use self::memento::NotChosen;
use self::plan::{RequestPlan, plan_request, reads};
use self::recode::Undecodable;
use self::rules::Ruling;
use self::site::Door;
use self::small_body::{BodyReadError, read_whole};
use self::status::{CacheStatus, HitReason};
use self::target::{BadTarget, Resource, Target};
use self::tunnel::Switch;
use self::visitor::{PageVisit, ProxyServer, Visitor};
use self::websocket::WebSocketHandshake;
use crate::base::basic::Login;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::statistics::{Given, Outcome};
use crate::net::upstream::Interim;
use crate::page::context::PageReader;
use crate::page::message::{Message, OriginFailure, Ruled};
use crate::proxy::context::ProxyContext;
use crate::storage::store::Kept;
use wwwoffle_http::caching::reuse::Reuse;
use wwwoffle_http::fields::{has_passed, strip_one_hop};

/// Maximum number of interim responses that wait for a client.
const MAX_INTERIMS: usize = 8;

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Client {
    /// The channel for interim responses, if the connection has one.
    pub interims: Option<Interims>,
    /// The connection of the client.
    pub visitor: Visitor,
    /// The server that the client is connected to.
    pub server: Arc<dyn ProxyServer>,
}

impl Client {
    /// Forwards an interim response, without its hop-by-hop fields.
    fn forward_interim(&self, (status, mut fields): Interim) {
        strip_one_hop(&mut fields);
        if self.is_inside() {
            fields.remove(ALT_SVC);
        }
        if let Some(interims) = &self.interims {
            interims.send(status, &fields);
        }
    }

    /// Whether we answer the connection in place of a site. Then the browser must not bypass the
    /// proxy over QUIC or through another host (RFC 7838).
    fn is_inside(&self) -> bool {
        matches!(self.visitor.door, Door::Site(_))
    }
}

/// Answers one request. The future is dropped if the client leaves; a download that it started
/// continues.
pub async fn handle(
    context: Arc<ProxyContext>,
    client: Client,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let is_inside = client.is_inside();
    let (version, method) = (request.version(), request.method().clone());
    let switch = Switch::asked(&request);
    http2::receive(&mut request);
    let mut response = match websocket::translate(&mut request) {
        Ok(()) => answer(context, client, request).await,
        Err(error) => reply::plain(501, &error.to_string()),
    };
    if version == Version::HTTP_2 {
        if switch == Switch::WebSocket {
            response = websocket::answer(response);
        }
        response = http2::send(&method, response);
    } else {
        switch.close_unless_granted(&mut response);
    }
    if is_inside {
        response.headers_mut().remove(ALT_SVC);
    }
    response
}

async fn answer(
    context: Arc<ProxyContext>,
    mut client: Client,
    request: Request<Incoming>,
) -> Response<Body> {
    let mode = context.base.mode.now();
    let (mut parts, incoming) = request.into_parts();
    let reader = PageReader::of(mode, &parts.headers);
    let audience = Audience::of(&parts.method, &parts.headers);
    // Removed from the request, so that it is never stored, queued, logged or forwarded.
    let login = Login::take(&mut parts.headers, &PROXY_AUTHORIZATION);
    if !admit::still_served(&context, &client.visitor) {
        return admit::end(&context, &reader, audience);
    }
    let target = match target::read(&parts, &context.base.local, &client.visitor.door) {
        Ok(target) => target,
        Err(error) => return bad_target(&context, &reader, audience, &error),
    };
    match target {
        Target::Own(url) => {
            if gateway::is_meant(&context.base.config(), &parts.uri) {
                let (own, request) = ((&url, login), (parts, incoming));
                return Box::pin(gateway::answer(&context, client, mode, own, request)).await;
            }
            let request = Request::from_parts(parts, incoming);
            let visit = PageVisit { peer: client.visitor.peer, login };
            client.server.own_page(mode, url, visit, request).await
        }
        Target::Everything => about_us(),
        Target::Tunnel(_) | Target::Resource(_)
            if let Err(denied) =
                admit::as_user(&context, &mut client.visitor, login.as_ref(), None).await =>
        {
            admit::refuse(&context, mode, &parts, denied)
        }
        Target::Tunnel(origin) if has_passed(&parts.headers, &context.base.pseudonym) => {
            let url = format!("https://{origin}/");
            reply::message(&context, &reader, &Message::Loop { url: &url })
        }
        Target::Tunnel(origin) => {
            let request = Request::from_parts(parts, incoming);
            Box::pin(tunnel::open(&context, &client, mode, origin, request)).await
        }
        Target::Resource(resource) => {
            if has_passed(&parts.headers, &context.base.pseudonym) {
                let told = Message::Loop { url: resource.url.as_str() };
                return reply::told(&context, &reader, audience, &told);
            }
            resource_of(&context, &client, mode, resource, parts, incoming).await
        }
    }
}

async fn resource_of(
    context: &Arc<ProxyContext>,
    client: &Client,
    mode: Mode,
    mut resource: Resource,
    mut parts: Parts,
    incoming: Incoming,
) -> Response<Body> {
    if let Some(refused) = inward(context, client, mode, &mut resource, &parts) {
        return refused;
    }
    match forwards_left(&mut parts) {
        Forwards::End => return about_us(),
        Forwards::Refused => return reply::plain(405, "TRACE is not passed on"),
        Forwards::More => {}
    }
    let (upgrade, handshake) = (upgrade_of(&mut parts), parts.extensions.remove());
    let (post, incoming) = if ask::has_small_body(&parts.method, &parts.headers) {
        match Box::pin(read_whole(incoming, context.base.config().options.socket_timeout)).await {
            Ok(whole) => (Some(whole), None),
            Err(BodyReadError::Broken) => {
                return reply::plain(400, "the request's body ended early");
            }
            Err(BodyReadError::Stalled) => {
                return reply::plain(408, "the request's body did not come");
            }
        }
    } else {
        (None, Some(incoming))
    };
    let rest = RequestRest { incoming, upgrade, handshake };
    Box::pin(decided(context, client, mode, resource, (parts, post), rest)).await
}

/// The response if `client` may not request addresses in this network.
fn inward(
    context: &ProxyContext,
    client: &Client,
    mode: Mode,
    resource: &mut Resource,
    parts: &Parts,
) -> Option<Response<Body>> {
    resource.origin.reach = client.visitor.reach();
    if context.net.upstream.dialer().may_reach(&resource.origin) {
        return None;
    }
    let (url, failure) = (resource.url.as_str(), OriginFailure::Inward);
    let told = Message::OriginFailed { url, failure, kept: None };
    let reader = PageReader::of(mode, &parts.headers);
    let audience = Audience::of(&parts.method, &parts.headers);
    Some(reply::told(context, &reader, audience, &told))
}

/// Decides about a request and acts. `post` is the body of a form that was read whole.
async fn decided(
    context: &Arc<ProxyContext>,
    client: &Client,
    mode: Mode,
    resource: Resource,
    (parts, post): (Parts, Option<Bytes>),
    rest: RequestRest,
) -> Response<Body> {
    let owner = client.visitor.owner();
    let ask = ProxyRequest::new(context, owner, resource, parts, post, mode, clock::now());
    let account = context.storage.statistics.account(ask.bare.host());
    let (asked, method) = (LastKey::of(&ask), ask.method.clone());
    let mut response = answer_to(context, client, ask, rest).await;
    if let Some(&status) = response.extensions().get::<CacheStatus>() {
        let last = LastAction { at: clock::now(), method, answer: response.status(), status };
        context.traffic.last.note(asked, last);
        let given = Given::begin(account, Outcome::from(status));
        response.extensions_mut().insert(given);
    }
    response
}

/// Answers a parsed request.
async fn answer_to(
    context: &Arc<ProxyContext>,
    client: &Client,
    mut ask: ProxyRequest,
    rest: RequestRest,
) -> Response<Body> {
    let mode = ask.mode;
    match &ask.ruling {
        Ruling::Moved { to, by } => return stand_in::moved(context, &ask, to, by),
        Ruling::Blocked { by, replacement } => {
            return stand_in::blocked(context, &client.visitor, &ask, by, replacement.as_deref());
        }
        Ruling::OtherProtocol => {
            return stand_in::refused(context, &ask, Ruled::OtherProtocol);
        }
        Ruling::Usual(_) => {}
    }
    if !protocols::allows_method(&ask.config, &ask.bare, &ask.method) {
        return stand_in::refused(context, &ask, Ruled::UnknownMethod);
    }
    let RequestPlan { kept, found, decision } = match plan_request(context, &mut ask).await {
        Ok(weighed) => weighed,
        Err(NotChosen::Spool(error)) => return reply::spool_failed(context, &ask, &error),
        Err(error @ NotChosen::Malformed) => {
            return reply::line(ask.audience, 400, &error.to_string());
        }
    };
    debug!(method = %ask.method, url = %ask.resource.url.as_str(), %mode, ?decision, "decided");
    let gate = ask.modification.as_ref().and_then(|changed| changed.gate());
    if let Some(unasked) = gate.and_then(|gate| gate.instead(decision)) {
        return unasked;
    }
    let (amendment, modification) = (Amendment::of(&ask), ask.modification.take());
    let when = kept.as_ref().map(|kept| kept.entry.checked());
    let grounds = repeat::replay_conditions(context, &ask, kept.as_deref(), &found, decision);
    let reader = ask.reader();
    let response = act(context, client, ask, (kept, found), decision, rest).await;
    let looked = if recode::is_put(&response) {
        Box::pin(recode::look_ahead(response)).await
    } else {
        Ok(response)
    };
    let mut response = match looked {
        Ok(response) => response,
        Err(undecodable) => return instead_of(context, &reader, &undecodable),
    };
    if let Some(amendment) = amendment {
        response = amendment.apply(context, response);
    }
    if let Some(modification) = modification {
        return modification.apply(context, when, response);
    }
    if let Some(grounds) = grounds {
        response.extensions_mut().insert(grounds);
    }
    response
}

/// The response if the stored copy cannot be decoded for the client.
fn instead_of(
    context: &ProxyContext,
    reader: &PageReader,
    undecodable: &Undecodable,
) -> Response<Body> {
    let Undecodable { fault, audience, url } = undecodable;
    let detail = fault.to_string();
    debug!(url, error = detail, "the stored body cannot be decoded");
    let told = Message::Undecodable { url, detail: &detail };
    reply::with_status(reply::told(context, reader, *audience, &told), CacheStatus::Undecodable)
}

/// The unread rest of a request, which may go to the origin.
struct RequestRest {
    /// The body, if it was not read whole.
    incoming: Option<Incoming>,
    /// The connection, if it may switch to another protocol.
    upgrade: Option<OnUpgrade>,
    /// The expected response of the origin to a WebSocket request that came over HTTP/2.
    handshake: Option<WebSocketHandshake>,
}

/// Takes the upgrade of the connection out of a request.
fn upgrade_of(parts: &mut Parts) -> Option<OnUpgrade> {
    parts.headers.get(UPGRADE)?;
    parts.extensions.remove::<OnUpgrade>()
}

async fn act(
    context: &Arc<ProxyContext>,
    client: &Client,
    ask: ProxyRequest,
    (kept, found): (Option<Arc<Kept>>, CopyLookup),
    decision: Decision,
    rest: RequestRest,
) -> Response<Body> {
    match (decision, kept) {
        (Decision::Serve, Some(kept)) => {
            let why = match ask.mode {
                _ if ask.asked.form_answer => HitReason::FormAnswer,
                Mode::Offline if ask.post.is_some() => HitReason::SameBody,
                Mode::Offline => ask.near.map_or(HitReason::Offline, HitReason::Near),
                Mode::Autodial => HitReason::Autodial,
                Mode::Online => reused(&ask),
            };
            let response = kept::serve(context, &ask, &kept, CacheStatus::Hit(why));
            if ask.asked.form_answer || !ask.mode.may_dial() {
                return response;
            }
            match recode::look_ahead(response).await {
                Ok(response) => response,
                Err(undecodable) => fetch_again(context, client, ask, &undecodable).await,
            }
        }
        (Decision::ServeVersion, Some(kept)) => memento::serve(context, &ask, &kept),
        (Decision::ServeAndRefresh, Some(kept)) => missing::refresh(context, &ask, &kept).await,
        (Decision::ServeAndRevalidate, Some(kept)) => {
            let status = CacheStatus::Hit(reused(&ask));
            match recode::look_ahead(kept::serve(context, &ask, &kept, status)).await {
                Ok(response) => {
                    through::revalidate(context, client, ask, &found);
                    response
                }
                Err(undecodable) => fetch_again(context, client, ask, &undecodable).await,
            }
        }
        (Decision::Revalidate | Decision::Fetch, _) => {
            Box::pin(through::fetch(context, client, ask, &found)).await
        }
        (Decision::Pass, _) => Box::pin(pass::pass(context, client, &ask, &found, rest)).await,
        (Decision::QueuePage, _) => missing::page(context, &ask).await,
        (Decision::QueuePart, _) => missing::part(context, &ask).await,
        (Decision::Confirm, Some(kept)) if ask.asked.form_answer => {
            form_again::confirm(context, &ask, &kept)
        }
        (Decision::Confirm, kept) => missing::confirm(context, &ask, kept.is_some()),
        (Decision::Refuse(refusal), _) => missing::refuse(context, &ask, refusal),
        // Unreachable: this decision requires a stored copy.
        (
            Decision::Serve
            | Decision::ServeVersion
            | Decision::ServeAndRefresh
            | Decision::ServeAndRevalidate,
            None,
        ) => missing::refuse(context, &ask, DecisionRefusal::NotKept),
    }
}

/// Asks the origin as if nothing was stored, because the stored body is damaged.
async fn fetch_again(
    context: &Arc<ProxyContext>,
    client: &Client,
    mut ask: ProxyRequest,
    undecodable: &Undecodable,
) -> Response<Body> {
    debug!(url = undecodable.url, error = %undecodable.fault, "the stored body cannot be decoded");
    if !undecodable.is_damaged() {
        return instead_of(context, &ask.reader(), undecodable);
    }
    if ask.control.only_if_cached {
        return missing::refuse(context, &ask, DecisionRefusal::NotKept);
    }
    ask.verdict = None;
    ask.codings.ask_as_the_client();
    Box::pin(through::fetch(context, client, ask, &CopyLookup::default())).await
}

/// Why the stored copy is served while online.
fn reused(ask: &ProxyRequest) -> HitReason {
    let verdict = ask.verdict.as_ref();
    let by = match verdict.map(|verdict| (verdict.reuse, verdict.by)) {
        Some((Reuse::StaleTaken, _)) => Some("max-stale"),
        Some((Reuse::Refreshing, _)) => Some("stale-while-revalidate"),
        Some((_, Some(option))) => Some(option.as_str()),
        Some((_, None)) | None => ask.overruled,
    };
    HitReason::Reused { ttl: verdict.map_or(0, |verdict| verdict.freshness.ttl()), by }
}

fn bad_target(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
    error: &BadTarget,
) -> Response<Body> {
    let detail = error_chain(error);
    let told = Message::BadRequest { detail: &detail };
    let mut response = reply::unless_part(context, reader, audience, &told);
    match error {
        BadTarget::Protocol(_) => *response.status_mut() = StatusCode::NOT_IMPLEMENTED,
        // RFC 9110 §15.5.20: the client may try again on another connection.
        BadTarget::Misdirected(_) => *response.status_mut() = StatusCode::MISDIRECTED_REQUEST,
        _ => {}
    }
    response
}
