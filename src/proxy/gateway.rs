//! The gateway: pages for clients that cannot set a proxy, at addresses of ours like
//! `/http/www.example.org/path`.
//!
//! ```text
//! /http/host/path ── the URL in the address ── requested as through the proxy ── rewritten ── browser
//! POST ─────────────── the person confirms ── /gateway/send ──┘
//! ```
//!
//! Decisions, storage and queue are the same as through the proxy, because the request has the same
//! URL and the same owner. Only the response to the browser differs: its references lead to
//! addresses of ours ([`wwwoffle_html::rewrite::gateway`]), and its fields restrict what the page
//! may do ([`fields`]). A page of the gateway has an opaque origin. Its requests carry that origin,
//! so our own pages refuse them ([`crate::page::guard`]).
//!
//! Any page in the browser can send a form to the gateway. Such a form cannot be distinguished from
//! a form of the page that the person sees. So a form goes to its origin only after the person has
//! confirmed it on a page of ours.

pub(super) mod fields;
mod form;
mod opened;

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderValue, LOCATION,
};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, Uri, Version};
use wwwoffle_config::Config;
use wwwoffle_url::{BrowserUrl, CanonicalUrl};

pub(crate) use self::form::PendingForm;
use self::opened::OpenedWindow;
use super::amend::OriginResponseMark;
use super::ask::ProxyRequest;
use super::audience::Audience;
use super::body::{self, Body};
use super::decide::Decision;
use super::receive::{ReceivedRequest, RequestRest, refuse_inward};
use super::target;
use super::{Client, admit, answer_resource, reply};
use crate::base::basic::Login;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::page::context::PageReader;
use crate::page::gateway as pages;
use crate::page::guard::GuardRefusal;
use crate::page::isolation::isolate;
use crate::page::message::{Denied, Message};
use crate::page::{LocalOrigin, Shell};
use crate::proxy::context::ProxyContext;
use wwwoffle_html::rewrite::gateway::{Gateway, address, url_of};
use wwwoffle_html::rewrite::{Changes, PageKnowledge, Readdress, Rewriter, UrlStatus};
use wwwoffle_http::fields::has_passed;

/// Bytes of the largest page of ours that is rewritten for the gateway.
const MAX_OWN: usize = 4 << 20;

/// The mark of a request whose response goes to a page of the gateway.
#[derive(Clone, Debug)]
pub(super) struct GatewayMark {
    /// The URL as the browser spelled it.
    pub(super) url: BrowserUrl,
    /// The values that the pages of the request share, with the address that the browser used.
    pub(super) shell: Shell,
    /// The rules for rewriting references.
    pub(super) gateway: Gateway,
    /// Whether the request is a form that the person has not confirmed.
    is_unasked: bool,
}

/// The response in place of a decision that would send an unconfirmed form to the origin. `None` if
/// the decision may be carried out.
pub(super) fn question_first(ask: &ProxyRequest, decision: Decision) -> Option<Response<Body>> {
    use Decision::{Confirm, Refuse, Serve, ServeVersion};
    let mark = ask.modification.as_ref().and_then(|changed| changed.gateway_mark())?;
    if !mark.is_unasked || matches!(decision, Serve | ServeVersion | Confirm | Refuse(_)) {
        return None;
    }
    let mut response = reply::plain(403, "confirm the form before it is sent");
    response.extensions_mut().insert(UnsentForm);
    Some(response)
}

/// The mark of the response to a form that was not sent, because the person has not confirmed it.
#[derive(Clone, Copy, Debug)]
struct UnsentForm;

/// The mark of a response that was rewritten for the gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct RewriteMark;

struct GatewayRequest {
    /// The URL in the browser's spelling.
    url: String,
    method: Method,
    /// The fields for the origin.
    fields: hyper::HeaderMap,
    /// The body of a form.
    form: Option<bytes::Bytes>,
    /// Whether the form has not been confirmed.
    is_unasked: bool,
}

