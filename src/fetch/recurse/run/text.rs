//! The text form of a run in the spool.
//!
//! ```text
//! {"wwwoffle-run":1,"id":"…","starts":["http://…"],"aim":{…},"begun":"…","report":{…},"traps":{…}}
//! 9f86d081… 3 f        a page: its key, how many links may be followed from it, and its outcome
//! 2c26b46b… - w        a sub-resource
//! end
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::RunId;
use wwwoffle_url::{CanonicalUrl, Key, LocalHost};

use super::super::traps::Traps;
use super::{MAX_SEEN, Report, Run, Seen, UrlOutcome};
use wwwoffle_api::fetch_spec::FetchSpec;

/// The version of this text form.
const VERSION: u32 = 1;

/// The last line, so that truncation is detected.
const END: &str = "end";

/// The reason why the text of a run is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadRun {
    /// The first line is invalid.
    #[error("its first line cannot be read")]
    Head(#[source] serde_json::Error),
    /// The text was written by another version of the program.
    #[error("it has version {0}, but this program supports version {VERSION}")]
    Version(u32),
    /// The identifier is invalid.
    #[error("{0:?} is not the identifier of a fetch")]
    Id(String),
    /// The run has no start page.
    #[error("it has no start page")]
    NoStart,
    /// A start URL is invalid.
    #[error("its start page is not a valid URL")]
    Start(#[source] wwwoffle_url::ParseError),
    /// The line with this number is invalid.
    #[error("line {0} cannot be read")]
    Line(usize),
    /// The text is truncated.
    #[error("its end is missing")]
    Cut,
    /// The text has more URLs than any run can have.
    #[error("it has more than {MAX_SEEN} lines")]
    Long,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RunHead {
    wwwoffle_run: u32,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    starts: Vec<String>,
    #[serde(rename = "aim")]
    spec: FetchSpec,
    begun: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    report: Report,
    #[serde(default)]
    traps: Traps,
}

impl Run {
    /// The text that [`Run::parse`] reads.
    ///
    /// # Panics
    ///
    /// Never: a run contains only values that JSON can represent.
    #[must_use]
    pub fn to_text(&self) -> String {
        let head = RunHead {
            wwwoffle_run: VERSION,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            starts: self.starts.iter().map(|start| start.as_str().to_owned()).collect(),
            spec: self.spec.clone(),
            begun: self.begun,
            ended: self.ended,
            report: self.report.clone(),
            traps: self.traps.clone(),
        };
        let mut text = serde_json::to_string(&head).expect("it has no key that is no text");
        text.push('\n');
        for (key, seen) in &self.seen {
            let letter = seen.outcome.as_str();
            // Writing to a text does not fail.
            let _written = match seen.left {
                Some(left) => writeln!(text, "{key} {left} {letter}"),
                None => writeln!(text, "{key} - {letter}"),
            };
        }
        text.push_str(END);
        text.push('\n');
        text
    }

    /// Parses the text of a run.
    ///
    /// # Errors
    ///
    /// [`BadRun`] if the text is invalid.
    pub fn parse(text: &str, local: &LocalHost) -> Result<Self, BadRun> {
        let (first, rest) = text.split_once('\n').ok_or(BadRun::Cut)?;
        let head: RunHead = serde_json::from_str(first).map_err(BadRun::Head)?;
        if head.wwwoffle_run != VERSION {
            return Err(BadRun::Version(head.wwwoffle_run));
        }
        let starts = head.starts.iter().map(|start| CanonicalUrl::parse(start, local));
        let starts = starts.collect::<Result<Vec<_>, _>>().map_err(BadRun::Start)?;
        if starts.is_empty() {
            return Err(BadRun::NoStart);
        }
        let seen = seen(rest)?;
        Ok(Self {
            id: head.id.parse::<RunId>().map_err(|_| BadRun::Id(head.id))?,
            owner: head.owner,
            starts,
            spec: head.spec,
            begun: head.begun,
            ended: head.ended,
            report: head.report,
            waiting: seen.values().filter(|seen| seen.outcome == UrlOutcome::Waits).count(),
            seen,
            traps: head.traps,
        })
    }
}

fn seen(text: &str) -> Result<HashMap<Key, Seen>, BadRun> {
    let text = text.strip_suffix("end\n").ok_or(BadRun::Cut)?;
    let mut all = HashMap::new();
    for (number, line) in (2..).zip(text.lines()) {
        let (key, seen) = one(line).ok_or(BadRun::Line(number))?;
        all.insert(key, seen);
        if all.len() > MAX_SEEN {
            return Err(BadRun::Long);
        }
    }
    Ok(all)
}

fn one(line: &str) -> Option<(Key, Seen)> {
    let mut words = line.split(' ');
    let (key, left, letter) = (words.next()?, words.next()?, words.next()?);
    let left = if left == "-" { None } else { Some(left.parse().ok()?) };
    let outcome = UrlOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == letter)?;
    words.next().is_none().then_some((key.parse().ok()?, Seen { left, outcome }))
}

#[cfg(test)]
mod tests {
    use super::super::{FailedUrl, LeftOut};
    use super::*;
    use wwwoffle_api::fetch_spec::PartClass;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    fn some_run() -> Run {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let start = url("http://h.example/");
        let spec = FetchSpec {
            depth: 3,
            parts: [(PartClass::Images, true), (PartClass::Scripts, false)].into(),
            ..FetchSpec::default()
        };
        let owner = Some("user anna".to_owned());
        let mut run = Run::new(RunId::from_number(9), owner, start.clone(), spec, now);
        run.take_start_page(start.key());
        for number in 0..20 {
            let page = url(&format!("http://h.example/{number}?q={number}"));
            run.page(&page, page.key(), number, now).unwrap();
            run.record(&page.key(), UrlOutcome::Fetched, 10);
        }
        let part = url("http://h.example/x.png");
        run.part(part.as_str(), part.key(), None, now).unwrap();
        let (url, reason) = ("http://h.example/x.png".to_owned(), "404 \"gone\"\n".to_owned());
        run.failed(&part.key(), FailedUrl { url, from: None, reason, dead: true });
        run.count_left_out(LeftOut::Robots, "http://h.example/private");
        run
    }

    #[test]
    fn a_run_round_trips() {
        let run = some_run();
        let text = run.to_text();
        let back = Run::parse(&text, &LocalHost::default()).unwrap();
        assert_eq!((back.id, &back.owner, &back.starts), (run.id, &run.owner, &run.starts));
        assert_eq!((&back.spec, back.begun, back.ended), (&run.spec, run.begun, run.ended));
        assert_eq!((&back.report, &back.seen), (&run.report, &run.seen));
        assert_eq!((back.waiting, run.waiting), (1, 1));
        let sorted = |text: &str| {
            let mut lines: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&back.to_text()), sorted(&text));
    }

    #[test]
    fn a_truncated_or_changed_run_is_refused() {
        let text = some_run().to_text();
        let parse = |text: &str| Run::parse(text, &LocalHost::default());
        for end in 0..text.len() {
            assert!(parse(&text[..end]).is_err(), "cut at {end}");
        }
        for (from, to) in [
            ("\"wwwoffle-run\":1", "\"wwwoffle-run\":2"),
            ("http://h.example/\"]", "http://\"]"),
            ("[\"http://h.example/\"]", "[]"),
            (" - x", " - y"),
            (" - x", " 99999 x"),
            (" - x", " - x x"),
        ] {
            assert_ne!(text, text.replacen(from, to, 1), "{from} is there");
            assert!(parse(&text.replacen(from, to, 1)).is_err(), "{from} {to}");
        }
    }
}
