//! Forms of our own pages and buttons of message pages: parsing, guard and errors.

use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use tracing::warn;
use wwwoffle_config::ChangeError;
use wwwoffle_spool::Error;
use wwwoffle_url::ParseError;

use super::caller::Caller;
use super::history;
use super::info::InfoError;
use super::permission::Permission;
use super::route::{FormHandler, FormRequest, Guard};
use crate::base::error_chain::error_chain;
use crate::fetch::WantError;
use crate::fetch::recurse::NotBegun;
use crate::page::form::{LONGEST_FORM, SubmittedForm};
use crate::page::guard::{ActionScope, GuardRefusal, Token};
use crate::page::message::Message;
use crate::page::token::Purpose;
use crate::proxy::body::Body;
use crate::site::fetches::RefreshError;
use crate::storage::purge::NotPurged;

/// Failure of a form.
#[derive(Debug)]
pub(super) enum FormError {
    Refused(GuardRefusal),
    Bad(String),
    Busy(String),
    NoRoom(String),
    /// Nothing was selected in the list of the form.
    Nothing {
        back: String,
    },
    Gone,
    Spool(Error),
    Config(ChangeError),
}

impl From<GuardRefusal> for FormError {
    fn from(refusal: GuardRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<RefreshError> for FormError {
    fn from(not_done: RefreshError) -> Self {
        match not_done {
            RefreshError::Spool(error)
            | RefreshError::Want(WantError::Spool(error))
            | RefreshError::NotBegun(NotBegun::Page(WantError::Spool(error))) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<WantError> for FormError {
    fn from(want_error: WantError) -> Self {
        match want_error {
            WantError::Spool(error) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

/// An entry or a request that was selected in a list has an invalid URL.
impl From<ParseError> for FormError {
    fn from(error: ParseError) -> Self {
        Self::Bad(format!("the selection is not a URL: {}", error_chain(&error)))
    }
}

impl From<wwwoffle_index::Error> for FormError {
    fn from(error: wwwoffle_index::Error) -> Self {
        Self::Bad(format!("the list is not available now: {}", error_chain(&error)))
    }
}

impl From<NotPurged> for FormError {
    fn from(not_purged: NotPurged) -> Self {
        Self::Busy(error_chain(&not_purged))
    }
}

impl From<history::VersionActionError> for FormError {
    fn from(not_done: history::VersionActionError) -> Self {
        match not_done {
            history::VersionActionError::Url(InfoError::Spool(error)) => Self::Spool(error),
            error => Self::Bad(error_chain(&error)),
        }
    }
}

impl From<Error> for FormError {
    fn from(error: Error) -> Self {
        Self::Spool(error)
    }
}

/// Parses a form, checks the guard of its route, and calls the handler.
pub(super) async fn submit(
    caller: &Caller,
    guard: Guard,
    handler: FormHandler,
    path: &str,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let whole = match caller.read(incoming, LONGEST_FORM).await {
        Ok(whole) => whole,
        Err(error) => return caller.bad_form(error.status(), &error.to_string()),
    };
    let form = match SubmittedForm::parse(content_type, &whole) {
        Ok(form) => form,
        Err(error) => return caller.bad_form(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let caller = &caller.for_page(form.value("token"));
    let done = match admit(caller, guard, &form) {
        Ok(is_of_message) => {
            handler(caller, FormRequest { path, form: &form, is_of_message }).await
        }
        Err(refusal) => Err(FormError::Refused(refusal)),
    };
    done.unwrap_or_else(|undone| answer_undone(caller, undone))
}

/// Checks the guard of a form. Returns whether the form comes from a message page.
fn admit(caller: &Caller, guard: Guard, form: &SubmittedForm) -> Result<bool, GuardRefusal> {
    let needed = match guard {
        Guard::OurPage(needed) => needed,
        Guard::Button(own_token) => {
            let own = own_token(caller, form);
            if own.is_required || own.worth == Token::Right {
                caller.check(Permission::Request, ActionScope::OnePurpose, own.worth)?;
                return Ok(true);
            }
            Permission::Request
        }
        // No form has such a guard. The strictest permission is the safe default.
        Guard::Public
        | Guard::Open
        | Guard::Sandboxed
        | Guard::Reader
        | Guard::Download
        | Guard::Owner => Permission::Administer,
    };
    let token = caller.check_token(Purpose::General, form.value("token"));
    caller.check(needed, ActionScope::General, token)?;
    Ok(false)
}

fn answer_undone(caller: &Caller, undone: FormError) -> Response<Body> {
    match undone {
        FormError::Refused(refusal) => caller.refused(refusal),
        FormError::Bad(detail) => caller.bad_form(StatusCode::BAD_REQUEST, &detail),
        FormError::Nothing { back } => caller.message(&Message::NothingChosen { back: &back }),
        FormError::Busy(detail) => {
            let mut response = caller.bad_form(StatusCode::SERVICE_UNAVAILABLE, &detail);
            response.headers_mut().insert(RETRY_AFTER, BUSY_FOR);
            response
        }
        FormError::NoRoom(detail) => caller.bad_form(StatusCode::INSUFFICIENT_STORAGE, &detail),
        FormError::Gone => caller.bad_form(StatusCode::GONE, NO_TICKET),
        FormError::Spool(error) => caller.spool_failed(&error),
        FormError::Config(error) => {
            let detail = error_chain(&error);
            warn!(error = detail, "a certificate cannot be allowed");
            caller.bad_form(StatusCode::CONFLICT, &detail)
        }
    }
}

/// Boxes the future of a form's handler and converts its error.
pub(super) fn run<'a, E: Into<FormError>>(
    done: impl Future<Output = Result<Response<Body>, E>> + Send + 'a,
) -> BoxFuture<'a, Result<Response<Body>, FormError>> {
    Box::pin(async { done.await.map_err(Into::into) })
}

/// Value of `Retry-After`, in seconds. It is an estimate: an export takes as long as its client
/// reads.
const BUSY_FOR: HeaderValue = HeaderValue::from_static("30");

/// Message if the form to confirm is missing: the form was sent already, or its ticket has expired.
const NO_TICKET: &str =
    "the form was confirmed already, or asked about too long ago: send it again";
