//! Schedules in the local time of a zone, and their next moments.
//!
//! Like a line of cron, a schedule has five sets: minutes, hours, days of the month, months and
//! days of the week. They are matched with local time. [`next`] explains how a time is handled that
//! the clock skips or shows twice.
//!
//! ```
//! # fn main() -> Result<(), wwwoffle_spool::ParseScheduleError> {
//! use wwwoffle_spool::{Schedule, Timestamp};
//! let workdays: Schedule = "30 6 * * mon-fri".parse()?;
//! assert_eq!(workdays.to_string(), "30 6 * * 1-5");
//! let friday: Timestamp = "2026-11-20T07:00:00Z".parse().unwrap();
//! let next = workdays.next_after(friday, &jiff::tz::TimeZone::UTC);
//! assert_eq!(next.unwrap().to_string(), "2026-11-23T06:30:00Z");
//! # Ok(()) }
//! ```

mod field;
mod next;

use std::fmt;
use std::str::FromStr;

use self::field::{CronField, DAYS, HOURS, MINUTES, MONTHS, WEEKDAYS};

/// The longest text of a schedule, in bytes. A list of all sixty minutes takes 169.
pub const MAX_SCHEDULE: usize = 1 << 10;

/// The word at the end of a schedule that requires a day to be in both sets of days.
const AND: &str = "and";

/// The schedule that occurs once in each session, which is the time from going online to going
/// offline.
const EACH_SESSION: &str = "@online";

/// The abbreviations of cron, and the five fields that each stands for.
const SHORT: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// A repeating time, which occurs at least once in 41 years; or `@online`, once in each session.
///
/// The text is a line of cron: five fields, for minutes, hours, days of the month, months and days
/// of the week. A field is `*` or a list of numbers, names and ranges (`1,3,5-10`), which may have
/// an open end (`20-`) and steps (`*/15`). A day must be in both sets of days if one of the two
/// fields begins with `*`, or if the word `and` follows the fields. Otherwise one set is enough.
/// Abbreviations such as `@daily` are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// Each field is a set of numbers, in which each number is a bit.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// Sunday is 0.
    weekdays: u64,
    days_in: DayCombination,
    /// Whether it occurs once in each session. The sets are then full.
    each_session: bool,
}

/// Whether a day must be in both sets, the days of the month and the days of the week, or in
/// either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum DayCombination {
    Both,
    Either,
}

/// A text that is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseScheduleError(String);

impl Schedule {
    /// Builds a schedule from the fields of WWWOFFLE 2.9. It occurs on the full hours in `hours`,
    /// on the days that are in all of the other sets.
    ///
    /// # Errors
    ///
    /// [`ParseScheduleError`] if a field is invalid, or no day is in all of the sets.
    pub fn of_sets(
        months: &str,
        days: &str,
        weekdays: &str,
        hours: &str,
    ) -> Result<Schedule, ParseScheduleError> {
        Schedule::of_fields(["0", hours, days, months, weekdays], DayCombination::Both)
    }

    /// The text of the five fields: minutes, hours, days, months and days of the week.
    #[must_use]
    pub fn fields(&self) -> [String; 5] {
        let sets = [self.minutes, self.hours, self.days, self.months, self.weekdays];
        let mut texts = [MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS].into_iter().zip(sets);
        std::array::from_fn(|_| {
            texts.next().map(|(field, set)| field.text(set)).unwrap_or_default()
        })
    }

    /// Whether it occurs once in each session, and not at set times.
    #[must_use]
    pub fn is_each_session(&self) -> bool {
        self.each_session
    }

    /// Whether a day of the week is in its set; Sunday is 0.
    #[must_use]
    pub fn has_weekday(&self, day: u8) -> bool {
        has(self.weekdays, day)
    }

    /// Whether a month is in its set; January is 1.
    #[must_use]
    pub fn has_month(&self, month: u8) -> bool {
        has(self.months, month)
    }

    /// Builds a schedule from its five fields.
    fn of_fields(
        [minutes, hours, days, months, weekdays]: [&str; 5],
        days_in: DayCombination,
    ) -> Result<Schedule, ParseScheduleError> {
        Schedule {
            minutes: MINUTES.parse(minutes)?,
            hours: HOURS.parse(hours)?,
            days: DAYS.parse(days)?,
            months: MONTHS.parse(months)?,
            weekdays: WEEKDAYS.parse(weekdays)?,
            days_in,
            each_session: false,
        }
        .check_occurrence()
    }

    /// Simplifies the schedule. Fails if it never occurs.
    fn check_occurrence(mut self) -> Result<Schedule, ParseScheduleError> {
        let has_every_day = self.days == DAYS.all() || self.weekdays == WEEKDAYS.all();
        // With [`DayCombination::Either`], a set of every day makes every day match. Two sets of
        // every day have the same meaning with [`DayCombination::Both`].
        if has_every_day && self.days_in == DayCombination::Either {
            (self.days, self.weekdays) = (DAYS.all(), WEEKDAYS.all());
            self.days_in = DayCombination::Both;
        }
        let has_day = |month| (1..=last_day(month)).any(|day| has(self.days, day));
        let comes = self.days_in == DayCombination::Either
            || (1..=12).any(|month| self.has_month(month) && has_day(month));
        if comes {
            return Ok(self);
        }
        Err(ParseScheduleError(
            "it never occurs: none of its months has one of its days".to_owned(),
        ))
    }
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ParseScheduleError> {
        if text.len() > MAX_SCHEDULE {
            return Err(ParseScheduleError(format!("a schedule has at most {MAX_SCHEDULE} bytes")));
        }
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        if lower == EACH_SESSION {
            let always = Schedule::of_fields(["*"; 5], DayCombination::Both)?;
            return Ok(Schedule { each_session: true, ..always });
        }
        let full = SHORT.iter().find(|(short, _)| *short == lower).map_or(text, |row| row.1);
        let words: Vec<&str> = full.split_ascii_whitespace().collect();
        let (fields, is_and) = match words.as_slice() {
            [fields @ .., last] if fields.len() == 5 && last.eq_ignore_ascii_case(AND) => {
                (fields, true)
            }
            fields => (fields, false),
        };
        let Ok(fields) = <[&str; 5]>::try_from(fields) else {
            return Err(ParseScheduleError(format!(
                "expected the five fields of cron, as in \"30 6 * * 1-5\", or @daily, not {:?}",
                shortened(text)
            )));
        };
        let [_, _, days, _, weekdays] = fields;
        let is_free = |field: &str| field.starts_with('*');
        let both = is_and || is_free(days) || is_free(weekdays);
        let days_in = if both { DayCombination::Both } else { DayCombination::Either };
        Schedule::of_fields(fields, days_in)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.each_session {
            return f.write_str(EACH_SESSION);
        }
        f.write_str(&self.fields().join(" "))?;
        let is_plain = self.days == DAYS.all() || self.weekdays == WEEKDAYS.all();
        match self.days_in {
            DayCombination::Both if !is_plain => write!(f, " {AND}"),
            DayCombination::Both | DayCombination::Either => Ok(()),
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({self})")
    }
}

/// Whether a number is in a set.
fn has(set: u64, number: u8) -> bool {
    set & CronField::bit(number) != 0
}

/// The last day that a month can have.
fn last_day(month: u8) -> u8 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
