//! `Cache-Status` (RFC 9211): each response states how it was produced and why.

use std::fmt;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};

use super::decide::DecisionRefusal;
use super::keep::NotKept;
use super::rules::StoragePolicy;
use super::saver;
use wwwoffle_http::caching::noise::Nearness;
use wwwoffle_http::caching::reuse::{Reuse, RevalidationReason, Verdict};
use wwwoffle_http::fields::CACHE_STATUS;

/// The action for a request, in the terms of RFC 9211 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// Served from the spool, without asking the origin.
    Hit(HitReason),
    /// The origin was asked, and its response is being stored.
    Stored {
        /// The reason why the origin was asked.
        forward: Forward,
        /// Whether the download was started by another client.
        collapsed: bool,
        /// The option that caused the request to the origin, or that made the request
        /// unconditional.
        by: Option<&'static str>,
    },
    /// The origin was asked for the bytes that the stored segments lack, and the whole response is
    /// being stored.
    Resumed {
        /// Whether the download was started by another client.
        collapsed: bool,
    },
    /// The origin was asked for a range, which is being stored as a segment.
    StoredPart,
    /// The origin was asked, and its response is forwarded and not stored.
    Passed {
        /// The reason why the origin was asked.
        forward: Forward,
        /// The origin's status.
        status: StatusCode,
        /// The reason why the response is not stored.
        why: NotStored,
    },
    /// The origin confirmed the stored copy.
    Validated {
        /// The reason why the origin was asked.
        forward: Forward,
        /// The option that caused the request to the origin.
        by: Option<&'static str>,
    },
    /// The origin could not be reached, and the stored copy is served. Contains the option that
    /// permits this, if an option was needed.
    Unreachable(Option<&'static str>),
    /// The origin could not be reached, but the stored copy must be revalidated before use.
    MustAsk,
    /// The origin responded with an error, and the stored copy is served instead.
    InsteadOf(StatusCode),
    /// The origin could not be reached, and no stored copy may be served.
    Failed,
    /// This program could not serve the request, for this reason.
    OwnFault(&'static str),
    /// The stored body cannot be decoded for the client.
    Undecodable,
    /// No copy is stored, and the request was queued.
    Queued,
    /// The request was refused.
    Refused(DecisionRefusal),
    /// The person is asked for confirmation.
    Asking,
    /// The URL is replaced by another one: `[alias]`.
    Moved,
    /// The URL is blocked: `[dont-get]`.
    Blocked,
    /// The response redirects to a blocked URL.
    LeadsToBlocked,
    /// The data saver leaves the sub-resource out.
    LeftOut,
}

/// The reason why an origin was asked (RFC 9211 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// No usable copy is stored.
    UriMiss,
    /// The stored copies are for other requests (`Vary`).
    VaryMiss,
    /// The stored copy must be revalidated.
    Stale,
    /// The stored copy may be used, but the request does not accept it.
    Request,
    /// Responses to this method are not stored.
    Method,
    /// The request or the configuration forbids using the spool.
    Bypass,
}

impl Forward {
    /// The reason why the origin is asked. `verdict` is the permitted use of the stored copy, if
    /// there is one.
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

/// The reason why the stored copy was served without asking the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitReason {
    /// HTTP or an option permits the use of the copy without revalidation.
    Reused {
        /// The remaining lifetime in seconds, negative if the copy is stale.
        ttl: i64,
        /// The option or cache directive that permits the use of the copy, if the usual rules do
        /// not permit it.
        by: Option<&'static str>,
    },
    /// The mode is offline.
    Offline,
    /// The mode is autodial.
    Autodial,
    /// Offline, and the request was queued to fetch a new copy.
    RefreshQueued,
    /// Offline, and the stored copy is of another URL for the same page.
    Near(Nearness),
    /// The request names a date, and the version of that date is served.
    Memento,
    /// The mode is offline, and the same body was sent to this URL before.
    SameBody,
    /// The URL names the stored response to a form.
    FormAnswer,
}

/// The reason why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// The storage policy of the URL. With [`StoragePolicy::Usual`], the reason is the method or an
    /// upgrade of the request.
    Ruled(StoragePolicy),
    /// The response itself must not be stored.
    Answer(NotKept),
    /// The spool cannot store the response.
    Spool,
}

