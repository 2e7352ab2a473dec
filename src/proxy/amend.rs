//! Changes to a response on its way to the browser; the stored copy stays unchanged.

use std::sync::Arc;

use hyper::Response;
use tracing::debug;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::CanonicalUrl;

use super::ask::ProxyRequest;
use super::audience::Audience;
use super::body::Body;
use super::rules::is_blocked;
use super::status::CacheStatus;
use super::{censor, reply};
use crate::page::context::PageReader;
use crate::page::message::{Message, Ruled};
use crate::proxy::context::ProxyContext;
use wwwoffle_http::redirect::location;

/// The changes to the response of one request.
pub(super) struct Amendment {
    config: Arc<Config>,
    url: CanonicalUrl,
    reader: PageReader,
    audience: Audience,
    location_error: bool,
    censors: bool,
}

/// The mark of a response of an origin, received now or stored. Our own messages do not have it and
/// are not changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct OriginResponseMark;

impl Amendment {
    /// The configured changes to the response for `ask`; `None` if there are no changes.
    pub(super) fn of(ask: &ProxyRequest) -> Option<Self> {
        let config = &ask.start.config;
        let location_error = *config.dont_get.location_error.of(&UrlParts::of(&ask.bare));
        let censors = !config.censor_header.headers.is_empty();
        (location_error || censors).then(|| Self {
            config: Arc::clone(config),
            url: ask.bare.clone(),
            reader: ask.reader(),
            audience: ask.head.audience,
            location_error,
            censors,
        })
    }

    /// Changes a response of an origin. If the response redirects to a blocked URL, replaces it
    /// with a message.
    pub(super) fn apply(
        &self,
        context: &ProxyContext,
        mut answer: Response<Body>,
    ) -> Response<Body> {
        if answer.extensions().get::<OriginResponseMark>().is_none() {
            return answer;
        }
        if self.location_error && self.leads_to_blocked(&answer) {
            let url = self.url.as_str();
            debug!(url, "it leads to a URL that is blocked");
            let notice = Message::Ruled { url, ruled: Ruled::LeadsToBlocked, place: None };
            let notice = reply::message_for(context, &self.reader, self.audience, &notice);
            return reply::with_status(notice, CacheStatus::LeadsToBlocked);
        }
        if self.censors {
            censor::answer(&self.config, &self.url, answer.headers_mut());
        }
        answer
    }

    fn leads_to_blocked(&self, answer: &Response<Body>) -> bool {
        location(self.url.as_str(), answer.status(), answer.headers())
            .is_some_and(|to| is_blocked(&self.config, &to))
    }
}
