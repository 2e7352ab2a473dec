//! `Cache-Status` (RFC 9211): on every answer, what was done and why.

use std::fmt;

use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::decide::Refusal;
use super::keep::NotKept;
use super::rules::Standing;
use crate::caching::noise::Near;

/// What was done with a request, in the words of RFC 9211 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// Served from the spool, nobody asked.
    Hit(Why),
    /// The origin was asked and its answer is being kept.
    Stored {
        /// Something older was kept already.
        replaces: bool,
        /// The answer was on its way to somebody else.
        collapsed: bool,
    },
    /// The origin was asked, its answer is passed on and not kept.
    Passed {
        /// The origin's status.
        status: StatusCode,
        /// Why it is not kept.
        why: NotStored,
    },
    /// The origin said that what is kept still holds.
    Validated,
    /// The origin could not be asked, so what is kept is served.
    Unreachable,
    /// Nothing is kept and the origin could not be asked.
    Failed,
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

/// Why the spool answered alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The mode is offline.
    Offline,
    /// The mode is autodial.
    Autodial,
    /// Offline, and the request was recorded to be fetched anew.
    RefreshQueued,
    /// The client asked for nothing else.
    OnlyIfCached,
    /// Offline, and what is kept is of a URL that names the same page.
    Near(Near),
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
            CacheStatus::Hit(why) => write!(
                f,
                "hit; detail={}",
                match why {
                    Why::Offline => "offline",
                    Why::Autodial => "autodial",
                    Why::RefreshQueued => "offline-refresh-queued",
                    Why::OnlyIfCached => "only-if-cached",
                    Why::Near(Near::Arguments) => "near-arguments",
                    Why::Near(Near::Scheme) => "near-scheme",
                }
            ),
            CacheStatus::Stored { replaces, collapsed } => {
                f.write_str(if *replaces { "fwd=stale; stored" } else { "fwd=uri-miss; stored" })?;
                f.write_str(if *collapsed { "; collapsed" } else { "" })
            }
            CacheStatus::Passed { status, why } => {
                let (forward, detail) = match why {
                    NotStored::Request | NotStored::Ruled(Standing::Usual) => {
                        ("bypass", "not-a-whole-page")
                    }
                    NotStored::Ruled(Standing::NeverKept) => ("bypass", "dont-cache"),
                    NotStored::Ruled(Standing::Nearby) => ("bypass", "local-net"),
                    NotStored::Answer(reason) => ("uri-miss", reason.as_str()),
                    NotStored::Spool => ("uri-miss", "spool-failed"),
                };
                write!(f, "fwd={forward}; fwd-status={}; detail={detail}", status.as_u16())
            }
            CacheStatus::Validated => f.write_str("fwd=stale; fwd-status=304"),
            CacheStatus::Unreachable => f.write_str("fwd=stale; detail=origin-unreachable"),
            CacheStatus::Failed => f.write_str("fwd=uri-miss; detail=origin-failed"),
            CacheStatus::Queued => f.write_str("detail=queued"),
            CacheStatus::Refused(Refusal::Noise) => f.write_str("detail=noise"),
            CacheStatus::Refused(Refusal::OnlyOnline) => f.write_str("detail=only-online"),
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

impl CacheStatus {
    /// The field value.
    #[must_use]
    pub fn value(self) -> HeaderValue {
        // Every word above is visible ASCII.
        HeaderValue::from_str(&self.to_string())
            .unwrap_or_else(|_| HeaderValue::from_static("wwwoffle"))
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
                CacheStatus::Stored { replaces: false, collapsed: true },
                "wwwoffle; fwd=uri-miss; stored; collapsed",
            ),
            (
                CacheStatus::Passed {
                    status: StatusCode::PARTIAL_CONTENT,
                    why: NotStored::Answer(NotKept::Partial),
                },
                "wwwoffle; fwd=uri-miss; fwd-status=206; detail=partial",
            ),
            (CacheStatus::Validated, "wwwoffle; fwd=stale; fwd-status=304"),
            (CacheStatus::Refused(Refusal::Noise), "wwwoffle; detail=noise"),
        ] {
            assert_eq!(status.value(), want);
        }
    }
}
