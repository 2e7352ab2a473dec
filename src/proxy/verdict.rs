//! Evaluates HTTP's cache rules ([`wwwoffle_http::caching`]), and the options that overrule them,
//! for a stored copy.

use std::time::SystemTime;

use wwwoffle_config::{Config, RevalidationAge, UrlParts};
use wwwoffle_url::CanonicalUrl;

use super::ask::ProxyRequest;
use super::captures::capture_of;
use crate::base::clock;
use crate::base::mode::Mode;
use crate::proxy::context::ProxyContext;
use crate::storage::store::StoredCopy;
use wwwoffle_http::caching::control::RequestControl;
use wwwoffle_http::caching::freshness::{ExchangeTimes, Heuristics};
use wwwoffle_http::caching::reuse::{
    Overrides, Policy, Recheck, Reuse, RevalidationReason, StoredResponse, Verdict, decide_reuse,
};
use wwwoffle_http::caching::storing::RequestFacts;

/// The permitted use of a stored copy for a request.
pub(super) fn verdict(context: &ProxyContext, ask: &ProxyRequest, copy: &StoredCopy) -> Verdict {
    let policy =
        policy(&ask.start.config, &UrlParts::of(&ask.bare), context.base.mode.online_since());
    let mut verdict = decide_reuse(
        &stored(copy, ask.has_credentials()),
        &ask.copy.control,
        &policy,
        ask.start.now,
    );
    // Revalidations of segments are not recorded, so each client would cause another background
    // revalidation. Therefore segments are revalidated before they are served.
    if copy.part.is_some() && verdict.reuse == Reuse::Refreshing {
        verdict.reuse = Reuse::Validate(RevalidationReason::Stale);
    }
    // The origin is asked first, whatever the age that a web archive declares for its capture.
    if capture_of(copy).is_some()
        && matches!(verdict.reuse, Reuse::Fresh | Reuse::StaleTaken | Reuse::Refreshing)
    {
        verdict.reuse = Reuse::Validate(RevalidationReason::Stale);
    }
    verdict
}

/// Whether a stored copy needs no revalidation for an ordinary request.
pub(crate) fn is_fresh(
    context: &ProxyContext,
    url: &CanonicalUrl,
    copy: &StoredCopy,
    credentials: bool,
) -> bool {
    let policy =
        policy(&context.base.config(), &UrlParts::of(url), context.base.mode.online_since());
    let stored = stored(copy, credentials);
    let verdict = decide_reuse(&stored, &RequestControl::default(), &policy, clock::now());
    verdict.reuse == Reuse::Fresh && capture_of(copy).is_none()
}

/// Whether a stored copy may be served at all. An error of an origin (`5xx`) may be served only
/// while it is fresh, and not offline.
pub(super) fn is_of_use(mode: Mode, copy: &StoredCopy, verdict: &Verdict) -> bool {
    !copy.status.is_server_error() || (mode.may_dial() && verdict.reuse == Reuse::Fresh)
}

/// The configured policy for a URL. `dials_since` is the time when connections to origins were last
/// enabled.
pub(super) fn policy(config: &Config, url: &UrlParts<'_>, dials_since: SystemTime) -> Policy {
    let (caching, online) = (&config.caching, &config.online_options);
    let ask_again = match online.request_changed.of(url) {
        RevalidationAge::Standard => Recheck::Standard,
        RevalidationAge::Never => Recheck::Never,
        RevalidationAge::OlderThan(age) => Recheck::After(age.as_duration()),
    };
    Policy {
        shared: caching.shared,
        heuristics: Heuristics {
            share: caching.heuristics.of(url).number(),
            limit: *caching.heuristics_limit.of(url),
        },
        serve_unreachable: *caching.serve_unreachable.of(url),
        overrides: Overrides {
            ask_again,
            once_since: online.request_changed_once.of(url).then_some(dials_since),
            expired: *online.request_expired.of(url),
            no_cache: *online.request_no_cache.of(url),
            redirection: *online.request_redirection.of(url),
        },
    }
}

/// The times when a stored copy, or the last `304` for it, was requested and arrived.
pub(super) fn exchange(copy: &StoredCopy) -> ExchangeTimes {
    ExchangeTimes { sent: copy.entry.requested().into(), received: copy.entry.responded().into() }
}

fn stored(copy: &StoredCopy, credentials: bool) -> StoredResponse<'_> {
    let no_store = RequestControl::of(&copy.request).no_store;
    StoredResponse {
        status: copy.status,
        fields: &copy.fields,
        exchange: exchange(copy),
        // Credentials are part of the key: a copy either was requested with them, or is shared.
        requested: RequestFacts { no_store, credentials },
        is_invalid: copy.entry.invalid_since().is_some(),
    }
}
