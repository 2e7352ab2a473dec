//! Forwards a request and its response without storing anything.

use std::sync::Arc;

use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tracing::debug;

use super::amend::OriginResponseMark;
use super::ask::ProxyRequest;
use super::body::{self, Body};
use super::choose::CopyLookup;
use super::decide::MethodKind;
use super::fixture::socket::{RecordedSide, SocketRecorder};
use super::freshen::{self, RequestTimes};
use super::receive::RequestRest;
use super::rules::StoragePolicy;
use super::status::{CacheStatus, Forward, NotStored};
use super::tunnel::splice;
use super::unsafe_methods::{self, InvalidationTargets, UnsafeRequest};
use super::websocket::{UpgradeMark, WebSocketHandshake};
use super::{Client, MAX_INTERIMS};
use super::{fixture, quota, recode, reply, saver};
use crate::base::clock;
use crate::net::upstream::{Answer, Failure, Interim, Outbound};
use crate::proxy::context::ProxyContext;
use wwwoffle_http::caching::coding::Delivery;
use wwwoffle_http::fields::{add_via, complete_date, strip_one_hop};

/// Forwards the request and its body, and streams the response back.
pub(super) async fn send(
    context: &Arc<ProxyContext>,
    client: &Client,
    ask: &ProxyRequest,
    found: &CopyLookup,
    rest: RequestRest,
) -> Response<Body> {
    let body = match (&ask.form, rest.incoming) {
        (Some(form), _) => Outbound::Whole(form.body.clone()),
        (None, Some(body)) if !(body.start.is_empty() && body.rest.is_end_stream()) => {
            Outbound::Stream(body)
        }
        (None, _) => Outbound::Empty,
    };
    let (interim, mut interims) = mpsc::channel::<Interim>(MAX_INTERIMS);
    let head = ask.origin_request(&context.base.pseudonym);
    let origin = &ask.resource.origin;
    // RFC 9110 §15.2: a client with HTTP/1.0 must not get interim responses.
    let interim = (ask.head.version > Version::HTTP_10).then_some(interim);
    let sent = clock::now();
    let mut exchange = std::pin::pin!(context.net.upstream.send(origin, head, body, interim));
    let answer = loop {
        tokio::select! {
            biased;
            Some(interim) = interims.recv() => client.forward_interim(interim),
            answer = &mut exchange => break answer,
        }
    };
    match answer {
        Ok(answer) if answer.status() == StatusCode::SWITCHING_PROTOCOLS => {
            switch(context, client, ask, answer, rest.upgrade, rest.handshake)
        }
        Ok(mut answer) => {
            fixture::note_closed_socket(context, ask);
            strip_one_hop(answer.headers_mut());
            let asked = RequestTimes { sent, received: clock::now() };
            complete_date(answer.headers_mut(), asked.received);
            update_copies(context, ask, found, &answer, asked).await;
            if let Some(rules) = saver::rules(context, ask)
                && let Err(mut file) = rules.check_head(answer.status(), answer.headers())
            {
                file.arrived = saver::take_arrived(answer.body_mut()).await;
                return saver::replacement(context, ask, Some(&file));
            }
            respond(context, ask, answer, forward(ask), NotStored::Ruled(ask.asked.standing))
        }
        Err(failure) => reply::failed(context, ask, &failure, None),
    }
}

/// The reason why a request is forwarded without storing its response.
fn forward(ask: &ProxyRequest) -> Forward {
    let is_usual = ask.asked.standing == StoragePolicy::Usual && !ask.asked.upgrade;
    match ask.asked.method {
        // A fresh stored copy would have answered the HEAD, so the state of the copy is the reason.
        MethodKind::Head if is_usual => Forward::of(ask.copy.verdict.as_ref()),
        MethodKind::Upload | MethodKind::Other
            if is_usual && !matches!(ask.head.method, Method::GET | Method::HEAD) =>
        {
            Forward::Method
        }
        _ => Forward::Bypass,
    }
}

