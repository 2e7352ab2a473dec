//! The owner of a stored response: everyone, or one person.
//!
//! Several people may use one proxy, and a response to one of them may be private. A response that
//! may depend on the requester is stored in a separate place for the requester ([`ResponseOwner`]).
//! Lookups for other people never read that place ([`Places`]).
//!
//! The response head decides whether a response depends on the requester:
//!
//! | | the request has a cookie or credentials, or is a form | the request has none of these |
//! |---|---|---|
//! | response with `Cache-Control: public` | everyone's | everyone's |
//! | response with `private`, with or without other directives | the owner's | the owner's |
//! | response that sets a cookie | the owner's | the owner's |
//! | any other response | the owner's | everyone's |
//!
//! The response to a form is the owner's, even with `public`, if it may depend on header fields
//! that are not part of its key ([`Identification::Unkeyed`]). In a shared cache, two further
//! directives allow sharing responses to requests with credentials ([`ResponseOwner::of_answer`]).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderName, SET_COOKIE, VARY};
use sha2::{Digest, Sha256};
use wwwoffle_spool::{Entry, Outgoing, Place, RequesterLocation, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};

use crate::base::basic::Login;
use crate::base::site_login;
use crate::base::spelling::Spelling;
use wwwoffle_http::caching::control::{DirectiveScope, ResponseControl};
use wwwoffle_http::caching::storing::may_share;
use wwwoffle_http::fields::{has_member, is_keyed_form};
use wwwoffle_http::head::{has_credentials, is_credential};

/// `Set-Cookie2` (RFC 2965), which is obsolete. It is treated like `Set-Cookie`.
const SET_COOKIE_2: HeaderName = HeaderName::from_static("set-cookie2");

/// The user name that stands for credentials of another scheme than Basic; no browser can send this
/// name.
const OTHER_SCHEME: &[u8] = b"\nauthorization";

/// A person, as far as the proxy can distinguish people.
///
/// As text, in the files of the spool: `local`, `user:ada`, `client:192.0.2.1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The person at this machine, who is not logged in and uses loopback or the command line.
    Local,
    /// A user of the proxy, by name, from any machine.
    User(Arc<str>),
    /// Another machine. The full address identifies it, since one IPv6 network can be a whole
    /// household.
    Client(IpAddr),
}

impl Owner {
    /// The owner of a request: `user` if a password has authenticated one, or else the owner for
    /// the address `peer`.
    #[must_use]
    pub fn of(peer: IpAddr, user: Option<&Arc<str>>) -> Self {
        let peer = peer.to_canonical();
        match user {
            Some(name) => Self::User(Arc::clone(name)),
            None if peer.is_loopback() => Self::Local,
            None => Self::Client(peer),
        }
    }

    /// The owner of a queued request, from its place in the queue. `None` if this version does not
    /// know this kind of owner.
    #[must_use]
    pub fn of_queued(place: &Place) -> Option<Self> {
        place.owner().map_or(Some(Self::Local), |text| text.parse().ok())
    }

    /// Whether this person may see the entry at `place`: it belongs to this person or to everyone.
    #[must_use]
    pub fn may_see(&self, place: &Place) -> bool {
        place.owner().is_none_or(|owner| owner.parse().as_ref() == Ok(self))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Client(address) => write!(f, "client:{address}"),
        }
    }
}

/// The requester of a fetch, and the location of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The owner of the request.
    pub owner: Owner,
    /// The location of the requester, which decides which hosts may be reached for the request.
    pub asked_from: RequesterLocation,
}

impl Requester {
    /// The person at this machine.
    #[must_use]
    pub fn local() -> Self {
        Self { owner: Owner::Local, asked_from: RequesterLocation::Here }
    }

    /// The requester of a queued request; `None` if this version does not know this kind of owner.
    #[must_use]
    pub fn of_queued(outgoing: &Outgoing) -> Option<Self> {
        let owner = Owner::of_queued(&outgoing.summary.place)?;
        Some(Self { owner, asked_from: outgoing.summary.asked_from })
    }
}

