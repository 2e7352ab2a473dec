//! The statistics of the last days: the file `statistics`.
//!
//! ```text
//! wwwoffle-statistics 1
//! day 2026-11-22 fetched=5120 given=81920 hit=40 stored=2
//! host www.example.org +0 given=81920 hit=40
//! rest given=12 hit=1
//! ```
//!
//! The lines are readable; [`Statistics`] explains them. The program defines the names of the
//! counts. Unknown names come from a newer program and are kept.
//!
//! Losing the file loses only the counts, so nothing is deleted to make room for it on a full disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::civil::Date;

use crate::durability::Root;
use crate::entry::warc::{self, Reason};
use crate::error::{Damage, Error, Result};
use crate::fs::whole::read_whole;

pub(crate) const FILE: &str = "statistics";
const FIRST_LINE: &str = "wwwoffle-statistics 1";

/// The longest statistics file, in bytes.
pub const MAX_STATISTICS: usize = 1 << 20;

/// The largest number of days; older days are dropped.
pub const MAX_DAYS: usize = 400;

/// The largest number of hosts with counts of their own.
pub const MAX_HOSTS: usize = 500;

/// The longest host name with counts of its own, in bytes: no DNS name is longer.
pub const MAX_HOST: usize = 255;

/// The largest number of counts of one day or host.
const MAX_COUNTS: usize = 64;

/// The longest name of a count, in bytes.
const MAX_NAME: usize = 32;

/// Counts by name. A missing count is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// Returns the count of this name.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Adds `more` to a count. Ignored if the name is too long or has other characters than `a`–`z`
    /// and `-`, or if the count is new and the number of counts has reached its limit.
    pub fn add(&mut self, name: &str, more: u64) {
        if more == 0 {
            return;
        }
        if let Some(count) = self.0.get_mut(name) {
            *count = count.saturating_add(more);
        } else if is_name(name) && self.0.len() < MAX_COUNTS {
            self.0.insert(name.to_owned(), more);
        }
    }

    /// Adds every count of another set.
    pub fn add_all(&mut self, others: &Counts) {
        for (name, more) in others.iter() {
            self.add(name, more);
        }
    }

    /// All counts that are not zero, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Whether all counts are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn parse<'t>(words: impl Iterator<Item = &'t str>) -> Result<Counts, Reason> {
        let mut counts = BTreeMap::new();
        for word in words {
            let (name, count) = word.split_once('=').ok_or("it has a count without =")?;
            let count =
                number(count).filter(|count| *count > 0).ok_or("it has an invalid count")?;
            let is_new = is_name(name) && counts.insert(name.to_owned(), count).is_none();
            if !is_new || counts.len() > MAX_COUNTS {
                return Err("it has an invalid or repeated count, or too many counts");
            }
        }
        Ok(Counts(counts))
    }

    fn write(&self, text: &mut String) {
        for (name, count) in self.iter() {
            // Writing to a string does not fail.
            let _written = write!(text, " {name}={count}");
        }
        text.push('\n');
    }
}

/// The counts of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// The counts since the host was added.
    pub counts: Counts,
    /// An upper bound for the number of requests for this host before it was added: the number,
    /// counted or estimated, of the host that it replaced.
    pub before: u64,
}

/// Counts by day and by host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The days with any count; at most [`MAX_DAYS`].
    pub days: BTreeMap<Date, Counts>,
    /// The hosts with the largest counts; at most [`MAX_HOSTS`].
    pub hosts: BTreeMap<String, HostCounts>,
    /// The counts of all other hosts together.
    pub rest: Counts,
}

