//! The age and lifetime of a response (RFC 9111 §4.2).

use std::time::{Duration, SystemTime};

use http::header::{AGE, DATE, EXPIRES, HeaderValue, LAST_MODIFIED};
use http::{HeaderMap, StatusCode};

use super::control::{FOREVER, ResponseControl, Seconds, parse_delta_seconds};
use super::{date, storing};

/// The largest step by which our clock may have been set back since a response arrived. After a
/// larger step, the age counts as unknown.
const CLOCK_DRIFT: Duration = Duration::from_secs(60);

/// The times at which the request was sent and the response arrived (RFC 9111 §4.2.3:
/// `request_time` and `response_time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// The time when the request was sent.
    pub sent: SystemTime,
    /// The time when the response head arrived.
    pub received: SystemTime,
}

/// The age of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseAge {
    /// A lower limit of the age.
    pub at_least: Duration,
    /// Whether `at_least` can be used as the age. If our clock was set back by more than
    /// `CLOCK_DRIFT` since the response arrived, the age is unknown and the response counts as
    /// stale.
    pub is_known: bool,
}

/// Computes the age of a response (RFC 9111 §4.2.3).
#[must_use]
pub fn current_age(fields: &HeaderMap, exchange: ExchangeTimes, now: SystemTime) -> ResponseAge {
    let ExchangeTimes { sent, received } = exchange;
    let apparent = date::of(fields, &DATE, received)
        .and_then(|date| received.duration_since(date).ok())
        .unwrap_or_default();
    let delay = received.duration_since(sent).unwrap_or_default();
    let corrected = age_field(fields).unwrap_or_default().saturating_add(delay);
    let resident = now.duration_since(received).unwrap_or_default();
    let is_ahead = received.duration_since(now).is_ok_and(|ahead| ahead > CLOCK_DRIFT);
    ResponseAge { at_least: apparent.max(corrected).saturating_add(resident), is_known: !is_ahead }
}

/// Sets `Age` to the age of a stored response now, at most 2³¹ seconds (RFC 9111 §1.2.2, §5.1).
pub fn set_age(fields: &mut HeaderMap, exchange: ExchangeTimes, now: SystemTime) {
    let age = current_age(fields, exchange, now).at_least.min(FOREVER);
    fields.insert(AGE, HeaderValue::from(age.as_secs()));
}

/// The `Age` field of a response (RFC 9111 §5.1): the first member of a list. `None` if the field
/// is missing or invalid.
fn age_field(fields: &HeaderMap) -> Option<Duration> {
    let first = fields.get(AGE)?.to_str().ok()?.split(',').next()?;
    parse_delta_seconds(first.trim_ascii().as_bytes()).ok()
}

/// The lifetime of a response without an explicit one: a share of the time since its last
/// modification (RFC 9111 §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristics {
    /// The share in percent.
    pub share: u8,
    /// The largest lifetime.
    pub limit: Duration,
}

/// The fields from which a lifetime was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Given by `s-maxage`, `max-age` or `Expires`.
    Explicit,
    /// Derived from `Last-Modified`.
    Heuristic,
    /// No lifetime: the response is stale at once.
    None,
}

/// The age and lifetime of a response at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// The age at that moment.
    pub age: ResponseAge,
    /// The age at which the response becomes stale.
    pub lifetime: Duration,
    /// The fields from which the lifetime was computed.
    pub basis: Basis,
}

impl Freshness {
    /// Computes the freshness of a response at `now`. `cache` is whether we are a shared cache, and
    /// the rule for responses without an explicit lifetime.
    #[must_use]
    pub fn of(
        status: StatusCode,
        fields: &HeaderMap,
        exchange: ExchangeTimes,
        cache: (bool, Heuristics),
        now: SystemTime,
    ) -> Self {
        let (shared, heuristics) = cache;
        let control = ResponseControl::of(fields);
        let explicit = explicit_lifetime(fields, &control, shared, exchange.received);
        let heuristic =
            || heuristic_lifetime(status, fields, &control, heuristics, exchange.received);
        let (lifetime, basis) = match explicit {
            Some(lifetime) => (lifetime, Basis::Explicit),
            None => match heuristic() {
                Some(lifetime) => (lifetime, Basis::Heuristic),
                None => (Duration::ZERO, Basis::None),
            },
        };
        Self { age: current_age(fields, exchange, now), lifetime, basis }
    }

