//! Decides whether a stored response answers a request, and whether it may replace a failed
//! response (RFC 9111 §4, RFC 5861).
//!
//! By default only the standard decides. [`Overrides`] are options that deviate on purpose, and a
//! [`Verdict`] names the option that changed the result.

use std::time::{Duration, SystemTime};

use http::header::HeaderName;
use http::{HeaderMap, StatusCode};

use super::control::{DirectiveScope, RequestControl, ResponseControl, Seconds};
use super::freshness::{Basis, ExchangeTimes, Freshness, Heuristics};
use super::storing::{RequestFacts, ReuseRefusal, may_reuse};

/// The properties of a stored response that decide about its reuse.
#[derive(Clone, Copy, Debug)]
pub struct StoredResponse<'a> {
    /// The status code.
    pub status: StatusCode,
    /// The fields, updated by the last `304`.
    pub fields: &'a HeaderMap,
    /// The times when the response, or the last `304` that confirmed it, was requested and
    /// received.
    pub exchange: ExchangeTimes,
    /// Properties of the request that led to the stored response.
    pub requested: RequestFacts,
    /// Whether a later change of the resource has invalidated the response (RFC 9111 §4.4).
    pub is_invalid: bool,
}

/// The configured rules for reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether we are a shared cache.
    pub shared: bool,
    /// The heuristic lifetime of responses without an explicit one.
    pub heuristics: Heuristics,
    /// Whether a response that forbids stale use is served anyway if its origin is unreachable.
    pub serve_unreachable: bool,
    /// Deviations from the standard.
    pub overrides: Overrides,
}

/// Options that override the standard. The default overrides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrides {
    /// `request-changed`: the age at which a stored response is revalidated.
    pub ask_again: Recheck,
    /// `request-changed-once`: a response that was received since this moment is not revalidated.
    /// `None` if the option is off.
    pub once_since: Option<SystemTime>,
    /// `request-expired`: whether a response is revalidated after its explicit lifetime.
    pub expired: bool,
    /// `request-no-cache`: whether `no-cache` in a response is honoured.
    pub no_cache: bool,
    /// `request-redirection`: whether a temporary redirect is revalidated.
    pub redirection: bool,
}

impl Default for Overrides {
    fn default() -> Self {
        let ask_again = Recheck::Standard;
        Self { ask_again, once_since: None, expired: true, no_cache: true, redirection: true }
    }
}

/// The age at which a stored response is revalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recheck {
    /// When the response is stale.
    Standard,
    /// Never.
    Never,
    /// When the response was received at least this long ago.
    After(Duration),
}

wwwoffle_url::named! {
    /// The option that changed the result. `Cache-Status` gives its name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Override {
        /// `request-changed`
        Changed = "request-changed",
        /// `request-changed-once`
        ChangedOnce = "request-changed-once",
        /// `request-expired`
        Expired = "request-expired",
        /// `request-no-cache`
        NoCache = "request-no-cache",
        /// `request-redirection`
        Redirection = "request-redirection",
        /// `serve-unreachable`
        ServeUnreachable = "serve-unreachable",
    }
}

/// The permitted use of a stored response while its origin is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Serve the stored response without revalidation.
    Fresh,
    /// Serve the stored response although it is stale, because the client accepts that
    /// (`max-stale`).
    StaleTaken,
    /// Serve the stored response and revalidate it in the background (`stale-while-revalidate`).
    Refreshing,
    /// Revalidate the stored response first.
    Validate(RevalidationReason),
    /// Do not use the stored response while its origin is reachable.
    Withheld(ReuseRefusal),
}

/// The reason why a stored response is revalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevalidationReason {
    /// The response is stale.
    Stale,
    /// The response has the directive `no-cache`.
    NoCache,
    /// A change of the resource has invalidated the response.
    Invalid,
    /// The request demands a revalidation.
    Request,
    /// An option demands a revalidation.
    Overruled,
}

/// The permitted use of a stored response while its origin is unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// Serve the stored response.
    Serve,
    /// Serve the stored response because of `serve-unreachable`, although its fields forbid stale
    /// use.
    ServeOverruled,
    /// Do not serve the stored response.
    Forbidden,
}

