//! Times of the day and pauses.

use super::{amounts::IN_QUOTES, plain::time};
use crate::source::value::Value;
use std::time::Duration;

const MINUTES_OF_A_DAY: u16 = 24 * 60;

/// The largest number of windows in one value.
const MAX_WINDOWS: usize = 16;

/// A pause between two actions, or no pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pause(Duration);

impl Pause {
    /// The pause as a duration; zero without a pause.
    #[must_use]
    pub fn as_duration(self) -> Duration {
        self.0
    }
}

/// The times of the day at which an action is allowed: one or more windows, or every time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows(Vec<Window>);

/// A time span of the day. It may extend into the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first minute of the window, counted from midnight.
    pub from: u16,
    /// The first minute after the window, counted from midnight.
    pub until: u16,
}

impl Windows {
    /// All windows; empty if every time is allowed.
    #[must_use]
    pub fn as_slice(&self) -> &[Window] {
        &self.0
    }

    /// Whether this minute of the day, counted from midnight, is allowed.
    #[must_use]
    pub fn contains(&self, minute: u16) -> bool {
        self.0.is_empty() || self.0.iter().any(|window| window.contains(minute))
    }
}

impl Window {
    /// Whether the window includes this minute of the day.
    #[must_use]
    pub fn contains(&self, minute: u16) -> bool {
        if self.from < self.until {
            (self.from..self.until).contains(&minute)
        } else {
            minute >= self.from || minute < self.until
        }
    }
}

fn window(text: &str) -> Result<Window, &'static str> {
    let (from, until) =
        text.split_once('-').ok_or("a window is two times with \"-\" between them")?;
    let (from, until) = (minute(from.trim())?, minute(until.trim())?);
    match from {
        MINUTES_OF_A_DAY => {
            Err("a window may end at 24:00, but midnight at its beginning is 00:00")
        }
        _ if from == until => Err("a window must not end at the time at which it begins"),
        from => Ok(Window { from, until: until % MINUTES_OF_A_DAY }),
    }
}

fn minute(text: &str) -> Result<u16, &'static str> {
    let wrong = "a time of day has four digits, such as 02:10";
    let (hour, minute) = text.split_once(':').ok_or(wrong)?;
    let number = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten().ok_or(wrong)
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let sum = hour * 60 + minute;
    if minute < 60 && sum <= MINUTES_OF_A_DAY {
        Ok(sum)
    } else {
        Err("the last time of the day is 24:00")
    }
}

impl Value for Windows {
    const KIND: &'static str = "times of the day";
    const MEANING: &'static str = "\
One or more windows, as in `\"02:10-05:40\"` or `\"12:00-13:00, 22:30-06:00\"`, in the time zone
of the system; or `\"always\"`. A window that ends before it begins ends on the next day.";
    const EXPECTED: &'static str = "times of the day, such as \"02:10-05:40\", or \"always\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "always" {
            return Ok(Self::default());
        }
        let windows: Vec<_> = text.split(',').map(window).collect::<Result<_, _>>()?;
        if windows.len() > MAX_WINDOWS {
            return Err("at most 16 windows are allowed");
        }
        Ok(Self(windows))
    }
}

impl Value for Pause {
    const KIND: &'static str = "pause";
    const MEANING: &'static str = "A time, as in `\"2s\"`, or `\"none\"`.";
    const EXPECTED: &'static str = "a time, such as \"2s\", or \"none\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "none" { Ok(Self::default()) } else { time(text).map(Self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read() {
        let all = |pairs: &[(u16, u16)]| {
            Ok(Windows(pairs.iter().map(|&(from, until)| Window { from, until }).collect()))
        };
        for (text, want) in [
            ("always", all(&[])),
            ("02:10-05:40", all(&[(130, 340)])),
            ("22:30-06:00, 12:00 - 13:00", all(&[(1350, 360), (720, 780)])),
            ("00:00-24:00", all(&[(0, 0)])),
            ("23:00-24:00", all(&[(1380, 0)])),
            (
                "24:00-01:00",
                Err("a window may end at 24:00, but midnight at its beginning is 00:00"),
            ),
            ("02:10-02:10", Err("a window must not end at the time at which it begins")),
            ("02:10", Err("a window is two times with \"-\" between them")),
            ("", Err("a window is two times with \"-\" between them")),
            ("2:10-05:40", Err("a time of day has four digits, such as 02:10")),
            ("02:60-05:40", Err("the last time of the day is 24:00")),
            ("02:10-25:00", Err("the last time of the day is 24:00")),
            ("+2:10-05:40", Err("a time of day has four digits, such as 02:10")),
        ] {
            assert_eq!(Windows::parse(text), want, "{text}");
        }
        assert_eq!(
            Windows::parse(&["00:00-01:00"; 17].join(",")),
            Err("at most 16 windows are allowed")
        );
    }

    #[test]
    fn a_window_may_span_midnight() {
        for (text, minute, want) in [
            ("always", 0, true),
            ("02:10-05:40", 129, false),
            ("02:10-05:40", 130, true),
            ("02:10-05:40", 339, true),
            ("02:10-05:40", 340, false),
            ("22:30-06:00", 1349, false),
            ("22:30-06:00", 1439, true),
            ("22:30-06:00", 0, true),
            ("22:30-06:00", 360, false),
            ("00:00-24:00", 1439, true),
            ("23:00-24:00", 1439, true),
            ("23:00-24:00", 0, false),
        ] {
            assert_eq!(Windows::parse(text).unwrap().contains(minute), want, "{text} {minute}");
        }
    }
}
