//! May this kept answer answer this request now (RFC 9111 §4, RFC 5861), and if its origin fails?
//!
//! By default the standard decides alone. The [`Overrides`] are options that differ from it on
//! purpose, and a [`Verdict`] names the one that made a difference.

use std::time::{Duration, SystemTime};

use http::header::HeaderName;
use http::{HeaderMap, StatusCode};

use super::control::{AnswerControl, RequestControl, Scope, Seconds};
use super::freshness::{Basis, Exchange, Freshness, Heuristics};
use super::storing::{NotReused, Requested, may_reuse};

/// A kept answer, as far as its use depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its fields, those of the last `304` included.
    pub fields: &'a HeaderMap,
    /// When it, or the last `304` about it, was asked for and came.
    pub exchange: Exchange,
    /// What the request said that it answers.
    pub requested: Requested,
    /// Whether a change of the resource has made it invalid since (RFC 9111 §4.4).
    pub is_invalid: bool,
}

/// What the configuration says of the use of kept answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether we are a shared cache.
    pub shared: bool,
    /// What is guessed where an answer gives no lifetime.
    pub heuristics: Heuristics,
    /// Whether an answer that forbids it is served when its origin cannot be reached.
    pub serve_unreachable: bool,
    /// Where the standard is overruled.
    pub overrides: Overrides,
}

/// Where options overrule the standard. The default overrules nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrides {
    /// `request-changed`.
    pub ask_again: AskAgain,
    /// `request-changed-once`: the time since which asking once is enough.
    pub once_since: Option<SystemTime>,
    /// `request-expired`: whether an answer that gives its lifetime is asked for after it.
    pub expired: bool,
    /// `request-no-cache`: whether `no-cache` in an answer is heeded.
    pub no_cache: bool,
    /// `request-redirection`: whether a redirection that is not permanent is asked for again.
    pub redirection: bool,
}

impl Default for Overrides {
    fn default() -> Self {
        let ask_again = AskAgain::Standard;
        Self { ask_again, once_since: None, expired: true, no_cache: true, redirection: true }
    }
}

/// When a kept answer is asked for again because of its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskAgain {
    /// When it is stale.
    Standard,
    /// Never.
    Never,
    /// When it came so long ago.
    After(Duration),
}

/// The option that made a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Override {
    /// `request-changed`
    Changed,
    /// `request-changed-once`
    ChangedOnce,
    /// `request-expired`
    Expired,
    /// `request-no-cache`
    NoCache,
    /// `request-redirection`
    Redirection,
    /// `serve-unreachable`
    ServeUnreachable,
}

impl Override {
    /// The name of the option, for `Cache-Status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Override::Changed => "request-changed",
            Override::ChangedOnce => "request-changed-once",
            Override::Expired => "request-expired",
            Override::NoCache => "request-no-cache",
            Override::Redirection => "request-redirection",
            Override::ServeUnreachable => "serve-unreachable",
        }
    }
}

/// What may be done with a kept answer while its origin can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It is served without asking.
    Fresh,
    /// The same: it is stale, and this client takes it so (`max-stale`).
    StaleTaken,
    /// It is served, and asked for anew meanwhile (`stale-while-revalidate`).
    Refreshing,
    /// Its origin is asked first whether it still holds.
    Validate(Because),
    /// It is not used online at all.
    Withheld(NotReused),
}

/// Why an origin is asked about what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// It is stale.
    Stale,
    /// It says that it is to be asked for each time.
    NoCache,
    /// A change of the resource has made it invalid.
    Invalid,
    /// The request will not have it as it is.
    Request,
    /// An option says so.
    Overruled,
}

/// What may be done with a kept answer when its origin cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// It is served.
    Serve,
    /// It is served, though it forbids that: `serve-unreachable`.
    ServeOverruled,
    /// It is not.
    Forbidden,
}

/// What may be done with a kept answer for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// While its origin can be asked.
    pub reuse: Reuse,
    /// When it cannot.
    pub unreachable: Unreachable,
    /// Whether it is served in place of `500`, `502`, `503` and `504` (RFC 5861 §4).
    pub instead_of_error: bool,
    /// Its age and lifetime.
    pub freshness: Freshness,
    /// The option without which `reuse` would be another.
    pub by: Option<Override>,
}

