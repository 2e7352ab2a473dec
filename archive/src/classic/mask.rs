//! An `M` file: the schedule of a monitored page as four lines of 0 and 1.

use jiff::Timestamp;
use wwwoffle_spool::Schedule;

use crate::files::SourceFile;
use crate::refusal::{ReadFault, Reason, classify_error};

/// The lines: months, days of the month, days of the week from Sunday, and hours. Each pair has the
/// number of digits, and the month, day or hour for which the first digit stands.
const LINES: [(usize, u32); 4] = [(12, 1), (31, 1), (7, 0), (24, 0)];

/// The longest file that 2.9 takes for one of an earlier version, without a schedule.
const EARLIER: u64 = 7;

/// Reads the schedule, and the time of the last fetch from that of the file. Like 2.9, takes a page
/// without a schedule as one for every midnight that is due now.
pub(super) fn read(file: Option<SourceFile>) -> Result<(Schedule, Option<Timestamp>), ReadFault> {
    let Some(file) = file.filter(|file| file.reader.len() > EARLIER) else {
        let midnight = "0 0 * * * and".parse();
        return Ok((midnight.map_err(|_| Reason::from("its schedule is missing"))?, None));
    };
    let text = file.reader.small(1 << 10).map_err(classify_error)?.unwrap_or_default();
    Ok((schedule(&String::from_utf8_lossy(&text))?, file.modified))
}

/// Converts the lines to a schedule.
fn schedule(text: &str) -> Result<Schedule, Reason> {
    let mut lines = text.lines();
    let mut fields = Vec::new();
    for (length, first) in LINES {
        let line = lines.next().unwrap_or_default().trim();
        if line.len() != length || !line.bytes().all(|byte| matches!(byte, b'0' | b'1')) {
            return Err("its schedule is not four lines of 0 and 1".into());
        }
        let set: Vec<String> = (first..)
            .zip(line.bytes())
            .filter(|(_, byte)| *byte == b'1')
            .map(|(number, _)| number.to_string())
            .collect();
        fields.push(match set.len() {
            0 => return Err("its schedule never applies".into()),
            all if all == length => "*".to_owned(),
            _ => set.join(","),
        });
    }
    let [months, days, weekdays, hours] = fields.as_slice() else {
        return Err("its schedule is not four lines of 0 and 1".into());
    };
    // `and`: a time matches only if the month, the day of the month and the day of the week match.
    let text = format!("0 {hours} {days} {months} {weekdays} and");
    text.parse().map_err(|_| "its schedule is not supported".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_become_schedules() {
        let all = ["1".repeat(12), "1".repeat(31), "1".repeat(7), "1".repeat(24)].join("\n");
        let want: Schedule = "0 * * * * and".parse().unwrap();
        assert_eq!(schedule(&all), Ok(want));
        let days = format!("100000000001\n1{}\n0100000\n{}11\n", "0".repeat(30), "0".repeat(22));
        assert_eq!(schedule(&days), Ok("0 22,23 1 1,12 1 and".parse().unwrap()));
        for bad in ["", "1\n1\n1\n1", &all.replace('1', "0"), &all.replace('1', "2")] {
            assert!(schedule(bad).is_err(), "{bad}");
        }
    }
}
