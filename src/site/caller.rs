//! The caller of a local page: identity, permissions and responses.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, ORIGIN, REFERER};
use hyper::{Request, Response, StatusCode};
use wwwoffle_spool::{Error as SpoolError, Place, RequesterLocation};
use wwwoffle_url::{CanonicalUrl, Key, ParseError};

use super::info::REQUEST;
use super::isolation;
use super::permission::Permission;
use super::route::PathRoutes;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, Places, Requester};
use crate::base::shown;
use crate::net::upstream;
use crate::page::context::PageReader;
use crate::page::form::SubmittedForm;
use crate::page::guard::{
    ActionScope, Attempt, GuardRefusal, GuardVerdict, OtherSites, Token, Transport, guard,
    single_value,
};
use crate::page::message::{self, Denied, Message};
use crate::page::token::Purpose;
use crate::page::{LocalOrigin, RenderedPage, Shell};
use crate::proxy::admit::with_challenge;
use crate::proxy::audience::Audience;
use crate::proxy::body::{self, Body};
use crate::proxy::client_connection::PageClient;
use crate::proxy::intent::SEC_FETCH_DEST;
use crate::proxy::opener::{FETCH_SITE, may_be_another_site};
use crate::proxy::reply;
use crate::site::address::{self, AddressPage};
use crate::site::context::SiteContext;

/// A request to our own site, without its body.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) context: Arc<SiteContext>,
    /// The values that all pages of the request share, with the origin that the client used.
    pub(super) shell: Shell,
    pub(super) permission: Permission,
    /// The owner as whom the caller acts. The caller sees the entries of this owner and the public
    /// ones; an administrator sees all.
    pub(super) owner: Owner,
    /// The owner for the machine of the caller, without a login.
    pub(super) machine: Owner,
    /// Whether the caller is at this machine.
    asked_from: RequesterLocation,
    source: RequestSource,
    /// The audience of the response, if the browser sent `Sec-Fetch-Dest`.
    audience: Option<Audience>,
    /// The request as the browser sent it; `None` except for `/info/request`, the page that shows
    /// it.
    pub(super) sent: Option<SentRequest>,
}

/// The source of a request, according to its connection and its header fields.
#[derive(Clone, Debug)]
struct RequestSource {
    over: Transport,
    host_is_ours: bool,
    fetch_site: Option<String>,
    other_sites: OtherSites,
    /// Whether the response may be a file to download, and another site may have opened its
    /// address.
    is_unproven: bool,
    /// The address of the referring page, from the field `Referer`.
    referer: Option<String>,
    origin: Option<String>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    /// Request line.
    pub(super) line: String,
    pub(super) fields: HeaderMap,
    /// Whether the request had credentials for the proxy, which were removed from the fields.
    pub(super) has_proxy_login: bool,
}

impl SentRequest {
    fn of<B>(request: &Request<B>, page_client: &PageClient) -> Self {
        let (method, uri, version) = (request.method(), request.uri(), request.version());
        Self {
            line: shown::text(&format!("{method} {uri} {version:?}")),
            fields: request.headers().clone(),
            has_proxy_login: page_client.login.is_some(),
        }
    }
}

/// Failure to read a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestBodyError {
    /// The body exceeds the limit.
    #[error("the body is longer than {0} bytes")]
    TooLong(usize),
    /// The client disconnected before the end.
    #[error("the body ended early")]
    CutShort,
    /// The body did not arrive in time.
    #[error("timed out waiting for the request body")]
    Late,
}

impl RequestBodyError {
    /// Returns the response status for this failure.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::CutShort => StatusCode::BAD_REQUEST,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
        }
    }
}