/// The error for a text that is not an owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid owner {0:?}: expected \"local\", \"user:NAME\" or \"client:ADDRESS\"")]
pub struct BadOwner(String);

impl FromStr for Owner {
    type Err = BadOwner;

    fn from_str(text: &str) -> Result<Self, BadOwner> {
        let bad = || BadOwner(text.to_owned());
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            Some(("user", name)) if !name.is_empty() => Ok(Self::User(name.into())),
            Some(("client", address)) => {
                let address: IpAddr = address.parse().map_err(|_| bad())?;
                // Only a text that this code would write is valid, with the canonical spelling of
                // the address. Loopback addresses are written as `local`.
                let owner = Self::of(address, None);
                if owner.to_string() == text { Ok(owner) } else { Err(bad()) }
            }
            _ => Err(bad()),
        }
    }
}

/// The person or group for whom a response is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseOwner {
    /// The requester.
    Own,
    /// Everyone.
    Everyone,
}

impl ResponseOwner {
    /// Decides by the response head. `shared` is whether we are a shared cache.
    ///
    /// With `public`, an origin allows sharing a response although the request was personal (RFC
    /// 9111 §5.2.2.9). §3.5 also accepts `s-maxage` and `must-revalidate`, but many servers send
    /// these with every response. So these count only if we are a shared cache, and only for
    /// credentials, to which §3.5 applies, not for cookies. `private` is obeyed with and without a
    /// list of fields (§5.2.2.7 allows this), and takes precedence over `public` if an origin sends
    /// both.
    #[must_use]
    pub fn of_answer(asked: Identification, answer: &HeaderMap, shared: bool) -> Self {
        let control = ResponseControl::of(answer);
        if control.private != DirectiveScope::Nothing {
            return Self::Own;
        }
        let is_for_all = match asked {
            Identification::Unkeyed => false,
            Identification::Plainly => control.public || !sets_cookie(answer),
            // Another login gets another response.
            _ if has_member(answer, &VARY, AUTHORIZATION.as_str()) => false,
            _ if control.public => true,
            _ if sets_cookie(answer) => false,
            Identification::WithCredentials => shared && may_share(&control),
            Identification::AsSomebody => false,
        };
        if is_for_all { Self::Everyone } else { Self::Own }
    }
}

/// The identity of the requester, as far as a request reveals it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identification {
    /// No identity.
    Plainly,
    /// The identity, by `Authorization` alone.
    WithCredentials,
    /// The identity, by a cookie, another credential or in a form.
    AsSomebody,
    /// The identity, in a form whose response may depend on fields that are not part of its key.
    Unkeyed,
}

impl Identification {
    /// Classifies a request by its fields, as the client sent them.
    #[must_use]
    pub fn of(request: &HeaderMap, is_form: bool) -> Self {
        if is_form && !is_keyed_form(request) {
            Self::Unkeyed
        } else if is_form
            || request.keys().any(|name| name == COOKIE || is_further_credential(name))
        {
            // RFC 9111 §3.5 applies to `Authorization` only: origins send `must-revalidate` with
            // every response, without regard to a token in another field.
            Self::AsSomebody
        } else if request.contains_key(AUTHORIZATION) {
            Self::WithCredentials
        } else {
            Self::Plainly
        }
    }
}

/// Whether a request has fields that make its response personal.
#[must_use]
pub fn is_personal(request: &HeaderMap) -> bool {
    request.contains_key(COOKIE) || has_credentials(request)
}

/// Whether a response sets a cookie.
#[must_use]
pub fn sets_cookie(answer: &HeaderMap) -> bool {
    answer.contains_key(SET_COOKIE) || answer.contains_key(SET_COOKIE_2)
}

/// Removes the cookies that a response sets.
pub fn remove_cookies(answer: &mut HeaderMap) {
    answer.remove(SET_COOKIE);
    answer.remove(SET_COOKIE_2);
}

