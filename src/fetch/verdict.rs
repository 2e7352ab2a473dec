//! Classifies the result of an attempt. Pure.

use std::time::Duration;

use hyper::StatusCode;
use wwwoffle_config::FetchOptions;

use super::follow::FollowUps;
use super::recurse::run::{LeftOut, UrlOutcome};
use crate::proxy::keep::NotKept;

/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(15 * 60);

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum FetchVerdict {
    /// The response is stored, and the request leaves the queue.
    Done { status: StatusCode, bytes: u64, led: FollowUps, how: UrlOutcome },
    /// The URL is left out: the `robots.txt` of the site forbids it, or the data saver.
    LeftOut(LeftOut),
    /// A temporary failure: the request waits for another attempt. `acted`: the origin may have
    /// performed the request. `wait`: how long the origin asks to wait.
    Again { error: String, status: Option<u16>, acted: bool, wait: Option<Duration> },
    /// A permanent failure.
    Failed { error: String, status: Option<u16> },
    /// The response is larger than `ask-above` and needs the user's consent.
    TooLong { bytes: Option<u64> },
    /// The attempt was not finished, because the mode became offline, the daemon stops, or the
    /// budget is spent. The request stays queued unchanged.
    Untried,
}

impl FetchVerdict {
    /// The verdict on a request that is sent for two spellings of its URL. A failure takes
    /// precedence over a success, so that the request is tried again. A temporary failure takes
    /// precedence over a permanent one.
    pub(super) fn combine(self, other: FetchVerdict) -> FetchVerdict {
        let rank = |verdict: &FetchVerdict| match verdict {
            FetchVerdict::LeftOut(_) => 0,
            FetchVerdict::Done { .. } => 1,
            FetchVerdict::Failed { .. } => 2,
            FetchVerdict::TooLong { .. } => 3,
            FetchVerdict::Again { .. } => 4,
            FetchVerdict::Untried => 5,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// The delay after attempt number `attempts`. The delay doubles each time, up to [`MAX_DELAY`].
/// After the regular attempts, the configured delay `last-try` precedes one last attempt. `None`
/// after the last attempt.
pub(super) fn delay(options: &FetchOptions, attempts: u32) -> Option<Duration> {
    let most = u32::try_from(options.attempts.get()).unwrap_or(u32::MAX);
    let last = options.last_try.as_duration();
    if attempts >= most {
        return (attempts == most && !last.is_zero()).then_some(last);
    }
    let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    Some(options.retry_delay.saturating_mul(factor).min(MAX_DELAY))
}

/// The verdict on a request whose response was not stored.
pub(super) fn not_kept(
    status: StatusCode,
    reason: NotKept,
    wait: Option<Duration>,
) -> FetchVerdict {
    let code = Some(status.as_u16());
    let error = match reason {
        NotKept::OriginError => format!("the origin responded with {status}"),
        NotKept::AboutTheRequest if status == StatusCode::UNAUTHORIZED => format!(
            "the origin refused: {status}: it needs a login, or another user name or password; log \
             in while online, or request the page again in a browser with the right login"
        ),
        NotKept::AboutTheRequest => format!("the origin refused: {status}"),
        NotKept::WouldReplaceGood => {
            format!("the origin responded with {status}; the older copy stays")
        }
        NotKept::Partial => "the origin sent only a part of the page".to_owned(),
        NotKept::Endless => "the response has no end".to_owned(),
        NotKept::TooLarge => {
            "the response is larger than the storage limit ([options] max-body)".to_owned()
        }
        NotKept::NoStore => {
            "the response must not be stored, and the configuration respects that ([caching] \
             no-store)"
                .to_owned()
        }
        NotKept::NoPage => {
            format!(
                "the origin responded with {status}; the older copy stays (keep-cache-if-not-found)"
            )
        }
    };
    let may_pass = reason == NotKept::OriginError || matches!(status.as_u16(), 408 | 425 | 429);
    if may_pass {
        // With these statuses, the origin has not performed the request (RFC 9110 §15.5.9, RFC 8470
        // §5.2, RFC 6585 §4). With a 503 it may have: gateways send it when an origin is slow.
        let acted = !matches!(status.as_u16(), 408 | 425 | 429);
        FetchVerdict::Again { error, status: code, acted, wait }
    } else {
        FetchVerdict::Failed { error, status: code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_config::Config;

    fn options(text: &str) -> Config {
        Config::parse(&format!("[fetch-options]\n{text}\n"), Path::new("test.conf")).unwrap()
    }

    #[test]
    fn delays_grow_up_to_a_limit_and_end() {
        for (text, want) in [
            (
                "retry-delay = \"2s\"\nattempts = 12",
                vec![2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900],
            ),
            ("retry-delay = \"5s\"\nattempts = 3", vec![5, 10]),
            ("attempts = 1", vec![]),
            ("attempts = 2\nretry-delay = \"5s\"\nlast-try = \"6h\"", vec![5, 21_600]),
            ("attempts = 1\nlast-try = \"6h\"", vec![21_600]),
        ] {
            let config = options(text);
            let delays = (1..).map_while(|n| delay(&config.fetch_options, n));
            assert_eq!(delays.map(|delay| delay.as_secs()).collect::<Vec<_>>(), want, "{text}");
            assert_eq!(delay(&config.fetch_options, u32::MAX), None);
        }
    }

    #[test]
    fn origin_errors_are_temporary_and_refusals_are_permanent() {
        for (status, reason, passes) in [
            (503, NotKept::OriginError, true),
            (429, NotKept::AboutTheRequest, true),
            (401, NotKept::AboutTheRequest, false),
            (404, NotKept::WouldReplaceGood, false),
            (200, NotKept::Endless, false),
        ] {
            let verdict = not_kept(StatusCode::from_u16(status).unwrap(), reason, None);
            assert_eq!(matches!(verdict, FetchVerdict::Again { .. }), passes, "{status}");
        }
    }
}
