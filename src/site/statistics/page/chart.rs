//! Bar chart of one number a day, as SVG, with grid lines at round numbers and dates on the x axis.

use std::fmt::Write as _;

use jiff::civil::Date;
use serde::Serialize;

use crate::base::text::Text;

/// Size of the chart in its own units. Text is 13 units high, so that it is legible on a phone.
const WIDTH: u64 = 400;
const HEIGHT: u64 = 170;

/// Left and top end of the plot area, and the base line of the bars.
const LEFT: u64 = 62;
const TOP: u64 = 10;
const GROUND: u64 = 145;

/// A chart, ready to be drawn.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    title: Text,
    /// Text alternative for screen readers.
    summary: Text,
    width: u64,
    height: u64,
    left: u64,
    ground: u64,
    /// The bars, as one path.
    bars: String,
    lines: Vec<GridLine>,
    days: Vec<DateLabel>,
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
    /// Draws one bar for each day; `label` formats a number.
    pub(super) fn new(
        title: Text,
        summary: Text,
        (days, numbers): (&[Date], &[u64]),
        label: impl Fn(u64) -> String,
    ) -> Self {
        let most = round_above(numbers.iter().copied().max().unwrap_or_default());
        let lines =
            [0, most / 2, most].into_iter().filter(|at| *at == 0 || most > 1 || *at == most);
        let mut lines: Vec<GridLine> = lines.map(|at| GridLine::new(at, most, label(at))).collect();
        lines.dedup_by(|one, other| one.y == other.y);
        Self {
            title,
            summary,
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            ground: GROUND,
            bars: bars(numbers, most),
            lines,
            days: ticks(days),
        }
    }
}

impl GridLine {
    fn new(at: u64, most: u64, label: String) -> Self {
        let y = GROUND.saturating_sub(height(at, most));
        Self { path: format!("M{LEFT} {y}H{WIDTH}"), y: y + 4, label }
    }
}

fn bars(numbers: &[u64], most: u64) -> String {
    let many = u64::try_from(numbers.len()).unwrap_or(u64::MAX).max(1);
    let (mut path, room) = (String::new(), WIDTH - LEFT);
    for (at, number) in (0_u64..).zip(numbers) {
        let (from, to) = (room * at / many, room * (at + 1) / many);
        let height = height(*number, most);
        if height > 0 {
            let wide = to.saturating_sub(from + 2).max(1);
            // Writing to a string does not fail.
            let _written = write!(path, "M{} {GROUND}v-{height}h{wide}v{height}z", LEFT + from + 1);
        }
    }
    path
}

/// Returns the height of a bar. Unless the number is zero, the bar is visible.
fn height(number: u64, most: u64) -> u64 {
    let room = u128::from(GROUND - TOP);
    let height = u128::from(number) * room / u128::from(most.max(1));
    let height = u64::try_from(height).unwrap_or(GROUND - TOP);
    if number > 0 { height.max(1) } else { 0 }
}

/// Returns labels for the first, the middle and the last day.
fn ticks(days: &[Date]) -> Vec<DateLabel> {
    let room = WIDTH - LEFT;
    let at = |day: Option<&Date>, x, anchor| {
        day.map(|day| DateLabel { x, anchor, label: day.strftime("%m-%d").to_string() })
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
    use crate::base::text::tr;

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
        let days: Vec<Date> = (1..=30).map(|day| jiff::civil::date(2026, 11, day)).collect();
        let mut numbers = vec![0; 30];
        numbers[0] = 1;
        numbers[29] = 4;
        let chart = Chart::new(tr("a"), tr("b"), (&days, &numbers), |n| n.to_string());
        assert_eq!(chart.bars, "M63 145v-27h9v27zM389 145v-108h10v108z");
        let labels: Vec<_> = chart.lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["0", "2", "5"]);
        let days: Vec<_> = chart.days.iter().map(|day| day.label.as_str()).collect();
        assert_eq!(days, ["11-01", "11-16", "11-30"]);
        let empty = Chart::new(tr("a"), tr("b"), (&[], &[]), |n| n.to_string());
        assert_eq!((empty.bars.as_str(), empty.days.len()), ("", 0));
    }
}
