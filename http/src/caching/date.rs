//! HTTP dates in their three formats (RFC 9110 §5.6.7).
//!
//! This parser is more lenient than the grammar in one point, which RFC 9111 §4.2 demands of
//! caches: letters may have any case. The name of the day must be valid but is not compared with
//! the date. All other deviations are invalid, including a zone other than `GMT`. An invalid
//! `Expires` counts as a time in the past (RFC 9111 §5.3).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::HeaderName;
use jiff::civil::DateTime;

/// A date with a two-digit year is at most this far in the future. A later date is read as a date
/// of the century before (RFC 9110 §5.6.7).
const MOST_AHEAD: Duration = Duration::from_secs(50 * 31_556_952);

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Parses a date in any of the three formats. `now` determines the century of a two-digit year.
/// `None` if `text` is not a valid date.
///
/// # Examples
///
/// ```
/// # use std::time::{Duration, SystemTime};
/// # use wwwoffle_http::caching::date::parse;
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
/// let date = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
/// assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(date));
/// assert_eq!(parse("Sunday, 06-Nov-94 08:49:37 GMT", now), Some(date));
/// assert_eq!(parse("Sun Nov  6 08:49:37 1994", now), Some(date));
/// assert_eq!(parse("0", now), None);
/// ```
#[must_use]
pub fn parse(text: &str, now: SystemTime) -> Option<SystemTime> {
    let text = text.trim_matches([' ', '\t']).to_ascii_lowercase();
    let (day, rest) = text.split_at(text.find([',', ' '])?);
    let is_short = DAYS.iter().any(|name| name.get(..3) == Some(day));
    match rest.strip_prefix(", ") {
        Some(rest) if is_short => fixed(rest),
        Some(rest) if DAYS.contains(&day) => rfc850(rest, now),
        Some(_) => None,
        None => asctime(rest.strip_prefix(' ').filter(|_| is_short)?),
    }
}

/// The date of a field. `None` if the field is missing or invalid, or its lines differ.
#[must_use]
pub fn of(fields: &HeaderMap, name: &HeaderName, now: SystemTime) -> Option<SystemTime> {
    let mut lines = fields.get_all(name).iter();
    let first = lines.next()?;
    // RFC 9111 §4.2.1: if values differ, a cache uses the first or treats the response as stale.
    // Equal lines are accepted.
    lines.all(|line| line == first).then(|| parse(first.to_str().ok()?, now))?
}

/// `06 nov 1994 08:49:37 gmt`
fn fixed(text: &str) -> Option<SystemTime> {
    let [day, month, year, time, zone] = split(text, ' ')?;
    date(number(year, 4)?, month, number(day, 2)?, time, zone)
}

/// `06-nov-94 08:49:37 gmt`
fn rfc850(text: &str, now: SystemTime) -> Option<SystemTime> {
    let [date_part, time, zone] = split(text, ' ')?;
    let [day, month, year] = split(date_part, '-')?;
    let (year, day) = (number(year, 2)?, number(day, 2)?);
    let limit = now.checked_add(MOST_AHEAD)?;
    let of_century = |century: i16| date(century + year, month, day, time, zone);
    of_century(2000).filter(|date| *date <= limit).or_else(|| of_century(1900))
}

/// `nov  6 08:49:37 1994`
fn asctime(text: &str) -> Option<SystemTime> {
    let (month, rest) = text.split_once(' ')?;
    // A single digit is padded with a space.
    let (day, rest) = match rest.strip_prefix(' ') {
        Some(padded) => (number(padded.get(..1)?, 1)?, padded.get(1..)?),
        None => (number(rest.get(..2)?, 2)?, rest.get(2..)?),
    };
    let [time, year] = split(rest.strip_prefix(' ')?, ' ')?;
    date(number(year, 4)?, month, day, time, "gmt")
}

fn date(year: i16, month: &str, day: i16, time: &str, zone: &str) -> Option<SystemTime> {
    // RFC 9111 §4.2: a date with any other zone is invalid.
    if zone != "gmt" {
        return None;
    }
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == month)?.0;
    let [hour, minute, second] = split(time, ':')?;
    let (hour, minute) = (number(hour, 2)?, number(minute, 2)?);
    // A leap second, which the grammar allows, is read as the second before.
    let second = number(second, 2).filter(|second| *second <= 60)?.min(59);
    let small = |number: i16| i8::try_from(number).ok();
    let date =
        DateTime::new(year, month, small(day)?, small(hour)?, small(minute)?, small(second)?, 0);
    // The date is not computed from a timestamp, because the range of timestamps ends a day before
    // the last date of the grammar. Some servers send that date for "never".
    let since = date.ok()?.duration_since(EPOCH);
    match Duration::try_from(since) {
        Ok(after) => SystemTime::UNIX_EPOCH.checked_add(after),
        Err(_) => SystemTime::UNIX_EPOCH.checked_sub(since.unsigned_abs()),
    }
}

/// Splits into exactly `PARTS` parts.
fn split<const PARTS: usize>(text: &str, at: char) -> Option<[&str; PARTS]> {
    let parts: Vec<_> = text.split(at).take(PARTS + 1).collect();
    parts.try_into().ok()
}

/// Parses exactly `digits` digits.
fn number(text: &str, digits: usize) -> Option<i16> {
    let is_right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_right.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-20
    const NOW: u64 = 1_795_132_800;

    #[test]
    fn only_three_date_formats_are_valid() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("date.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            let got = parse(given.trim(), now).map_or("none".to_owned(), |date| {
                jiff::Timestamp::try_from(date)
                    .map_or_else(|_| "far".to_owned(), |date| date.to_string())
            });
            if got != want.trim() {
                wrong.push(format!("date.txt:{number}: {} got {got}", row.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn only_equal_date_lines_are_a_date() {
        let now = SystemTime::UNIX_EPOCH;
        let (one, other) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT");
        for (lines, is_date) in [
            (&[one][..], true),
            (&[one, one], true),
            (&[one, other], false),
            (&["0", one], false),
            (&[], false),
        ] {
            let mut fields = HeaderMap::new();
            for line in lines {
                fields.append("expires", line.parse().unwrap());
            }
            assert_eq!(of(&fields, &http::header::EXPIRES, now).is_some(), is_date, "{lines:?}");
        }
    }
}
