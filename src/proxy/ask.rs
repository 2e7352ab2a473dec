//! The request as the proxy handles it: its owner, its intent, and its form for the origin.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderValue, RANGE,
    TE, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Version};
use jiff::Timestamp;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_spool::RequesterLocation;
use wwwoffle_url::CanonicalUrl;

use super::audience::Audience;
use super::captures;
use super::decide::{DecisionInput, MethodKind, Queueing};
use super::http2::UndeclaredBody;
use super::intent::{Intent, wants_event_stream};
use super::modify::Modification;
use super::parsed_body::ParsedBody;
use super::reload;
use super::rules::{self, FilterContext, Ruling, StoragePolicy, determine_ruling, parent};
use super::target::Resource;
use super::{censor, memento, websocket};
use crate::base::basic::Login;
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::{self, Owner, Places};
use crate::base::spelling::Spelling;
use crate::net::upstream::Reach;
use crate::page::context::PageReader;
use crate::proxy::context::ProxyContext;
use wwwoffle_http::caching::coding::CodingTerms;
use wwwoffle_http::caching::conditional;
use wwwoffle_http::caching::control::RequestControl;
use wwwoffle_http::caching::noise::Nearness;
use wwwoffle_http::caching::reuse::Verdict;
use wwwoffle_http::fields::{add_via, has_member, strip_one_hop, strip_overrides};
use wwwoffle_http::head::has_credentials;
use wwwoffle_http::media_type::content_essence;

/// The largest body of a form that can be queued and whose response is stored, in bytes. The body
/// is part of the key, so it is read completely first.
pub const MAX_KEPT_POST: u64 = 256 * 1024;

/// A POST whose body was read whole, so that it can be stored and queued; offline, also a PUT,
/// PATCH or DELETE.
#[derive(Debug)]
pub struct Form {
    /// The body.
    pub body: Bytes,
    /// The places for a GET of the same URL without the digest of the body.
    pub answers: Arc<Places>,
}

/// A request for a resource of an origin.
#[derive(Debug)]
pub struct ProxyRequest {
    /// The resource. The URL of a POST that can be stored contains the digest of the body.
    pub resource: Resource,
    /// The URL for matching rules. Unlike the key, it never contains the digest of a body or a
    /// login.
    pub bare: CanonicalUrl,
    /// The result of the URL rules (`proxy::rules`) for `bare` and this client.
    pub ruling: Ruling,
    /// The owner of the request.
    pub owner: Owner,
    /// The places where the response may be stored.
    pub places: Arc<Places>,
    /// The method and fields.
    pub head: ClientHead,
    /// The state of the proxy when the request arrived.
    pub start: RequestStart,
    /// The input of the decision.
    pub asked: DecisionInput,
    /// The form, if the request is one that can be queued.
    pub form: Option<Form>,
    /// The terms by which stored copies may answer the request.
    pub copy: CopyTerms,
    /// The codings that the client accepts, and the codings requested from the origin.
    pub codings: CodingTerms,
    /// The changes to the response on its way to the client.
    pub(super) modification: Option<Modification>,
}

/// The head of a client's request.
#[derive(Debug)]
pub struct ClientHead {
    /// The method.
    pub method: Method,
    /// The fields, without the hop-by-hop ones.
    pub fields: HeaderMap,
    /// The HTTP version of the client.
    pub version: Version,
    /// The protocol to upgrade to, if any.
    pub upgrade: Option<HeaderValue>,
    /// Whether the client accepts trailers.
    pub trailers: bool,
    /// The audience of the response.
    pub audience: Audience,
}

impl ClientHead {
    /// Takes the properties of the connection out of `fields`.
    pub(super) fn new(method: Method, version: Version, mut fields: HeaderMap) -> Self {
        let upgrade = has_member(&fields, &CONNECTION, "upgrade")
            .then(|| fields.get(UPGRADE).cloned())
            .flatten();
        let trailers = has_member(&fields, &TE, "trailers");
        strip_fields(&method, &mut fields);
        let audience = Audience::of(&method, &fields);
        Self { method, fields, version, upgrade, trailers, audience }
    }
}

