//! A route: paths of a page, form or API call, the guard of its requests, and the handler.
//!
//! The guard is checked before the handler runs, so a handler cannot forget it.

use std::future::ready;

use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response};

use super::api::fault::CallFault;
use super::caller::Caller;
use super::forms::FormError;
use super::permission::Permission;
use super::routes::ROUTES;
use crate::page::form::SubmittedForm;
use crate::page::guard::Token;
use crate::proxy::body::Body;

/// One row of the table of routes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) paths: Paths,
    pub(super) guard: Guard,
    pub(super) handler: Handler,
}

/// The paths of a route.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paths {
    /// Exactly these paths.
    These(&'static [&'static str]),
    /// All paths for which the function returns true.
    Like(fn(&str) -> bool),
}

/// The condition for a request. `Public` to `Owner` are for GET and HEAD, the others for POST.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard {
    /// No guard. Other sites may also load the response, because it sets up a browser.
    Public,
    /// No guard, but other sites may not load the response.
    Open,
    /// Like `Reader`, but other sites may also load the response, because it is sandboxed.
    Sandboxed,
    /// The login of a user, if the configuration has users.
    Reader,
    /// As `Reader`, for an address whose response is a file or a page depending on the stored
    /// entries. Other sites may not even open it in a window, where they would see the difference.
    Download,
    /// The control password, if there is one.
    Owner,
    /// The token of our own pages, from a caller with this permission.
    OurPage(Permission),
    /// As `OurPage(Permission::Request)`, or the token of a message page for only this form.
    Button(ButtonToken),
}

/// A function that validates the token of a form as a token for only this form.
pub(super) type ButtonToken = fn(&Caller, &SubmittedForm) -> OwnToken;

/// The validity of a token that is only for one form.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnToken {
    pub(super) worth: Token,
    /// Whether only this token is accepted, and not that of our own pages.
    pub(super) is_required: bool,
}

/// The function that responds to a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handler {
    Page(PageHandler),
    /// Redirects to another of our addresses.
    Moved(&'static str),
    Form(FormHandler),
    Call(CallHandler),
}

pub(super) type PageHandler =
    for<'a> fn(&'a Caller, PageRequest<'a>) -> BoxFuture<'a, Response<Body>>;

pub(super) type FormHandler =
    for<'a> fn(&'a Caller, FormRequest<'a>) -> BoxFuture<'a, Result<Response<Body>, FormError>>;

pub(super) type CallHandler =
    for<'a> fn(&'a Caller, CallRequest<'a>) -> BoxFuture<'a, Result<Response<Body>, CallFault>>;

/// Boxes the response of a handler that does not wait.
pub(super) fn now<'a, T: Send + 'a>(answer: T) -> BoxFuture<'a, T> {
    Box::pin(ready(answer))
}

/// A request for a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRequest<'a> {
    pub(super) path: &'a str,
    pub(super) arguments: Option<&'a str>,
    pub(super) fields: &'a HeaderMap,
}

/// A form whose guard was checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormRequest<'a> {
    pub(super) path: &'a str,
    pub(super) form: &'a SubmittedForm,
    /// Whether the request comes from a message page, with a token for only this form.
    pub(super) is_of_message: bool,
}

/// A call of the API whose guard was checked.
#[derive(Debug)]
pub(super) struct CallRequest<'a> {
    pub(super) arguments: Option<&'a str>,
    pub(super) parts: &'a Parts,
    pub(super) incoming: Incoming,
}

impl Route {
    /// Whether the route is for GET and HEAD. Otherwise it is for POST.
    pub(super) fn reads(&self) -> bool {
        !matches!(self.guard, Guard::OurPage(_) | Guard::Button(_))
    }

    pub(super) fn has(&self, path: &str) -> bool {
        match self.paths {
            Paths::These(paths) => paths.contains(&path),
            Paths::Like(is_match) => is_match(path),
        }
    }
}

/// The routes of a path: the first matching row for each method.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathRoutes {
    /// For GET and HEAD.
    pub(super) read: Option<&'static Route>,
    /// For POST.
    pub(super) write: Option<&'static Route>,
}

impl PathRoutes {
    pub(super) fn at(path: &str) -> Self {
        let first = |reads| ROUTES.iter().find(|route| route.reads() == reads && route.has(path));
        Self { read: first(true), write: first(false) }
    }

    /// Returns the route for a method.
    pub(super) fn with(self, method: &Method) -> Option<&'static Route> {
        match *method {
            Method::GET | Method::HEAD => self.read,
            Method::POST => self.write,
            _ => None,
        }
    }

    /// Returns the allowed methods; `None` for an unknown path.
    pub(super) fn allowed(self) -> Option<&'static str> {
        match (self.read, self.write) {
            (Some(_), Some(_)) => Some("GET, HEAD, POST"),
            (Some(_), None) => Some("GET, HEAD"),
            (None, Some(_)) => Some("POST"),
            (None, None) => None,
        }
    }

    /// Whether pages of other sites may load the responses.
    pub(super) fn is_public(self) -> bool {
        self.read.is_some_and(|route| matches!(route.guard, Guard::Public | Guard::Sandboxed))
    }

    /// Whether the response may be a file, depending on the stored entries.
    pub(super) fn is_download(self) -> bool {
        self.read.is_some_and(|route| matches!(route.guard, Guard::Download))
    }
}