impl Caller {
    /// Returns the caller of a request on the proxy port. `url` is the requested URL: the scheme of
    /// the connection, the host from the request target or else from `Host`, and the path.
    pub(super) fn over_tcp<B>(
        context: Arc<SiteContext>,
        mode: Mode,
        url: &CanonicalUrl,
        page_client: &PageClient,
        request: &Request<B>,
    ) -> Self {
        let mut shell = context.pages.shell(&PageReader::of(mode, request.headers()));
        let scheme = if url.protocol() == "https" { "https" } else { "http" };
        let used = LocalOrigin::parse(scheme, url.host_port());
        let host_is_ours = url.is_local() && used.is_ok();
        if let Ok(used) = used {
            shell.origin = used;
        }
        if host_is_ours {
            url.path().clone_into(&mut shell.path);
        }
        let owner = Owner::of(page_client.peer.ip(), None);
        shell.reader = owner.to_string();
        shell.token = context.pages.tokens.of_page(&shell.reader);
        let fields = request.headers();
        let is_download = PathRoutes::at(url.path()).is_download();
        let is_unproven =
            is_download && may_be_another_site(request.method(), fields, &shell.origin);
        Self {
            shell,
            context,
            permission: Permission::Read,
            machine: owner.clone(),
            owner,
            asked_from: upstream::Reach::of(page_client.peer.ip()).into(),
            source: RequestSource {
                over: Transport::Tcp,
                host_is_ours,
                fetch_site: single_value(fields, &FETCH_SITE).map(str::to_owned),
                other_sites: isolation::other_sites(url.path(), fields),
                is_unproven,
                referer: single_value(fields, &REFERER).map(str::to_owned),
                origin: single_value(fields, &ORIGIN).map(str::to_owned),
            },
            sent: (url.path() == REQUEST).then(|| SentRequest::of(request, page_client)),
            audience: (fields.contains_key(SEC_FETCH_DEST))
                .then(|| Audience::of(request.method(), fields)),
        }
    }

    /// Whether the caller uses the control socket: on this machine, as the user that runs the
    /// daemon.
    pub(super) fn is_on_socket(&self) -> bool {
        self.source.over == Transport::UnixSocket
    }

    /// Returns a caller on the control socket.
    pub(super) fn over_socket(context: Arc<SiteContext>) -> Self {
        let mut shell =
            context.pages.shell(&PageReader::of(context.base.mode.now(), &HeaderMap::new()));
        shell.token = context.pages.tokens.of_page(&Owner::Local.to_string());
        Self {
            context,
            shell,
            permission: Permission::Administer,
            owner: Owner::Local,
            machine: Owner::Local,
            asked_from: RequesterLocation::Here,
            source: RequestSource {
                over: Transport::UnixSocket,
                host_is_ours: true,
                fetch_site: None,
                other_sites: OtherSites::Refused,
                is_unproven: false,
                referer: None,
                origin: None,
            },
            sent: None,
            audience: None,
        }
    }

    /// Returns the networks that requests of this caller may reach.
    pub(super) fn reach(&self) -> upstream::Reach {
        match self.asked_from {
            RequesterLocation::Here => upstream::Reach::All,
            RequesterLocation::Elsewhere => upstream::Reach::Outward,
        }
    }

    /// Returns the requester for fetches of this caller.
    pub(super) fn requester(&self) -> Requester {
        Requester { owner: self.owner.clone(), asked_from: self.asked_from }
    }

    /// Whether the caller may do everything and see the entries of all owners. Such a caller uses
    /// the Unix socket or has sent the control password.
    pub(super) fn is_administrator(&self) -> bool {
        self.permission == Permission::Administer
    }

    /// Whether the caller owns the machine, as far as we can tell: it administers the proxy, or
    /// uses this machine and there are neither a control password nor users.
    pub(super) fn owns(&self) -> bool {
        self.permission >= Permission::Change
            && (self.is_administrator() || self.owner == Owner::Local)
    }

    /// Whether the caller connects from this machine.
    pub(super) fn is_here(&self) -> bool {
        self.asked_from == RequesterLocation::Here
    }

    /// Whether the caller has the permission `needed`.
    pub(super) fn may(&self, needed: Permission) -> bool {
        self.permission >= needed
    }

    /// Refuses a caller without a permission that the guard of a route cannot know.
    pub(super) fn need(&self, needed: Permission) -> Result<(), GuardRefusal> {
        self.refusal_without(needed).map_or(Ok(()), Err)
    }

    /// Returns the refusal if the caller lacks the permission `needed`.
    fn refusal_without(&self, needed: Permission) -> Option<GuardRefusal> {
        if self.may(needed) {
            None
        } else if self.context.base.config().startup.password.hash().is_some() {
            Some(GuardRefusal::NoPassword)
        } else if self.is_here() {
            Some(GuardRefusal::NotAdministrator)
        } else {
            Some(GuardRefusal::OtherMachine)
        }
    }

