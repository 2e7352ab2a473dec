//! Bar chart of a number and a part of it for each day, as SVG, with grid lines at round numbers and
//! dates on the x axis.

use jiff::civil::Date;
use serde::Serialize;

use crate::base::shown;
use crate::base::text::{Text, tr};

/// Size of the chart in its own units. Text is 13 units high, so that it is legible on a phone.
const WIDTH: u64 = 400;
const HEIGHT: u64 = 170;

/// Left and top end of the plot area, and the base line of the bars.
const LEFT: u64 = 62;
const TOP: u64 = 10;
const GROUND: u64 = 145;

/// The number of a day, and the part of it that is drawn as a solid bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) struct DayCount {
    pub(in crate::site) day: Date,
    pub(in crate::site) whole: u64,
    pub(in crate::site) part: u64,
}

/// A chart, ready to be drawn.
#[derive(Debug, Serialize)]
pub(in crate::site) struct Chart {
    title: Text,
    /// The numbers of all days together in words, for people who do not see the chart.
    summary: Text,
    /// Names of the solid and of the other bars.
    legend: [Text; 2],
    width: u64,
    height: u64,
    left: u64,
    ground: u64,
    bars: Vec<ChartBar>,
    lines: Vec<GridLine>,
    days: Vec<DateLabel>,
}

/// The bars of one day, as paths; the one of the part is drawn over the one of the whole.
#[derive(Debug, Serialize)]
struct ChartBar {
    /// The day and its numbers, which a browser shows under the pointer.
    title: String,
    whole: String,
    part: String,
}

/// A grid line at a round number.
#[derive(Debug, Serialize)]
struct GridLine {
    path: String,
    /// Position of the label.
    y: u64,
    label: String,
}

/// A date on the x axis.
#[derive(Debug, Serialize)]
struct DateLabel {
    x: u64,
    /// `start`, `middle` or `end`.
    anchor: &'static str,
    label: String,
}

impl Chart {
    /// Draws the requests of each day, and those that were answered from the spool.
    pub(in crate::site) fn of_requests(days: &[DayCount]) -> Self {
        let words =
            tr("{part} of {whole} requests in the last {days} days were answered from the spool.");
        let legend = [tr("From the spool"), tr("All others")];
        Self::new((tr("Requests by day"), words), legend, days, |count| count.to_string())
    }

    /// Draws the traffic of each day, and the part that was avoided.
    pub(in crate::site) fn of_traffic(days: &[DayCount]) -> Self {
        let words = tr("{part} of {whole} in the last {days} days did not have to be fetched.");
        let legend = [tr("Traffic avoided"), tr("Fetched")];
        Self::new((tr("Traffic by day"), words), legend, days, shown::bytes)
    }

    /// Draws the bars of each day; `label` formats a number.
    fn new(
        (title, summary): (Text, Text),
        legend: [Text; 2],
        days: &[DayCount],
        label: impl Fn(u64) -> String,
    ) -> Self {
        let sum = |of: fn(&DayCount) -> u64| {
            days.iter().fold(0, |sum: u64, one| sum.saturating_add(of(one)))
        };
        let summary = summary
            .with("part", label(sum(|one| one.part)))
            .with("whole", label(sum(|one| one.whole)))
            .with("days", days.len().to_string());
        let most = round_above(days.iter().map(|one| one.whole).max().unwrap_or_default());
        let lines =
            [0, most / 2, most].into_iter().filter(|at| *at == 0 || most > 1 || *at == most);
        let mut lines: Vec<GridLine> = lines.map(|at| GridLine::new(at, most, label(at))).collect();
        lines.dedup_by(|one, other| one.y == other.y);
        Self {
            title,
            summary,
            legend,
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            ground: GROUND,
            bars: bars(days, most, label),
            lines,
            days: ticks(days),
        }
    }
}

/// Returns the last `many` days up to `today`, oldest first, with the default for days without a
/// value.
pub(in crate::site) fn last_days<T: Default>(
    today: Date,
    many: usize,
    of: impl Fn(Date) -> Option<T>,
) -> Vec<(Date, T)> {
    let all = std::iter::successors(Some(today), |day| day.yesterday().ok()).take(many);
    let mut days: Vec<_> = all.map(|day| (day, of(day).unwrap_or_default())).collect();
    days.reverse();
    days
}

