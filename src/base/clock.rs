//! The system clock. Code that needs the current time takes it as an argument or calls [`now`].
//! Only the spool and the writer to the system log read the clock themselves.
#![expect(clippy::disallowed_methods, reason = "this is the file that may read the clock")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Seconds from the epoch to the end of the year 9999, the last year of HTTP dates.
const LAST: u64 = 253_402_300_799;

/// The current time, limited to the years 1970 to 9999. HTTP dates and TLS cannot express other
/// times, and the libraries that write them panic.
#[must_use]
pub fn now() -> SystemTime {
    clamp(SystemTime::now())
}

/// Whether the clock shows a time between 1970 and 9999.
///
/// The HTTP server library reads the clock without [`now`] and panics at other times.
#[must_use]
pub fn is_set() -> bool {
    let time = SystemTime::now();
    clamp(time) == time
}

fn clamp(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(LAST))
}

/// Formats `time` as RFC 3339 in UTC, to the second: the form of the API and of WARC dates.
///
/// A time outside jiff's range (the years -9999 to 9999) is shown as the epoch.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        let time = UNIX_EPOCH + Duration::from_millis(1_763_644_799_900);
        assert_eq!(rfc3339(time), "2025-11-20T13:19:59Z");
    }

    #[test]
    fn times_outside_http_dates_become_the_nearest_one() {
        let second = Duration::from_secs(1);
        let last = UNIX_EPOCH + Duration::from_secs(LAST);
        assert_eq!(httpdate::fmt_http_date(last), "Fri, 31 Dec 9999 23:59:59 GMT");
        for (time, want) in [
            (UNIX_EPOCH - second, UNIX_EPOCH),
            (UNIX_EPOCH + second, UNIX_EPOCH + second),
            (last + second, last),
        ] {
            assert_eq!(clamp(time), want);
        }
    }
}
