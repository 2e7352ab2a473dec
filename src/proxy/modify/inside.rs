//! Modifies a response of an origin for a page of the gateway.

use std::sync::Arc;

use hyper::header::{CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_url::BrowserUrl;

use super::known::SpoolKnown;
use super::{Modification, amend, body, changed, own_images};
use crate::proxy::amend::OriginResponseMark;
use crate::proxy::body::Body;
use crate::proxy::context::ProxyContext;
use crate::proxy::gateway::fields::{Shape, response_fields};
use crate::proxy::gateway::{GatewayMark, RewriteMark};
use crate::proxy::reply;
use wwwoffle_html::rewrite::{Changes, FirstFrame, Readdress, Removal, Rewriter, Sheet};
use wwwoffle_http::media_type::content_essence;
use wwwoffle_http::redirect::location;

/// Elements removed from every gateway page: they would have no effect, or would send the browser
/// elsewhere.
const CUTS: [Removal; 4] =
    [Removal::Scripts, Removal::Applets, Removal::Refresh, Removal::SetCookie];

impl Modification {
    /// Rewrites a response for the gateway; our own messages stay unchanged.
    pub(super) fn inside(
        &self,
        context: &ProxyContext,
        mark: &GatewayMark,
        checked: Option<Timestamp>,
        mut answer: Response<Body>,
    ) -> Response<Body> {
        if answer.extensions().get::<OriginResponseMark>().is_none() {
            return answer;
        }
        let content_type = answer.headers().get(CONTENT_TYPE).cloned();
        let content_type = content_type.as_ref().and_then(|value| value.to_str().ok());
        let shape = Shape::of(content_type);
        let leads = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308)
            && answer.headers().contains_key(LOCATION);
        let to = leads.then(|| redirect_address(mark, &answer));
        let is_part = answer.status() == StatusCode::PARTIAL_CONTENT;
        let is_coded = answer.headers().contains_key(CONTENT_ENCODING);
        if is_coded || shape.is_read() && is_part {
            return reply::plain(502, "the response of the origin cannot be read");
        }
        if let Some(None) = to {
            return reply::plain(
                502,
                "the page has moved to a URL that the gateway does not support",
            );
        }
        let bar = (shape == Shape::Page).then(|| self.bar(&mark.shell, checked, &answer)).flatten();
        *answer.headers_mut() = response_fields(answer.headers(), shape, &mark.shell.origin);
        if answer.status() == StatusCode::NOT_MODIFIED {
            // A `304` has no body, and a browser would apply these fields to its cached copy (RFC
            // 9111 §3.2).
            answer.headers_mut().remove(CONTENT_TYPE);
            answer.headers_mut().remove(CONTENT_DISPOSITION);
        }
        if let Some(to) = to.flatten().and_then(|to| HeaderValue::from_str(&to).ok()) {
            answer.headers_mut().insert(LOCATION, to);
        }
        if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // A browser without a proxy regards this status as an error.
            *answer.status_mut() = StatusCode::BAD_GATEWAY;
        }
        answer.extensions_mut().insert(RewriteMark);
        let changes = Changes { bar, ..self.changes.clone().unwrap_or_default() };
        match shape {
            Shape::Page | Shape::Svg => {
                let changes = add_gateway_changes(mark, changes);
                amend(answer.headers_mut(), &Changes::default());
                let known = SpoolKnown::new(context, &self.config, &self.owner);
                let url = mark.url.clone();
                let page = Rewriter::new(Arc::new(changes), Arc::new(known), url, content_type);
                changed(answer, |body| body::page(context.storage.store.clone(), body, page))
            }
            Shape::Sheet => {
                amend(answer.headers_mut(), &Changes::default());
                let gateway = Readdress::Gateway(mark.gateway.clone());
                let sheet = Sheet::new(gateway, mark.url.clone(), content_type);
                changed(answer, |body| body::sheet(body, sheet))
            }
            Shape::AsIs
                if self.is_still
                    && content_essence(answer.headers()) == "image/gif"
                    && !is_part =>
            {
                amend(answer.headers_mut(), &Changes::default());
                changed(answer, |body| body::image(body, FirstFrame::default()))
            }
            Shape::Text | Shape::AsIs | Shape::Font | Shape::Saved => answer,
        }
    }
}

/// Adds the changes that the gateway makes to every page.
fn add_gateway_changes(mark: &GatewayMark, mut changes: Changes) -> Changes {
    changes.cuts.extend(CUTS);
    changes.readdress = Some(Readdress::Gateway(mark.gateway.clone()));
    own_images(&mut changes, &mark.shell);
    changes
}

/// The gateway address of a redirect; `None` if the response does not redirect, or the gateway does
/// not support the new URL.
fn redirect_address(mark: &GatewayMark, answer: &Response<Body>) -> Option<String> {
    let to = location(mark.url.as_str(), answer.status(), answer.headers())?;
    mark.gateway.place(&BrowserUrl::parse(&to, None).ok()?)
}