/// A client of the gateway. The `origin` of `shell` is the address of ours that the client used.
struct GatewayClient {
    context: Arc<ProxyContext>,
    client: Client,
    reader: PageReader,
    shell: Shell,
}

/// Whether a request for one of our own names is for the gateway. Only the original target counts:
/// a path with the gateway's prefix is never a page of ours, even if dots and escapes follow.
pub(super) fn is_meant(config: &Config, uri: &Uri) -> bool {
    config.pages.gateway && (url_of(target_of(uri)).is_some() || uri.path() == pages::SEND)
}

fn target_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("", PathAndQuery::as_str)
}

/// Answers a request for the gateway; `own` is the URL of the request. Dropping the future has the
/// same effect as for [`super::handle`].
pub(super) async fn answer(
    context: &Arc<ProxyContext>,
    mut client: Client,
    mode: Mode,
    own: &CanonicalUrl,
    login: Option<Login>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (mut parts, incoming) = request.into_parts();
    let reader = PageReader::of(mode, &parts.headers);
    let scheme = if own.protocol() == "https" { "https" } else { "http" };
    let Ok(origin) = LocalOrigin::parse(scheme, own.host_port()) else {
        return reply::message(context, &reader, &Message::Forbidden(GuardRefusal::ForeignHost));
    };
    // Interim responses of an origin are not rewritten.
    client.interims = None;
    let shell = Shell { origin, ..context.pages.shell(&reader) };
    let window = OpenedWindow::of(&parts, target_of(&parts.uri), &shell.origin);
    let to_us = Login::take(&mut parts.headers, &AUTHORIZATION);
    let login = login.or(to_us);
    let mut guest = GatewayClient { context: Arc::clone(context), client, reader, shell };
    let response = match guest.is_refused(&parts, login.as_ref()).await {
        Some(refused) => refused,
        None => guest.serve(parts, incoming).await,
    };
    let response = guest.finish_response(response).await;
    match window {
        Some(window) => window.receive(&guest.shell, response),
        None => response,
    }
}

impl GatewayClient {
    /// The response to a request that must not be served: one that loops through this proxy, that
    /// no page without scripts could send, or whose client has no permission. `None` if it may be
    /// served.
    async fn is_refused(&mut self, parts: &Parts, login: Option<&Login>) -> Option<Response<Body>> {
        if has_passed(&parts.headers, &self.context.base.pseudonym) {
            return Some(self.message_page(&Message::Loop { url: target_of(&parts.uri) }));
        }
        if !fields::is_of_a_page(&parts.headers) {
            return Some(reply::plain(403, "only pages without scripts are read here"));
        }
        // A browser sends a login for the control pages to all our addresses, so the control
        // password does not count as a wrong password.
        let control = self.context.base.config().startup.password.hash().cloned();
        let connection = &mut self.client.connection;
        let admitted = admit::as_user(&self.context, connection, login, control).await;
        let denied = match admitted.err()? {
            Denied::ProxyLogin => Denied::Login,
            denied => denied,
        };
        let audience = Audience::of(&parts.method, &parts.headers);
        let page =
            reply::message_for(&self.context, &self.reader, audience, &Message::Denied(denied));
        Some(admit::with_challenge(page, denied))
    }

    async fn serve(&self, parts: Parts, incoming: Incoming) -> Response<Body> {
        if parts.uri.path() == pages::SEND {
            return match self.confirmed(&parts, incoming).await {
                Ok(wanted) => self.fetch(parts, wanted).await,
                Err(response) => response,
            };
        }
        let url = match url_of(target_of(&parts.uri)) {
            Some(Ok(url)) => url,
            Some(Err(error)) => return self.bad(&error_chain(&error)),
            None => return self.message_page(&Message::NotFound { path: parts.uri.path() }),
        };
        let fields = fields::request_fields(&parts.method, &parts.headers);
        let wanted = GatewayRequest {
            url,
            method: parts.method.clone(),
            fields,
            form: None,
            is_unasked: false,
        };
        match parts.method {
            Method::GET | Method::HEAD => match direct_url(&parts, &wanted.url) {
                Some(to) => see_other(&to),
                None => self.fetch(parts, wanted).await,
            },
            Method::POST => match self.posted(wanted, &parts, incoming).await {
                Ok(wanted) => self.fetch(parts, wanted).await,
                Err(response) => response,
            },
            ref method => {
                let mut response =
                    self.message_page(&Message::MethodNotAllowed { method: method.as_str() });
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
                response
            }
        }
    }

