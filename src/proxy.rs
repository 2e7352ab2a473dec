//! One request, phase by phase: read the target, admit, look up stored copies, decide, act, finish.
//!
//! ```text
//! handle ── target ── own page ───────────────────────────── the site, through the server
//!              ├───── /http/host/ ── gateway ─ resource, below
//!              ├───── admit ── 407
//!              ├───── resource, with a fixture ── fixture
//!              ├───── CONNECT ── site ── intercept ───────── HTTP inside TLS, from the top
//!              │                   └──── tunnel
//!              └───── resource ── receive ── ask ─┬─ stand_in, if an alias or a block applies
//!                                                 └─ plan ── act ─┬─ Serve ─── serve_copy, memento
//!                                                                 ├─ Fetch ─── origin_fetch
//!                                                                 ├─ Pass ──── forward
//!                                                                 └─ Queue ─── offline
//! finish: what happens to every response on its way out
//! ```

pub mod access;
mod access_record;
mod act;
pub(crate) mod admit;
mod amend;
pub mod ask;
pub mod audience;
pub mod body;
pub mod captures;
pub(crate) mod censor;
pub mod choose;
pub mod client_connection;
pub mod context;
mod counted_stream;
pub mod decide;
pub mod download;
mod finish;
pub mod fixture;
mod form_again;
mod forward;
pub mod freshen;
pub(crate) mod gateway;
pub mod http2;
pub mod intent;
pub mod intercept;
pub mod interims;
pub mod keep;
pub mod last;
pub(crate) mod like;
pub mod link_probe;
mod max_forwards;
mod memento;
mod modify;
mod near;
mod offline;
pub(crate) mod opener;
mod origin_fetch;
mod outcome;
mod parsed_body;
pub mod placer;
mod plan;
mod protocols;
pub(crate) mod quota;
pub mod ranges;
mod receive;
pub(crate) mod recode;
pub mod rehearsal;
mod reload;
pub mod repeat;
pub mod reply;
pub mod rules;
pub(crate) mod saver;
mod serve_copy;
pub mod site;
mod site_logins;
mod small_body;
mod stand_in;
pub mod status;
pub mod target;
pub mod tickets;
pub mod tunnel;
pub mod unsafe_methods;
pub(crate) mod verdict;
mod websocket;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALT_SVC, PROXY_AUTHORIZATION};
use hyper::{Request, Response, StatusCode};
use tracing::debug;

use self::access_record::AccessRecord;
use self::act::execute_decision;
use self::ask::ProxyRequest;
use self::audience::Audience;
use self::body::Body;
use self::client_connection::{ClientConnection, PageClient, ProxyServer};
use self::finish::{ConnectionFinish, RequestRecord, ResponseFinish};
use self::interims::Interims;
use self::max_forwards::options_response;
use self::plan::{plan_request, reads};
use self::receive::{ReceivedRequest, receive};
use self::site_logins::LoginClient;
use self::target::{BadTarget, Target};
use crate::base::basic::Login;
use crate::base::error_chain::error_chain;
use crate::base::presence::Presence;
use crate::net::upstream::Interim;
use crate::page::context::PageReader;
use crate::page::message::Message;
use crate::proxy::context::ProxyContext;
use wwwoffle_http::fields::{has_passed, strip_one_hop};

/// Maximum number of interim responses that wait for a client.
const MAX_INTERIMS: usize = 8;

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Client {
    /// The channel for interim responses, if the connection has one.
    pub interims: Option<Interims>,
    /// Whether the client has closed its half of the connection.
    pub presence: Presence,
    /// The connection of the client.
    pub connection: ClientConnection,
    /// The server that the client is connected to.
    pub server: Arc<dyn ProxyServer>,
}

impl Client {
    /// Forwards an interim response, without its hop-by-hop fields.
    fn forward_interim(&self, (status, mut fields): Interim) {
        strip_one_hop(&mut fields);
        if self.connection.is_intercepted() {
            fields.remove(ALT_SVC);
        }
        if let Some(interims) = &self.interims {
            interims.send(status, &fields);
        }
    }
}

/// Answers one request. The future is dropped if the client leaves; a download that it started
/// continues.
pub async fn handle(
    context: Arc<ProxyContext>,
    mut client: Client,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let finish = ConnectionFinish::of(&client, &request);
    let log = context.traffic.access_log.as_ref();
    let record = log.map(|log| AccessRecord::begin(log, &client.connection, &request));
    client.connection.access.clone_from(&record);
    let response = match http2::receive(&mut request) {
        Ok(()) => dispatch(context, client, request).await,
        Err(error) => reply::plain(501, &error.to_string()),
    };
    let response = finish.apply(response);
    match record {
        Some(record) => record.follow(response),
        None => response,
    }
}

