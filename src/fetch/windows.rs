//! Computes when the queue may be processed again. Pure.

use jiff::tz::{Disambiguation, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};
use wwwoffle_config::Windows;

/// The number of days after today that are searched for a window. Each day has every window, unless
/// the clock skips its time.
const DAYS_AHEAD: i32 = 2;

/// Delay before another check if no window is found.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// When the next window opens; `None` if a window is open.
pub(super) fn opens(windows: &Windows, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if is_open(windows, now, zone) {
        return None;
    }
    let today = now.to_zoned(zone.clone()).date();
    let mut starts = Vec::new();
    for days in 0..=DAYS_AHEAD {
        let Ok(date) = today.checked_add(days.days()) else { continue };
        for window in windows.as_slice() {
            let (hour, minute) = (window.from / 60, window.from % 60);
            let (Ok(hour), Ok(minute)) = (i8::try_from(hour), i8::try_from(minute)) else {
                continue;
            };
            let start = zone.to_ambiguous_timestamp(date.at(hour, minute, 0, 0));
            // A time that the clock shows twice begins a window twice.
            for which in [Disambiguation::Earlier, Disambiguation::Later] {
                starts.extend(start.disambiguate(which));
            }
        }
    }
    // A clock that is put forward may pass the beginning of a window. Then the window opens at the
    // change of the clock.
    let until = now.saturating_add(SignedDuration::from_hours(24 * 3)).unwrap_or(Timestamp::MAX);
    let changes = zone.following(now).map(|change| change.timestamp());
    starts.extend(changes.take_while(|change| *change < until).take(4));
    starts.retain(|start| *start > now && is_open(windows, *start, zone));
    let fallback = now.saturating_add(LOOK_AGAIN).unwrap_or(Timestamp::MAX);
    Some(starts.into_iter().min().unwrap_or(fallback))
}

fn is_open(windows: &Windows, now: Timestamp, zone: &TimeZone) -> bool {
    let time = now.to_zoned(zone.clone()).time();
    let minute = i32::from(time.hour()) * 60 + i32::from(time.minute());
    u16::try_from(minute).is_ok_and(|minute| windows.contains(minute))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_config::{Config, UrlParts};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn windows(text: &str) -> Windows {
        let text = format!("[fetch-options]\nwindows = {text:?}\n");
        let config = Config::parse(&text, Path::new("test.conf")).unwrap();
        let url = CanonicalUrl::parse("http://a/", &LocalHost::default()).unwrap();
        config.fetch_options.windows.of(&UrlParts::of(&url)).clone()
    }

    /// Rows of windows, the time in Berlin, and the time at which fetching may continue.
    #[test]
    fn windows_open_on_time_despite_clock_changes() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for (text, now, want) in [
            ("always", "2026-01-10T12:00+01", None),
            ("02:10-05:40", "2026-01-10T02:10+01", None),
            ("02:10-05:40", "2026-01-10T02:09+01", Some("2026-01-10T02:10+01")),
            ("02:10-05:40", "2026-01-10T05:40+01", Some("2026-01-11T02:10+01")),
            ("02:10-05:40, 12:30-13:00", "2026-01-10T05:40+01", Some("2026-01-10T12:30+01")),
            ("22:00-06:00", "2026-01-10T00:00+01", None),
            ("22:00-06:00", "2026-01-10T06:00+01", Some("2026-01-10T22:00+01")),
            ("23:00-24:00", "2026-12-31T22:00+01", Some("2026-12-31T23:00+01")),
            ("00:00-01:00", "2026-12-31T22:00+01", Some("2027-01-01T00:00+01")),
            // The clock is put forward at 02:00 on 29 March 2026: a window that begins at 02:10
            // begins at 03:00.
            ("02:10-05:40", "2026-03-29T01:59+01", Some("2026-03-29T03:00+02")),
            ("02:10-05:40", "2026-03-29T03:00+02", None),
            // A window within the skipped hour does not exist on that day.
            ("02:10-02:40", "2026-03-29T01:59+01", Some("2026-03-30T02:10+02")),
            // The clock is put back at 03:00 on 25 October 2026: that hour occurs twice.
            ("02:10-02:40", "2026-10-25T02:40+02", Some("2026-10-25T02:10+01")),
            ("02:10-02:40", "2026-10-25T02:40+01", Some("2026-10-26T02:10+01")),
            ("04:00-05:00", "2026-10-25T02:30+02", Some("2026-10-25T04:00+01")),
        ] {
            let time = |text: &str| {
                let (time, offset) = text.split_at(16);
                format!("{time}:00{offset}:00").parse::<Timestamp>().unwrap()
            };
            let got = opens(&windows(text), time(now), &zone);
            assert_eq!(got, want.map(time), "{text} at {now}");
        }
    }

    /// Checks every minute around both clock changes: the returned time is the first open one.
    #[test]
    fn no_open_minute_is_missed() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        for text in ["02:10-02:40", "23:30-02:20, 12:00-12:01"] {
            let windows = windows(text);
            for day in ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"] {
                let day: Timestamp = day.parse().unwrap();
                let minutes: Vec<_> =
                    (0..36 * 60).map(|minute| day + SignedDuration::from_mins(minute)).collect();
                let mut next = None;
                for now in minutes.into_iter().rev() {
                    let opening = opens(&windows, now, &zone);
                    if opening.is_none() {
                        next = Some(now);
                    } else if next.is_some() {
                        assert_eq!(opening, next, "{text} at {now}");
                    }
                }
            }
        }
    }
}
