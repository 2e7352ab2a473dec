//! The requests that a document leads to, as the browser that requested the document would make
//! them.

use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE, HeaderName, HeaderValue, REFERER, USER_AGENT,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::{Outgoing, RequestKind};
use wwwoffle_url::{CanonicalUrl, Key};

use super::choose::{ChosenLink, part};
use super::follow::Document;
use crate::base::owner::Places;
use crate::fetch::want;
use crate::net::upstream::Origin;
use crate::proxy::ask::ProxyRequest;
use crate::proxy::rules::{Ruling, StoragePolicy};
use crate::proxy::target::{Resource, of_url};
use wwwoffle_html::references::Class;

/// A resource referred to by a document, before a request for it is made.
pub(super) struct SubResource {
    resource: Resource,
    /// The secret fields of the document's request that the origin of this resource may also see.
    secrets: HeaderMap,
    /// The places where the response may be stored.
    pub(super) places: Places,
}

impl SubResource {
    /// The resource at `chosen` of `document`; `None` if it cannot be fetched.
    pub(super) fn of(document: &Document<'_>, chosen: &ChosenLink<'_>) -> Option<Self> {
        let resource = of_url(&chosen.link.url, &document.context.base.local).ok()?;
        let secrets = secrets(document, &resource.origin);
        let places = Places::of(&mut resource.url.clone(), &secrets, &document.owner);
        Some(Self { resource, secrets, places })
    }

    /// The key of a request for the resource.
    pub(super) fn key(&self) -> Key {
        self.places.queued.key()
    }

    /// The request for the resource as a reference of this class; `None` if the configuration
    /// leaves it out.
    pub(super) fn request(&self, document: &Document<'_>, class: Class) -> Option<Outgoing> {
        let context = document.context;
        let (owner, resource) = (document.owner.clone(), self.resource.clone());
        let (parts, mode) = (self.parts(document, class), context.base.mode.now());
        let ask = ProxyRequest::new(&context.proxy, owner, resource, parts, None, mode);
        let is_usual = ask.ruling == Ruling::Usual(StoragePolicy::Usual)
            || matches!(ask.ruling, Ruling::Moved { .. });
        let may = *document.config.dont_get.get_recursive.of(&UrlParts::of(&ask.bare));
        let kind = request_kind(document.outgoing.summary.kind, class);
        (is_usual && may && !ask.asked.form_answer).then(|| want::outgoing(context, &ask, kind))
    }

    fn parts(&self, document: &Document<'_>, class: Class) -> Parts {
        // The method of a new request is `GET`.
        let (mut parts, ()) = Request::new(()).into_parts();
        let fields = &mut parts.headers;
        fields.clone_from(&self.secrets);
        for name in [USER_AGENT, ACCEPT_LANGUAGE] {
            if let Some(value) = document.request.headers.get(&name) {
                fields.insert(name, value.clone());
            }
        }
        fields.insert(ACCEPT, HeaderValue::from_static(accepted(class)));
        fields.extend(referrer(&document.url, &self.resource.url));
        parts
    }
}

/// The `Referer` that a browser sends: none from HTTPS to HTTP (Referrer Policy,
/// `no-referrer-when-downgrade`).
pub(super) fn referrer(
    from: &CanonicalUrl,
    to: &CanonicalUrl,
) -> Option<(HeaderName, HeaderValue)> {
    let is_to_less = from.protocol() == "https" && to.protocol() != "https";
    let referrer = HeaderValue::from_str(from.as_str()).ok().filter(|_| !is_to_less)?;
    Some((REFERER, referrer))
}

/// The cookies and credentials to send to `to`: none if it is not the origin of the document.
fn secrets(document: &Document<'_>, to: &Origin) -> HeaderMap {
    let mut secrets = HeaderMap::new();
    if *to == document.origin {
        for name in [COOKIE, AUTHORIZATION] {
            for value in document.request.headers.get_all(&name) {
                secrets.append(name.clone(), value.clone());
            }
        }
    }
    secrets
}

/// The kind of a request that follows from a request of kind `of`. No client waits for the target
/// of a link, or for the sub-resources of such a page.
fn request_kind(of: RequestKind, class: Class) -> RequestKind {
    let is_followed = part(class).is_none() && class != Class::Refresh;
    match of {
        RequestKind::Monitored | RequestKind::Recursive => of,
        _ if is_followed => RequestKind::Recursive,
        _ => RequestKind::Part,
    }
}

/// The `Accept` that browsers send for a class of references.
fn accepted(class: Class) -> &'static str {
    match class {
        Class::Image | Class::Icon | Class::Preview => "image/avif,image/webp,image/*,*/*;q=0.8",
        Class::Stylesheet => "text/css,*/*;q=0.1",
        Class::Page | Class::Frame | Class::IFrame | Class::Refresh => {
            "text/html,application/xhtml+xml,*/*;q=0.8"
        }
        _ => "*/*",
    }
}