/// The state of the proxy when a request arrived. A later change does not apply to the request.
#[derive(Debug)]
pub struct RequestStart {
    /// The mode.
    pub mode: Mode,
    /// The configuration.
    pub config: Arc<Config>,
    /// The time.
    pub now: SystemTime,
}

/// The terms by which stored copies may answer a request.
#[derive(Debug)]
pub struct CopyTerms {
    /// The client's cache directives, as far as they are honoured.
    pub control: RequestControl,
    /// The option that overrules some of the client's cache directives, if it changes whether the
    /// request is a reload.
    pub overruled: Option<&'static str>,
    /// The date of the version to which the sub-resource belongs, if the page that loads it shows a
    /// version at an address of ours.
    pub shown_at: Option<Timestamp>,
    /// The permitted use of the copy that was found.
    pub verdict: Option<Verdict>,
    /// The difference between the URL of the request and that of the copy, if they differ.
    pub near: Option<Nearness>,
}

impl ProxyRequest {
    /// The reader of a page that is made for the request.
    #[must_use]
    pub fn reader(&self) -> PageReader {
        PageReader::of(self.start.mode, &self.head.fields)
    }

    /// Parses a request of `owner`. `form` is the body of a form that was read whole.
    #[must_use]
    pub fn new(
        context: &ProxyContext,
        owner: Owner,
        mut resource: Resource,
        request: Parts,
        form: Option<Bytes>,
        mode: Mode,
    ) -> Self {
        let Parts { method, version, headers: fields, extensions, .. } = request;
        let config = context.base.config();
        let has_body = has_body(&fields) || extensions.get::<UndeclaredBody>().is_some();
        let mut head = ClientHead::new(method, version, fields);
        add_login(&mut head.fields, &resource.url);
        let intent = head.audience.intent;
        let shown_at = memento::displayed_version(&mut head.fields, &context.base.local)
            .filter(|_| intent == Intent::Part);
        let bare = resource.url.without_credentials();
        let ruling =
            determine_ruling(&config, &bare, &FilterContext::of(&head.fields, &context.base.local));
        let parts = UrlParts::of(&bare);
        let (control, overruled) = reload::control(&config, mode, &parts, &head.fields);
        resource.origin.via = parent(&context.base, &config, &bare);
        let spelling = Spelling::of(resource.path.as_str(), &bare);
        let places =
            |url: &mut _| Arc::new(Places::of(url, &head.fields, &owner).with_spelling(&spelling));
        let form = form.map(|body| Form { body, answers: places(&mut resource.url.clone()) });
        if let Some(form) = &form {
            let digest = form_digest(&config, &parts, &head, &form.body);
            resource.url = resource.url.with_form(head.method.as_str(), &digest);
        }
        let places = places(&mut resource.url);
        let asked = DecisionInput {
            method: method_kind(&head, form.is_some(), has_body),
            intent,
            reload: control.is_reload(),
            only_if_cached: control.only_if_cached,
            upgrade: head.upgrade.is_some(),
            noise: config.noise().matches(&resource.url).is_some(),
            event_stream: wants_event_stream(&head.fields),
            standing: request_policy(context, &ruling, &bare),
            queueing: queueing(&config, &parts),
            recursive: *config.dont_get.get_recursive.of(&parts),
            dated: false,
            form_answer: bare.is_form_answer(),
        };
        let offers = captures::is_offered(context, &config, &bare);
        let modification =
            Modification::of(&config, mode, &bare, &owner, &mut head, extensions.get(), offers);
        let is_file = config.dont_compress.file_ext.matches_path(bare.path());
        let codings = coding_terms(&mut head.fields, modification.as_ref(), &asked, is_file);
        Self {
            resource,
            bare,
            ruling,
            owner,
            places,
            head,
            start: RequestStart { mode, config, now: clock::now() },
            asked,
            form,
            copy: CopyTerms { control, overruled, shown_at, verdict: None, near: None },
            codings,
            modification,
        }
    }

