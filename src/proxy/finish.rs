//! The steps that each response passes before it is sent, in this order:
//!
//! | step | for | action |
//! |---|---|---|
//! | decode | resources | decodes the start of a stored body; a damaged one becomes a message |
//! | amend | responses of origins | `location-error`, `censor-header` |
//! | recompress | pictures of pages | `recompress-above` |
//! | modify | pages that a person sees, and the gateway | `modify-html`, references of the gateway |
//! | replay | plain hits | notes how long the same request gets the same bytes |
//! | record | resources | the last requests, and the statistics |
//! | connection | all | the response to an extended CONNECT, HTTP/2, `Connection`, `Alt-Svc` |

use std::sync::Arc;
use std::time::Instant;

use hyper::header::ALT_SVC;
use hyper::{Method, Request, Response, Version};
use jiff::Timestamp;
use tracing::debug;

use super::amend::Amendment;
use super::ask::ProxyRequest;
use super::body::Body;
use super::last::{LastAction, LastKey};
use super::modify::Modification;
use super::plan::RequestPlan;
use super::recode::Undecodable;
use super::repeat::{ReplayConditions, replay_conditions};
use super::status::CacheStatus;
use super::tunnel::Switch;
use super::{Client, http2, recode, reply, websocket};
use crate::base::clock;
use crate::base::statistics::usage::UsageAccount;
use crate::base::statistics::{Account, Outcome, ResponseCounter};
use crate::page::context::PageReader;
use crate::page::message::Message;
use crate::proxy::context::ProxyContext;

/// The steps *decode*, *amend*, *recompress*, *modify* and *replay* for one response.
pub(super) struct ResponseFinish {
    reader: PageReader,
    amendment: Option<Amendment>,
    modification: Option<Modification>,
    /// The time when the origin last confirmed the stored copy. `None` without a stored copy.
    checked: Option<Timestamp>,
    conditions: Option<ReplayConditions>,
}

impl ResponseFinish {
    pub(super) fn of(
        context: &ProxyContext,
        request: &mut ProxyRequest,
        plan: &RequestPlan,
    ) -> Self {
        Self {
            reader: request.reader(),
            amendment: Amendment::of(request),
            checked: plan.copy.as_ref().map(|copy| copy.entry.checked()),
            conditions: replay_conditions(context, request, plan),
            modification: request.modification.take(),
        }
    }

    /// Decodes, amends and modifies a response, and notes how long it may be replayed.
    pub(super) async fn apply(
        self,
        context: &Arc<ProxyContext>,
        response: Response<Body>,
    ) -> Response<Body> {
        let decoded = if recode::is_put(&response) {
            Box::pin(recode::look_ahead(response)).await
        } else {
            Ok(response)
        };
        let mut response = match decoded {
            Ok(response) => response,
            Err(undecodable) => return undecodable_message(context, &self.reader, &undecodable),
        };
        if let Some(amendment) = self.amendment {
            response = amendment.apply(context, response);
        }
        if let Some(mut modification) = self.modification {
            if let Some(recompression) = modification.take_recompression() {
                response = Box::pin(recompression.apply(context, response)).await;
            }
            return modification.apply(context, self.checked, response);
        }
        if let Some(conditions) = self.conditions {
            response.extensions_mut().insert(conditions);
        }
        response
    }
}

/// The response if the stored copy cannot be decoded for the client.
pub(super) fn undecodable_message(
    context: &ProxyContext,
    reader: &PageReader,
    undecodable: &Undecodable,
) -> Response<Body> {
    let Undecodable { fault, audience, url } = undecodable;
    let detail = fault.to_string();
    debug!(url, error = detail, "the stored body cannot be decoded");
    let message = Message::Undecodable { url, detail: &detail };
    reply::with_status(
        reply::message_for(context, reader, *audience, &message),
        CacheStatus::Undecodable,
    )
}

/// The records about a request: the page of the last requests, and the statistics.
pub(super) struct RequestRecord {
    account: Arc<Account>,
    usage: Option<Arc<UsageAccount>>,
    key: LastKey,
    method: Method,
    began: Instant,
}

impl RequestRecord {
    pub(super) fn of(context: &ProxyContext, request: &ProxyRequest) -> Self {
        Self {
            account: context.storage.statistics.account(request.bare.host()),
            usage: context.storage.statistics.usage.of(&request.start.config, &request.owner),
            key: LastKey::of(request),
            method: request.head.method.clone(),
            began: Instant::now(),
        }
    }

    /// Records the response if it has a cache status. A message without relation to the spool has
    /// no cache status.
    pub(super) fn complete(self, context: &ProxyContext, response: &mut Response<Body>) {
        let Some(&status) = response.extensions().get::<CacheStatus>() else { return };
        let (method, answer) = (self.method, response.status());
        debug!(status = answer.as_u16(), %method, how = %status, "answered");
        let took = self.began.elapsed();
        let action = LastAction { at: clock::now(), method, answer, took, status };
        context.traffic.last.note(self.key, action);
        response.extensions_mut().insert(ResponseCounter::begin(
            self.account,
            Outcome::from(status),
            self.usage,
        ));
    }
}

/// The last step: the response in the form that the connection of the client needs.
pub(super) struct ConnectionFinish {
    version: Version,
    method: Method,
    switch: Switch,
    is_intercepted: bool,
}

impl ConnectionFinish {
    /// Reads what the step needs from the request in its original form.
    pub(super) fn of<B>(client: &Client, request: &Request<B>) -> Self {
        Self {
            version: request.version(),
            method: request.method().clone(),
            switch: Switch::of_request(request),
            is_intercepted: client.connection.is_intercepted(),
        }
    }

    pub(super) fn apply(self, mut response: Response<Body>) -> Response<Body> {
        if self.version == Version::HTTP_2 {
            if self.switch == Switch::WebSocket {
                response = websocket::answer(response);
            }
            response = http2::send(&self.method, response);
        } else {
            self.switch.close_unless_granted(&mut response);
        }
        if self.is_intercepted {
            response.headers_mut().remove(ALT_SVC);
        }
        response
    }
}
