//! Which responses may be reused at all (RFC 9111 §3).
//!
//! The spool stores more than a cache may store, for use offline. A response that is refused here
//! stays in the spool, but is not reused online.

use http::StatusCode;

use super::control::{DirectiveScope, ResponseControl, Seconds};
use super::freshness::{Basis, Freshness};

wwwoffle_url::named! {
    /// The reason why a response may not be reused online. Its name is for `Cache-Status` and the
    /// log.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReuseRefusal {
        /// The response has `no-store`.
        NoStore = "no-store",
        /// The request for the response had `no-store`.
        RequestNoStore = "request-no-store",
        /// The response is meant for a single user, and we are a shared cache.
        Private = "private",
        /// The request for the response had credentials, and we are a shared cache.
        Credentials = "authorization",
        /// The response requires its status code to be understood, and we do not know the code.
        NotUnderstood = "must-understand",
        /// The response is partial or describes another response.
        NotWhole = "not-whole",
        /// Neither the fields nor the status code of the response allow reuse.
        NotCacheable = "not-cacheable",
    }
}

impl ReuseRefusal {
    /// Whether reuse is forbidden, rather than only not permitted. The response is then not served
    /// online even if its origin is unreachable.
    #[must_use]
    pub const fn is_forbidden(self) -> bool {
        !matches!(self, ReuseRefusal::NotCacheable)
    }
}

/// Properties of the request that led to a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// Whether the request had `no-store`.
    pub no_store: bool,
    /// Whether the request had a credential for the origin, such as `Authorization`.
    pub credentials: bool,
}

/// Checks whether a response may be reused (RFC 9111 §3). `shared` is whether we are a shared
/// cache.
///
/// # Errors
///
/// The reason for the refusal.
pub fn may_reuse(
    status: StatusCode,
    control: &ResponseControl,
    requested: RequestFacts,
    freshness: &Freshness,
    shared: bool,
) -> Result<(), ReuseRefusal> {
    // Partial responses are not combined here, and a `304` describes another response.
    if status.is_informational()
        || matches!(status, StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED)
    {
        return Err(ReuseRefusal::NotWhole);
    }
    if requested.no_store {
        return Err(ReuseRefusal::RequestNoStore);
    }
    if control.must_understand {
        // §5.2.2.3: with `must-understand`, `no-store` is ignored if the status code is understood.
        if !is_understood(status) {
            return Err(ReuseRefusal::NotUnderstood);
        }
    } else if control.no_store {
        return Err(ReuseRefusal::NoStore);
    }
    if shared && control.private == DirectiveScope::All {
        return Err(ReuseRefusal::Private);
    }
    if shared && requested.credentials && !may_share(control) {
        return Err(ReuseRefusal::Credentials);
    }
    let is_cacheable = control.public
        || (!shared && control.private != DirectiveScope::Nothing)
        || freshness.basis == Basis::Explicit
        || is_heuristically_cacheable(status);
    if is_cacheable { Ok(()) } else { Err(ReuseRefusal::NotCacheable) }
}

/// Whether a cache must not store the response (RFC 9111 §5.2.2.5).
#[must_use]
pub fn is_no_store(status: StatusCode, control: &ResponseControl, requested: RequestFacts) -> bool {
    let is_excepted = control.must_understand && is_understood(status);
    requested.no_store || (control.no_store && !is_excepted)
}

/// Whether a shared cache may reuse the response to a request with credentials (RFC 9111 §3.5).
#[must_use]
pub fn may_share(control: &ResponseControl) -> bool {
    control.public || control.must_revalidate || matches!(control.s_maxage, Seconds::Valid(_))
}

/// Whether the status code allows reuse without explicit permission (RFC 9110 §15.1), except
/// partial responses.
#[must_use]
pub fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// Whether the status code is understood in the sense of RFC 9111 §3: final codes of RFC 9110 §15
/// except `206` and `304`, and later additions for complete responses.
#[must_use]
pub fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200..=205 | 300..=303 | 305 | 307 | 308
            | 400..=417 | 421..=426 | 428 | 429 | 431 | 451 | 500..=505 | 511
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caching::freshness::ExchangeTimes;
    use crate::caching::freshness::tests::{HEURISTICS, at, fields};

    #[test]
    fn reuse_is_decided_as_the_table_says() {
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("storing.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            let (words, given) = given.split_once(':').unwrap();
            let has = |word| words.split_ascii_whitespace().any(|found| found == word);
            let status = words.split_ascii_whitespace().next().unwrap();
            let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
            let fields = fields(given.trim());
            let requested =
                RequestFacts { no_store: has("no-store"), credentials: has("authorization") };
            let exchange = ExchangeTimes { sent: at(0), received: at(0) };
            let cache = (has("shared"), HEURISTICS);
            let fresh = Freshness::of(status, &fields, exchange, cache, at(0));
            let control = ResponseControl::of(&fields);
            let got = match may_reuse(status, &control, requested, &fresh, has("shared")) {
                Ok(()) => "yes",
                Err(reason) => reason.as_str(),
            };
            if got != want.trim() {
                wrong.push(format!("storing.txt:{number}: {} got {got}", row.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
