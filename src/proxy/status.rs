//! `Cache-Status` (RFC 9211): on every answer, what was done and why.

use std::fmt;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};

use super::decide::Refusal;
use super::keep::NotKept;
use super::rules::Standing;
use wwwoffle_http::caching::noise::Nearness;
use wwwoffle_http::caching::reuse::{Reuse, RevalidationReason, Verdict};
use wwwoffle_http::fields::CACHE_STATUS;

/// What was done with a request, in the words of RFC 9211 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// Served from the spool, nobody asked.
    Hit(Why),
    /// The origin was asked and its answer is being kept.
    Stored {
        /// Why it was asked.
        forward: Forward,
        /// The answer was on its way to somebody else.
        collapsed: bool,
        /// The option without which it would not have been asked, or otherwise.
        by: Option<&'static str>,
    },
    /// The origin was asked for what is missing of an answer that is kept in part, and it is being kept
    /// whole.
    Resumed {
        /// The answer was on its way to somebody else.
        collapsed: bool,
    },
    /// The origin was asked for a part, and that is being kept.
    StoredPart,
    /// The origin was asked, its answer is passed on and not kept.
    Passed {
        /// Why it was asked.
        forward: Forward,
        /// The origin's status.
        status: StatusCode,
        /// Why it is not kept.
        why: NotStored,
    },
    /// The origin said that what is kept still holds.
    Validated {
        /// Why it was asked.
        forward: Forward,
        /// The option without which it would not have been asked, or otherwise.
        by: Option<&'static str>,
    },
    /// The origin could not be asked, so what is kept is served; by an option, if it forbids that.
    Unreachable(Option<&'static str>),
    /// The origin could not be asked, and what is kept says that it must be.
    MustAsk,
    /// The origin answered with an error, and what is kept is served in its place.
    InsteadOf(StatusCode),
    /// Nothing is kept and the origin could not be asked.
    Failed,
    /// This program could not serve the request, for this reason.
    OwnFault(&'static str),
    /// The stored body cannot be decoded for the client.
    Undecodable,
    /// Nothing is kept; the request was recorded.
    Queued,
    /// Nothing is kept, nothing was done.
    Refused(Refusal),
    /// Nothing is kept; a person is asked first.
    Asking,
    /// The URL has become another one: `[alias]`.
    Moved,
    /// The URL is never got: `[dont-get]`.
    Blocked,
    /// The answer leads to a URL that is never got.
    LeadsToBlocked,
}

/// Why an origin was asked (RFC 9211 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Nothing is kept that may be used.
    UriMiss,
    /// What is kept answers other requests (`Vary`).
    VaryMiss,
    /// What is kept may not be used without asking.
    Stale,
    /// What is kept may be used, and the request will not have it.
    Request,
    /// Answers to this method are not kept.
    Method,
    /// The request, or the configuration, is not for the spool.
    Bypass,
}

impl Forward {
    /// Why the origin is asked about what is kept.
    #[must_use]
    pub fn of(verdict: Option<&Verdict>) -> Self {
        match verdict.map(|verdict| verdict.reuse) {
            None | Some(Reuse::Withheld(_)) => Forward::UriMiss,
            Some(Reuse::Validate(RevalidationReason::Request)) => Forward::Request,
            Some(_) => Forward::Stale,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Forward::UriMiss => "uri-miss",
            Forward::VaryMiss => "vary-miss",
            Forward::Stale => "stale",
            Forward::Request => "request",
            Forward::Method => "method",
            Forward::Bypass => "bypass",
        }
    }
}

/// Why the spool answered alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// HTTP lets it be used without asking, or an option does; with what is left of its lifetime, in
    /// seconds.
    Reused {
        /// Below zero where it is stale.
        ttl: i64,
        /// The option, or what of the standard lets something stale be used.
        by: Option<&'static str>,
    },
    /// The mode is offline.
    Offline,
    /// The mode is autodial.
    Autodial,
    /// Offline, and the request was recorded to be fetched anew.
    RefreshQueued,
    /// Offline, and what is kept is of a URL that names the same page.
    Near(Nearness),
    /// The request names a moment, and it was kept then.
    Memento,
    /// The mode is offline, and the same body was sent to this URL before.
    SameBody,
    /// The URL names the stored answer to a form.
    FormAnswer,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// The method, a range or an upgrade: the answer is no whole page.
    Request,
    /// The configuration says so of the URL.
    Ruled(Standing),
    /// The answer itself.
    Answer(NotKept),
    /// The spool cannot take it.
    Spool,
}

