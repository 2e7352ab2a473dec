//! The one place of the daemon that reads the clock; everything else takes the time as an argument.
#![expect(clippy::disallowed_methods, reason = "this is the file that may read the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The time now.
#[must_use]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// `time` as RFC 3339 in UTC, to the second: the form of the API and of WARC dates.
///
/// A time outside jiff's range (the years -9999 to 9999) is shown as the epoch.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `time` as a person reads it, in the local time zone: `2026-11-20 14:05`.
#[must_use]
pub fn for_people(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Whole seconds since the epoch; zero for a time before it.
#[must_use]
pub fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        let time = UNIX_EPOCH + Duration::from_millis(1_763_644_799_900);
        assert_eq!(rfc3339(time), "2025-11-20T13:19:59Z");
        assert_eq!(unix_seconds(time), 1_763_644_799);
        assert_eq!(unix_seconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}