    /// Whether the caller may see the entry or request at `place`.
    pub(super) fn may_see(&self, place: &Place) -> bool {
        self.is_administrator() || self.owner.may_see(place)
    }

    /// Whether the caller may see the request queued at `place`. A request without an owner belongs
    /// to this machine.
    pub(super) fn may_see_queued(&self, place: &Place) -> bool {
        self.is_administrator() || Owner::of_queued(place).as_ref() == Some(&self.owner)
    }

    /// Whether the caller may see items of `owner`, the text of an [`Owner`]. `None` stands for
    /// this machine.
    pub(super) fn may_see_owned(&self, owner: Option<&str>) -> bool {
        let owner = owner.map_or(Ok(Owner::Local), str::parse);
        self.is_administrator() || owner.as_ref() == Ok(&self.owner)
    }

    /// Returns the places of the response to a request of the caller for the URL `text`.
    pub(super) fn places_of(&self, text: &str) -> Result<Places, ParseError> {
        let url = CanonicalUrl::parse(text, &self.context.base.local)?;
        Ok(Places::of_url(&url, &self.owner))
    }

    /// Returns the key under which the URL `text` is queued or monitored for the caller.
    pub(super) fn key_of(&self, text: &str) -> Result<Key, ParseError> {
        Ok(self.places_of(text)?.queued.key())
    }

    /// Returns the key of the request or monitor that a form names by its key or its URL.
    pub(super) fn named_key(&self, form: &SubmittedForm) -> Option<Key> {
        match (form.value("key"), form.value("url")) {
            (Some(key), _) => key.parse().ok(),
            (None, Some(url)) => self.key_of(url).ok(),
            (None, None) => None,
        }
    }

    /// Whether another site caused the request, as far as the browser's header fields show.
    pub(super) fn is_sent_by_another_site(&self) -> bool {
        match self.source.fetch_site.as_deref() {
            Some(site) => !matches!(site, "same-origin" | "none"),
            // Browsers send `Sec-Fetch-Site` to trustworthy origins only. For other origins, the
            // referrer shows whether the request comes from one of our pages.
            None => !self.shell.origin.is_trustworthy() && !self.is_referred_by_us(),
        }
    }