impl fmt::Display for CacheStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |collapsed| if collapsed { "; collapsed" } else { "" };
        f.write_str("wwwoffle")?;
        match *self {
            Self::Hit(HitReason::Reused { ttl, .. }) => write!(f, "; hit; ttl={ttl}")?,
            Self::Hit(_) => f.write_str("; hit")?,
            Self::Stored { forward, collapsed, .. } => {
                write!(f, "; fwd={}; stored{}", forward.as_str(), joined(collapsed))?;
            }
            Self::Resumed { collapsed } => {
                write!(f, "; fwd=partial; fwd-status=206; stored{}", joined(collapsed))?;
            }
            Self::StoredPart => f.write_str("; fwd=miss; fwd-status=206; stored")?,
            Self::Passed { forward, status, .. } => {
                write!(f, "; fwd={}; fwd-status={}", forward.as_str(), status.as_u16())?;
            }
            Self::Validated { forward, .. } => {
                write!(f, "; fwd={}; fwd-status=304", forward.as_str())?;
            }
            Self::Unreachable(_) | Self::MustAsk => f.write_str("; fwd=stale")?,
            Self::InsteadOf(status) => write!(f, "; fwd=stale; fwd-status={}", status.as_u16())?,
            Self::Failed => f.write_str("; fwd=uri-miss")?,
            _ => {}
        }
        self.detail().map_or(Ok(()), |detail| write!(f, "; detail={detail}"))
    }
}

impl CacheStatus {
    /// The parameter `detail`: the reason, in one word.
    const fn detail(self) -> Option<&'static str> {
        use DecisionRefusal as R;
        Some(match self {
            Self::Stored { by, .. }
            | Self::Validated { by, .. }
            | Self::Hit(HitReason::Reused { by, .. })
            | Self::Unreachable(by @ Some(_)) => return by,
            Self::StoredPart => return None,
            Self::Hit(HitReason::Offline) => "offline",
            Self::Hit(HitReason::Autodial) => "autodial",
            Self::Hit(HitReason::RefreshQueued) => "offline-refresh-queued",
            Self::Hit(HitReason::SameBody) => "offline-same-body",
            Self::Hit(HitReason::Memento) => "memento",
            Self::Hit(HitReason::Near(Nearness::Arguments)) => "near-arguments",
            Self::Hit(HitReason::Near(Nearness::Scheme)) => "near-scheme",
            Self::Hit(HitReason::Near(Nearness::Index)) => "near-index",
            Self::Hit(HitReason::Near(Nearness::Spelling)) => "near-spelling",
            Self::Hit(HitReason::FormAnswer) | Self::Refused(R::FormAnswer) => "form-answer",
            Self::Resumed { .. } => "resumed",
            Self::Passed { forward, why, .. } => match why {
                NotStored::Ruled(StoragePolicy::Usual) if !matches!(forward, Forward::Bypass) => {
                    return None;
                }
                NotStored::Ruled(StoragePolicy::Usual) => "not-a-whole-page",
                NotStored::Ruled(StoragePolicy::NeverKept) => "dont-cache",
                NotStored::Ruled(StoragePolicy::Nearby) => "local-net",
                NotStored::Answer(reason) => reason.as_str(),
                NotStored::Spool => "spool-failed",
            },
            Self::Unreachable(None) => "origin-unreachable",
            Self::MustAsk => "must-revalidate",
            Self::InsteadOf(_) => "stale-if-error",
            Self::Undecodable => "undecodable",
            Self::Failed => "origin-failed",
            Self::OwnFault(reason) => reason,
            Self::Queued => "queued",
            Self::Refused(R::Noise) => "noise",
            Self::Refused(R::OnlyOnline) => "only-online",
            Self::Refused(R::NotKept) => "not-kept",
            Self::Refused(R::Login) => "login",
            Self::Refused(R::NeverKept) => "dont-cache",
            Self::Refused(R::NotQueued) => "dont-request",
            Self::Refused(R::OverQuota) => "quotas",
            Self::Refused(R::Unconfirmed) => "confirm-requests",
            Self::Refused(R::LeftToBrowsers) => "get-recursive",
            Self::Asking => "confirm",
            Self::Moved => "alias",
            Self::Blocked => "dont-get",
            Self::LeadsToBlocked => "location-error",
            Self::LeftOut => saver::BY,
        })
    }

    /// The field value.
    #[must_use]
    pub fn value(self) -> HeaderValue {
        // All keywords above are visible ASCII.
        HeaderValue::from_str(&self.to_string())
            .unwrap_or_else(|_| HeaderValue::from_static("wwwoffle"))
    }

    /// Records the status in a response, for its client and for the statistics.
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
            (CacheStatus::Hit(HitReason::Offline), "wwwoffle; hit; detail=offline"),
            (
                CacheStatus::Hit(HitReason::Reused { ttl: -5, by: Some("max-stale") }),
                "wwwoffle; hit; ttl=-5; detail=max-stale",
            ),
            (CacheStatus::Hit(HitReason::Reused { ttl: 60, by: None }), "wwwoffle; hit; ttl=60"),
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
            (CacheStatus::Refused(DecisionRefusal::Noise), "wwwoffle; detail=noise"),
            (CacheStatus::Failed, "wwwoffle; fwd=uri-miss; detail=origin-failed"),
            (CacheStatus::OwnFault("spool-failed"), "wwwoffle; detail=spool-failed"),
        ] {
            assert_eq!(status.value(), want);
        }
    }
}