/// Decides what may be done with a kept answer.
#[must_use]
pub fn reuse(
    stored: &Stored<'_>,
    asked: &RequestControl,
    policy: &Policy,
    now: SystemTime,
) -> Verdict {
    let Stored { status, fields, exchange, requested, .. } = *stored;
    let control = AnswerControl::of(fields);
    let cache = (policy.shared, policy.heuristics);
    let freshness = Freshness::of(status, fields, exchange, cache, now);
    let case = Case { stored, control: &control, asked, policy, freshness, now };
    let withheld = may_reuse(status, &control, requested, &freshness, policy.shared).err();
    let (reuse, by) = case.decide(withheld);
    let unreachable = match withheld {
        Some(reason) if reason.is_forbidden() => Unreachable::Forbidden,
        _ if !case.forbids_stale() => Unreachable::Serve,
        _ if policy.serve_unreachable => Unreachable::ServeOverruled,
        _ => Unreachable::Forbidden,
    };
    let if_error = control.stale_if_error.max(asked.stale_if_error);
    let instead_of_error = unreachable != Unreachable::Forbidden
        && if_error.is_some_and(|time| freshness.is_stale_for_at_most(time));
    Verdict { reuse, unreachable, instead_of_error, freshness, by }
}

/// The fields of an answer that are not sent where its origin was not asked (RFC 9111 §5.2.2.4), and
/// those that a shared cache does not keep (§5.2.2.7).
#[must_use]
pub fn unsent(control: &AnswerControl, shared: bool) -> Vec<HeaderName> {
    let private = if shared { control.private.fields() } else { &[] };
    control.no_cache.fields().iter().chain(private).cloned().collect()
}

/// Whether an answer of this status counts as a failure of its origin (RFC 5861 §4).
#[must_use]
pub fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

/// Whether the answer may be used as far as it is for itself to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Itself {
    Fresh,
    Stale,
    Ask(Because),
    Withheld(NotReused),
}

struct Case<'a> {
    stored: &'a Stored<'a>,
    control: &'a AnswerControl,
    asked: &'a RequestControl,
    policy: &'a Policy,
    freshness: Freshness,
    now: SystemTime,
}