    /// Whether the age allows reuse of the response without revalidation (RFC 9111 §4.2).
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.age.is_known && self.lifetime > self.age.at_least
    }

    /// The remaining lifetime; `None` if the response is stale.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.is_fresh().then(|| self.lifetime.saturating_sub(self.age.at_least))
    }

    /// Whether the response is fresh, or has been stale for at most `time`.
    #[must_use]
    pub fn is_stale_for_at_most(&self, time: Duration) -> bool {
        self.age.is_known && self.age.at_least <= self.lifetime.saturating_add(time)
    }

    /// The remaining lifetime in whole seconds, negative if stale: `ttl` of RFC 9211 §2.5.
    #[must_use]
    pub fn ttl(&self) -> i64 {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        seconds(self.lifetime).saturating_sub(seconds(self.age.at_least))
    }
}

/// The explicit lifetime of a response (RFC 9111 §4.2.1). `None` if no field gives one.
fn explicit_lifetime(
    fields: &HeaderMap,
    control: &ResponseControl,
    shared: bool,
    received: SystemTime,
) -> Option<Duration> {
    // An invalid time means stale (§4.2.1).
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
    // §5.3: an invalid date counts as a time in the past.
    let Some(expires) = date::of(fields, &EXPIRES, received) else { return Some(Duration::ZERO) };
    let began = date::of(fields, &DATE, received).unwrap_or(received);
    Some(expires.duration_since(began).unwrap_or_default().min(FOREVER))
}

/// The heuristic lifetime of a response without an explicit one (RFC 9111 §4.2.2).
fn heuristic_lifetime(
    status: StatusCode,
    fields: &HeaderMap,
    control: &ResponseControl,
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

    /// 2026-11-20T00:00:00Z, written `@0` in tables.
    pub(crate) const MIDNIGHT: u64 = 1_795_132_800;

    pub(crate) fn at(seconds: i64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(MIDNIGHT.saturating_add_signed(seconds))
    }

    /// Fields in table notation: `Name: value` separated by `|`; `@n` is the date n seconds after
    /// `@0`.
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
    fn lifetimes_match_the_table() {
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
            let exchange = ExchangeTimes { sent: at(0), received: at(0) };
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
    fn the_age_includes_all_possible_delays() {
        for (given, asked, received, now, want) in [
            ("Date: @0", 0, 0, 0, Some(0)),
            ("Date: @0", 0, 0, 60, Some(60)),
            // The difference between `Date` and our clock counts as age: either the clocks differ,
            // or the response was in transit.
            ("Date: @-60", 0, 0, 60, Some(120)),
            ("Date: @-60 | Age: 500", 0, 0, 60, Some(560)),
            ("Date: @-600 | Age: 500", 0, 0, 60, Some(660)),
            // The duration of the request is added to `Age`.
            ("Date: @2 | Age: 500", 0, 2, 60, Some(560)),
            ("", 0, 30, 60, Some(60)),
            // An origin clock that is ahead does not make the response younger.
            ("Date: @1000", 0, 0, 60, Some(60)),
            ("Date: rubbish", 0, 0, 60, Some(60)),
            // Our clock was set back. A small step is ignored; a larger one makes the age unknown.
            ("Date: @0", 0, 0, -30, Some(0)),
            ("Date: @0", 0, 0, -3600, None),
            // RFC 9111 §5.1: the first member of a list counts; an invalid value is ignored.
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
            let exchange = ExchangeTimes { sent: at(asked), received: at(received) };
            let age = current_age(&fields(given), exchange, at(now));
            let got = age.is_known.then_some(age.at_least.as_secs());
            assert_eq!(got, want, "{given:?} {asked} {received} {now}");
        }
    }

    #[test]
    fn a_response_is_fresh_only_below_its_lifetime() {
        let exchange = ExchangeTimes { sent: at(0), received: at(0) };
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
    fn a_response_of_unknown_age_is_stale() {
        let exchange = ExchangeTimes { sent: at(3600), received: at(3600) };
        let fields = fields("Cache-Control: max-age=3600");
        let fresh = Freshness::of(StatusCode::OK, &fields, exchange, (false, HEURISTICS), at(0));
        assert!(!fresh.is_fresh() && fresh.left().is_none());
        assert!(!fresh.is_stale_for_at_most(FOREVER));
    }

    /// The terms of the sum in RFC 9111 §4.2.3, tested separately.
    #[test]
    fn ages_follow_the_algorithm_of_rfc_9111() {
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
            let exchange = ExchangeTimes { sent: at(asked), received: at(received) };
            let got = current_age(&fields(&given), exchange, at(now));
            let want = ResponseAge { at_least: Duration::from_secs(want), is_known: true };
            assert_eq!(got, want, "{given}, {asked}, {received}, {now}");
        }
    }
}
