//! How old an answer is, and for how long it is fresh (RFC 9111 §4.2).

use std::time::{Duration, SystemTime};

use http::header::{AGE, DATE, EXPIRES, HeaderValue, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

use super::control::{AnswerControl, FOREVER, Seconds, delta_seconds};
use super::{date, storing};

/// How far the clock may have been set back since an answer came, before its age counts as unknown.
const CLOCK_DRIFT: Duration = Duration::from_secs(60);

/// When an answer was asked for and came (RFC 9111 §4.2.3: `request_time` and `response_time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was sent.
    pub asked: SystemTime,
    /// When the head of the answer was there.
    pub received: SystemTime,
}

/// How old an answer is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// As far as it is known.
    pub at_least: Duration,
    /// Whether that is all. If our clock has been set back since the answer came, its age is
    /// unknown, and the answer counts as stale.
    pub is_known: bool,
}

/// How old an answer is now (RFC 9111 §4.2.3).
#[must_use]
pub fn current_age(fields: &HeaderMap, exchange: Exchange, now: SystemTime) -> Age {
    let Exchange { asked, received } = exchange;
    let apparent = date::of(fields, &DATE, received)
        .and_then(|date| received.duration_since(date).ok())
        .unwrap_or_default();
    let delay = received.duration_since(asked).unwrap_or_default();
    let corrected = age_field(fields).unwrap_or_default().saturating_add(delay);
    let resident = now.duration_since(received).unwrap_or_default();
    let is_ahead = received.duration_since(now).is_ok_and(|ahead| ahead > CLOCK_DRIFT);
    Age { at_least: apparent.max(corrected).saturating_add(resident), is_known: !is_ahead }
}

/// Sets `Age` to the age of a stored response now, at most 2³¹ seconds (RFC 9111 §1.2.2, §5.1).
pub fn set_age(fields: &mut HeaderMap, exchange: Exchange, now: SystemTime) {
    let age = current_age(fields, exchange, now).at_least.min(FOREVER);
    fields.insert(AGE, HeaderValue::from(age.as_secs()));
}

/// The `Age` of an answer (RFC 9111 §5.1): the first member of a list. An invalid value is ignored.
fn age_field(fields: &HeaderMap) -> Option<Duration> {
    let first = fields.get(AGE)?.to_str().ok()?.split(',').next()?;
    delta_seconds(first.trim_ascii().as_bytes()).ok()
}

/// How much of the time since an answer was last modified it counts as fresh, where it does not say
/// itself (RFC 9111 §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristics {
    /// In per cent.
    pub share: u8,
    /// At most so long.
    pub limit: Duration,
}

/// Where a lifetime is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The answer says it: `s-maxage`, `max-age` or `Expires`.
    Explicit,
    /// It is guessed from `Last-Modified`.
    Heuristic,
    /// There is none: the answer is stale from the beginning.
    None,
}

/// Age and lifetime of an answer now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// How old it is.
    pub age: Age,
    /// How old it may become.
    pub lifetime: Duration,
    /// Where that is from.
    pub basis: Basis,
}

impl Freshness {
    /// Finds out how fresh an answer is at `now`. `shared` is whether we are a shared cache.
    #[must_use]
    pub fn of(
        status: StatusCode,
        fields: &HeaderMap,
        exchange: Exchange,
        cache: (bool, Heuristics),
        now: SystemTime,
    ) -> Self {
        let (shared, heuristics) = cache;
        let control = AnswerControl::of(fields);
        let explicit = explicit(fields, &control, shared, exchange.received);
        let guessed = || guessed(status, fields, &control, heuristics, exchange.received);
        let (lifetime, basis) = match explicit {
            Some(lifetime) => (lifetime, Basis::Explicit),
            None => match guessed() {
                Some(lifetime) => (lifetime, Basis::Heuristic),
                None => (Duration::ZERO, Basis::None),
            },
        };
        Self { age: current_age(fields, exchange, now), lifetime, basis }
    }

    /// Whether it may be used without asking, as far as its age matters (RFC 9111 §4.2).
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.age.is_known && self.lifetime > self.age.at_least
    }

    /// How long it will be fresh still; `None` where it is stale.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.is_fresh().then(|| self.lifetime.saturating_sub(self.age.at_least))
    }

    /// Whether it has been stale for at most `time`.
    #[must_use]
    pub fn is_stale_for_at_most(&self, time: Duration) -> bool {
        self.age.is_known && self.age.at_least <= self.lifetime.saturating_add(time)
    }

    /// What is left of its lifetime in whole seconds, below zero where it is stale: `ttl` of RFC
    /// 9211 §2.5.
    #[must_use]
    pub fn ttl(&self) -> i64 {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        seconds(self.lifetime).saturating_sub(seconds(self.age.at_least))
    }
}

