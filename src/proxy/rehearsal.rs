//! What would be done with a request for a URL, and what its origin would be sent: everything is read, nothing is
//! done.

use std::pin::Pin;

use hyper::header::{ACCEPT, HeaderValue};
use hyper::{HeaderMap, Method, Request};
use wwwoffle_url::CanonicalUrl;

use super::ask::Ask;
use super::decide::Decision;
use super::memento::NotChosen;
use super::rules::Ruling;
use super::target;
use super::weigh::{Weighed, weigh};
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::Owner;
use crate::net::upstream::Reach;
use crate::proxy::context::ProxyContext;

/// What would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Would {
    /// The browser would be sent to another URL: `[alias]`.
    Move,
    /// It is never got: `[dont-get]`.
    Block,
    /// It is where this client may not go.
    Deny,
    /// This.
    Do(Decision),
}

/// A request that nobody has sent.
#[derive(Debug)]
pub struct Rehearsal {
    ask: Ask,
    may_reach: bool,
}

impl Rehearsal {
    /// A GET by `owner`, who may go as far as `reach`, with these fields. `None` where the URL is none of an origin.
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
        let ask = Ask::new(context, owner, resource, parts, None, mode, clock::now());
        Some(Self { ask, may_reach })
    }

    /// The fields by which a person's request is known.
    #[must_use]
    pub fn of_a_person() -> HeaderMap {
        [(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.8"))].into_iter().collect()
    }

    /// What its origin would be sent, if it was asked.
    #[must_use]
    pub fn wire(&self, context: &ProxyContext) -> Request<()> {
        self.ask.wire(&context.base.pseudonym)
    }

    /// What would be done. `None` where the spool cannot tell.
    ///
    /// The future has no type of its own: that of our own pages would have those of all that is served in it.
    pub fn would(
        self,
        context: &ProxyContext,
    ) -> Pin<Box<dyn Future<Output = Option<Would>> + Send + '_>> {
        Box::pin(self.weighed(context))
    }

    async fn weighed(mut self, context: &ProxyContext) -> Option<Would> {
        if !self.may_reach {
            return Some(Would::Deny);
        }
        match self.ask.ruling {
            Ruling::Moved { .. } => return Some(Would::Move),
            Ruling::Blocked { .. } | Ruling::OtherProtocol => return Some(Would::Block),
            Ruling::Usual(_) => {}
        }
        match weigh(context, &mut self.ask).await {
            Ok(Weighed { decision, .. }) => Some(Would::Do(decision)),
            Err(NotChosen::Spool(_) | NotChosen::Malformed) => None,
        }
    }
}
