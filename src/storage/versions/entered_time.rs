//! A point in time, and the choice of the version for it.

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A point in time that a person has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnteredTime(pub Timestamp);

/// The error for a text that is not a valid time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time, as 2026-11-20, 2026-11-20 14:25 or 2026-11-20T14:25:15Z")]
pub struct NoTime;

/// Parses an instant (RFC 3339 or an HTTP date), or a local date with or without a time. A date
/// alone means the end of that day, so it includes the versions of the day.
impl FromStr for EnteredTime {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        let text = text.trim();
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(Self(instant));
        }
        if let Ok(http) = httpdate::parse_http_date(text) {
            return Timestamp::try_from(http).map(Self).map_err(|_| NoTime);
        }
        // A date with a time also parses as a date, so the length decides.
        let civil = if text.len() <= "2026-11-20".len() {
            let date: Date = text.parse().map_err(|_| NoTime)?;
            let next = date.checked_add(1.day()).map_err(|_| NoTime)?;
            next.to_datetime(jiff::civil::Time::midnight())
        } else {
            text.parse::<DateTime>().map_err(|_| NoTime)?
        };
        let instant = TimeZone::system().to_timestamp(civil).map_err(|_| NoTime)?;
        let last = if text.len() <= "2026-11-20".len() { 1.second() } else { 0.second() };
        instant.checked_sub(last).map(Self).map_err(|_| NoTime)
    }
}

/// The order in which versions are tried for the time `at`, as indices into `came`: the last
/// version up to that time, then earlier versions, then the versions after that time, the earliest
/// first (RFC 7089 §4.5.3). Only seconds count, because Memento times have no fractions.
#[must_use]
pub fn nearest(came: &[Timestamp], at: Timestamp) -> Vec<usize> {
    let at = at.as_second();
    let mut order: Vec<usize> = (0..came.len()).collect();
    // Of two versions in the same second, the first one listed is tried first.
    order.sort_by_key(|number| {
        let second = came.get(*number).map_or(i64::MAX, |came| came.as_second());
        if second <= at { (false, at.saturating_sub(second)) } else { (true, second) }
    });
    order
}

/// The order for a sub-resource of a page received at a given time: the nearest first, before or
/// after, because sub-resources arrive soon after their page.
#[must_use]
pub fn closest(came: &[Timestamp], at: Timestamp) -> Vec<usize> {
    let mut order: Vec<usize> = (0..came.len()).collect();
    order.sort_by_key(|number| {
        came.get(*number).map_or(u64::MAX, |came| came.as_second().abs_diff(at.as_second()))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_and_programs_write_them() {
        let zoned = |text: &str| {
            let civil: DateTime = text.parse().unwrap();
            TimeZone::system().to_timestamp(civil).unwrap()
        };
        for (text, want) in [
            ("2026-11-20T14:25:15Z", "2026-11-20T14:25:15Z".parse().unwrap()),
            (" 2026-11-20T14:25:15.812+01:00 ", "2026-11-20T13:25:15.812Z".parse().unwrap()),
            ("Fri, 20 Nov 2026 14:25:15 GMT", "2026-11-20T14:25:15Z".parse().unwrap()),
            ("2026-11-20", zoned("2026-11-20T23:59:59")),
            ("2026-11-20 14:25", zoned("2026-11-20T14:25:00")),
            ("2026-11-20T14:25:01", zoned("2026-11-20T14:25:01")),
        ] {
            assert_eq!(text.parse(), Ok(EnteredTime(want)), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01", "2026-11-20 25:00", "9999-12-31", "20"] {
            assert_eq!(text.parse::<EnteredTime>(), Err(NoTime), "{text}");
        }
    }

    #[test]
    fn versions_are_ordered_by_distance_to_the_requested_time() {
        let times = |seconds: &[i64]| -> Vec<Timestamp> {
            seconds.iter().map(|second| Timestamp::from_second(*second).unwrap()).collect()
        };
        for (came, at, want) in [
            (&[][..], 5, &[][..]),
            (&[30, 20, 10], 25, &[1, 2, 0]),
            (&[30, 20, 10], 30, &[0, 1, 2]),
            (&[30, 20, 10], 99, &[0, 1, 2]),
            (&[30, 20, 10], 5, &[2, 1, 0]),
            // A restored version can be older than the version before it in the list.
            (&[10, 30, 20], 25, &[2, 0, 1]),
            (&[20, 20], 20, &[0, 1]),
        ] {
            let at = Timestamp::from_second(at).unwrap();
            assert_eq!(nearest(&times(came), at), want, "{came:?} {at}");
        }
        for (came, at, want) in [
            (&[30, 20, 10][..], 24, &[1, 0, 2][..]),
            (&[30, 20, 10], 26, &[0, 1, 2]),
            (&[30, 20, 10], 1, &[2, 1, 0]),
            (&[], 1, &[][..]),
        ] {
            let at = Timestamp::from_second(at).unwrap();
            assert_eq!(closest(&times(came), at), want, "{came:?} {at}");
        }
        let fraction = "1970-01-01T00:00:20.7Z".parse().unwrap();
        assert_eq!(nearest(&[fraction], Timestamp::from_second(20).unwrap()), [0]);
    }
}
