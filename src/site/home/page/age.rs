//! Ages in words.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::base::shown::ShownTime;
use crate::base::text::{Text, count, tr};

/// Age in seconds from which the time itself is shown.
const LONG_AGO: i64 = 30 * 24 * 60 * 60;

/// Returns the approximate age of `time` at `now`, or the time itself if it is long ago.
pub(super) fn of(time: Timestamp, now: Timestamp, zone: &TimeZone) -> Text {
    // A time in the future, because the clock was set back, counts as now.
    let seconds = now.as_second().saturating_sub(time.as_second()).max(0);
    let number = |unit: i64| u64::try_from(seconds / unit).unwrap_or_default();
    match seconds {
        0..60 => tr("just now"),
        60..3_600 => count(number(60), "{n} minute ago", "{n} minutes ago"),
        3_600..86_400 => count(number(3_600), "{n} hour ago", "{n} hours ago"),
        86_400..LONG_AGO => count(number(86_400), "{n} day ago", "{n} days ago"),
        _ => tr("on {date}").with("date", ShownTime::new(time, zone).text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_approximately() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = 1_800_000_000;
        for (ago, want) in [
            (-500, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3_599, "59 minutes ago"),
            (7_300, "2 hours ago"),
            (86_400, "1 day ago"),
            (LONG_AGO - 1, "29 days ago"),
            (LONG_AGO, "on 2026-12-16 08:00"),
            (now, "on 1970-01-01 00:00"),
        ] {
            assert_eq!(of(at(now - ago), at(now), &TimeZone::UTC).to_string(), want, "{ago}");
        }
    }
}