impl Statistics {
    /// Parses the text of [`Statistics::to_text`].
    ///
    /// # Errors
    ///
    /// The reason why the text is invalid.
    pub fn parse(text: &[u8]) -> Result<Statistics, &'static str> {
        if text.len() > MAX_STATISTICS {
            return Err("it is too long");
        }
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?;
        // Every line ends with a line feed, so truncation is detected.
        let text = text.strip_suffix('\n').ok_or("its last line is truncated")?;
        let mut lines = text.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err("its first line is not the expected name and version");
        }
        let (mut read, mut has_rest) = (Statistics::default(), false);
        for line in lines {
            let mut words = line.split(' ');
            let is_new = match words.next() {
                Some("day") => read.take_day(words)?,
                Some("host") => read.take_host(words)?,
                Some("rest") => {
                    read.rest = Counts::parse(words)?;
                    !std::mem::replace(&mut has_rest, true)
                }
                _ => return Err("it has a line of an unknown kind"),
            };
            if !is_new {
                return Err("it has a day, a host or the rest twice");
            }
        }
        if read.days.len() > MAX_DAYS || read.hosts.len() > MAX_HOSTS {
            return Err("it has too many days or hosts");
        }
        Ok(read)
    }

    fn take_day<'t>(&mut self, mut words: impl Iterator<Item = &'t str>) -> Result<bool, Reason> {
        let word = words.next().unwrap_or_default();
        let day: Date = word.parse().map_err(|_| "it has an invalid day")?;
        // Each day has only one valid spelling.
        if day.to_string() != word {
            return Err("it has an invalid day");
        }
        Ok(self.days.insert(day, Counts::parse(words)?).is_none())
    }

    fn take_host<'t>(&mut self, mut words: impl Iterator<Item = &'t str>) -> Result<bool, Reason> {
        let host = words.next().filter(|host| is_host(host)).ok_or("it has an invalid host")?;
        let before = words.next().and_then(|word| number(word.strip_prefix('+')?));
        let before = before.ok_or("it has a host without its earlier count")?;
        let counts = Counts::parse(words)?;
        Ok(self.hosts.insert(host.to_owned(), HostCounts { counts, before }).is_none())
    }

    /// The text form, which [`Statistics::parse`] reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for (day, counts) in &self.days {
            let _written = write!(text, "day {day}");
            counts.write(&mut text);
        }
        for (host, HostCounts { counts, before }) in &self.hosts {
            let _written = write!(text, "host {host} +{before}");
            counts.write(&mut text);
        }
        if !self.rest.is_empty() {
            text.push_str("rest");
            self.rest.write(&mut text);
        }
        text
    }
}

