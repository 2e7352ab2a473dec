//! Endless sites: calendars, arguments in every combination, paths that grow with each step.
//!
//! A page is judged by its URL and by the number of similar pages taken before. So a trap causes a
//! limited number of requests, and pages that are left out are reported with the reason. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use wwwoffle_url::CanonicalUrl;

/// The longest URL of a page that is found by following links, in bytes.
pub const MAX_FOLLOWED_URL: usize = 2048;

/// The maximum number of segments in a path.
const MAX_SEGMENTS: usize = 32;

/// The maximum number of occurrences of one segment in a path.
const MAX_REPEATS: usize = 3;

/// The maximum number of arguments in a URL.
const MAX_ARGUMENTS: usize = 16;

/// The maximum number of years by which the date of a calendar page may lie in the future.
const YEARS_AHEAD: i16 = 1;

/// The maximum number of years by which the date of a calendar page may lie in the past: newspapers
/// have archives.
const YEARS_BACK: i16 = 60;

/// The maximum number of taken pages that differ only in their arguments, and of those that differ
/// only in the numbers in their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MostAlike {
    /// The maximum for pages with the same path.
    pub arguments: usize,
    /// The maximum for pages whose paths differ only in numbers.
    pub numbers: usize,
}

impl Default for MostAlike {
    fn default() -> Self {
        Self { arguments: 500, numbers: 5_000 }
    }
}

/// The reason why a page is regarded as part of an endless site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The URL is longer than [`MAX_FOLLOWED_URL`].
    LongUrl,
    /// The path has too many segments.
    DeepPath,
    /// The path repeats the same segment too often.
    Repeats,
    /// The URL has too many arguments, or one argument too often.
    Arguments,
    /// The page is a calendar page of a distant date.
    Calendar,
    /// Many pages of the same path with other arguments were taken before.
    ManyArguments,
    /// Many pages of the same path with other numbers were taken before.
    ManyNumbers,
}

/// The counts of pages taken so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Traps {
    most: MostAlike,
    paths: HashMap<u64, usize>,
    shapes: HashMap<u64, usize>,
}

impl Traps {
    /// The counts of a run that has taken no pages yet.
    #[must_use]
    pub fn new(most: MostAlike) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts a page that was not taken before, unless it belongs to an endless site. `year` is the
    /// present year.
    ///
    /// # Errors
    ///
    /// The reason why the page is not taken.
    pub fn take(&mut self, url: &CanonicalUrl, year: i16) -> Result<(), Trap> {
        check_single_url(url, year)?;
        if url.arguments().is_some() {
            let count = self.paths.entry(hash(&[url.host_port(), url.path()])).or_default();
            if *count >= self.most.arguments {
                return Err(Trap::ManyArguments);
            }
            *count += 1;
        }
        if is_on_disk(url) {
            return Ok(());
        }
        let shape = shape(url.path());
        if shape != url.path() {
            let count = self.shapes.entry(hash(&[url.host_port(), &shape])).or_default();
            if *count >= self.most.numbers {
                return Err(Trap::ManyNumbers);
            }
            *count += 1;
        }
        Ok(())
    }
}

/// Checks a URL without regard to similar URLs.
fn check_single_url(url: &CanonicalUrl, year: i16) -> Result<(), Trap> {
    if url.as_str().len() > MAX_FOLLOWED_URL {
        return Err(Trap::LongUrl);
    }
    let segments: Vec<_> = url.path().split('/').filter(|part| !part.is_empty()).collect();
    if segments.len() > MAX_SEGMENTS {
        return Err(Trap::DeepPath);
    }
    if most_frequent(segments.iter().copied().filter(|part| !is_number(part))) > MAX_REPEATS {
        return Err(Trap::Repeats);
    }
    let arguments = url.arguments().unwrap_or_default();
    let names = arguments.split('&').filter(|argument| !argument.is_empty());
    let names: Vec<_> = names.map(|argument| argument.split('=').next().unwrap_or("")).collect();
    if names.len() > MAX_ARGUMENTS || most_frequent(names.iter().copied()) > MAX_REPEATS {
        return Err(Trap::Arguments);
    }
    let is_far = |found: i16| found > year + YEARS_AHEAD || found < year - YEARS_BACK;
    if !is_on_disk(url) && dates(&segments, arguments).into_iter().flatten().any(is_far) {
        return Err(Trap::Calendar);
    }
    Ok(())
}

/// Whether the URL names a file on the disk of a server. Such a file is in a directory, so it is
/// not generated, whatever its number or its date.
fn is_on_disk(url: &CanonicalUrl) -> bool {
    url.protocol() == "ftp"
}

fn most_frequent<'a>(parts: impl Iterator<Item = &'a str>) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    parts.for_each(|part| *counts.entry(part).or_default() += 1);
    counts.into_values().max().unwrap_or_default()
}

/// The years in a URL that looks like a day or month: `/2031/07`, `/2031-07-02`,
/// `year=2031&month=7`, `date=2031-07`. A single number is not enough.
fn dates(segments: &[&str], arguments: &str) -> [Option<i16>; 3] {
    let in_path = segments.windows(2).find_map(|pair| match pair {
        [year, month] => self::year(year).filter(|_| is_month(month)),
        _ => None,
    });
    let joined = segments.iter().copied().find_map(date);
    let pairs = || arguments.split('&').filter_map(|argument| argument.split_once('='));
    let named = |names: &[&str]| {
        pairs().find(|(name, _)| names.iter().any(|known| name.eq_ignore_ascii_case(known)))
    };
    let in_arguments = named(&["year", "y", "yr", "jahr", "annee", "ano"])
        .filter(|_| named(&["month", "m", "mon", "week", "w", "monat", "mois", "mes"]).is_some())
        .and_then(|(_, value)| year(value))
        .or_else(|| pairs().find_map(|(_, value)| date(value)));
    [in_path, joined, in_arguments]
}