    /// Whether the request names one of our pages as its referrer.
    fn is_referred_by_us(&self) -> bool {
        let rest = self
            .source
            .referer
            .as_deref()
            .and_then(|page| page.strip_prefix(self.shell.origin.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the mode in which the request began.
    pub(super) fn mode(&self) -> Mode {
        self.shell.mode
    }

    /// Checks whether a request that needs `needed` may pass, with a token for `scope`. A request
    /// that only needs [`Permission::Read`] changes nothing.
    pub(super) fn check(
        &self,
        needed: Permission,
        scope: ActionScope,
        token: Token,
    ) -> Result<(), GuardRefusal> {
        let verdict = guard(&Attempt {
            over: self.source.over,
            safe_method: needed == Permission::Read,
            host_is_ours: self.source.host_is_ours,
            fetch_site: self.source.fetch_site.as_deref(),
            other_sites: self.source.other_sites,
            origin: self.source.origin.as_deref(),
            our_origin: self.shell.origin.as_str(),
            token,
            scope,
            lacks: self.refusal_without(needed),
        });
        match verdict {
            GuardVerdict::Allow => Ok(()),
            GuardVerdict::Refuse(refusal) => Err(refusal),
        }
    }

    /// Checks whether the request may be answered at all. It may not if the host name is not ours,
    /// if another site makes the browser load the response in the background, or if another site
    /// may have opened an address that may respond with a file.
    pub(super) fn check_origin(&self) -> Result<(), GuardRefusal> {
        self.check(Permission::Read, ActionScope::General, Token::Absent)?;
        if self.source.is_unproven { Err(GuardRefusal::OpenedElsewhere) } else { Ok(()) }
    }

    /// Makes the caller act for `owner`. The caller then sees the entries of `owner`, and the forms
    /// on its pages contain the token of `owner`.
    pub(super) fn act_for(&mut self, owner: Owner) {
        self.shell.token = self.context.pages.tokens.of_page(&owner.to_string());
        self.owner = owner;
    }

    /// Returns the caller of a form. If the caller has the control password, it gets the role of
    /// the owner for whom the page with this `token` was made.
    ///
    /// The control password grants permission but does not identify a person, because several
    /// people may know it. So the token decides the owner.
    pub(super) fn for_page(&self, token: Option<&str>) -> Self {
        let has_password = self.is_administrator() && !self.is_on_socket();
        let named =
            token.filter(|_| has_password).and_then(|token| self.context.pages.tokens.owner(token));
        let mut caller = self.clone();
        if let Some(owner) = named.and_then(|owner| owner.parse().ok()) {
            caller.act_for(owner);
        }
        caller
    }

    /// Validates a token for `purpose`.
    pub(super) fn check_token(&self, purpose: Purpose<'_>, presented: Option<&str>) -> Token {
        match presented {
            None | Some("") => Token::Absent,
            Some(token) if self.context.pages.tokens.check(purpose, token) => Token::Right,
            Some(_) => Token::Wrong,
        }
    }

    /// Reads a body of at most `limit` bytes. The time limit is `socket-timeout`.
    pub(super) async fn read(
        &self,
        body: Incoming,
        limit: usize,
    ) -> Result<Bytes, RequestBodyError> {
        let patience = self.context.base.config().options.socket_timeout;
        match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                Err(RequestBodyError::TooLong(limit))
            }
            Ok(Err(_)) => Err(RequestBodyError::CutShort),
            Err(_) => Err(RequestBodyError::Late),
        }
    }

    /// Responds with a page.
    pub(super) fn page(&self, page: RenderedPage) -> Response<Body> {
        reply::render(&self.shell, page)
    }

    /// Responds with a message page, or with an empty body if the request is for a sub-resource.
    pub(super) fn message(&self, message: &Message<'_>) -> Response<Body> {
        if let Some(audience) = self.audience.filter(|audience| audience.is_part()) {
            return audience.empty_response(message.status());
        }
        self.page(message::page(&self.shell, message))
    }

    /// Responds with a form that asks for an address, because the address for the page `about` is
    /// missing or invalid. `typed` is the invalid input, or empty.
    pub(super) fn ask_for_address(&self, about: AddressPage, typed: &str) -> Response<Body> {
        let typed = Some(typed).filter(|typed| !typed.is_empty());
        self.page(address::page(&self.shell, about, typed))
    }

    /// Responds with the message page for an invalid address of ours; `detail` names the fault.
    pub(super) fn bad_address(&self, detail: &str) -> Response<Body> {
        self.message(&Message::BadAddress { detail })
    }

    /// Responds with the message page for a form that cannot be processed.
    pub(super) fn bad_form(&self, status: StatusCode, detail: &str) -> Response<Body> {
        self.message(&Message::BadForm { status: status.as_u16(), detail })
    }

    /// Responds with the message page for a missing permission, and asks for the credentials.
    pub(super) fn denied(&self, denied: Denied) -> Response<Body> {
        with_challenge(self.message(&Message::Denied(denied)), denied)
    }

    /// Responds with the message page for a refused request. If only the control password is
    /// missing, asks for it.
    pub(super) fn refused(&self, refusal: GuardRefusal) -> Response<Body> {
        match refusal {
            GuardRefusal::NoPassword => self.denied(Denied::Control),
            refusal => self.message(&Message::Forbidden(refusal)),
        }
    }

    /// Responds with the message page for a failed spool, and logs the error.
    pub(super) fn spool_failed(&self, error: &SpoolError) -> Response<Body> {
        let detail = error_chain(error);
        reply::log_spool_failure(error, &detail);
        self.message(&reply::spool_message(error, &detail).1)
    }

    /// Redirects to another page of ours after an action (RFC 9110 §15.4.4).
    pub(super) fn see_other(&self, path: &str) -> Response<Body> {
        let mut response = self.other(StatusCode::SEE_OTHER, None, body::empty());
        // Our paths are ASCII: foreign text in them is encoded.
        let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
        response.headers_mut().insert(LOCATION, path);
        response
    }

    /// Responds with `body`, and with the header fields common to all our responses.
    pub(super) fn other(
        &self,
        status: StatusCode,
        content_type: Option<&'static str>,
        body: Body,
    ) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let fields = response.headers_mut();
        if let Some(content_type) = content_type {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        for (name, value) in self.shell.header_fields() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                fields.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}