/// Updates or invalidates stored copies after a forwarded response.
async fn update_copies(
    context: &ProxyContext,
    ask: &ProxyRequest,
    found: &CopyLookup,
    answer: &Answer,
    asked: RequestTimes,
) {
    if ask.head.method == Method::HEAD {
        freshen::update_from_head(&context.storage.store, ask, found, answer, asked).await;
    }
    let sent = UnsafeRequest {
        method: &ask.head.method,
        url: &ask.bare,
        fields: &ask.head.fields,
        owner: &ask.owner,
    };
    let (store, local, downloads) =
        (&context.storage.store, &context.base.local, &context.traffic.downloads);
    let of = InvalidationTargets { store, local, downloads, by: None };
    let said = (answer.status(), answer.headers());
    unsafe_methods::invalidate_after_response(of, sent, said, asked.received).await;
}

/// Prepares a response for the client. Its hop-by-hop fields must already be removed.
///
/// The response is decoded only if we requested its coding. A coding that the client requested
/// passes unchanged.
pub(super) fn respond(
    context: &ProxyContext,
    ask: &ProxyRequest,
    answer: Answer,
    forward: Forward,
    why: NotStored,
) -> Response<Body> {
    let (mut parts, incoming) = answer.into_parts();
    complete_date(&mut parts.headers, clock::now());
    add_via(&mut parts.headers, parts.version, &context.base.pseudonym);
    let status = CacheStatus::Passed { forward, status: parts.status, why };
    let delivery = if ask.codings.requests_all_codings() {
        ask.codings.deliver(parts.status, &parts.headers)
    } else {
        Delivery::AsItIs
    };
    delivery.amend(&mut parts.headers);
    // The HTTP version and the extensions belong to the connection to the origin, so they are not
    // copied.
    let body = body::unstored(incoming.metered(quota::account(context, &ask.owner)));
    let mut response = Response::new(recode::body(delivery, body));
    *response.status_mut() = parts.status;
    *response.headers_mut() = parts.headers;
    status.mark(&mut response);
    response.extensions_mut().insert(OriginResponseMark);
    response
}

/// Switches both sides to another protocol: from now on bytes pass both ways, uninterpreted.
fn switch(
    context: &Arc<ProxyContext>,
    client: &Client,
    ask: &ProxyRequest,
    mut answer: Answer,
    upgrade: Option<OnUpgrade>,
    handshake: Option<WebSocketHandshake>,
) -> Response<Body> {
    let protocol = answer.headers().get(UPGRADE).cloned();
    let (Some(client_side), Some(protocol)) = (upgrade, protocol) else {
        let unasked = "the origin switched to a protocol that was not requested";
        return reply::failed(context, ask, &Failure::Unsendable(unasked), None);
    };
    let origin_side = hyper::upgrade::on(&mut answer);
    let mut fields = std::mem::take(answer.headers_mut());
    strip_one_hop(&mut fields);
    let mut response = Response::new(body::empty());
    if let Some(handshake) = handshake {
        if !handshake.complete(&protocol, &mut fields) {
            let wrong = "its WebSocket handshake violates RFC 6455";
            return reply::failed(context, ask, &Failure::Wrong(wrong), None);
        }
        response.extensions_mut().insert(UpgradeMark);
    } else {
        fields.insert(UPGRADE, protocol);
        fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    }
    let recorder = SocketRecorder::begin(context, ask, &fields);
    *response.headers_mut() = fields;
    let (inside, connection) = (Arc::clone(context), client.connection.clone());
    let to = ask.resource.origin.clone();
    context.base.tasks.spawn(async move {
        let (Ok(client), Ok(origin)) = tokio::join!(client_side, origin_side) else {
            return debug!("an upgrade was not completed");
        };
        let client = RecordedSide::new(TokioIo::new(client), recorder.clone(), true);
        let both = (client, RecordedSide::new(TokioIo::new(origin), recorder, false));
        splice(&inside, &to, &connection, both, b"").await;
    });
    response
}
