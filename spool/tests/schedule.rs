//! Schedules: the syntax, and every moment of two years, computed in a second way.
//!
//! The second way shares no code with the program: it visits every minute, keeps local time by
//! rules written here, and looks up each number in the text of its field.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a test"
)]

use jiff::tz::TimeZone;
use wwwoffle_spool::{Schedule, Timestamp};

/// The range in minutes since 1970: the years 2026 and 2027.
const FROM: i64 = days_since_1970(2026, 1, 1) * 1440;
const TO: i64 = days_since_1970(2028, 1, 1) * 1440;

/// The number of days from 1970 to a date.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let mut days = 0;
    let mut each = 1970;
    while each < year {
        days += if is_leap(each) { 366 } else { 365 };
        each += 1;
    }
    let mut each = 1;
    while each < month {
        days += length(year, each);
        each += 1;
    }
    days + day - 1
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn length(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Sunday is 0; the first of January 1970 was a Thursday.
const fn weekday(day: i64) -> i64 {
    (day + 4) % 7
}

/// The first Sunday on or after a day.
const fn sunday_from(day: i64) -> i64 {
    day + (7 - weekday(day)) % 7
}

/// A time zone with its rule: by how many minutes its clock is ahead of UTC, and when.
struct Zone {
    posix: &'static str,
    ahead: fn(i64) -> i64,
}

const ZONES: [Zone; 5] = [
    // Europe/Berlin: on the last Sunday of March and of October, at 01:00 UTC.
    Zone {
        posix: "CET-1CEST,M3.5.0,M10.5.0/3",
        ahead: |minute| summer(minute, (3, 25, 60), (10, 25, 60), 60, 120),
    },
    // America/New_York: second Sunday of March at 07:00 UTC, first Sunday of November at 06:00 UTC.
    Zone {
        posix: "EST5EDT,M3.2.0,M11.1.0",
        ahead: |minute| summer(minute, (3, 8, 7 * 60), (11, 1, 6 * 60), -300, -240),
    },
    // Australia/Lord_Howe: the clock changes by half an hour. Summer time lasts from the first
    // Sunday of October, at 15:30 UTC on the day before, to the first Sunday of April, at 15:00 UTC
    // on the day before. In the code, summer is the time outside April to October.
    Zone {
        posix: "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        ahead: |minute| {
            summer(minute, (4, 1, 15 * 60 - 1440), (10, 1, 15 * 60 + 30 - 1440), 660, 630)
        },
    },
    Zone { posix: "<+0545>-5:45", ahead: |_| 345 },
    Zone { posix: "UTC0", ahead: |_| 0 },
];

/// The offset from UTC in minutes. It is `between` from the first Sunday on or after one day to the
/// first Sunday on or after another day, each at a minute of the UTC day, and `otherwise` for the
/// rest of the year.
fn summer(
    minute: i64,
    start: (i64, i64, i64),
    end: (i64, i64, i64),
    otherwise: i64,
    between: i64,
) -> i64 {
    let mut year = 1970;
    while days_since_1970(year + 1, 1, 1) * 1440 <= minute {
        year += 1;
    }
    let change = |(month, day, at): (i64, i64, i64)| {
        sunday_from(days_since_1970(year, month, day)) * 1440 + at
    };
    if (change(start)..change(end)).contains(&minute) { between } else { otherwise }
}

/// Whether a field contains a number. `last` is the largest number of the field.
fn names(field: &str, number: i64, last: i64) -> bool {
    field.split(',').any(|part| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: i64 = step.parse().unwrap();
        // `*` counts its steps from the least number, which is 1 for days and months.
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (i64::from(matches!(last, 31 | 12)), last),
            Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        (from..=to).contains(&number) && (number - from) % step == 0
    })
}

/// A schedule as the second way reads it: a table for each field.
struct Table {
    minutes: Vec<bool>,
    hours: Vec<bool>,
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
    both: bool,
}

impl Table {
    fn of(text: &str) -> Self {
        let words: Vec<_> = text.split(' ').collect();
        let table = |word: usize, last: i64| -> Vec<bool> {
            (0..=last).map(|number| names(words[word], number, last)).collect()
        };
        Self {
            minutes: table(0, 59),
            hours: table(1, 23),
            days: table(2, 31),
            months: table(3, 12),
            weekdays: table(4, 6),
            both: words.len() == 6 || words[2].starts_with('*') || words[4].starts_with('*'),
        }
    }

    /// Whether a minute of local time matches.
    fn has(&self, wall: &Wall) -> bool {
        let (day, weekday) = (self.days[wall.day as usize], self.weekdays[wall.weekday as usize]);
        self.minutes[wall.minute as usize]
            && self.hours[wall.hour as usize]
            && self.months[wall.month as usize]
            && if self.both { day && weekday } else { day || weekday }
    }
}

