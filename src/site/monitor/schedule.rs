//! Simple schedules in words.

use wwwoffle_spool::Schedule;

use crate::base::text::{Text, tr};

/// The names of the days of the week, beginning with Sunday.
pub(in crate::site) const WEEKDAYS: [Text; 7] =
    [tr("Sun"), tr("Mon"), tr("Tue"), tr("Wed"), tr("Thu"), tr("Fri"), tr("Sat")];

/// Maximum number of times of day in words; for more, a line of cron is just as readable.
const MOST_TIMES: usize = 4;

/// Describes a schedule in words; `None` if it is not simple enough.
pub(in crate::site) fn in_words(schedule: &str) -> Option<Text> {
    let schedule = schedule.parse::<Schedule>().ok()?;
    if schedule.is_each_session() {
        return Some(tr("each time the proxy goes online"));
    }
    let [minutes, hours, days, months, weekdays] = schedule.fields();
    let minute: u8 = minutes.parse().ok().filter(|_| months == "*")?;
    if hours == "*" {
        let is_always = days == "*" && weekdays == "*";
        let minute = minute.to_string();
        return is_always.then(|| tr("every hour, at minute {minute}").with("minute", minute));
    }
    let time = |hour: &str| Some(format!("{}:{minute:02}", hour.parse::<u8>().ok()?));
    let times: Vec<_> = hours.split(',').map(time).collect::<Option<_>>()?;
    let at = Some(times.join(", ")).filter(|_| times.len() <= MOST_TIMES)?;
    let said = if days == "*" && weekdays == "*" {
        tr("daily at {times}")
    } else if days == "*" {
        match weekdays.split_once('-') {
            Some((first, last)) => tr("{first} to {last} at {times}")
                .with("first", weekday(first)?)
                .with("last", weekday(last)?),
            None => tr("weekly, {day} at {times}").with("day", weekday(&weekdays)?),
        }
    } else if weekdays == "*" {
        let day: u8 = days.parse().ok()?;
        tr("monthly, on day {day} at {times}").with("day", day.to_string())
    } else {
        return None;
    };
    Some(said.with("times", at))
}

fn weekday(number: &str) -> Option<Text> {
    WEEKDAYS.get(number.parse::<usize>().ok()?).cloned()
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn simple_schedules_are_described() {
        for (schedule, want) in [
            ("@daily", Some("daily at 0:00")),
            ("@weekly", Some("weekly, Sun at 0:00")),
            ("@monthly", Some("monthly, on day 1 at 0:00")),
            ("@hourly", Some("every hour, at minute 0")),
            ("@online", Some("each time the proxy goes online")),
            ("30 6 * * *", Some("daily at 6:30")),
            ("5 6,18 * * *", Some("daily at 6:05, 18:05")),
            ("30 6 * * mon-fri", Some("Mon to Fri at 6:30")),
            ("0 23 * * 6", Some("weekly, Sat at 23:00")),
            ("15 * * * *", Some("every hour, at minute 15")),
            ("0 6 1 * *", Some("monthly, on day 1 at 6:00")),
            ("@yearly", None),
            ("*/15 * * * *", None),
            ("0 8-18 * * *", None),
            ("0 1,2,3,5,7 * * *", None),
            ("0 6 * * 1,3", None),
            ("0 6 1-7 * *", None),
            ("0 6 1 * 1", None),
            ("0 6 1-7 * 1 and", None),
            ("15 * 1 * *", None),
            ("x", None),
        ] {
            assert_eq!(
                in_words(schedule).map(|text| text.to_string()).as_deref(),
                want,
                "{schedule}"
            );
        }
    }
}