    /// The request in the form for its origin: with the URL in the client's own spelling, and with
    /// our hop in `Via`.
    ///
    /// The sender adds the framing of the body.
    #[must_use]
    pub fn origin_request(&self, pseudonym: &str) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = self.resource.path.clone().into();
        request.extensions_mut().insert(self.owner.clone());
        let fields = request.headers_mut();
        fields.reserve(self.head.fields.len() + 3);
        fields.insert(HOST, self.resource.host.clone());
        for (name, value) in &self.head.fields {
            if name != HOST {
                fields.append(name, value.clone());
            }
        }
        self.codings.write_accept_encoding(fields);
        censor::request(&self.start.config, &self.bare, fields);
        if self.head.trailers {
            fields.insert(TE, HeaderValue::from_static("trailers"));
            fields.insert(CONNECTION, HeaderValue::from_static("te"));
        }
        if let Some(protocol) = &self.head.upgrade {
            fields.insert(UPGRADE, protocol.clone());
            fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
        add_via(fields, self.head.version, pseudonym);
        request
    }

    /// Whether the request has fields or a login in its URL that make its response personal.
    #[must_use]
    pub fn is_personal(&self) -> bool {
        owner::is_personal(&self.head.fields) || self.places.credentials
    }

    /// Whether the request has credentials, in a field or in its URL.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        has_credentials(&self.head.fields) || self.resource.url.user().is_some()
    }

    /// The page that loads the sub-resource, from `Referer`. `None` if the field is missing or
    /// invalid, or names a page of ours.
    #[must_use]
    pub fn page(&self, context: &ProxyContext) -> Option<CanonicalUrl> {
        rules::page(&self.head.fields, &context.base.local)
    }

    /// Whether the requester is on this machine, to be recorded with a queued request. The address
    /// of the client decides, or else the owner of the queued request.
    #[must_use]
    pub fn requester_location(&self) -> RequesterLocation {
        match self.resource.origin.reach {
            Reach::All => RequesterLocation::Here,
            Reach::Outward => RequesterLocation::of_owner(&self.places.queued),
        }
    }

    /// Whether a person sees the response as a page.
    #[must_use]
    pub fn is_for_a_person(&self) -> bool {
        self.asked.intent == Intent::Person
    }
}

/// Adds the login in the URL to the fields, unless they have one.
fn add_login(fields: &mut HeaderMap, url: &CanonicalUrl) {
    let Some(user) = url.user().filter(|_| !fields.contains_key(AUTHORIZATION)) else { return };
    let password = url.password().unwrap_or_default();
    let login = Login { user: user.into_owned(), password: password.into_owned() };
    if let Ok(value) = login.to_field() {
        fields.insert(AUTHORIZATION, value);
    }
}

/// Whether a request with this method can be queued with its body. A PUT, PATCH or DELETE is read
/// whole only while offline: online it is forwarded as it arrives.
#[must_use]
pub fn is_form(method: &Method, mode: Mode) -> bool {
    match *method {
        Method::POST => true,
        Method::PUT | Method::PATCH | Method::DELETE => !mode.may_dial(),
        _ => false,
    }
}

/// Whether a form declares the length of its body, and the body is small enough to be stored.
#[must_use]
pub fn has_small_body(fields: &HeaderMap) -> bool {
    let length = fields.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|value| value.parse().ok()).is_some_and(|size: u64| size <= MAX_KEPT_POST)
}

/// Whether the body of a form has no declared length, and may be small.
#[must_use]
pub fn may_have_small_body(fields: &HeaderMap) -> bool {
    fields.contains_key(TRANSFER_ENCODING)
        && !fields.contains_key(CONTENT_LENGTH)
        && !fields.contains_key(UPGRADE)
}

/// Removes the fields that must not be sent to the origin in a request with this method.
fn strip_fields(method: &Method, fields: &mut HeaderMap) {
    strip_one_hop(fields);
    // Some origins treat a request with such fields as one for another URL or method, so the
    // response would be stored under the wrong URL. Other methods are not affected: the response to
    // a form is for its sender only, and other responses are not stored.
    if matches!(*method, Method::GET | Method::HEAD) {
        strip_overrides(fields);
    }
    // hyper sends `100 (Continue)` when the body is read; the origin gets the body at once.
    fields.remove(EXPECT);
}