/// Whether a host can have counts of its own: it must be one visible word, within the limit.
#[must_use]
pub fn is_host(host: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    !host.is_empty() && host.len() <= MAX_HOST && host.chars().all(is_plain)
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte| matches!(byte, b'a'..=b'z' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

/// Parses digits. Only the form that this module writes is accepted.
fn number(digits: &str) -> Option<u64> {
    let is_usual = digits.len() == 1 || !digits.starts_with('0');
    warc::number(digits).filter(|_| is_usual)
}

/// Checks that a text is a valid file of statistics.
pub(crate) fn reason(text: &[u8]) -> Result<(), Reason> {
    Statistics::parse(text).map(drop)
}

/// Reads the file. An invalid file is moved to `damaged/`, and counting starts at zero.
pub(crate) fn read(root: &Root) -> Result<(Statistics, Option<Damage>)> {
    read_at(root, &root.join(FILE))
}

/// Replaces the file.
pub(crate) fn write(root: &Root, statistics: &Statistics) -> Result<()> {
    write_at(root, &root.join(FILE), statistics)
}

/// Reads the file at `path`, like [`read`].
pub(super) fn read_at(root: &Root, path: &Path) -> Result<(Statistics, Option<Damage>)> {
    let Some(bytes) = read_whole(&*root.disk, path, MAX_STATISTICS)? else {
        return Ok((Statistics::default(), None));
    };
    Ok(match bytes.and_then(|bytes| Statistics::parse(&bytes)) {
        Ok(statistics) => (statistics, None),
        Err(reason) => (Statistics::default(), Some(root.move_aside(path, reason))),
    })
}

/// Replaces the file at `to`.
pub(super) fn write_at(root: &Root, to: &Path, statistics: &Statistics) -> Result<()> {
    let text = statistics.to_text();
    Error::check_length("the statistics", text.len(), MAX_STATISTICS)?;
    root.put_file(to, root.create_tmp()?, |file| file.write_all_at(text.as_bytes(), 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(all: &[(&str, u64)]) -> Counts {
        let mut counts = Counts::default();
        for (name, count) in all {
            counts.add(name, *count);
        }
        counts
    }

    #[test]
    fn counts_round_trip() {
        let mut given = Statistics::default();
        given.days.insert("2026-11-22".parse().unwrap(), counts(&[("hit", 3), ("given", 1 << 60)]));
        given.days.insert("2026-11-21".parse().unwrap(), Counts::default());
        let host = HostCounts { counts: counts(&[("hit", 1)]), before: 7 };
        given.hosts.insert("[2001:db8::1]".to_owned(), host);
        given.rest = counts(&[("from-the-future", u64::MAX)]);
        assert_eq!(Statistics::parse(given.to_text().as_bytes()), Ok(given));
        assert_eq!(Statistics::parse(b"wwwoffle-statistics 1\n"), Ok(Statistics::default()));
    }

    #[test]
    fn invalid_statistics_are_refused() {
        for line in [
            "day 2026-11-22 hit=1",
            "day 20261122",
            "day 2026-13-22",
            "day 2026-11-22 hit=0",
            "day 2026-11-22 hit=01",
            "day 2026-11-22 hit=+1",
            "day 2026-11-22 hit=18446744073709551616",
            "day 2026-11-22 hit=1 hit=1",
            "day 2026-11-22 Hit=1",
            "day 2026-11-22  hit=1",
            "day 2026-11-22 hit",
            "day",
            "",
            "month 2026-11",
            "host a.example hit=1",
            "host a.example +",
            "host  +1",
            "rest\nrest",
            "host a.example +0\nhost a.example +0",
            "day 2026-11-23\nday 2026-11-23",
        ] {
            let text = format!("wwwoffle-statistics 1\n{line}\n");
            let is_good = line.ends_with("22 hit=1");
            assert_eq!(Statistics::parse(text.as_bytes()).is_ok(), is_good, "{line:?}");
        }
        for text in ["", "\n", "wwwoffle-statistics 2\n", "wwwoffle-statistics 1"] {
            assert!(Statistics::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        let long = format!("wwwoffle-statistics 1\n{}", "\n".repeat(MAX_STATISTICS));
        assert_eq!(Statistics::parse(long.as_bytes()), Err("it is too long"));
        let mut many = "wwwoffle-statistics 1\n".to_owned();
        for at in 0..=MAX_HOSTS {
            many.extend(["host h", &at.to_string(), " +0\n"]);
        }
        assert!(Statistics::parse(many.as_bytes()).is_err());
    }

    #[test]
    fn maximum_statistics_fit_the_file_limit() {
        let names: Vec<String> =
            (0..MAX_COUNTS / 4).map(|at| "a".repeat(MAX_NAME - 20 + at)).collect();
        let mut all = Counts::default();
        for name in &names {
            all.add(name, u64::MAX);
        }
        let mut full = Statistics::default();
        let first: Date = "2026-01-01".parse().unwrap();
        for day in 0..MAX_DAYS {
            let day = jiff::Span::new().days(i64::try_from(day).unwrap());
            full.days.insert(first.checked_add(day).unwrap(), all.clone());
        }
        for at in 0..MAX_HOSTS {
            let host = HostCounts { counts: all.clone(), before: u64::MAX };
            full.hosts.insert(format!("{at:0>255}"), host);
        }
        assert!(full.to_text().len() < MAX_STATISTICS, "{}", full.to_text().len());
    }

    proptest! {
        #[test]
        fn parsed_statistics_round_trip(text in "(?s).{0,60}") {
            let text = format!("wwwoffle-statistics 1\n{text}\n");
            if let Ok(read) = Statistics::parse(text.as_bytes()) {
                prop_assert_eq!(Statistics::parse(read.to_text().as_bytes()), Ok(read));
            }
        }

        #[test]
        fn almost_valid_lines_are_read_alike(
            lines in proptest::collection::vec(
                "(day 20[0-9]{2}-[01][0-9]-[0-3][0-9]|host [a-c\u{1}\u{a0}.]{0,3} \\+[0-9]{0,3}|rest)( (hit|given)=[0-9]{0,21}){0,3}",
                0..6,
            ),
        ) {
            let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            let text = format!("wwwoffle-statistics 1\n{text}");
            if let Ok(read) = Statistics::parse(text.as_bytes()) {
                prop_assert_eq!(Statistics::parse(read.to_text().as_bytes()), Ok(read));
            }
        }
    }
}