impl fmt::Display for CacheStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wwwoffle; ")?;
        match self {
            CacheStatus::Hit(Why::Reused { ttl, by }) => {
                write!(f, "hit; ttl={ttl}")?;
                detail(f, *by)
            }
            CacheStatus::Hit(Why::Offline) => f.write_str("hit; detail=offline"),
            CacheStatus::Hit(Why::Autodial) => f.write_str("hit; detail=autodial"),
            CacheStatus::Hit(Why::RefreshQueued) => {
                f.write_str("hit; detail=offline-refresh-queued")
            }
            CacheStatus::Hit(Why::SameBody) => f.write_str("hit; detail=offline-same-body"),
            CacheStatus::Hit(Why::FormAnswer) => f.write_str("hit; detail=form-answer"),
            CacheStatus::Hit(Why::Memento) => f.write_str("hit; detail=memento"),
            CacheStatus::Hit(Why::Near(Nearness::Arguments)) => {
                f.write_str("hit; detail=near-arguments")
            }
            CacheStatus::Hit(Why::Near(Nearness::Scheme)) => f.write_str("hit; detail=near-scheme"),
            CacheStatus::Hit(Why::Near(Nearness::Index)) => f.write_str("hit; detail=near-index"),
            CacheStatus::Hit(Why::Near(Nearness::Spelling)) => {
                f.write_str("hit; detail=near-spelling")
            }
            CacheStatus::Stored { forward, collapsed, by } => {
                write!(f, "fwd={}; stored", forward.as_str())?;
                f.write_str(if *collapsed { "; collapsed" } else { "" })?;
                detail(f, *by)
            }
            CacheStatus::Resumed { collapsed } => {
                f.write_str("fwd=partial; fwd-status=206; stored")?;
                f.write_str(if *collapsed { "; collapsed" } else { "" })?;
                f.write_str("; detail=resumed")
            }
            CacheStatus::StoredPart => f.write_str("fwd=miss; fwd-status=206; stored"),
            CacheStatus::Passed { forward, status, why } => {
                let reason = match why {
                    NotStored::Ruled(Standing::Usual) if *forward != Forward::Bypass => None,
                    NotStored::Request | NotStored::Ruled(Standing::Usual) => {
                        Some("not-a-whole-page")
                    }
                    NotStored::Ruled(Standing::NeverKept) => Some("dont-cache"),
                    NotStored::Ruled(Standing::Nearby) => Some("local-net"),
                    NotStored::Answer(reason) => Some(reason.as_str()),
                    NotStored::Spool => Some("spool-failed"),
                };
                write!(f, "fwd={}; fwd-status={}", forward.as_str(), status.as_u16())?;
                detail(f, reason)
            }
            CacheStatus::Validated { forward, by } => {
                write!(f, "fwd={}; fwd-status=304", forward.as_str())?;
                detail(f, *by)
            }
            CacheStatus::Unreachable(by) => {
                f.write_str("fwd=stale")?;
                detail(f, by.or(Some("origin-unreachable")))
            }
            CacheStatus::MustAsk => f.write_str("fwd=stale; detail=must-revalidate"),
            CacheStatus::InsteadOf(status) => {
                write!(f, "fwd=stale; fwd-status={}; detail=stale-if-error", status.as_u16())
            }
            CacheStatus::Undecodable => f.write_str("detail=undecodable"),
            CacheStatus::Failed => f.write_str("fwd=uri-miss; detail=origin-failed"),
            CacheStatus::OwnFault(reason) => write!(f, "detail={reason}"),
            CacheStatus::Queued => f.write_str("detail=queued"),
            CacheStatus::Refused(Refusal::Noise) => f.write_str("detail=noise"),
            CacheStatus::Refused(Refusal::OnlyOnline) => f.write_str("detail=only-online"),
            CacheStatus::Refused(Refusal::FormAnswer) => f.write_str("detail=form-answer"),
            CacheStatus::Refused(Refusal::NotKept) => f.write_str("detail=not-kept"),
            CacheStatus::Refused(Refusal::NeverKept) => f.write_str("detail=dont-cache"),
            CacheStatus::Refused(Refusal::NotQueued) => f.write_str("detail=dont-request"),
            CacheStatus::Refused(Refusal::Unconfirmed) => f.write_str("detail=confirm-requests"),
            CacheStatus::Refused(Refusal::LeftToBrowsers) => f.write_str("detail=get-recursive"),
            CacheStatus::Asking => f.write_str("detail=confirm"),
            CacheStatus::Moved => f.write_str("detail=alias"),
            CacheStatus::Blocked => f.write_str("detail=dont-get"),
            CacheStatus::LeadsToBlocked => f.write_str("detail=location-error"),
        }
    }
}