impl Case<'_> {
    fn decide(&self, withheld: Option<NotReused>) -> (Reuse, Option<Override>) {
        let asked = self.asked;
        if let Some(reason) = withheld.filter(|reason| reason.is_forbidden()) {
            return (Reuse::Withheld(reason), None);
        }
        if self.stored.is_invalid {
            return (Reuse::Validate(Because::Invalid), None);
        }
        let standard = self.standard(withheld);
        let (itself, by) = match self.overruled() {
            Some((itself, by)) => (itself, (itself != standard).then_some(by)),
            None => (standard, None),
        };
        // §5.2.1.4, §5.2.1.5: and what must not be stored is not answered from what is.
        if asked.is_reload() || asked.no_store {
            return match itself {
                Itself::Withheld(reason) => (Reuse::Withheld(reason), by),
                _ => (Reuse::Validate(Because::Request), None),
            };
        }
        match itself {
            Itself::Withheld(reason) => (Reuse::Withheld(reason), by),
            Itself::Ask(because) => (Reuse::Validate(because), by),
            Itself::Fresh if self.is_refused() => (Reuse::Validate(Because::Request), None),
            Itself::Fresh => (Reuse::Fresh, by),
            Itself::Stale => (self.stale(), by),
        }
    }

    /// What the answer says by the standard.
    fn standard(&self, withheld: Option<NotReused>) -> Itself {
        match withheld {
            Some(reason) => Itself::Withheld(reason),
            // §5.2.2.4
            None if self.control.no_cache == Scope::All => Itself::Ask(Because::NoCache),
            None if self.freshness.is_fresh() => Itself::Fresh,
            None => Itself::Stale,
        }
    }

    /// What the options say, in the order of 2.9: dates, redirections, `no-cache`, the time online,
    /// the age.
    fn overruled(&self) -> Option<(Itself, Override)> {
        let Overrides { ask_again, once_since, expired, no_cache, redirection } =
            self.policy.overrides;
        let Stored { status, exchange, .. } = *self.stored;
        if status.is_client_error() || status.is_server_error() {
            return None;
        }
        let says_no_cache = self.control.no_cache == Scope::All;
        let has_expired = self.freshness.basis == Basis::Explicit && !self.freshness.is_fresh();
        let moves = matches!(status.as_u16(), 302 | 303 | 307);
        if (has_expired && expired) || (moves && redirection) || (says_no_cache && no_cache) {
            return None;
        }
        if once_since.is_some_and(|since| exchange.received >= since) {
            return Some((Itself::Fresh, Override::ChangedOnce));
        }
        let since = self.now.duration_since(exchange.received).unwrap_or_default();
        match ask_again {
            AskAgain::Never => return Some((Itself::Fresh, Override::Changed)),
            AskAgain::After(time) if since < time => {
                return Some((Itself::Fresh, Override::Changed));
            }
            // RFC 8246 §2: asking cannot bring anything else.
            AskAgain::After(_) if self.control.immutable && self.freshness.is_fresh() => {}
            AskAgain::After(_) => {
                return Some((Itself::Ask(Because::Overruled), Override::Changed));
            }
            AskAgain::Standard => {}
        }
        if moves {
            return Some((Itself::Fresh, Override::Redirection));
        }
        if has_expired {
            return Some((Itself::Fresh, Override::Expired));
        }
        let itself = if self.freshness.is_fresh() { Itself::Fresh } else { Itself::Stale };
        says_no_cache.then_some((itself, Override::NoCache))
    }

    /// Whether the client will not have it though it is fresh (§5.2.1.1, §5.2.1.3).
    fn is_refused(&self) -> bool {
        let age = self.freshness.age;
        let is_old = |most: Duration| !age.is_known || age.at_least > most;
        let left = self.freshness.left().unwrap_or_default();
        self.asked.max_age.is_some_and(is_old)
            || self.asked.min_fresh.is_some_and(|least| left < least)
    }

    /// What may be done with it once it is stale (§4.2.4).
    fn stale(&self) -> Reuse {
        let within = |time: Option<Duration>| {
            time.is_some_and(|time| self.freshness.is_stale_for_at_most(time))
        };
        let asks_for_fresh = self.asked.max_age.is_some() || self.asked.min_fresh.is_some();
        if self.forbids_stale() {
            Reuse::Validate(Because::Stale)
        } else if within(self.asked.max_stale) && !self.is_too_old() {
            Reuse::StaleTaken
        } else if within(self.control.stale_while_revalidate) && !asks_for_fresh {
            Reuse::Refreshing
        } else {
            Reuse::Validate(Because::Stale)
        }
    }

    /// With `max-stale` beside it, `max-age` counts for what is stale too (§5.2.1.1).
    fn is_too_old(&self) -> bool {
        self.asked.max_age.is_some_and(|most| self.freshness.age.at_least > most)
            || self.asked.min_fresh.is_some()
    }

    /// Whether it says that it must not be used stale, whatever happens (§4.2.4), or must be asked
    /// for before any use.
    fn forbids_stale(&self) -> bool {
        let Policy { shared, overrides, .. } = self.policy;
        let control = self.control;
        let for_shared =
            *shared && (control.proxy_revalidate || control.s_maxage != Seconds::Absent);
        let once_stale = (control.must_revalidate || for_shared) && !self.freshness.is_fresh();
        let always = control.no_cache == Scope::All && overrides.no_cache;
        once_stale || always || self.stored.is_invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caching::freshness::tests::{HEURISTICS, at, fields};

    /// What stands in square brackets: `shared`, `invalid`, `name=value` of an option.
    fn policy(words: &str) -> Policy {
        let mut overrides = Overrides::default();
        for word in words.split_ascii_whitespace() {
            match word.split_once('=') {
                Some(("changed", "never")) => overrides.ask_again = AskAgain::Never,
                Some(("changed", time)) => {
                    let time = Duration::from_secs(time.parse().unwrap());
                    overrides.ask_again = AskAgain::After(time);
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

    /// `status [options] answer ; request @age -> verdict`
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
        let stored = Stored {
            status: StatusCode::from_bytes(status.as_bytes()).unwrap(),
            fields: &fields,
            exchange: Exchange { asked: at(0), received: at(0) },
            requested: Requested { no_store: has("no-store"), credentials: has("authorization") },
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
        reuse(&stored, &asked, &policy(&options), at(now.trim().parse().unwrap()))
    }

    #[test]
    fn the_table_holds() {
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
    fn fields_that_were_named_are_not_sent_unasked() {
        let control = AnswerControl::of(&fields("Cache-Control: no-cache=\"a\", private=\"b\""));
        assert_eq!(unsent(&control, false), ["a"]);
        assert_eq!(unsent(&control, true), ["a", "b"]);
    }
}