/// The permitted use of a stored response for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The permitted use of the stored response while its origin is reachable.
    pub reuse: Reuse,
    /// The permitted use of the stored response while its origin is unreachable.
    pub unreachable: Unreachable,
    /// Whether the stored response may replace a response `500`, `502`, `503` or `504` (RFC 5861
    /// §4).
    pub instead_of_error: bool,
    /// The age and lifetime of the stored response.
    pub freshness: Freshness,
    /// The option that changed `reuse`, if one did.
    pub by: Option<Override>,
}

/// Decides how a stored response may be used for a request.
#[must_use]
pub fn decide_reuse(
    stored: &StoredResponse<'_>,
    request: &RequestControl,
    policy: &Policy,
    now: SystemTime,
) -> Verdict {
    let StoredResponse { status, fields, exchange, requested, .. } = *stored;
    let control = ResponseControl::of(fields);
    let cache = (policy.shared, policy.heuristics);
    let freshness = Freshness::of(status, fields, exchange, cache, now);
    let case = ReuseQuery { stored, control: &control, request, policy, freshness, now };
    let withheld = may_reuse(status, &control, requested, &freshness, policy.shared).err();
    let (reuse, by) = case.decide(withheld);
    let unreachable = match withheld {
        Some(reason) if reason.is_forbidden() => Unreachable::Forbidden,
        _ if !case.forbids_stale() => Unreachable::Serve,
        _ if policy.serve_unreachable => Unreachable::ServeOverruled,
        _ => Unreachable::Forbidden,
    };
    let if_error = control.stale.if_error.max(request.stale_if_error);
    let instead_of_error = unreachable != Unreachable::Forbidden
        && if_error.is_some_and(|time| freshness.is_stale_for_at_most(time));
    Verdict { reuse, unreachable, instead_of_error, freshness, by }
}

/// The fields that a response served without revalidation must omit (RFC 9111 §5.2.2.4), and the
/// fields that a shared cache must not store (§5.2.2.7).
#[must_use]
pub fn withheld_fields(control: &ResponseControl, shared: bool) -> Vec<HeaderName> {
    let private = if shared { control.private.fields() } else { &[] };
    control.no_cache.fields().iter().chain(private).cloned().collect()
}

/// Whether a status counts as a failure of the origin (RFC 5861 §4).
#[must_use]
pub fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

/// The use of a stored response that its fields and the options permit, before the directives of
/// the request are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usability {
    Fresh,
    Stale,
    Ask(RevalidationReason),
    Withheld(ReuseRefusal),
}

struct ReuseQuery<'a> {
    stored: &'a StoredResponse<'a>,
    control: &'a ResponseControl,
    request: &'a RequestControl,
    policy: &'a Policy,
    freshness: Freshness,
    now: SystemTime,
}