/// A clock with a calendar.
#[derive(Clone)]
struct Wall {
    /// The minutes since 1970 in local time.
    count: i64,
    month: i64,
    day: i64,
    weekday: i64,
    hour: i64,
    minute: i64,
}

impl Wall {
    fn at(count: i64) -> Self {
        let (days, rest) = (count.div_euclid(1440), count.rem_euclid(1440));
        let (mut year, mut month, mut day) = (1970, 1, days);
        while day >= if is_leap(year) { 366 } else { 365 } {
            day -= if is_leap(year) { 366 } else { 365 };
            year += 1;
        }
        while day >= length(year, month) {
            day -= length(year, month);
            month += 1;
        }
        let (hour, minute, weekday) = (rest / 60, rest % 60, weekday(days));
        Self { count, month, day: day + 1, weekday, hour, minute }
    }

    fn forward(&mut self) {
        self.count += 1;
        self.minute += 1;
        if self.minute == 60 {
            *self = Self::at(self.count);
        }
    }
}

/// Every moment of each schedule, minute by minute. A minute that the local clock skips counts when
/// the clock is changed; a minute that it has shown before does not count again.
fn every_moment(ahead: fn(i64) -> i64) -> Vec<Vec<i64>> {
    let tables: Vec<_> = SCHEDULES.iter().map(|text| Table::of(text)).collect();
    let mut moments = vec![Vec::new(); tables.len()];
    let mut shown = Wall::at(FROM + ahead(FROM) - 1);
    // Clocks change only at half hours.
    for half in (FROM..TO).step_by(30) {
        let offset = ahead(half);
        for minute in half..half + 30 {
            while shown.count < minute + offset {
                shown.forward();
                for (table, moments) in tables.iter().zip(&mut moments) {
                    if table.has(&shown) && moments.last() != Some(&minute) {
                        moments.push(minute);
                    }
                }
            }
        }
    }
    moments
}

/// The schedules that are checked in each zone.
const SCHEDULES: [&str; 22] = [
    "0 0 * * *",
    "30 2 * * *",
    "0 2 * * *",
    "15 2 * * 0",
    "59 1 * * 0",
    "0 3 * * 0",
    "45 1 * * *",
    "*/30 2 * * *",
    "*/20 * 25-31 3,10 0 and",
    "* 1-3 * 3,4,10,11 0",
    "0 * * * *",
    "30 6 * * 1-5",
    "0 12 13 * 5",
    "0 12 13 * 5 and",
    "0 0 29 2 *",
    "0 0 31 * *",
    "5 4 1 1 0 and",
    "0 0 1-7 * 1 and",
    "10 2 */2 * 0",
    "0 23 28-31 2,4 *",
    "17 5 1,15 1-12/3 3",
    "59 23 31 12 *",
];

