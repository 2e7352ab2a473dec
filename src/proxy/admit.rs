//! Whether a request is let in: the proxy may have users, each with a password.

use hyper::Response;
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, PROXY_AUTHENTICATE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use wwwoffle_config::{Config, PasswordHash, Users};

use super::access::{Candidate, Refused};
use super::audience::Audience;
use super::body::Body;
use super::reply;
use super::site::Door;
use super::visitor::Visitor;
use crate::base::basic::Login;
use crate::base::mode::Mode;
use crate::page::context::PageReader;
use crate::page::message::{Denied, Message};
use crate::proxy::context::ProxyContext;

/// What users and their browsers see of where a password is for. UTF-8 is what we compare (RFC 7617
/// §2.1).
const FOR_USERS: HeaderValue =
    HeaderValue::from_static("Basic realm=\"wwwoffle\", charset=\"UTF-8\"");
const FOR_CONTROL: HeaderValue =
    HeaderValue::from_static("Basic realm=\"control\", charset=\"UTF-8\"");

/// Whether the connection is still one that is served: the configuration may have changed since it
/// was opened, and a connection that is answered in the place of a site belongs to a user.
pub(crate) fn still_served(context: &ProxyContext, visitor: &Visitor) -> bool {
    let config = context.base.config();
    context.clients.access.serves(&config, visitor.peer.ip(), visitor.ours)
        && (!is_inside(visitor) || is_let_in(&config.allowed_users.users, visitor))
}

/// Whether the connection is answered in the place of a site.
fn is_inside(visitor: &Visitor) -> bool {
    matches!(visitor.door, Door::Site(_))
}

/// Whether whoever opened the connection with CONNECT is still a user, if there are any, with the
/// password that was given then.
fn is_let_in(users: &Users, visitor: &Visitor) -> bool {
    users.is_empty()
        || visitor.user.as_ref().is_some_and(|user| users.named(user.name.as_bytes()) == Some(user))
}

/// The answer to a connection that is not served any more.
pub(super) fn end(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
) -> Response<Body> {
    let told = Message::Denied(Denied::Machine);
    let mut response = reply::unless_part(context, reader, audience, &told);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Finds out who the user is, where there are users, and tells `visitor`. With `control`, the control password
/// in place of a user's is asked about again but is no guess.
pub(super) async fn as_user(
    context: &ProxyContext,
    visitor: &mut Visitor,
    login: Option<&Login>,
    control: Option<PasswordHash>,
) -> Result<(), Denied> {
    let config = context.base.config();
    let users = &config.allowed_users.users;
    if users.is_empty() || (is_inside(visitor) && is_let_in(users, visitor)) {
        return Ok(());
    }
    let login = login.ok_or(Denied::ProxyLogin)?;
    let user = candidate(&config, login).ok_or(Denied::ProxyLogin)?;
    let candidates: Vec<_> = [user].into_iter().chain(control.map(Candidate::Hash)).collect();
    match context.clients.access.logins.check(visitor.peer.ip(), &login.password, &candidates).await
    {
        Ok(0) => {
            visitor.user = users.named(&login.user).cloned();
            Ok(())
        }
        Ok(_) => Err(Denied::ProxyLogin),
        Err(refused) => Err(denied(refused, Denied::ProxyLogin)),
    }
}

/// What the password of a login is to be compared with: that of its user, or for a user whom nobody
/// knows another one, so that the time does not tell that.
pub(crate) fn candidate(config: &Config, login: &Login) -> Option<Candidate> {
    let users = &config.allowed_users.users;
    let known = users.named(&login.user).map(|user| Candidate::Hash(user.hash.clone()));
    let any = || {
        let first = users.as_slice().first()?;
        Some(Candidate::StandIn(first.hash.clone(), login.user.clone()))
    };
    known.or_else(any)
}

/// What is told of a refused login; `again` asks for another one.
pub(crate) fn denied(refused: Refused, again: Denied) -> Denied {
    match refused {
        Refused::Wrong => again,
        // Rounded up, so that waiting so long is enough.
        Refused::TooOften(wait) => Denied::TooOften { seconds: wait.as_secs() + 1 },
        Refused::Busy => Denied::Busy,
    }
}

/// Says no, in the form that fits who asked.
pub(super) fn refuse(
    context: &ProxyContext,
    mode: Mode,
    request: &Parts,
    denied: Denied,
) -> Response<Body> {
    let told = Message::Denied(denied);
    let reader = PageReader::of(mode, &request.headers);
    let audience = Audience::of(&request.method, &request.headers);
    with_challenge(reply::told(context, &reader, audience, &told), denied)
}

/// Adds the field that asks for a login, or says when to come again.
pub(crate) fn with_challenge(mut response: Response<Body>, denied: Denied) -> Response<Body> {
    let (name, value): (HeaderName, HeaderValue) = match denied {
        Denied::ProxyLogin => (PROXY_AUTHENTICATE, FOR_USERS),
        Denied::Login => (WWW_AUTHENTICATE, FOR_USERS),
        Denied::Control | Denied::ControlPage | Denied::WrongControl => {
            (WWW_AUTHENTICATE, FOR_CONTROL)
        }
        Denied::TooOften { seconds } => (RETRY_AFTER, seconds.into()),
        Denied::Busy => (RETRY_AFTER, HeaderValue::from_static("5")),
        Denied::Machine => return response,
    };
    response.headers_mut().insert(name, value);
    response
}