/// The lifetime that the answer gives itself (RFC 9111 §4.2.1).
fn explicit(
    fields: &HeaderMap,
    control: &AnswerControl,
    shared: bool,
    received: SystemTime,
) -> Option<Duration> {
    // What cannot be read is no longer fresh (§4.2.1).
    match (control.s_maxage, control.max_age) {
        (Seconds::Valid(lifetime), _) if shared => return Some(lifetime),
        (Seconds::Broken, _) if shared => return Some(Duration::ZERO),
        (_, Seconds::Valid(lifetime)) => return Some(lifetime),
        (_, Seconds::Broken) => return Some(Duration::ZERO),
        _ => {}
    }
    if !fields.contains_key(EXPIRES) {
        return None;
    }
    // §5.3: what is no date is in the past.
    let Some(expires) = date::of(fields, &EXPIRES, received) else { return Some(Duration::ZERO) };
    let began = date::of(fields, &DATE, received).unwrap_or(received);
    Some(expires.duration_since(began).unwrap_or_default().min(FOREVER))
}

/// The lifetime that is guessed where the answer gives none (RFC 9111 §4.2.2).
fn guessed(
    status: StatusCode,
    fields: &HeaderMap,
    control: &AnswerControl,
    heuristics: Heuristics,
    received: SystemTime,
) -> Option<Duration> {
    if !storing::is_heuristically_cacheable(status) && !control.public {
        return None;
    }
    let modified = date::of(fields, &LAST_MODIFIED, received)?;
    let began = date::of(fields, &DATE, received).unwrap_or(received);
    let unchanged = began.duration_since(modified).ok()?;
    let lifetime = (unchanged / 100).saturating_mul(u32::from(heuristics.share));
    Some(lifetime.min(heuristics.limit)).filter(|lifetime| !lifetime.is_zero())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// 2026-11-20T00:00:00Z: what `@0` stands for in tables.
    pub(crate) const NOON: u64 = 1_795_132_800;

    pub(crate) fn at(seconds: i64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOON.saturating_add_signed(seconds))
    }

    /// Fields as a table writes them: `Name: value`, with `|` between them and `@n` for the date n
    /// seconds from the beginning.
    pub(crate) fn fields(given: &str) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for line in given.split(" | ").filter(|line| !line.trim().is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"));
            let value = value.trim();
            let value = match value.strip_prefix('@').map(str::parse) {
                Some(Ok(seconds)) => httpdate::fmt_http_date(at(seconds)),
                _ => value.to_owned(),
            };
            let name: http::header::HeaderName = name.trim().parse().unwrap();
            fields.append(name, value.parse().unwrap());
        }
        fields
    }

    pub(crate) const HEURISTICS: Heuristics =
        Heuristics { share: 10, limit: Duration::from_secs(86_400) };

    #[test]
    fn lifetimes_are_what_the_table_says() {
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("freshness.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            let (words, given) = given.split_once(' ').unwrap();
            let (shared, status) = match words.strip_prefix("shared:") {
                Some(status) => (true, status),
                None => (false, words),
            };
            let exchange = Exchange { asked: at(0), received: at(0) };
            let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
            let given = fields(given);
            let fresh = Freshness::of(status, &given, exchange, (shared, HEURISTICS), at(0));
            let basis = match fresh.basis {
                Basis::Explicit => "",
                Basis::Heuristic => "guessed ",
                Basis::None => "no ",
            };
            let got = format!("{basis}{}", fresh.lifetime.as_secs());
            if got != want.trim() {
                wrong.push(format!("freshness.txt:{number}: {} got {got}", row.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn age_counts_all_that_may_have_passed() {
        for (given, asked, received, now, want) in [
            ("Date: @0", 0, 0, 0, Some(0)),
            ("Date: @0", 0, 0, 60, Some(60)),
            // The origin's clock, or what lay on the way.
            ("Date: @-60", 0, 0, 60, Some(120)),
            ("Date: @-60 | Age: 500", 0, 0, 60, Some(560)),
            ("Date: @-600 | Age: 500", 0, 0, 60, Some(660)),
            // The time the request took counts with what was told.
            ("Date: @2 | Age: 500", 0, 2, 60, Some(560)),
            ("", 0, 30, 60, Some(60)),
            // A clock that is ahead makes nothing younger.
            ("Date: @1000", 0, 0, 60, Some(60)),
            ("Date: rubbish", 0, 0, 60, Some(60)),
            // Ours was set back: a little is nothing, more makes it unknown.
            ("Date: @0", 0, 0, -30, Some(0)),
            ("Date: @0", 0, 0, -3600, None),
            // RFC 9111 §5.1: the first member of a list counts, an invalid value is ignored.
            ("Age: 0,7200", 0, 0, 0, Some(0)),
            ("Age: 7200,0", 0, 0, 0, Some(7200)),
            ("Age: 7200 , 0", 0, 0, 0, Some(7200)),
            ("Age: 99999999999", 0, 0, 0, Some(1 << 31)),
            ("Age: 0, 0", 0, 0, 0, Some(0)),
            ("Age: 3600, 3600", 0, 0, 0, Some(3600)),
            ("Age: 0 | Age: 0", 0, 0, 0, Some(0)),
            ("Age: 0 | Age: 7200", 0, 0, 0, Some(0)),
            ("Age: 7200 | Age: 0", 0, 0, 0, Some(7200)),
            ("Age: 7200, abc", 0, 0, 0, Some(7200)),
            ("Age: abc, 7200", 0, 0, 0, Some(0)),
            ("Age: , 7200", 0, 0, 0, Some(0)),
            ("Age: 7200;foo=bar", 0, 0, 0, Some(0)),
            ("Age: -1", 0, 0, 0, Some(0)),
            ("Age: +1", 0, 0, 0, Some(0)),
            ("Age: 7200.0", 0, 0, 0, Some(0)),
            ("Age: abc", 0, 0, 0, Some(0)),
            ("Date: @-60 | Age: abc", 0, 0, 5, Some(65)),
        ] {
            let exchange = Exchange { asked: at(asked), received: at(received) };
            let age = current_age(&fields(given), exchange, at(now));
            let got = age.is_known.then_some(age.at_least.as_secs());
            assert_eq!(got, want, "{given:?} {asked} {received} {now}");
        }
    }

    #[test]
    fn an_answer_is_fresh_below_its_lifetime_and_not_at_it() {
        let exchange = Exchange { asked: at(0), received: at(0) };
        let fresh = |now| {
            let fields = fields("Cache-Control: max-age=10 | Date: @0");
            Freshness::of(StatusCode::OK, &fields, exchange, (false, HEURISTICS), at(now))
        };
        for (now, is_fresh, left, ttl) in [
            (0, true, Some(10), 10),
            (9, true, Some(1), 1),
            (10, false, None, 0),
            (25, false, None, -15),
        ] {
            let fresh = fresh(now);
            assert_eq!(fresh.is_fresh(), is_fresh, "{now}");
            assert_eq!(fresh.left().map(|left| left.as_secs()), left, "{now}");
            assert_eq!(fresh.ttl(), ttl, "{now}");
            assert_eq!(fresh.is_stale_for_at_most(Duration::from_secs(15)), now <= 25, "{now}");
            assert_eq!(fresh.is_stale_for_at_most(Duration::from_secs(14)), now <= 24, "{now}");
        }
    }

    #[test]
    fn an_answer_of_unknown_age_is_stale() {
        let exchange = Exchange { asked: at(3600), received: at(3600) };
        let fields = fields("Cache-Control: max-age=3600");
        let fresh = Freshness::of(StatusCode::OK, &fields, exchange, (false, HEURISTICS), at(0));
        assert!(!fresh.is_fresh() && fresh.left().is_none());
        assert!(!fresh.is_stale_for_at_most(FOREVER));
    }

    /// The figures of the section, each with every term of the sum on its own.
    #[test]
    fn ages_add_up_as_the_algorithm_of_rfc_9111_says() {
        // date_value, age_value, request_time, response_time, now -> current_age
        for (date, age, asked, received, now, want) in [
            // apparent_age = max(0, response_time - date_value)
            (-50, None, 0, 0, 0, 50),
            (50, None, 0, 0, 0, 0),
            // response_delay = response_time - request_time
            (0, None, 0, 0, 0, 0),
            (5, None, 0, 5, 5, 5),
            // corrected_age_value = age_value + response_delay
            (5, Some(20), 0, 5, 5, 25),
            // corrected_initial_age = max(apparent_age, corrected_age_value)
            (-50, Some(20), 0, 5, 5, 55),
            (-50, Some(80), 0, 5, 5, 85),
            // resident_time = now - response_time; current_age = corrected_initial_age + resident_time
            (-50, Some(80), 0, 5, 105, 185),
        ] {
            let age = age.map(|age| format!(" | Age: {age}")).unwrap_or_default();
            let given = format!("Date: @{date}{age}");
            let exchange = Exchange { asked: at(asked), received: at(received) };
            let got = current_age(&fields(&given), exchange, at(now));
            let want = Age { at_least: Duration::from_secs(want), is_known: true };
            assert_eq!(got, want, "{given}, {asked}, {received}, {now}");
        }
    }
}