#[test]
#[ignore = "slow"]
fn every_moment_of_two_years_is_found_and_no_other() {
    let mut state = 1_u64;
    let mut chance = |below: i64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % below
    };
    for zone in &ZONES {
        let place = TimeZone::posix(zone.posix).unwrap();
        for (text, want) in SCHEDULES.iter().zip(every_moment(zone.ahead)) {
            let schedule: Schedule = text.parse().unwrap();
            let (mut found, mut now) = (Vec::new(), at(FROM * 60 - 1));
            while let Some(next) = schedule.next_after(now, &place).filter(|&it| it < at(TO * 60)) {
                assert_eq!(next.as_second() % 60, 0, "{text} in {}", zone.posix);
                assert!(next > now, "{text} in {}", zone.posix);
                found.push(next.as_second() / 60);
                now = next;
            }
            let first = want.iter().zip(&found).find(|(want, found)| want != found);
            assert!(first.is_none(), "{text} in {}: {first:?}", zone.posix);
            assert_eq!(want.len(), found.len(), "{text} in {}", zone.posix);
            // Searches also begin at any second.
            for _ in 0..50 {
                let now = FROM * 60 + chance((TO - FROM) * 60);
                let index = want.partition_point(|&moment| moment * 60 <= now);
                let Some(&want) = want.get(index) else { continue };
                let next = schedule.next_after(at(now), &place).unwrap();
                assert_eq!(next, at(want * 60), "{text} in {} after {now}", zone.posix);
            }
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn clock_changes_are_followed() {
    let berlin = TimeZone::posix(ZONES[0].posix).unwrap();
    for (text, now, want) in [
        // The hour from 02:00 to 03:00 does not exist on the 29th of March 2026.
        ("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
        ("30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
        // The hour from 02:00 to 03:00 exists twice on the 25th of October 2026.
        ("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        ("30 2 * * *", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"),
        ("0 0 29 2 1 and", "2026-01-01T00:00:00Z", "2044-02-28T23:00:00Z"),
    ] {
        let schedule: Schedule = text.parse().unwrap();
        let next = schedule.next_after(now.parse().unwrap(), &berlin).unwrap();
        assert_eq!(next.to_string(), want, "{text} after {now}");
    }
    let end: Timestamp = "9999-12-30T12:00:00Z".parse().unwrap();
    let leap: Schedule = "0 0 29 2 *".parse().unwrap();
    assert_eq!(leap.next_after(end, &TimeZone::UTC), None);
}

#[test]
fn a_schedule_is_read_as_people_write_it() {
    for (text, want) in [
        ("0 0 * * *", "0 0 * * *"),
        ("  0\t0  *  *  *  ", "0 0 * * *"),
        ("@daily", "0 0 * * *"),
        ("@Weekly", "0 0 * * 0"),
        ("0 6 * * Mon-Fri", "0 6 * * 1-5"),
        ("0 6 * * 7", "0 6 * * 0"),
        ("0 6 * * 5-7", "0 6 * * 0,5-6"),
        ("0 6 * JAN,mar-may *", "0 6 * 1,3-5 *"),
        ("*/15 */6 * * *", "*/15 */6 * * *"),
        ("0,30 * * * *", "*/30 * * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("10-30/10 * * * *", "10,20,30 * * * *"),
        ("0 20- 20- * *", "0 20-23 20-31 * *"),
        ("0 0 1 * 1", "0 0 1 * 1"),
        ("0 0 1 * 1 and", "0 0 1 * 1 and"),
        ("0 0 */2 * 1", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 1 and"),
        ("0 0 1-31 * 1", "0 0 * * *"),
        ("0 0 1-31 * 1 and", "0 0 * * 1"),
        ("0 0 1 * 0-6 AND", "0 0 1 * *"),
        ("0-59 0-23 1-31 1-12 0-6", "* * * * *"),
        ("@Online", "@online"),
    ] {
        let schedule: Schedule = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(schedule.to_string(), want, "{text}");
        assert_eq!(want.parse(), Ok(schedule), "{text}");
    }
    let old = Schedule::of_sets("1,3,5-10", "20-", "0,6", "0").unwrap();
    assert_eq!(old.to_string(), "0 0 20-31 1,3,5-10 0,6 and");
    assert_eq!(Schedule::of_sets("*", "*", "*", "4").unwrap().to_string(), "0 4 * * *");
}

#[test]
fn an_invalid_schedule_is_explained() {
    let fields = "expected the five fields of cron, as in \"30 6 * * 1-5\", or @daily, not ";
    let minutes = "the minutes are * or a list such as 1,3,5-10 of numbers from 0 to 59, not ";
    let months =
        "the months are * or a list such as 1,3,5-10 of numbers from 1 to 12 or jan to dec, not ";
    let never = "it never occurs: none of its months has one of its days";
    for (text, want) in [
        ("", format!("{fields}\"\"")),
        ("@now", format!("{fields}\"@now\"")),
        ("* * * *", format!("{fields}\"* * * *\"")),
        ("* * * * * *", format!("{fields}\"* * * * * *\"")),
        ("60 * * * *", format!("{minutes}\"60\"")),
        ("+1 * * * *", format!("{minutes}\"+1\"")),
        ("5-1 * * * *", format!("{minutes}\"5-1\"")),
        ("*/0 * * * *", format!("{minutes}\"*/0\"")),
        ("1, * * * *", format!("{minutes}\"1,\"")),
        ("1-2-3 * * * *", format!("{minutes}\"1-2-3\"")),
        ("001 * * * *", format!("{minutes}\"001\"")),
        ("99999999999 * * * *", format!("{minutes}\"99999999999\"")),
        ("é * * * *", format!("{minutes}\"é\"")),
        ("0 0 * 0 *", format!("{months}\"0\"")),
        ("0 0 * mond *", format!("{months}\"mond\"")),
        ("0 0 30 2 *", never.to_owned()),
        ("0 0 31 2,4 *", never.to_owned()),
        ("0 0 31 2 1 and", never.to_owned()),
    ] {
        let error = text.parse::<Schedule>().unwrap_err();
        assert_eq!(error.to_string(), want, "{text}");
    }
    assert!("0 0 31 2 1".parse::<Schedule>().is_ok(), "on Mondays it comes");
    let long = "1,".repeat(100_000);
    for text in [long.clone(), format!("{long}1 * * * *"), format!("x{long}")] {
        assert!(text.parse::<Schedule>().unwrap_err().to_string().len() < 200);
    }
}

proptest::proptest! {
    #[test]
    fn any_schedule_is_refused_or_round_trips(
        text in "[0-9*/,@a-z -]{0,24}",
        fields in "([0-9*]{1,2}[-/,]?[0-9*]? ){5}",
    ) {
        for text in [text, fields] {
            if let Ok(schedule) = text.parse::<Schedule>() {
                assert_eq!(schedule.to_string().parse(), Ok(schedule), "{text:?}");
                let next = schedule.next_after(at(FROM * 60), &TimeZone::UTC);
                assert!(next.is_some(), "{text:?} never comes");
            }
        }
    }
}