    /// Requests the resource as through the proxy.
    async fn fetch(&self, mut parts: Parts, wanted: GatewayRequest) -> Response<Body> {
        let (context, mode) = (&self.context, self.reader.mode);
        let local = CanonicalUrl::parse(&wanted.url, &context.base.local);
        if local.is_ok_and(|url| url.is_local()) {
            return self.message_page(&Message::Loop { url: &wanted.url });
        }
        let mut resource = match target::of_url(&wanted.url, &context.base.local) {
            Ok(resource) => resource,
            Err(error) => return self.bad(&error_chain(&error)),
        };
        if let Some(record) = &self.client.connection.access {
            record.set_url(resource.url.as_str());
        }
        let Ok(url) = BrowserUrl::parse(&wanted.url, None) else {
            return self.bad("a browser cannot read this address");
        };
        let again = wanted.form.clone().map(|form| (wanted.fields.clone(), form));
        (parts.method, parts.headers) = (wanted.method, wanted.fields);
        if let Some(refused) = refuse_inward(context, &self.client, mode, &mut resource, &parts) {
            return refused;
        }
        let onward = pages::onward(&self.shell);
        let gateway = Gateway { local: context.base.local.clone(), is_ours: false, onward };
        let (shell, is_unasked) = (self.shell.clone(), wanted.is_unasked);
        parts.extensions.insert(Arc::new(GatewayMark { url, shell, gateway, is_unasked }));
        let rest = RequestRest::default();
        let received = ReceivedRequest { mode, resource, parts, form: wanted.form, rest };
        let response = Box::pin(answer_resource(context, &self.client, received)).await;
        let is_unsent = response.extensions().get::<UnsentForm>().is_some();
        let to = if is_unsent { Some(wanted.url) } else { form_redirect_target(&response) };
        match (again, to) {
            // The form needs a confirmation, or the origin redirects it. On a redirect the browser
            // would resend the confirmation, not the form. So the person is asked in both cases.
            (Some((fields, form)), Some(url)) => self.question(url, fields, form),
            _ => response,
        }
    }