/// The places where the response to one person's request may be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The place of the person's own response. Credentials are part of its key.
    pub own: Place,
    /// The place of everyone's response.
    pub public: Place,
    /// The place of the request in the queue.
    pub queued: Place,
    /// Whether the request has credentials. If so, everyone's response may be used only if the
    /// origin allows this, for example with `public` (see
    /// [`accepts_public`](Self::accepts_public)). Other responses are for people who are not logged
    /// in.
    pub credentials: bool,
    /// The user name of the request's login at the origin, by Basic or Digest, as a URL has it. The
    /// person's own responses to different logins are stored separately.
    pub login: Option<Arc<str>>,
    /// The spelling of the URL in the request.
    pub spelling: Spelling,
}

impl Places {
    /// The same places, for a request with this spelling of the URL.
    #[must_use]
    pub fn with_spelling(self, spelling: &Spelling) -> Self {
        Self { spelling: spelling.clone(), ..self }
    }

    /// The places for a request by `owner` for `url`, with these fields. Basic credentials in the
    /// fields are moved into `url`, so that both ways to send them are equivalent. A login is not
    /// part of the key, and no place depends on a password. Credentials of other schemes, and in
    /// other fields, only change the key.
    #[must_use]
    pub fn of(url: &mut CanonicalUrl, fields: &HeaderMap, owner: &Owner) -> Self {
        let public = Place::of(&url.without_credentials());
        let login =
            site_login::login_name(fields).or_else(|| Some(Place::login_name(&url.user()?)));
        if let Some(Login { user, password }) = fields.get(AUTHORIZATION).and_then(Login::parse) {
            *url = url.with_credentials(&user, Some(&password));
        }
        let keyed = with_identity(url, fields, login.is_some());
        let plain = Place::of(&keyed);
        let own = plain.clone().owned_by(&owner.to_string());
        let credentials = login.is_some() || plain.key() != public.key();
        // The queue has one request for each login.
        let waiting = match &login {
            Some(name) => Place::queued_for_login(&keyed, name),
            None => plain,
        };
        // In the queue, the person at this machine has no owner text, because most queues have only
        // requests of this person.
        let is_local = *owner == Owner::Local;
        let queued = if is_local { waiting } else { waiting.owned_by(&owner.to_string()) };
        let (login, spelling) = (login.map(Arc::from), Spelling::default());
        Self { own, public, queued, credentials, login, spelling }
    }

    /// The places for a request by `owner` for `url`, without credentials in its fields.
    #[must_use]
    pub fn of_url(url: &CanonicalUrl, owner: &Owner) -> Self {
        Self::of(&mut url.clone(), &HeaderMap::new(), owner)
    }

    /// The canonical form of a URL that a person has typed or a page links to, and the places for a
    /// request by `owner` that spells it in this way.
    ///
    /// # Errors
    ///
    /// If the text is no URL.
    pub fn of_text(
        text: &str,
        local: &LocalHost,
        owner: &Owner,
    ) -> Result<(CanonicalUrl, Self), ParseError> {
        let url = CanonicalUrl::parse(text, local)?;
        let spelling = Spelling::of_url(text, &url.without_credentials());
        let places = Self::of_url(&url, owner).with_spelling(&spelling);
        Ok((url, places))
    }

    /// The places for the request queued at `queued`. `None` if this version does not know this
    /// kind of owner, or the URL is invalid.
    #[must_use]
    pub fn of_queued(queued: &Place, local: &LocalHost) -> Option<Self> {
        let owner = Owner::of_queued(queued)?.to_string();
        let public = Place::of(&CanonicalUrl::parse(queued.url(), local).ok()?);
        let login = queued.login().map(Arc::from);
        let own = match queued.owner() {
            _ if login.is_some() => public.clone().owned_by(&owner),
            Some(_) => queued.clone(),
            None => queued.clone().owned_by(&owner),
        };
        let credentials = login.is_some() || own.key() != public.clone().owned_by(&owner).key();
        let queued = queued.clone();
        Some(Self { own, public, queued, credentials, login, spelling: Spelling::default() })
    }

    /// The variant text of the person's own response to the request. `varies` is the variant text
    /// for its `Vary` field.
    #[must_use]
    pub fn own_variant(&self, varies: &str) -> String {
        let variant = self.spelling.variant(varies);
        self.login.as_ref().map_or_else(|| variant.clone(), |name| Place::for_login(name, &variant))
    }

