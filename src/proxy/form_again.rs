//! Asks a person whether to send a form again whose response is stored.
//!
//! The body of a form is stored with its response. It is encrypted with the key of the spool,
//! because people write passwords in forms. Only the owner who sent the form can have it decrypted.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN, REFERER};
use hyper::{Method, Response};
use tracing::debug;
use wwwoffle_spool::{Outgoing, RequestKind, Spool};

use super::ask::ProxyRequest;
use super::body::Body;
use super::decide::DecisionRefusal;
use super::status::CacheStatus;
use super::{offline, reply};
use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::page::message::Message;
use crate::proxy::context::ProxyContext;
use crate::storage::store::StoredCopy;
use wwwoffle_http::head;

/// The longest body that is stored, in bytes.
const LONGEST: usize = 32 << 10;

/// Adds the sealed `body` of a form to the head of its `request`, unless the body is too long or
/// cannot be sealed.
pub(super) fn seal(spool: &Spool, places: &Places, body: &[u8], request: Vec<u8>) -> Vec<u8> {
    if body.len() > LONGEST {
        return request;
    }
    match spool.seal(&places.queued.key(), body) {
        Ok(sealed) => head::with_field(&request, &head::FORM, &BASE64_STANDARD.encode(sealed)),
        Err(error) => {
            debug!(error = error_chain(&error), "the body of a form cannot be sealed");
            request
        }
    }
}

/// Asks the person whether to send the form again. The contents of the form are not known if the
/// form was imported, too long, or sent by another owner. Then the response is a message that says
/// so.
pub(super) fn confirm(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &Arc<StoredCopy>,
) -> Response<Body> {
    let Some((outgoing, method, content_type)) = outgoing(context, ask, copy) else {
        let notice = Message::FormUnknown { url: ask.resource.url.as_str() };
        let status = CacheStatus::Refused(DecisionRefusal::FormAnswer);
        return reply::respond(context, ask, status, &notice);
    };
    let content_type = content_type.as_ref().and_then(|value| value.to_str().ok());
    offline::question(context, ask, outgoing, (&method, content_type), true)
}

/// The stored form, its method and its content type, for sending the form again with the browser's current
/// cookies and login. `None` if the contents of the form are not known.
fn outgoing(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &StoredCopy,
) -> Option<(Outgoing, Method, Option<HeaderValue>)> {
    let stored = head::read_request(copy.entry.request(), b"").ok()?;
    let sealed = BASE64_STANDARD.decode(stored.headers.get(head::FORM)?).ok()?;
    let body = context.storage.store.spool().unseal(&ask.places.queued.key(), &sealed)?;
    let mut request = ask.origin_request(&context.base.pseudonym);
    *request.method_mut() = stored.method.clone();
    *request.uri_mut() = stored.uri;
    for name in [CONTENT_TYPE, ORIGIN, REFERER] {
        if let Some(value) = stored.headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let content_type = stored.headers.get(CONTENT_TYPE).cloned();
    Some((offline::to_queue(ask, request, body, RequestKind::Post), stored.method, content_type))
}