/// Whether a request has a body, by its framing (RFC 9112 §6.3).
fn has_body(fields: &HeaderMap) -> bool {
    fields.contains_key(TRANSFER_ENCODING)
        || fields.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
}

fn method_kind(head: &ClientHead, is_form: bool, has_body: bool) -> MethodKind {
    match head.method {
        // The response depends on the body, which is not part of the key.
        Method::GET | Method::HEAD if has_body => MethodKind::Other,
        // The request switches to another protocol.
        Method::GET | Method::HEAD if websocket::is_asked(head.upgrade.as_ref()) => {
            MethodKind::Other
        }
        Method::GET => MethodKind::Get,
        Method::HEAD => MethodKind::Head,
        Method::POST if is_form => MethodKind::Post,
        Method::PUT | Method::PATCH | Method::DELETE if is_form => MethodKind::Upload,
        _ => MethodKind::Other,
    }
}

/// The rule for storing the response to a request that `ruling` allows.
fn request_policy(context: &ProxyContext, ruling: &Ruling, url: &CanonicalUrl) -> StoragePolicy {
    match ruling {
        // The host is needed for the login to a captive portal, so it is treated like a nearby
        // host.
        Ruling::Usual(_) if context.base.mode.allows(url.host()) => StoragePolicy::Nearby,
        Ruling::Usual(standing) => *standing,
        Ruling::Moved { .. } | Ruling::Blocked { .. } | Ruling::OtherProtocol => {
            StoragePolicy::Usual
        }
    }
}

/// The codings to request from the origin, and those of the response to the client. Removes the
/// fields that would lead to a response that the proxy cannot decode or modify.
fn coding_terms(
    fields: &mut HeaderMap,
    modification: Option<&Modification>,
    asked: &DecisionInput,
    is_file: bool,
) -> CodingTerms {
    let is_for_all = asked.standing == StoragePolicy::Usual
        && !asked.upgrade
        && matches!(asked.method, MethodKind::Get | MethodKind::Head);
    let is_page = modification.is_some_and(Modification::is_of_page);
    if !is_for_all && (is_page || modification.is_some_and(Modification::reads_all)) {
        // A response that is not stored would be requested in the codings of the client. We might
        // not be able to decode them, so no coding is requested.
        fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    if is_page {
        // The browser's cached copy may contain other modifications, so a `304` would be wrong.
        conditional::strip(fields);
    }
    let mut codings = CodingTerms::of(fields, is_for_all, is_file);
    if fields.contains_key(RANGE) {
        // A range counts bytes of the encoded body, so only codings that the client accepts may be
        // requested.
        codings.use_client_codings();
    }
    codings.strip(fields);
    if modification.is_some_and(Modification::undoes_codings) {
        codings.undo_all();
    }
    codings
}

/// The rule for queueing requests for `url` while offline.
fn queueing(config: &Config, url: &UrlParts<'_>) -> Queueing {
    let options = &config.offline_options;
    if *options.dont_request.of(url) {
        Queueing::Never
    } else if *options.confirm_requests.of(url) {
        Queueing::Asking
    } else {
        Queueing::Usual
    }
}

/// Whether a body has a type that the forms of web pages have (the values of `enctype` in HTML).
fn is_typed(fields: &HeaderMap) -> bool {
    let forms = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    forms.contains(&content_essence(fields).as_str())
}

/// The digest of a form, which is part of its key. That of a POST leaves out the fields that
/// `near-fields` names, and the whole body with `near-body`, unless a person may have typed it: each
/// such form has its own place in the queue.
fn form_digest(config: &Config, url: &UrlParts<'_>, head: &ClientHead, body: &Bytes) -> [u8; 32] {
    use sha2::Digest;
    let options = &config.offline_options;
    let ignored = options.near_fields.of(url);
    if head.method == Method::POST && *options.near_body.of(url) && !is_typed(&head.fields) {
        sha2::Sha256::digest(b"").into()
    } else if head.method == Method::POST && !ignored.is_empty() {
        ParsedBody::parse(&head.fields, body, &|name| ignored.contains(name)).digest()
    } else {
        sha2::Sha256::digest(body).into()
    }
}
