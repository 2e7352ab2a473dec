//! Predicts how a request would be handled and what would be sent to the origin. Reads the state
//! and changes nothing.

use std::pin::Pin;

use hyper::header::{ACCEPT, HeaderValue};
use hyper::{HeaderMap, Method, Request};
use wwwoffle_url::CanonicalUrl;

use super::ask::ProxyRequest;
use super::decide::Decision;
use super::plan::plan_request;
use super::rules::Ruling;
use super::target;
use crate::base::mode::Mode;
use crate::base::owner::Owner;
use crate::net::upstream::Reach;
use crate::proxy::context::ProxyContext;

/// The predicted action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictedAction {
    /// Redirect the browser to another URL: `[alias]`.
    Move,
    /// Block the URL: `[dont-get]`, or a port that belongs to another protocol.
    Block,
    /// Deny the request, because the client may not access this network.
    Deny,
    /// Carry out this decision.
    Do(Decision),
}

/// A hypothetical request.
#[derive(Debug)]
pub struct Rehearsal {
    ask: ProxyRequest,
    may_reach: bool,
}

impl Rehearsal {
    /// A GET by `owner` with these fields and this `reach`. `None` if the URL does not belong to an
    /// origin.
    #[must_use]
    pub fn new(
        context: &ProxyContext,
        (owner, reach): (Owner, Reach),
        mode: Mode,
        url: &CanonicalUrl,
        fields: HeaderMap,
    ) -> Option<Self> {
        let mut resource = target::of_url(url.as_str(), &context.base.local).ok()?;
        resource.origin.reach = reach;
        let may_reach = context.net.upstream.dialer().may_reach(&resource.origin);
        let mut request = Request::new(());
        *request.method_mut() = Method::GET;
        *request.headers_mut() = fields;
        let parts = request.into_parts().0;
        let ask = ProxyRequest::new(context, owner, resource, parts, None, mode);
        Some(Self { ask, may_reach })
    }

    /// The fields that are typical of a person's request.
    #[must_use]
    pub fn of_a_person() -> HeaderMap {
        [(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.8"))].into_iter().collect()
    }

    /// The request for its origin.
    #[must_use]
    pub fn origin_request(&self, context: &ProxyContext) -> Request<()> {
        self.ask.origin_request(&context.base.pseudonym)
    }

    /// Predicts the action. `None` if the spool cannot be read, or `Accept-Datetime` is invalid.
    ///
    /// The future is boxed. Otherwise the future of our own pages would contain the futures of all
    /// requests.
    pub fn predict(
        mut self,
        context: &ProxyContext,
    ) -> Pin<Box<dyn Future<Output = Option<PredictedAction>> + Send + '_>> {
        Box::pin(async move {
            Some(match self.ask.ruling {
                _ if !self.may_reach => PredictedAction::Deny,
                Ruling::Moved { .. } => PredictedAction::Move,
                Ruling::Blocked { .. } | Ruling::OtherProtocol => PredictedAction::Block,
                Ruling::Usual(_) => PredictedAction::Do(
                    plan_request(context, &mut self.ask, None).await.ok()?.decision,
                ),
            })
        })
    }
}
