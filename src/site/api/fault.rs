//! Failed API calls.

use std::error::Error;

use hyper::{Method, StatusCode};

use super::super::caller::RequestBodyError;
use crate::base::error_chain::error_chain;
use crate::base::shown;
use crate::page::guard::GuardRefusal;
use crate::proxy::reply::log_spool_failure;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::site) struct CallFault {
    pub(in crate::site) status: StatusCode,
    pub(in crate::site) error: String,
    /// The allowed methods, if the method was wrong.
    pub(in crate::site) allowed: Option<&'static str>,
}

impl CallFault {
    pub(in crate::site) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), allowed: None }
    }

    pub(in crate::site) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// Returns the fault of a call whose URL `text` is invalid or not suitable for the call.
    pub(in crate::site) fn url(text: &str, error: &dyn Error) -> Self {
        Self::bad(format!("{:?}: {}", shown::text(text), error_chain(error)))
    }

    pub(in crate::site) fn unknown(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no call {:?}", shown::text(path)))
    }

    pub(in crate::site) fn not_with(method: &Method, allowed: &'static str) -> Self {
        let error = format!("expected the method {allowed}, not {:?}", method.as_str());
        Self { status: StatusCode::METHOD_NOT_ALLOWED, error, allowed: Some(allowed) }
    }
}

impl From<GuardRefusal> for CallFault {
    fn from(refusal: GuardRefusal) -> Self {
        Self::new(StatusCode::FORBIDDEN, refusal.to_string())
    }
}

impl From<RequestBodyError> for CallFault {
    fn from(bad: RequestBodyError) -> Self {
        Self::new(bad.status(), bad.to_string())
    }
}

impl From<wwwoffle_spool::Error> for CallFault {
    fn from(error: wwwoffle_spool::Error) -> Self {
        let is_full = error.is_full()
            || error.is_queue_full()
            || error.is_share_used_up()
            || error.is_quota_reached()
            || error.is_spelling_refused()
            || error.is_monitors_full();
        let status = if is_full {
            StatusCode::INSUFFICIENT_STORAGE
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        let detail = error_chain(&error);
        log_spool_failure(&error, &detail);
        Self::new(status, detail)
    }
}

impl From<wwwoffle_index::Error> for CallFault {
    fn from(error: wwwoffle_index::Error) -> Self {
        let status = if error.is_invalid() {
            StatusCode::BAD_REQUEST
        } else if error.is_not_ready() || error.is_too_slow() || error.is_stopped() {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        Self::new(status, error_chain(&error))
    }
}