fn detail(f: &mut fmt::Formatter<'_>, detail: Option<&'static str>) -> fmt::Result {
    detail.map_or(Ok(()), |detail| write!(f, "; detail={detail}"))
}

impl CacheStatus {
    /// The field value.
    #[must_use]
    pub fn value(self) -> HeaderValue {
        // Every word above is visible ASCII.
        HeaderValue::from_str(&self.to_string())
            .unwrap_or_else(|_| HeaderValue::from_static("wwwoffle"))
    }

    /// Says it on an answer, for its client and for who counts.
    pub(super) fn mark<T>(self, response: &mut Response<T>) {
        response.headers_mut().insert(CACHE_STATUS, self.value());
        response.extensions_mut().insert(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_list_member_of_the_standard() {
        for (status, want) in [
            (CacheStatus::Hit(Why::Offline), "wwwoffle; hit; detail=offline"),
            (
                CacheStatus::Hit(Why::Reused { ttl: -5, by: Some("max-stale") }),
                "wwwoffle; hit; ttl=-5; detail=max-stale",
            ),
            (CacheStatus::Hit(Why::Reused { ttl: 60, by: None }), "wwwoffle; hit; ttl=60"),
            (
                CacheStatus::Stored { forward: Forward::UriMiss, collapsed: true, by: None },
                "wwwoffle; fwd=uri-miss; stored; collapsed",
            ),
            (
                CacheStatus::Stored {
                    forward: Forward::Stale,
                    collapsed: false,
                    by: Some("request-changed"),
                },
                "wwwoffle; fwd=stale; stored; detail=request-changed",
            ),
            (
                CacheStatus::Passed {
                    forward: Forward::UriMiss,
                    status: StatusCode::PARTIAL_CONTENT,
                    why: NotStored::Answer(NotKept::Partial),
                },
                "wwwoffle; fwd=uri-miss; fwd-status=206; detail=partial",
            ),
            (
                CacheStatus::Validated { forward: Forward::Request, by: None },
                "wwwoffle; fwd=request; fwd-status=304",
            ),
            (CacheStatus::Unreachable(None), "wwwoffle; fwd=stale; detail=origin-unreachable"),
            (CacheStatus::MustAsk, "wwwoffle; fwd=stale; detail=must-revalidate"),
            (
                CacheStatus::InsteadOf(StatusCode::SERVICE_UNAVAILABLE),
                "wwwoffle; fwd=stale; fwd-status=503; detail=stale-if-error",
            ),
            (
                CacheStatus::Resumed { collapsed: false },
                "wwwoffle; fwd=partial; fwd-status=206; stored; detail=resumed",
            ),
            (CacheStatus::Refused(Refusal::Noise), "wwwoffle; detail=noise"),
            (CacheStatus::Failed, "wwwoffle; fwd=uri-miss; detail=origin-failed"),
            (CacheStatus::OwnFault("spool-failed"), "wwwoffle; detail=spool-failed"),
        ] {
            assert_eq!(status.value(), want);
        }
    }
}