/// The year of `2031-07` or `2031-07-02`.
fn date(text: &str) -> Option<i16> {
    let mut parts = text.split('-');
    let year = year(parts.next()?)?;
    let is_month = is_month(parts.next()?);
    let rest: Vec<_> = parts.collect();
    let is_day = rest.is_empty() || (rest.len() == 1 && rest.iter().all(|day| is_short(day, 31)));
    (is_month && is_day).then_some(year)
}

fn year(text: &str) -> Option<i16> {
    (text.len() == 4 && is_number(text)).then(|| text.parse().ok())?
}

fn is_month(text: &str) -> bool {
    is_short(text, 12)
}

fn is_short(text: &str, most: u8) -> bool {
    text.len() <= 2
        && is_number(text)
        && text.parse::<u8>().is_ok_and(|number| (1..=most).contains(&number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path with each of its numbers replaced by `#`.
fn shape(path: &str) -> String {
    let mut shape = String::with_capacity(path.len());
    for letter in path.chars() {
        if !letter.is_ascii_digit() {
            shape.push(letter);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    shape
}

/// The key under which similar pages are counted. If two texts have the same hash, they share a
/// count, and a limit is reached sooner.
fn hash(parts: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::LocalHost;

    fn take(traps: &mut Traps, text: &str) -> Result<(), Trap> {
        let url = CanonicalUrl::parse(text, &LocalHost::default()).unwrap();
        traps.take(&url, 2026)
    }

    #[test]
    fn traps_in_a_single_url_are_detected() {
        let long = format!("/{}", "x".repeat(MAX_FOLLOWED_URL));
        let deep = "/x1/x2/x3/x4/x5/x6/x7/x8/x9/y1/y2/y3".repeat(3);
        let many: Vec<_> = (0..20).map(|name| format!("a{name}=1")).collect();
        let many = many.join("&");
        let mut wrong = Vec::new();
        for (path, want) in [
            ("/", Ok(())),
            ("/a/b/a/b/a/b", Ok(())),
            ("/a/b/a/b/a/b/a", Err(Trap::Repeats)),
            ("/1/1/1/1/1", Ok(())),
            (long.as_str(), Err(Trap::LongUrl)),
            (deep.as_str(), Err(Trap::DeepPath)),
            (&format!("/x?{many}"), Err(Trap::Arguments)),
            ("/x?sort=a&sort=b&sort=a&sort=b", Err(Trap::Arguments)),
            ("/2026/11/20/title", Ok(())),
            ("/2027/11", Ok(())),
            ("/1975/01/02/title", Ok(())),
            ("/2028/01", Err(Trap::Calendar)),
            ("/events/2031-07", Err(Trap::Calendar)),
            ("/events/2031-07-02/", Err(Trap::Calendar)),
            ("/events/2031-17", Ok(())),
            ("/model/2031", Ok(())),
            ("/c?year=2031&month=7", Err(Trap::Calendar)),
            ("/c?month=7&year=1921", Err(Trap::Calendar)),
            ("/c?year=2031", Ok(())),
            ("/c?date=2031-07-01", Err(Trap::Calendar)),
            ("/c?date=2026-07-01", Ok(())),
        ] {
            let got = take(&mut Traps::default(), &format!("http://h.example{path}"));
            if got != want {
                wrong.push(format!("{path}: {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn files_of_ftp_servers_are_limited_by_their_paths_alone() {
        let mut traps = Traps::new(MostAlike { arguments: 1, numbers: 1 });
        for number in 0..10 {
            assert_eq!(take(&mut traps, &format!("ftp://h.example/2099/12/{number}")), Ok(()));
        }
        // A link in a directory can lead to the directory itself.
        assert_eq!(take(&mut traps, "ftp://h.example/a/a/a/a/"), Err(Trap::Repeats));
    }

    #[test]
    fn number_of_similar_urls_is_limited() {
        let mut traps = Traps::new(MostAlike { arguments: 10, numbers: 20 });
        let taken = |traps: &mut Traps, url: &dyn Fn(usize) -> String| {
            (0..100).filter(|number| take(traps, &url(*number)).is_ok()).count()
        };
        assert_eq!(taken(&mut traps, &|n| format!("http://h.example/list?page={n}")), 10);
        assert_eq!(taken(&mut traps, &|n| format!("http://h.example/other?page={n}")), 10);
        assert_eq!(taken(&mut traps, &|n| format!("http://i.example/list?page={n}")), 10);
        assert_eq!(taken(&mut traps, &|n| format!("http://h.example/day/{n}/x")), 20);
        let word = |n| format!("http://h.example/{}", "x".repeat(n));
        assert_eq!(taken(&mut traps, &word), 100);
        let last = take(&mut traps, "http://h.example/list?page=1000");
        assert_eq!(last, Err(Trap::ManyArguments));
        assert_eq!(take(&mut traps, "http://h.example/day/7/x"), Err(Trap::ManyNumbers));
    }
}