    /// Whether the entry at `place` belongs to the login of the request, or neither has a login.
    #[must_use]
    pub fn is_of_login(&self, place: &Place) -> bool {
        place.owner().is_none() || place.login() == self.login.as_deref()
    }

    /// The preference for the entry at `place` if a person requests to see what is stored, the
    /// smallest first. An address without user name means every login. `None` for an entry of
    /// another login.
    #[must_use]
    pub fn preference(&self, place: &Place) -> Option<(bool, u8)> {
        let may = self.login.is_none() || self.is_of_login(place);
        let rank = (!self.is_of_login(place), self.spelling.preference(place.variant_text()));
        may.then_some(rank)
    }

    /// The places of the entries that are deleted under the address of the request: those of its
    /// login, or all of the person and of everyone. Blocks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn to_delete(&self, spool: &Spool) -> Result<Vec<Place>, wwwoffle_spool::Error> {
        if self.login.is_none() {
            return Ok(vec![self.own.clone(), self.public.clone()]);
        }
        let entries = spool.entries(&self.own)?.found;
        let places = entries.iter().map(Entry::place).filter(|place| self.is_of_login(place));
        Ok(places.cloned().collect())
    }

    /// The address of the request: its URL, with the user name of its login.
    #[must_use]
    pub fn address(&self) -> String {
        self.own.clone().with_variant(&self.own_variant("")).address().into_owned()
    }

    /// Whether segments are stored for the request: for the canonical spelling of the URL only, and
    /// never for a login.
    #[must_use]
    pub fn takes_segments(&self) -> bool {
        self.spelling.is_canonical() && self.login.is_none()
    }

    /// The owner of the request; `None` if this version does not know this kind of owner.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        self.own.owner()?.parse().ok()
    }

    /// The place for storing a response.
    #[must_use]
    pub fn of_answer(&self, whose: ResponseOwner) -> &Place {
        match whose {
            ResponseOwner::Own => &self.own,
            ResponseOwner::Everyone => &self.public,
        }
    }

    /// Whether everyone's response, with these fields, may be used for the request. `shared` is
    /// whether we are a shared cache.
    #[must_use]
    pub fn accepts_public(&self, answer: &HeaderMap, shared: bool) -> bool {
        let control = ResponseControl::of(answer);
        let is_for_all = control.public || (shared && may_share(&control));
        !self.credentials || (is_for_all && control.private == DirectiveScope::Nothing)
    }
}

/// The URL without its login, whose key contains the identity in other credentials. This changes
/// only the key: the rules and the origin use the URL of the request.
fn with_identity(url: &CanonicalUrl, fields: &HeaderMap, has_login: bool) -> CanonicalUrl {
    let authorization = fields.get(AUTHORIZATION).filter(|_| !has_login);
    let mut identity = authorization.map(|value| value.as_bytes().to_vec()).unwrap_or_default();
    // A token against request forgery changes with each session, and does not identify a person.
    let is_stable = |name: &str| !name.contains("csrf") && !name.contains("xsrf");
    let mut further: Vec<_> = fields
        .iter()
        .filter(|(name, _)| is_further_credential(name) && is_stable(name.as_str()))
        .collect();
    further.sort_by_key(|(name, _)| name.as_str());
    if !further.is_empty() {
        identity.extend_from_slice(url.without_credentials().key().to_string().as_bytes());
    }
    for (name, value) in further {
        let line = [name.as_str().as_bytes(), b":", value.as_bytes(), b"\n"];
        identity.extend_from_slice(&line.concat());
    }
    let url = url.without_credentials();
    if identity.is_empty() {
        return url;
    }
    let digest = hex::encode(Sha256::digest(identity));
    url.with_credentials(OTHER_SCHEME, Some(digest.as_bytes()))
}

/// Whether a field is a credential other than `Authorization`.
fn is_further_credential(name: &HeaderName) -> bool {
    name != AUTHORIZATION && is_credential(name)
}

#[cfg(test)]
mod tests;
