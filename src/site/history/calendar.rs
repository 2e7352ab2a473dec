//! The days on which something was saved, as the months of one year.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;

use crate::base::text::Text;
use crate::page::{View, view};
use crate::site::monitor::schedule::WEEKDAYS;

/// Size of a month, of a day with something saved, and of the link to a year, in bytes.
const MONTH: usize = 1_000;
const DAY: usize = 160;
const YEAR: usize = 100;

/// What was saved on a day, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::site) struct SavedDay {
    /// How much was saved.
    pub(in crate::site) count: u64,
    /// Value of the button that leads to it.
    pub(in crate::site) value: String,
    /// Whether it is on the same page.
    pub(in crate::site) is_here: bool,
}

/// The days on which something was saved.
#[derive(Clone, Debug, Default)]
pub(in crate::site) struct Calendar(pub(in crate::site) BTreeMap<Date, SavedDay>);

impl Calendar {
    /// Returns the months of `year` in which something was saved, the newest first, and all years;
    /// and their size in the page, in bytes.
    pub(in crate::site) fn view(&self, year: i16) -> (View, usize) {
        let mut months: BTreeMap<Date, BTreeMap<i8, &SavedDay>> = BTreeMap::new();
        let mut years: BTreeMap<i16, (u64, &SavedDay)> = BTreeMap::new();
        for (date, saved) in &self.0 {
            if date.year() == year {
                months.entry(date.first_of_month()).or_default().insert(date.day(), saved);
            }
            // The newest day of a year stands for it.
            let count = years.get(&date.year()).map_or(0, |(count, _)| *count);
            years.insert(date.year(), (count.saturating_add(saved.count), saved));
        }
        let days: usize = months.values().map(BTreeMap::len).sum();
        let size = months.len() * MONTH + days * DAY + years.len() * YEAR;
        let months: Vec<_> = months.iter().rev().map(|(first, days)| month(*first, days)).collect();
        let years = years.iter().rev().map(|(name, (count, newest))| {
            view! { name, count, value: newest.value, is_chosen: *name == year }
        });
        let years: Vec<_> = years.collect();
        (view! { months, years, weekdays: weekdays() }, size)
    }
}

fn month(first: Date, days: &BTreeMap<i8, &SavedDay>) -> View {
    let nothing = SavedDay::default();
    let cells = (1..=first.days_in_month()).map(|day| {
        let SavedDay { count, value, is_here } = days.get(&day).copied().unwrap_or(&nothing);
        let date = first.checked_add((i64::from(day) - 1).days()).unwrap_or(first);
        view! { day, count, value, is_here, date: date.to_string() }
    });
    // The cells before the first day, in a week that begins on Monday.
    let before = usize::try_from(first.weekday().to_monday_zero_offset()).unwrap_or_default();
    let empty = || view! { day: 0, count: 0 };
    let mut cells: Vec<View> = std::iter::repeat_with(empty).take(before).chain(cells).collect();
    cells.resize_with(cells.len().next_multiple_of(7), empty);
    view! {
        name: first.strftime("%Y-%m").to_string(),
        weeks: cells.chunks(7).map(<[View]>::to_vec).collect::<Vec<_>>(),
    }
}

/// Returns the names of the days of the week, beginning with Monday.
fn weekdays() -> Vec<Text> {
    WEEKDAYS.iter().cycle().skip(1).take(7).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_shown_by_month_and_year() {
        let saved = |count| SavedDay { count, value: count.to_string(), is_here: false };
        let days = [
            ("2026-11-20", 2),
            ("2026-11-01", 3),
            ("2026-02-28", 4),
            ("2025-12-31", 5),
            ("2024-02-29", 6),
            ("2024-01-01", 7),
        ];
        let days = days.map(|(day, count)| (day.parse::<Date>().unwrap(), saved(count)));
        let calendar = Calendar(days.into());
        let (view, size) = calendar.view(2026);
        assert_eq!(size, 2 * MONTH + 3 * DAY + 3 * YEAR);
        let text = |name: &str| format!("{:?}", view[name]);
        let months = text("months");
        // 1 November 2026 is a Sunday: six empty cells before it, and six after Monday the 30th.
        assert_eq!(months.matches("'day': 0").count(), 12 + 7, "{months}");
        for want in ["'2026-11'", "'2026-02'", "'count': 2", "'2026-11-30'"] {
            assert!(months.contains(want), "{want} in {months}");
        }
        assert!(!months.contains("2026-02-29") && !months.contains("2025"), "{months}");
        let years = text("years");
        // The newest day of a year leads to it.
        for want in ["'count': 9", "'count': 5", "'count': 13", "'value': '6'"] {
            assert!(years.contains(want), "{want} in {years}");
        }
        assert_eq!(weekdays().first().map(ToString::to_string).as_deref(), Some("Mon"));
    }
}
