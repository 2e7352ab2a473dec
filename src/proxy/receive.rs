//! Receives a request for a resource: checks that it is allowed, and reads a small body completely.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::UPGRADE;
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Response};

use super::ask::MAX_KEPT_POST;
use super::audience::Audience;
use super::body::Body;
use super::max_forwards::refuse_forward;
use super::small_body::{SmallBody, read_if_small, read_whole};
use super::target::Resource;
use super::websocket::WebSocketHandshake;
use super::{Client, ask, reply};
use crate::base::mode::Mode;
use crate::net::upstream::ClientBody;
use crate::page::context::PageReader;
use crate::page::message::{Message, OriginFailure};
use crate::proxy::context::ProxyContext;

/// A request for a resource, as received.
pub(super) struct ReceivedRequest {
    /// The mode when the request arrived.
    pub(super) mode: Mode,
    pub(super) resource: Resource,
    pub(super) parts: Parts,
    /// The body of a form that can be queued.
    pub(super) form: Option<Bytes>,
    pub(super) rest: RequestRest,
}

/// The remaining input of a request, which may go to the origin.
#[derive(Default)]
pub(super) struct RequestRest {
    /// The body, if it was not read completely.
    pub(super) incoming: Option<ClientBody>,
    /// The connection, if it may switch to another protocol.
    pub(super) upgrade: Option<OnUpgrade>,
    /// The expected response of the origin to a WebSocket request that came over HTTP/2.
    pub(super) handshake: Option<WebSocketHandshake>,
}

/// Receives a request, or returns the response that ends it.
pub(super) async fn receive(
    context: &Arc<ProxyContext>,
    client: &Client,
    mode: Mode,
    mut resource: Resource,
    mut parts: Parts,
    incoming: Incoming,
) -> Result<ReceivedRequest, Response<Body>> {
    if let Some(refused) = refuse_inward(context, client, mode, &mut resource, &parts) {
        return Err(refused);
    }
    if let Some(response) = refuse_forward(&mut parts) {
        return Err(response);
    }
    let mut rest = RequestRest {
        incoming: None,
        upgrade: parts.headers.get(UPGRADE).and_then(|_| parts.extensions.remove()),
        handshake: parts.extensions.remove(),
    };
    let mut form = None;
    let is_form = ask::is_form(&parts.method, mode);
    if is_form && ask::has_small_body(&parts.headers) {
        let patience = context.base.config().options.socket_timeout;
        let body = Box::pin(read_whole(incoming, patience)).await;
        form = Some(body.map_err(|error| error.response())?);
    } else if is_form && ask::may_have_small_body(&parts.headers) {
        match Box::pin(read_if_small(incoming, MAX_KEPT_POST)).await {
            Ok(SmallBody::Whole(body)) => form = Some(body),
            Ok(SmallBody::Started(body)) => rest.incoming = Some(body),
            Err(error) => return Err(error.response()),
        }
    } else if is_form && parts.method == Method::DELETE && incoming.is_end_stream() {
        form = Some(Bytes::new());
    } else {
        rest.incoming = Some(ClientBody { start: Bytes::new(), rest: incoming });
    }
    Ok(ReceivedRequest { mode, resource, parts, form, rest })
}

/// Records in `resource` which addresses `client` may reach. Returns the refusal if `client` may
/// not reach the origin of `resource`.
pub(super) fn refuse_inward(
    context: &ProxyContext,
    client: &Client,
    mode: Mode,
    resource: &mut Resource,
    parts: &Parts,
) -> Option<Response<Body>> {
    resource.origin.reach = client.connection.reach();
    if context.net.upstream.dialer().may_reach(&resource.origin) {
        return None;
    }
    let (url, failure) = (resource.url.as_str(), OriginFailure::Inward);
    let message = Message::OriginFailed { url, failure, copy: None };
    let reader = PageReader::of(mode, &parts.headers);
    let audience = Audience::of(&parts.method, &parts.headers);
    Some(reply::message_for(context, &reader, audience, &message))
}