    /// Finishes a response for the browser. A response that is not rewritten yet is a page or
    /// message of ours.
    async fn finish_response(&self, response: Response<Body>) -> Response<Body> {
        if response.extensions().get::<RewriteMark>().is_some() {
            return response;
        }
        if response.extensions().get::<OriginResponseMark>().is_some() {
            tracing::error!("a response could not be rewritten for the gateway");
            return reply::plain(502, "the answer cannot be shown here");
        }
        let (mut head, body) = response.into_parts();
        isolate(&mut head.headers, false);
        if let Ok(policy) = HeaderValue::from_str(&self.shell.policy("")) {
            head.headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        let gateway = Gateway {
            local: self.context.base.local.clone(),
            is_ours: true,
            onward: String::new(),
        };
        let to = head.headers.get(LOCATION).and_then(|to| to.to_str().ok());
        if let Some(Ok(url)) = to.map(|to| BrowserUrl::parse(to, None))
            && head.extensions.get::<ExternalRedirectMark>().is_none()
            && let Some(place) = gateway.place(&url)
            && let Ok(place) = HeaderValue::from_str(&place)
        {
            head.headers.insert(LOCATION, place);
        }
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(|content_type| content_type.starts_with("text/html")) {
            return Response::from_parts(head, body);
        }
        let Some(read_page) = read_page(body).await else {
            return reply::plain(500, "this page cannot be shown");
        };
        let Ok(base) = BrowserUrl::parse(self.context.pages.origin.as_str(), None) else {
            return reply::plain(500, "this page cannot be shown");
        };
        let changes =
            Changes { readdress: Some(Readdress::Gateway(gateway)), ..Changes::default() };
        let mut page = Rewriter::new(Arc::new(changes), Arc::new(Unknown), base, content_type);
        let mut sent = page.write(&read_page);
        sent.extend(page.finish());
        head.headers.remove(CONTENT_LENGTH);
        Response::from_parts(head, body::from_bytes(sent))
    }

    fn message_page(&self, message: &Message<'_>) -> Response<Body> {
        reply::message(&self.context, &self.reader, message)
    }

    fn bad(&self, detail: &str) -> Response<Body> {
        self.message_page(&Message::BadAddress { detail })
    }
}

/// The mark of a redirect whose target must not be changed to an address of the gateway.
#[derive(Clone, Copy, Debug)]
struct ExternalRedirectMark;

/// The redirect target for a browser that uses the proxy and does not need the gateway, or for an
/// address without the slash after its host. `None` for any other request.
fn direct_url(parts: &Parts, url: &str) -> Option<String> {
    // In HTTP/2 every request has a scheme.
    let is_proxied = parts.uri.scheme().is_some() && parts.version < Version::HTTP_2;
    // Browsers do not speak FTP, not even with a proxy.
    if is_proxied && url.starts_with("http") {
        return Some(url.to_owned());
    }
    let whole = address(&BrowserUrl::parse(url, None).ok()?)?;
    lacks_slash(target_of(&parts.uri)).then_some(whole)
}

/// The URL to which the response redirects the form, if it redirects with the same method and body
/// (RFC 9110 §15.4.8).
fn form_redirect_target(response: &Response<Body>) -> Option<String> {
    if !matches!(response.status().as_u16(), 307 | 308) {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    url_of(to)?.ok()
}

/// Whether the slash after the host is missing in the target.
fn lacks_slash(target: &str) -> bool {
    let rest = target.split('/').nth(2).unwrap_or_default();
    target.matches('/').count() < 3 || rest.contains('?')
}

fn see_other(to: &str) -> Response<Body> {
    let mut response = reply::plain(302, "");
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.extensions_mut().insert(ExternalRedirectMark);
    response
}

/// Reads a page of ours whole; `None` if it exceeds the limit.
async fn read_page(mut body: Body) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        whole.extend_from_slice(&frame.ok()?.into_data().unwrap_or_default());
        if whole.len() > MAX_OWN {
            return None;
        }
    }
    Some(whole)
}

/// A [`PageKnowledge`] without any URL, because our own pages have no marks for stored links.
struct Unknown;

impl PageKnowledge for Unknown {
    fn is_blocked(&self, _: &str) -> bool {
        false
    }

    fn status_of(&self, _: &str) -> UrlStatus {
        UrlStatus::Absent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_address_with_only_a_host_lacks_its_slash() {
        for (target, want) in [
            ("/http/h.example", true),
            ("/http/h.example?a/b/c", true),
            ("/http/h.example/", false),
            ("/http/h.example/a?b", false),
            ("/https/h.example:81/?a/b", false),
        ] {
            assert_eq!(lacks_slash(target), want, "{target}");
        }
    }

    #[test]
    fn only_gateway_addresses_are_recognized() {
        let config = |text: &str| Config::parse(text, std::path::Path::new("w.conf")).unwrap();
        let (on, off) = (config(""), config("[pages]\ngateway = false\n"));
        for (target, want) in [
            ("/http/h/", true),
            ("http://localhost:8080/https/h/", true),
            ("/http/../control/online", true),
            ("/gateway/send", true),
            ("/gateway/", false),
            ("/x/../http/h/", false),
            ("/control/online?/http/h/", false),
            ("/", false),
        ] {
            let uri: Uri = target.parse().unwrap();
            assert_eq!(is_meant(&on, &uri), want, "{target}");
            assert!(!is_meant(&off, &uri), "{target}");
        }
    }
}
