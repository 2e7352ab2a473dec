//! When a site may be asked: schedules compared with the calendar, `robots.txt` with a simple
//! matcher, `Retry-After` with its bound.

use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use hyper::header::{HeaderValue, RETRY_AFTER};
use jiff::tz::{TimeZone, offset};
use jiff::{Timestamp, ToSpan};
use wwwoffle::fetch::recurse::robots::{MAX_CRAWL_DELAY, Robots, Rules};
use wwwoffle_http::retry_after::retry_after;
use wwwoffle_spool::Schedule;

use super::input::{Input, text};

/// The product name by which `robots.txt` addresses us.
const PRODUCT: &str = "wwwoffle";

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.byte() {
        b's' => schedules(input),
        b'r' => robots(input),
        b'm' => patterns(input),
        _ => delays(input),
    }
}

/// Checks that a written schedule parses to the same schedule, and that its next time is later,
/// matches, and is the first that matches.
fn schedules(mut input: Input<'_>) {
    let hours = i8::try_from(input.byte() % 24).unwrap_or(0) - 11;
    let zone = TimeZone::fixed(offset(hours));
    let second = i64::from(input.number()) * 86_400 + i64::from(input.number());
    let now = Timestamp::from_second(second).expect("it is in range");
    let sets = [input.line(), input.line(), input.line(), input.line()];
    let of_sets = Schedule::of_sets(sets[0], sets[1], sets[2], sets[3]);
    for schedule in [text(input.rest()).parse(), of_sets].into_iter().flatten() {
        let written = schedule.to_string();
        assert_eq!(written.parse(), Ok(schedule), "{written:?}");
        let Some(next) = schedule.next_after(now, &zone) else { panic!("{written} never comes") };
        assert!(next > now, "{written}");
        let local = zone.to_datetime(next);
        assert_eq!(local.second(), 0, "{written}");
        let [minutes, hours, ..] = schedule.fields();
        let only =
            format!("{minutes} {hours} * * *").parse::<Schedule>().expect("fields are fields");
        let before = next.checked_sub(1.minute()).expect("it is in range");
        assert_eq!(only.next_after(before, &zone), Some(next), "{written}");
        // Any time in between has the same next time.
        let middle = Timestamp::from_second(now.as_second().midpoint(next.as_second() - 1));
        assert_eq!(schedule.next_after(middle.expect("in range"), &zone), Some(next), "{written}");
    }
}

/// Checks that no text is invalid, and that the file itself may always be requested.
fn robots(mut input: Input<'_>) {
    let path = format!("/{}", input.line());
    let body = input.rest();
    for status in [None, Some(200), Some(404), Some(503)] {
        let robots = Robots::of_answer(status, body, PRODUCT);
        assert!(robots.allows("/robots.txt"));
        assert!(robots.crawl_delay().is_none_or(|delay| delay <= MAX_CRAWL_DELAY));
        let allowed = robots.allows(&path);
        assert_eq!(Robots::of_answer(status, body, PRODUCT).allows(&path), allowed);
    }
}

/// Checks two rules of plain characters: the longer one that matches decides.
fn patterns(mut input: Input<'_>) {
    let plain = |line: &str, and: &str| -> String {
        // The model tries all combinations, so more stars would take years.
        let mut stars = 0_usize;
        let is_taken = |one: &char| {
            stars += usize::from(*one == '*');
            one.is_ascii_alphanumeric() || (and.contains(*one) && stars <= 3)
        };
        line.chars().filter(is_taken).take(40).collect()
    };
    let path = format!("/{}", plain(input.line(), "/"));
    let rules =
        [plain(input.line(), "/*$"), plain(input.line(), "/*$")].map(|rule| format!("/{rule}"));
    let [disallow, allow] = &rules;
    let file = format!("User-agent: *\nDisallow: {disallow}\nAllow: {allow}\n");
    let decide = Rules::parse(file.as_bytes(), PRODUCT);
    let [is_out, is_in] = [disallow, allow].map(|rule| glob(rule.as_bytes(), path.as_bytes()));
    let want = !is_out || (is_in && allow.len() >= disallow.len());
    assert_eq!(decide.allows(&path), want, "{path} by {file}");
}

/// Whether a pattern matches the beginning of a path. A `$` only has a meaning at the end.
fn glob(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], _) => true,
        ([b'$'], path) => path.is_empty(),
        ([b'*', rest @ ..], path) => (0..=path.len()).any(|skip| glob(rest, &path[skip..])),
        ([first, rest @ ..], [other, path @ ..]) if first == other => glob(rest, path),
        _ => false,
    }
}

fn delays(mut input: Input<'_>) {
    let Ok(value) = HeaderValue::from_bytes(input.line_of_bytes()) else { return };
    let mut fields = input.fields();
    fields.insert(RETRY_AFTER, value.clone());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_132_800);
    let told = retry_after(&fields, now);
    assert!(told.is_none_or(|told| told <= Duration::from_secs(86_400)));
    let number = value.to_str().ok().and_then(|text| text.trim().parse::<u32>().ok());
    if let Some(seconds) = number.filter(|_| !value.as_bytes().contains(&b'+')) {
        assert_eq!(told, Some(Duration::from_secs(u64::from(seconds).min(86_400))));
    }
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
}
