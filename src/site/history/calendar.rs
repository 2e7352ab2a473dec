//! The versions of a page as a calendar: the months with versions, the newest first.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;

use crate::base::text::Text;
use crate::page::{View, view};
use crate::site::monitor::schedule::WEEKDAYS;

/// Maximum number of months that are shown.
const MONTHS: usize = 3;

/// Returns the newest months of the days on which versions arrived, with the number of versions of
/// each day, and the number of older months.
pub(super) fn months(days: impl IntoIterator<Item = Date>) -> (Vec<View>, usize) {
    let mut months: BTreeMap<Date, BTreeMap<i8, u64>> = BTreeMap::new();
    for day in days {
        *months.entry(day.first_of_month()).or_default().entry(day.day()).or_default() += 1;
    }
    let more = months.len().saturating_sub(MONTHS);
    let newest = months.into_iter().rev().take(MONTHS);
    (newest.map(|(first, counts)| month(first, &counts)).collect(), more)
}

fn month(first: Date, counts: &BTreeMap<i8, u64>) -> View {
    let cells = (1..=first.days_in_month()).map(|day| {
        let count = counts.get(&day).copied().unwrap_or_default();
        let date = first.checked_add((i64::from(day) - 1).days()).unwrap_or(first);
        view! { day, count, date: date.to_string() }
    });
    // The cells before the first day, in a week that begins on Monday.
    let before = usize::try_from(first.weekday().to_monday_zero_offset()).unwrap_or_default();
    let empty = || view! { day: 0, count: 0, date: "" };
    let mut cells: Vec<View> = std::iter::repeat_with(empty).take(before).chain(cells).collect();
    cells.resize_with(cells.len().next_multiple_of(7), empty);
    view! {
        name: first.strftime("%Y-%m").to_string(),
        weeks: cells.chunks(7).map(<[View]>::to_vec).collect::<Vec<_>>(),
    }
}

/// Returns the names of the days of the week, beginning with Monday.
pub(super) fn weekdays() -> Vec<Text> {
    WEEKDAYS.iter().cycle().skip(1).take(7).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_counted_by_day_and_month() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        let days =
            ["2026-11-20", "2026-11-20", "2026-11-01", "2026-02-28", "2025-12-31", "2024-02-29"];
        let (months, more) = months(days.map(date));
        assert_eq!(more, 1, "February 2024");
        let names: Vec<_> = months.iter().map(|month| month["name"].to_string()).collect();
        assert_eq!(names, ["2026-11", "2026-02", "2025-12"]);
        let text = |at: usize| format!("{:?}", months[at]["weeks"]);
        // 1 November 2026 is a Sunday: six empty cells before it, and six after Monday the 30th.
        assert_eq!(text(0).matches("'day': 0").count(), 12, "{}", text(0));
        assert!(text(0).contains("'count': 2") && text(0).contains("2026-11-30"), "{}", text(0));
        assert!(!text(1).contains("2026-02-29"), "{}", text(1));
        assert_eq!(weekdays().first().map(ToString::to_string).as_deref(), Some("Mon"));
    }
}
