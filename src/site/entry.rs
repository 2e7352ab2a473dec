//! The passwords required by our own pages and calls.
//!
//! | | no users | users |
//! |---|---|---|
//! | files that set a browser up | open | open |
//! | reading | open | a user, or the control password |
//! | changing, with a control password | the control password | the control password |
//! | changing, without one | open | a user |
//! | metrics, and statistics by host, with a control password | the control password | the control password |
//!
//! "Open" means open to the machines that may use the proxy at all. What an admitted caller may
//! change depends on its [`Permission`].
//!
//! The buttons of message pages undo, confirm or fetch one request, or set its priority. They need
//! the same password as reading, because the token of a button is valid for that request only. The
//! same forms on our own pages have the general token of these pages, and also need
//! [`Permission::Request`]. That permission is checked later.

use hyper::header::AUTHORIZATION;
use hyper::{Method, Request, Version};
use wwwoffle_config::Config;

use super::caller::Caller;
use super::is_read;
use super::permission::Permission;
use super::route::{Guard, PathRoutes};
use crate::base::basic::Login;
use crate::base::owner::Owner;
use crate::page::message::Denied;
use crate::proxy::access::LoginCandidate;
use crate::proxy::admit::{candidate, denied};
use crate::proxy::client_connection::PageClient;

/// The credentials that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequiredLogin {
    /// No credentials.
    Nothing,
    /// The password of a user, or the control password.
    User,
    /// The control password.
    Control,
}

/// Returns the login that `method` at `path` needs. `has_login`: whether the request has
/// credentials for us.
fn need(config: &Config, method: &Method, path: &str, has_login: bool) -> RequiredLogin {
    let users = !config.allowed_users.users.is_empty();
    let control = config.startup.password.hash().is_some();
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let routes = PathRoutes::at(path);
    let route = if reads { routes.read } else { routes.with(method) };
    let guard = route.map(|route| route.guard);
    let is_button = matches!(guard, Some(Guard::Button(_)));
    if matches!(guard, Some(Guard::Public | Guard::Open)) {
        RequiredLogin::Nothing
    } else if control && (!reads && !is_button || matches!(guard, Some(Guard::Owner))) {
        RequiredLogin::Control
    } else if users {
        RequiredLogin::User
    } else if control && is_button && has_login {
        RequiredLogin::Control
    } else {
        RequiredLogin::Nothing
    }
}

/// Admits a request and sets the identity and permission of `caller`, or returns why the request is
/// denied. The credentials are removed from the request.
pub(super) async fn admit<B>(
    caller: &mut Caller,
    path: &str,
    page_client: &PageClient,
    request: &mut Request<B>,
) -> Result<(), Denied> {
    let config = caller.context.base.config();
    let to_us = Login::take(request.headers_mut(), &AUTHORIZATION);
    // A request with a scheme is one for a proxy. In HTTP/2 every request has a scheme, but there,
    // a client that uses us as its proxy also accepts a 401.
    let is_proxied = request.uri().scheme().is_some() && request.version() < Version::HTTP_2;
    let control = config.startup.password.hash();
    let need = need(&config, request.method(), path, to_us.is_some());
    caller.permission = Permission::without_password(control.is_some(), caller.is_here());
    let (missing, wrong) = match need {
        RequiredLogin::Nothing => return Ok(()),
        RequiredLogin::User if is_proxied => (Denied::ProxyLogin, Denied::ProxyLogin),
        RequiredLogin::User => (Denied::Login, Denied::Login),
        RequiredLogin::Control if is_read(request.method()) => {
            (Denied::ControlPage, Denied::WrongControl)
        }
        RequiredLogin::Control => (Denied::Control, Denied::WrongControl),
    };
    let of_proxy = page_client.login.as_ref().filter(|_| need == RequiredLogin::User);
    let login = of_proxy.or(to_us.as_ref()).ok_or(missing)?;
    let user = if need == RequiredLogin::User { candidate(&config, login) } else { None };
    // The control password is checked first: the first match counts, and the control password gives
    // more permission.
    let control = control.cloned().map(LoginCandidate::Hash);
    let is_control = |place: usize| control.is_some() && place == 0;
    let candidates: Vec<LoginCandidate> = control.clone().into_iter().chain(user).collect();
    let checked = caller.context.proxy.clients.access.logins.check(
        page_client.peer.ip(),
        &login.password,
        &candidates,
    );
    let place = checked.await.map_err(|refused| denied(refused, wrong))?;
    if is_control(place) {
        caller.permission = Permission::Administer;
    } else if let Some(user) = config.allowed_users.users.named(&login.user) {
        caller.act_for(Owner::of(page_client.peer.ip(), Some(&user.name)));
        caller.shell.reader = caller.owner.to_string();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Config, Method, RequiredLogin, need};
    use std::path::Path;
    use wwwoffle_config::{PasswordHash, User};

    #[test]
    fn each_request_needs_the_permission_in_the_table() {
        use RequiredLogin::{Control, Nothing, User as AUser};
        let hash = PasswordHash::make("x").unwrap();
        let control = format!("[startup]\npassword = \"{}\"\n", hash.as_str());
        let user = User::make("ada", "x").unwrap();
        let users = format!("[allowed-connect-users]\nusers = [\"{user}\"]\n");
        let configs = [String::new(), users.clone(), control.clone(), format!("{control}{users}")]
            .map(|text| Config::parse(&text, Path::new("w.conf")).unwrap());
        let button = [Nothing, AUser, Nothing, AUser];
        let changing = [Nothing, AUser, Control, Control];
        for (line, has_login, wants) in [
            ("GET /proxy.pac", false, [Nothing; 4]),
            ("GET /wpad.dat", false, [Nothing; 4]),
            ("GET /wwwoffle.pac", false, [Nothing; 4]),
            ("GET /ca.pem", true, [Nothing; 4]),
            ("GET /certificates/root-cert.pem", true, [Nothing; 4]),
            ("POST /control/delete/url", false, changing),
            ("POST /control/queue/edit", false, changing),
            ("GET /ca/trusted.css", false, [Nothing; 4]),
            ("GET /ca", false, [Nothing; 4]),
            ("GET /ca/", true, [Nothing; 4]),
            ("GET /certificate", false, button),
            ("POST /proxy.pac", false, changing),
            ("GET /", false, button),
            ("HEAD /queue/", false, button),
            ("GET /api/entries", true, button),
            ("GET /control/online", false, button),
            ("OPTIONS /api/mode", false, button),
            ("GET /statistics/", false, button),
            ("GET /statistics/hosts", false, changing),
            ("GET /metrics", true, changing),
            ("POST /control/online", false, changing),
            ("POST /api/mode", true, changing),
            ("POST /api/config", false, changing),
            ("PUT /whatever", false, changing),
            ("DELETE /", false, changing),
            ("POST /configuration/x", false, changing),
            ("POST /control/delete/req", false, button),
            ("POST /control/delete/req", true, [Nothing, AUser, Control, AUser]),
            ("PUT /control/delete/req", false, changing),
            ("POST /refresh-request/", false, button),
            ("POST /control/delete/req-all", false, changing),
        ] {
            let (method, path) = line.split_once(' ').unwrap();
            let method = method.parse::<Method>().unwrap();
            for (config, want) in configs.iter().zip(wants) {
                assert_eq!(need(config, &method, path, has_login), want, "{line} {has_login}");
            }
        }
    }
}
