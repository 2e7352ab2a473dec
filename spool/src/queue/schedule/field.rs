//! A field of a schedule: a set of numbers, and its text.

use super::{ParseScheduleError, shortened};

/// One field of a schedule: its meaning and its range of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct CronField {
    what: &'static str,
    first: u8,
    last: u8,
    /// The names of the numbers, beginning with the first.
    names: &'static [&'static str],
}

pub(super) const MINUTES: CronField =
    CronField { what: "the minutes", first: 0, last: 59, names: &[] };
pub(super) const HOURS: CronField = CronField { what: "the hours", first: 0, last: 23, names: &[] };
pub(super) const DAYS: CronField =
    CronField { what: "the days of the month", first: 1, last: 31, names: &[] };
pub(super) const MONTHS: CronField = CronField {
    what: "the months",
    first: 1,
    last: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
pub(super) const WEEKDAYS: CronField = CronField {
    what: "the days of the week",
    first: 0,
    last: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// The second number of Sunday.
const SUNDAY: u8 = 7;

impl CronField {
    /// The set of one number.
    pub(super) fn bit(number: u8) -> u64 {
        1_u64.checked_shl(number.into()).unwrap_or_default()
    }

    /// The set of all numbers of the field.
    pub(super) fn all(&self) -> u64 {
        (self.first..=self.last).fold(0, |set, number| set | Self::bit(number))
    }

    /// Parses the text of a field, for example `*`, `1,3,5-10`, `20-`, `*/15` or `mon-fri`. Returns
    /// the set of its numbers.
    pub(super) fn parse(&self, text: &str) -> Result<u64, ParseScheduleError> {
        let mut set = 0;
        for part in text.split(',') {
            set |= self.part(part.trim()).ok_or_else(|| self.bad(text))?;
        }
        if self.is_of_weekdays() && set & Self::bit(SUNDAY) != 0 {
            set = set & !Self::bit(SUNDAY) | Self::bit(0);
        }
        Ok(set)
    }

    fn part(&self, part: &str) -> Option<u64> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(digits(step).filter(|&step| step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            None if range == "*" => (self.first, self.last),
            // With a step, a single number begins a range that ends with the largest number.
            None => {
                let from = self.number(range)?;
                (from, if step.is_some() { self.last } else { from })
            }
            Some((from, "")) => (self.number(from)?, self.last),
            Some((from, to)) => (self.number(from)?, self.number(to)?),
        };
        let numbers = (from..=to).step_by(step.unwrap_or(1).into());
        let set = numbers.fold(0, |set, number| set | Self::bit(number));
        Some(set).filter(|&set| set != 0)
    }

    fn number(&self, text: &str) -> Option<u8> {
        let named = self.names.iter().zip(self.first..);
        let mut named = named.filter(|(name, _)| name.eq_ignore_ascii_case(text));
        let number = digits(text).or_else(|| named.next().map(|(_, number)| number))?;
        let last = if self.is_of_weekdays() { SUNDAY } else { self.last };
        (self.first..=last).contains(&number).then_some(number)
    }

    fn is_of_weekdays(&self) -> bool {
        self.what == WEEKDAYS.what
    }

    fn bad(&self, text: &str) -> ParseScheduleError {
        let CronField { what, first, last, .. } = self;
        let names = match self.names {
            [first, .., last] => format!(" or {first} to {last}"),
            _ => String::new(),
        };
        ParseScheduleError(format!(
            "{what} are * or a list such as 1,3,5-10 of numbers from {first} to {last}{names}, \
             not {:?}",
            shortened(text)
        ))
    }

    /// The text of a set. Parsing it returns the same set.
    pub(super) fn text(&self, set: u64) -> String {
        if set == self.all() {
            return "*".to_owned();
        }
        if let Some(step) = self.step(set) {
            return format!("*/{step}");
        }
        let mut parts = Vec::new();
        let mut numbers = (self.first..=self.last).filter(|&number| super::has(set, number));
        let mut range: Option<(u8, u8)> = None;
        loop {
            let next = numbers.next();
            match (range, next) {
                (Some((from, to)), Some(number)) if number == to + 1 => {
                    range = Some((from, number));
                    continue;
                }
                (Some((from, to)), _) if from == to => parts.push(from.to_string()),
                (Some((from, to)), _) => parts.push(format!("{from}-{to}")),
                (None, _) => {}
            }
            let Some(number) = next else { break };
            range = Some((number, number));
        }
        parts.join(",")
    }

    /// The step, if the set is every nth minute or hour.
    fn step(&self, set: u64) -> Option<u8> {
        let is_of_day = self.first == 0 && !self.is_of_weekdays();
        let mut steps = (2..=self.last.div_ceil(2)).filter(|_| is_of_day);
        steps.find(|&step| {
            let numbers = (0..=self.last).step_by(step.into());
            numbers.fold(0, |set, number| set | Self::bit(number)) == set
        })
    }
}

/// Parses a number of one or two digits.
fn digits(text: &str) -> Option<u8> {
    let is_short = (1..=2).contains(&text.len());
    text.parse().ok().filter(|_| is_short && text.bytes().all(|byte| byte.is_ascii_digit()))
}