impl ReuseQuery<'_> {
    fn decide(&self, withheld: Option<ReuseRefusal>) -> (Reuse, Option<Override>) {
        let request = self.request;
        if let Some(reason) = withheld.filter(|reason| reason.is_forbidden()) {
            return (Reuse::Withheld(reason), None);
        }
        if self.stored.is_invalid {
            return (Reuse::Validate(RevalidationReason::Invalid), None);
        }
        let standard = self.standard(withheld);
        let (itself, by) = match self.overruled() {
            Some((itself, by)) => (itself, (itself != standard).then_some(by)),
            None => (standard, None),
        };
        // §5.2.1.4, §5.2.1.5: a request with `no-store` must not be answered from the store either.
        if request.is_reload() || request.no_store {
            return match itself {
                Usability::Withheld(reason) => (Reuse::Withheld(reason), by),
                _ => (Reuse::Validate(RevalidationReason::Request), None),
            };
        }
        match itself {
            Usability::Withheld(reason) => (Reuse::Withheld(reason), by),
            Usability::Ask(because) => (Reuse::Validate(because), by),
            Usability::Fresh if self.is_refused() => {
                (Reuse::Validate(RevalidationReason::Request), None)
            }
            Usability::Fresh => (Reuse::Fresh, by),
            Usability::Stale => (self.stale(), by),
        }
    }

    /// The result according to the standard.
    fn standard(&self, withheld: Option<ReuseRefusal>) -> Usability {
        match withheld {
            Some(reason) => Usability::Withheld(reason),
            // §5.2.2.4
            None if self.control.no_cache == DirectiveScope::All => {
                Usability::Ask(RevalidationReason::NoCache)
            }
            None if self.freshness.is_fresh() => Usability::Fresh,
            None => Usability::Stale,
        }
    }

    /// The result according to the options, in the order of wwwoffle 2.9: expiry, redirects,
    /// `no-cache`, time online, age. `None` if no option applies. No option applies to an error
    /// (4xx or 5xx).
    fn overruled(&self) -> Option<(Usability, Override)> {
        let Overrides { ask_again, once_since, expired, no_cache, redirection } =
            self.policy.overrides;
        let StoredResponse { status, exchange, .. } = *self.stored;
        if status.is_client_error() || status.is_server_error() {
            return None;
        }
        let says_no_cache = self.control.no_cache == DirectiveScope::All;
        let has_expired = self.freshness.basis == Basis::Explicit && !self.freshness.is_fresh();
        let moves = matches!(status.as_u16(), 302 | 303 | 307);
        if (has_expired && expired) || (moves && redirection) || (says_no_cache && no_cache) {
            return None;
        }
        if once_since.is_some_and(|since| exchange.received >= since) {
            return Some((Usability::Fresh, Override::ChangedOnce));
        }
        let since = self.now.duration_since(exchange.received).unwrap_or_default();
        match ask_again {
            Recheck::Never => return Some((Usability::Fresh, Override::Changed)),
            Recheck::After(time) if since < time => {
                return Some((Usability::Fresh, Override::Changed));
            }
            // RFC 8246 §2: while an immutable response is fresh, revalidation cannot change
            // anything.
            Recheck::After(_) if self.control.immutable && self.freshness.is_fresh() => {}
            Recheck::After(_) => {
                return Some((Usability::Ask(RevalidationReason::Overruled), Override::Changed));
            }
            Recheck::Standard => {}
        }
        if moves {
            return Some((Usability::Fresh, Override::Redirection));
        }
        if has_expired {
            return Some((Usability::Fresh, Override::Expired));
        }
        let itself = if self.freshness.is_fresh() { Usability::Fresh } else { Usability::Stale };
        says_no_cache.then_some((itself, Override::NoCache))
    }

    /// Whether the client rejects a fresh response (§5.2.1.1, §5.2.1.3).
    fn is_refused(&self) -> bool {
        let age = self.freshness.age;
        let is_old = |most: Duration| !age.is_known || age.at_least > most;
        let left = self.freshness.left().unwrap_or_default();
        self.request.max_age.is_some_and(is_old)
            || self.request.min_fresh.is_some_and(|least| left < least)
    }

    /// The permitted use of a stale response (§4.2.4).
    fn stale(&self) -> Reuse {
        let within = |time: Option<Duration>| {
            time.is_some_and(|time| self.freshness.is_stale_for_at_most(time))
        };
        let asks_for_fresh = self.request.max_age.is_some() || self.request.min_fresh.is_some();
        if self.forbids_stale() {
            Reuse::Validate(RevalidationReason::Stale)
        } else if within(self.request.max_stale) && !self.is_too_old() {
            Reuse::StaleTaken
        } else if within(self.control.stale.while_revalidate) && !asks_for_fresh {
            Reuse::Refreshing
        } else {
            Reuse::Validate(RevalidationReason::Stale)
        }
    }

    /// Whether the request rejects a stale response despite its `max-stale`: the request has
    /// `min-fresh`, or the response is older than its `max-age` (§5.2.1.1).
    fn is_too_old(&self) -> bool {
        self.request.max_age.is_some_and(|most| self.freshness.age.at_least > most)
            || self.request.min_fresh.is_some()
    }

    /// Whether the response forbids stale use (§4.2.4), demands revalidation before every use, or
    /// is invalidated.
    fn forbids_stale(&self) -> bool {
        let Policy { shared, overrides, .. } = self.policy;
        let control = self.control;
        let for_shared =
            *shared && (control.proxy_revalidate || control.s_maxage != Seconds::Absent);
        let once_stale = (control.must_revalidate || for_shared) && !self.freshness.is_fresh();
        let always = control.no_cache == DirectiveScope::All && overrides.no_cache;
        once_stale || always || self.stored.is_invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caching::freshness::tests::{HEURISTICS, at, fields};

    /// Parses the words in square brackets: `shared`, `serve-unreachable`, or `name=value` of an
    /// option.
    fn policy(words: &str) -> Policy {
        let mut overrides = Overrides::default();
        for word in words.split_ascii_whitespace() {
            match word.split_once('=') {
                Some(("changed", "never")) => overrides.ask_again = Recheck::Never,
                Some(("changed", time)) => {
                    let time = Duration::from_secs(time.parse().unwrap());
                    overrides.ask_again = Recheck::After(time);
                }
                Some(("once", since)) => overrides.once_since = Some(at(since.parse().unwrap())),
                Some(("expired", "no")) => overrides.expired = false,
                Some(("no-cache", "no")) => overrides.no_cache = false,
                Some(("redirection", "no")) => overrides.redirection = false,
                Some(word) => panic!("{word:?}"),
                None => {}
            }
        }
        let has = |word| words.split_ascii_whitespace().any(|found| found == word);
        Policy {
            shared: has("shared"),
            heuristics: HEURISTICS,
            serve_unreachable: has("serve-unreachable"),
            overrides,
        }
    }

    fn shown(verdict: &Verdict) -> String {
        let mut shown = match verdict.reuse {
            Reuse::Fresh => "fresh".to_owned(),
            Reuse::StaleTaken => "taken".to_owned(),
            Reuse::Refreshing => "refreshing".to_owned(),
            Reuse::Validate(because) => format!("ask:{because:?}").to_ascii_lowercase(),
            Reuse::Withheld(reason) => format!("withheld:{}", reason.as_str()),
        };
        shown.push_str(match verdict.unreachable {
            Unreachable::Serve => "",
            Unreachable::ServeOverruled => " overruled",
            Unreachable::Forbidden => " forbidden",
        });
        shown.push_str(if verdict.instead_of_error { " if-error" } else { "" });
        if let Some(by) = verdict.by {
            shown.push_str(" by ");
            shown.push_str(by.as_str());
        }
        shown
    }

    /// Evaluates a row `status [options] response ; request @age -> verdict`.
    fn row(given: &str) -> Verdict {
        let (given, now) = given.rsplit_once(" @").unwrap();
        let (answer, request) = given.split_once(" ;").unwrap();
        let (status, answer) = answer.trim().split_once(' ').unwrap_or((answer.trim(), ""));
        let (words, answer) = match answer.trim().strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap(),
            None => ("", answer),
        };
        let has = |word| words.split_ascii_whitespace().any(|found| found == word);
        let fields = fields(answer.trim());
        let stored = StoredResponse {
            status: StatusCode::from_bytes(status.as_bytes()).unwrap(),
            fields: &fields,
            exchange: ExchangeTimes { sent: at(0), received: at(0) },
            requested: RequestFacts {
                no_store: has("no-store"),
                credentials: has("authorization"),
            },
            is_invalid: has("invalid"),
        };
        let mut request_fields = HeaderMap::new();
        if !request.trim().is_empty() {
            request_fields.insert("cache-control", request.trim().parse().unwrap());
        }
        let asked = RequestControl::of(&request_fields);
        let options: String = words
            .split_ascii_whitespace()
            .filter(|word| !matches!(*word, "invalid" | "no-store" | "authorization"))
            .flat_map(|word| [word, " "])
            .collect();
        decide_reuse(&stored, &asked, &policy(&options), at(now.trim().parse().unwrap()))
    }

    #[test]
    fn reuse_follows_the_table() {
        let mut wrong = Vec::new();
        for (number, line) in (1..).zip(include_str!("reuse.txt").lines()) {
            let Some((given, want)) = line.split_once("->").filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let got = shown(&row(given));
            if got != want.trim() {
                wrong.push(format!("reuse.txt:{number}: {} got {got}", line.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn removed_fields_are_not_sent_by_default() {
        let control = ResponseControl::of(&fields("Cache-Control: no-cache=\"a\", private=\"b\""));
        assert_eq!(withheld_fields(&control, false), ["a"]);
        assert_eq!(withheld_fields(&control, true), ["a", "b"]);
    }
}