/// Reads the target, and hands the request to the part of the program that answers it.
async fn dispatch(
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
    fixture::socket::prepare(&context, &mut parts);
    if !admit::may_still_serve(&context, &client.connection) {
        return admit::end(&context, &reader, audience);
    }
    let target = match target::read(&parts, &context.base.local, &client.connection.door) {
        Ok(target) => target,
        Err(error) => return bad_target(&context, &reader, audience, &error),
    };
    if let (Target::Resource(resource), Some(record)) = (&target, &client.connection.access) {
        record.set_url(resource.url.as_str());
    }
    match target {
        Target::Own(url) => {
            let is_for_gateway = gateway::is_meant(&context.base.config(), &parts.uri);
            let request = Request::from_parts(parts, incoming);
            if is_for_gateway {
                return Box::pin(gateway::answer(&context, client, mode, &url, login, request))
                    .await;
            }
            let page_client = PageClient { peer: client.connection.peer, login };
            client.server.own_page(mode, url, page_client, request).await
        }
        Target::Everything => options_response(),
        Target::Tunnel(_) | Target::Resource(_)
            if let Err(denied) =
                admit::as_user(&context, &mut client.connection, login.as_ref(), None).await =>
        {
            admit::refuse(&context, mode, &parts, denied)
        }
        Target::Tunnel(origin) if has_passed(&parts.headers, &context.base.pseudonym) => {
            let url = format!("https://{origin}/");
            reply::message(&context, &reader, &Message::Loop { url: &url })
        }
        Target::Tunnel(origin) if let Some(refused) = fixture::refuse_host(&context, &origin) => {
            refused
        }
        Target::Tunnel(origin) => {
            let request = Request::from_parts(parts, incoming);
            Box::pin(tunnel::open(&context, &client, mode, origin, request)).await
        }
        Target::Resource(resource) if has_passed(&parts.headers, &context.base.pseudonym) => {
            let message = Message::Loop { url: resource.url.as_str() };
            reply::message_for(&context, &reader, audience, &message)
        }
        Target::Resource(resource)
            if let Some(session) = fixture::session_for(&context, &resource, &parts) =>
        {
            let from = (&client, mode);
            Box::pin(fixture::answer(&context, session, from, resource, parts, incoming)).await
        }
        Target::Resource(resource) => {
            match receive(&context, &client, mode, resource, parts, incoming).await {
                Ok(received) => Box::pin(answer_resource(&context, &client, received)).await,
                Err(response) => response,
            }
        }
    }
}

/// Answers a request for a resource: looks up the stored copies, decides, acts, and finishes and
/// records the response.
async fn answer_resource(
    context: &Arc<ProxyContext>,
    client: &Client,
    received: ReceivedRequest,
) -> Response<Body> {
    let ReceivedRequest { mode, resource, parts, form, rest } = received;
    let (owner, from) = (client.connection.owner(), LoginClient::of(&client.connection));
    let mut request = ProxyRequest::new(context, owner, resource, parts, form, mode);
    let record = RequestRecord::of(context, &request);
    let mut response = 'response: {
        if let Some(response) = stand_in::response(context, &client.connection, &request) {
            break 'response response;
        }
        let mut plan = match plan_request(context, &mut request, Some(from)).await {
            Ok(plan) => plan,
            Err(error) => break 'response reply::not_chosen(context, &request, &error),
        };
        let (url, decision) = (request.resource.url.as_str(), plan.decision);
        let (method, owner) = (&request.head.method, &request.owner);
        debug!(%method, url, %owner, %mode, ?decision, "decided");
        if let Some(question) = gateway::question_first(&request, decision) {
            break 'response question;
        }
        if let Some(left_out) = saver::apply(context, &mut request, &mut plan) {
            break 'response left_out;
        }
        if let Some(refused) = quota::apply(context, &mut request, &mut plan) {
            break 'response refused;
        }
        let finish = ResponseFinish::of(context, &mut request, &plan);
        let response = execute_decision(context, client, request, plan, rest).await;
        finish.apply(context, response).await
    };
    record.complete(context, &mut response);
    response
}

fn bad_target(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
    error: &BadTarget,
) -> Response<Body> {
    let detail = error_chain(error);
    let message = Message::BadRequest { detail: &detail };
    let mut response = reply::page_or_empty(context, reader, audience, &message);
    match error {
        BadTarget::Protocol(_) => *response.status_mut() = StatusCode::NOT_IMPLEMENTED,
        // RFC 9110 §15.5.20: the client may try again on another connection.
        BadTarget::Misdirected(_) => *response.status_mut() = StatusCode::MISDIRECTED_REQUEST,
        _ => {}
    }
    response
}