impl GridLine {
    fn new(at: u64, most: u64, label: String) -> Self {
        let y = GROUND.saturating_sub(height(at, most));
        Self { path: format!("M{LEFT} {y}H{WIDTH}"), y: y + 4, label }
    }
}

/// Returns the bars of the days on which something was counted.
fn bars(days: &[DayCount], most: u64, label: impl Fn(u64) -> String) -> Vec<ChartBar> {
    let many = u64::try_from(days.len()).unwrap_or(u64::MAX).max(1);
    let room = WIDTH - LEFT;
    let counted = (0_u64..).zip(days).filter(|(_, day)| day.whole > 0);
    let bar = |(at, day): (u64, &DayCount)| {
        let (from, to) = (room * at / many, room * (at + 1) / many);
        let wide = to.saturating_sub(from + 2).max(1);
        let path = |number| match height(number, most) {
            0 => String::new(),
            height => format!("M{} {GROUND}v-{height}h{wide}v{height}z", LEFT + from + 1),
        };
        ChartBar {
            title: format!("{}: {} / {}", day.day, label(day.part), label(day.whole)),
            whole: path(day.whole),
            part: path(day.part.min(day.whole)),
        }
    };
    counted.map(bar).collect()
}

/// Returns the height of a bar. Unless the number is zero, the bar is visible.
fn height(number: u64, most: u64) -> u64 {
    let room = u128::from(GROUND - TOP);
    let height = u128::from(number) * room / u128::from(most.max(1));
    let height = u64::try_from(height).unwrap_or(GROUND - TOP);
    if number > 0 { height.max(1) } else { 0 }
}

/// Returns labels for the first, the middle and the last day.
fn ticks(days: &[DayCount]) -> Vec<DateLabel> {
    let room = WIDTH - LEFT;
    let at = |day: Option<&DayCount>, x, anchor| {
        day.map(|one| DateLabel { x, anchor, label: one.day.strftime("%m-%d").to_string() })
    };
    let middle = days.get(days.len() / 2).filter(|_| days.len() > 2);
    [
        at(days.first(), LEFT, "start"),
        at(middle, LEFT + room / 2, "middle"),
        at(days.last().filter(|_| days.len() > 1), WIDTH, "end"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the smallest of 1, 2, 5, 10, 20, 50 … that is not below `number`.
fn round_above(number: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for step in [1, 2, 5] {
            match unit.checked_mul(step) {
                Some(round) if round >= number => return round,
                Some(_) => {}
                None => return u64::MAX,
            }
        }
        unit = match unit.checked_mul(10) {
            Some(unit) => unit,
            None => return u64::MAX,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_at_round_numbers() {
        for (number, want) in
            [(0, 1), (1, 1), (3, 5), (5, 5), (51, 100), (1_001, 2_000), (u64::MAX, u64::MAX)]
        {
            assert_eq!(round_above(number), want);
        }
    }

    #[test]
    fn bars_fit_into_the_chart_and_are_visible() {
        assert_eq!((height(0, 10), height(1, 1 << 40), height(10, 10)), (0, 1, GROUND - TOP));
        assert_eq!(height(u64::MAX, u64::MAX), GROUND - TOP);
        let (today, parts) = (jiff::civil::date(2026, 11, 30), [(1, (1, 0)), (30, (4, 2))]);
        let of = |day: Date| parts.iter().find(|(at, _)| *at == day.day()).map(|(_, it)| *it);
        let days = last_days(today, 30, of);
        let days = days.into_iter().map(|(day, (whole, part))| DayCount { day, whole, part });
        let days: Vec<_> = days.collect();
        let chart = Chart::of_requests(&days);
        let bars: Vec<_> =
            chart.bars.iter().map(|bar| (&*bar.title, &*bar.whole, &*bar.part)).collect();
        let first = ("2026-11-01: 0 / 1", "M63 145v-27h9v27z", "");
        let last = ("2026-11-30: 2 / 4", "M389 145v-108h10v108z", "M389 145v-54h10v54z");
        assert_eq!(bars, [first, last]);
        let words = "2 of 5 requests in the last 30 days were answered from the spool.";
        assert_eq!(chart.summary.to_string(), words);
        let labels: Vec<_> = chart.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["0", "2", "5"]);
        let days: Vec<_> = chart.days.iter().map(|day| day.label.as_str()).collect();
        assert_eq!(days, ["11-01", "11-16", "11-30"]);
        let empty = Chart::of_traffic(&[]);
        assert_eq!((empty.bars.len(), empty.days.len()), (0, 0));
    }
}
