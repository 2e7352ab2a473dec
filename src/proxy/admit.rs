//! Admission of a request: the proxy may have users, each with a password.

use hyper::Response;
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, PROXY_AUTHENTICATE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use wwwoffle_config::{Config, PasswordHash, Users};

use super::access::{LoginCandidate, LoginRefusal};
use super::audience::Audience;
use super::body::Body;
use super::client_connection::ClientConnection;
use super::reply;
use crate::base::basic::Login;
use crate::base::mode::Mode;
use crate::page::context::PageReader;
use crate::page::message::{Denied, Message};
use crate::proxy::context::ProxyContext;

/// The challenge for users, who see its realm in the password prompt. We compare user names and
/// passwords in UTF-8 (RFC 7617 §2.1).
const FOR_USERS: HeaderValue =
    HeaderValue::from_static("Basic realm=\"wwwoffle\", charset=\"UTF-8\"");
const FOR_CONTROL: HeaderValue =
    HeaderValue::from_static("Basic realm=\"control\", charset=\"UTF-8\"");

/// Whether the connection may still be served. The configuration may have changed since the
/// connection was opened. The user of an intercepted connection must also still be configured.
pub(crate) fn may_still_serve(context: &ProxyContext, connection: &ClientConnection) -> bool {
    let config = context.base.config();
    context.clients.access.serves(&config, connection.peer.ip(), connection.ours)
        && (!connection.is_intercepted() || is_let_in(&config.allowed_users.users, connection))
}

/// Whether the user who opened the connection with CONNECT is still configured, with the same
/// password. True if no users are configured.
fn is_let_in(users: &Users, connection: &ClientConnection) -> bool {
    users.is_empty()
        || connection
            .user
            .as_ref()
            .is_some_and(|user| users.named(user.name.as_bytes()) == Some(user))
}

/// The response on a connection that may no longer be served.
pub(super) fn end(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
) -> Response<Body> {
    let notice = Message::Denied(Denied::Machine);
    let mut response = reply::page_or_empty(context, reader, audience, &notice);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Identifies the user, if users are configured, and records the user in `connection`. `control` is
/// the hash of the control password. A client that sends the control password in place of a user's
/// password is asked for a login again, but this does not count as a wrong password.
pub(super) async fn as_user(
    context: &ProxyContext,
    connection: &mut ClientConnection,
    login: Option<&Login>,
    control: Option<PasswordHash>,
) -> Result<(), Denied> {
    let config = context.base.config();
    let users = &config.allowed_users.users;
    if users.is_empty() || (connection.is_intercepted() && is_let_in(users, connection)) {
        return Ok(());
    }
    let login = login.ok_or(Denied::ProxyLogin)?;
    let user = candidate(&config, login).ok_or(Denied::ProxyLogin)?;
    let candidates: Vec<_> = [user].into_iter().chain(control.map(LoginCandidate::Hash)).collect();
    match context
        .clients
        .access
        .logins
        .check(connection.peer.ip(), &login.password, &candidates)
        .await
    {
        Ok(0) => {
            connection.user = users.named(&login.user).cloned();
            if let (Some(record), Some(user)) = (&connection.access, &connection.user) {
                record.set_user(&user.name);
            }
            Ok(())
        }
        Ok(_) => Err(Denied::ProxyLogin),
        Err(refused) => Err(denied(refused, Denied::ProxyLogin)),
    }
}

/// The stored hash to compare with the password of a login. For an unknown user it is the hash of
/// another user, so that the response time does not disclose which users exist. `None` if no users
/// are configured.
pub(crate) fn candidate(config: &Config, login: &Login) -> Option<LoginCandidate> {
    let users = &config.allowed_users.users;
    let known = users.named(&login.user).map(|user| LoginCandidate::Hash(user.hash.clone()));
    let any = || {
        let first = users.as_slice().first()?;
        Some(LoginCandidate::StandIn(first.hash.clone(), login.user.clone()))
    };
    known.or_else(any)
}

/// The message for a refused login; `again` asks for another login.
pub(crate) fn denied(refused: LoginRefusal, again: Denied) -> Denied {
    match refused {
        LoginRefusal::Wrong => again,
        // Rounded up, so that waiting for this time is enough.
        LoginRefusal::TooOften(wait) => Denied::TooOften { seconds: wait.as_secs() + 1 },
        LoginRefusal::Busy => Denied::Busy,
    }
}

/// The refusal of a request: a page for a person, a line of text for a program, an empty body for a
/// sub-resource.
pub(super) fn refuse(
    context: &ProxyContext,
    mode: Mode,
    request: &Parts,
    denied: Denied,
) -> Response<Body> {
    let notice = Message::Denied(denied);
    let reader = PageReader::of(mode, &request.headers);
    let audience = Audience::of(&request.method, &request.headers);
    with_challenge(reply::message_for(context, &reader, audience, &notice), denied)
}

/// Adds the field that asks for a login or says when to retry, if there is one for `denied`.
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
