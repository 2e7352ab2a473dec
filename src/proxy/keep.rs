//! Which answers are kept. Every "no" has its reason.

use hyper::header::{CONTENT_RANGE, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};

/// Why an answer is passed on and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// A part of the whole.
    Partial,
    /// It says something of this request alone: `304`, `401`, `407`, `412`, `429` and their like.
    AboutTheRequest,
    /// The origin or a gateway had trouble.
    OriginError,
    /// It is an error, and a good copy is kept that people need offline.
    WouldReplaceGood,
    /// A stream of events has no end.
    Endless,
}

impl NotKept {
    /// One word for `Cache-Status` and the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            NotKept::Partial => "partial",
            NotKept::AboutTheRequest => "about-the-request",
            NotKept::OriginError => "origin-error",
            NotKept::WouldReplaceGood => "good-copy-kept",
            NotKept::Endless => "endless",
        }
    }
}

/// Decides whether an answer to GET (or a kept POST) is kept; `kept` is the status of what the
/// spool has already.
///
/// # Errors
///
/// The reason why it is not.
pub fn may_keep(
    status: StatusCode,
    fields: &HeaderMap,
    kept: Option<StatusCode>,
) -> Result<(), NotKept> {
    match status.as_u16() {
        206 => return Err(NotKept::Partial),
        304 | 401 | 407 | 408 | 412 | 416 | 417 | 421 | 425 | 428 | 429 | 431 => {
            return Err(NotKept::AboutTheRequest);
        }
        500.. => return Err(NotKept::OriginError),
        _ => {}
    }
    if fields.contains_key(CONTENT_RANGE) {
        return Err(NotKept::Partial);
    }
    if kept.is_some_and(is_good) && !is_good(status) {
        return Err(NotKept::WouldReplaceGood);
    }
    let endless = fields
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| {
            let kind = kind.trim();
            kind.eq_ignore_ascii_case("text/event-stream")
                || kind.eq_ignore_ascii_case("multipart/x-mixed-replace")
        });
    if endless { Err(NotKept::Endless) } else { Ok(()) }
}

/// Whether an answer is one that people need offline, and no error.
pub(super) fn is_good(status: StatusCode) -> bool {
    status.is_success() || status.is_redirection()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_no_has_its_reason() {
        for (status, kind, kept, want) in [
            (200, "text/html", None, Ok(())),
            (204, "", None, Ok(())),
            (301, "", Some(200), Ok(())),
            (404, "text/html", None, Ok(())),
            (404, "text/html", Some(404), Ok(())),
            (200, "text/html", Some(404), Ok(())),
            (404, "text/html", Some(200), Err(NotKept::WouldReplaceGood)),
            (410, "", Some(301), Err(NotKept::WouldReplaceGood)),
            (206, "video/mp4", None, Err(NotKept::Partial)),
            (304, "", None, Err(NotKept::AboutTheRequest)),
            (401, "", None, Err(NotKept::AboutTheRequest)),
            (429, "", Some(200), Err(NotKept::AboutTheRequest)),
            (500, "", None, Err(NotKept::OriginError)),
            (503, "", Some(200), Err(NotKept::OriginError)),
            (200, "Text/Event-Stream; charset=utf-8", None, Err(NotKept::Endless)),
        ] {
            let mut fields = HeaderMap::new();
            if !kind.is_empty() {
                fields.insert(CONTENT_TYPE, kind.parse().unwrap());
            }
            let kept = kept.map(|status| StatusCode::from_u16(status).unwrap());
            let got = may_keep(StatusCode::from_u16(status).unwrap(), &fields, kept);
            assert_eq!(got, want, "{status} {kind:?} over {kept:?}");
        }
    }
}
