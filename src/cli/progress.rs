//! Shows events of the API as they arrive.

use super::hold::held_in_words;
use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
    time::Duration,
};

use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::page::left_out::left_out;
use crate::site::fetches::progress;
use wwwoffle_api::runs::RunItem;
use wwwoffle_api::{Event, TotalProgress};

/// The shortest interval between redraws of the live line.
const REDRAW: Duration = Duration::from_millis(100);

/// Maximum number of characters of the live line, so that it fits on a line of a terminal with 80
/// columns.
const LIVE_WIDTH: usize = 79;

/// A display of a stream of events.
///
/// Prints a line for each event with a result, such as a URL that is done or has failed. In a
/// terminal, a live line below these lines shows the requests in progress.
#[derive(Debug, Default)]
pub(crate) struct ProgressDisplay {
    live: bool,
    /// The requests in progress, by URL.
    under_way: HashMap<String, RequestProgress>,
    /// Bytes of the requests that are done.
    settled_bytes: u64,
    done: u64,
    failed: u64,
    /// The progress of the whole fetch, as reported by the daemon.
    whole: Option<TotalProgress>,
    /// The number of requests of a recursive fetch still to come, as far as known.
    waiting: u64,
    /// Time from the start of the stream to the last redraw of the live line.
    drawn: Option<Duration>,
    end: Option<End>,
}

/// A request in progress.
#[derive(Clone, Copy, Debug, Default)]
struct RequestProgress {
    /// The number of bytes received.
    bytes: u64,
    /// The length in bytes that the origin announced, if any.
    total: Option<u64>,
    seconds_left: Option<u64>,
}

/// The totals in the last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) fetched: u64,
    pub(crate) failed: u64,
    pub(crate) waiting: u64,
}

impl End {
    /// Returns the exit status for these totals: failed requests take precedence over waiting ones.
    pub(crate) fn exit_status(self) -> ExitStatus {
        match self {
            Self { failed: 1.., .. } => ExitStatus::Failed,
            Self { waiting: 1.., .. } => ExitStatus::Queued,
            _ => ExitStatus::Done,
        }
    }
}

impl ProgressDisplay {
    /// Creates the display before the first event; `live` says whether the output is a terminal.
    pub(crate) fn new(live: bool) -> Self {
        Self { live, ..Self::default() }
    }

    /// Returns the totals in the last event; `None` before it has arrived.
    pub(crate) fn end(&self) -> Option<End> {
        self.end
    }

    /// Handles the next event. `since` is the time from the start of the stream to the event.
    pub(crate) fn event(
        &mut self,
        event: Event,
        since: Duration,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let line = self.apply_event(event);
        match line {
            Some(line) if self.live => write!(out, "\r\x1b[K{line}\n")?,
            Some(line) => writeln!(out, "{line}")?,
            None => {}
        }
        if self.live {
            self.draw(since, out)?;
        }
        out.flush()
    }

    /// Counts the next event, and shows nothing.
    pub(crate) fn count(&mut self, event: Event) {
        self.apply_event(event);
    }

    /// Clears the live line, however the stream ended.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.live && self.drawn.take().is_some() {
            write!(out, "\r\x1b[K")?;
        }
        out.flush()
    }

    /// Counts the event, and returns the line to print for it, if any.
    fn apply_event(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Start { url } => {
                self.under_way.entry(url).or_default();
                None
            }
            Event::Progress { url, bytes, total, seconds_left, .. } => {
                self.under_way.insert(url, RequestProgress { bytes, total, seconds_left });
                None
            }
            Event::Whole(whole) => {
                self.whole = Some(whole);
                None
            }
            Event::Held { held, count } => {
                let why = held_in_words(held);
                Some(format!("held                   {count}: {why}"))
            }
            Event::Done { url, status, bytes } => {
                self.under_way.remove(&url);
                self.settled_bytes = self.settled_bytes.saturating_add(bytes);
                self.done += 1;
                let (bytes, url) = (shown::bytes(bytes), shown::line(&url));
                Some(format!("done      {status} {bytes:>7}  {url}"))
            }
            Event::Failed { url, status, error } => {
                self.under_way.remove(&url);
                self.failed += 1;
                let status = status.map_or_else(|| "   ".to_owned(), |status| status.to_string());
                let (url, error) = (shown::line(&url), shown::line(&error));
                Some(format!("failed    {status}          {url}: {error}"))
            }
            Event::Retry { url, error, next } => {
                self.under_way.remove(&url);
                let (url, error) = (shown::line(&url), shown::line(&error));
                Some(format!("retry                  {url}: {error}; again at {next:.0}"))
            }
            Event::Browser { url, error } => {
                let (url, error) = (shown::line(&url), shown::line(&error));
                Some(format!("browser                {url}: {error}"))
            }
            Event::Queued { url } => {
                self.under_way.remove(&url);
                Some(format!("queued                 {}", shown::line(&url)))
            }
            Event::Redirect { url, status, location } => {
                self.under_way.remove(&url);
                let to = location.map(|to| format!(" -> {}", shown::line(&to))).unwrap_or_default();
                Some(format!("redirect  {status}          {}{to}", shown::line(&url)))
            }
            Event::End { fetched, failed, dead: _, waiting } => {
                self.under_way.clear();
                self.end = Some(End { fetched, failed, waiting });
                // Not "fetched", because some of these pages may have been stored before and still
                // be fresh.
                Some(format!("{fetched} stored, {failed} failed, {waiting} waiting"))
            }
            Event::Run { run } => self.run(&run),
            Event::Unknown => None,
        }
    }

    /// Stores the progress of a recursive fetch for the live line. Returns its report once it has
    /// ended.
    fn run(&mut self, run: &RunItem) -> Option<String> {
        self.waiting = run.waiting;
        run.ended.is_some().then(|| report(run))
    }

    fn draw(&mut self, since: Duration, out: &mut dyn Write) -> io::Result<()> {
        let too_soon = self.drawn.is_some_and(|drawn| since.saturating_sub(drawn) < REDRAW);
        if self.under_way.is_empty() || too_soon {
            return Ok(());
        }
        self.drawn = Some(since);
        let line: String = self.live_line(since).chars().take(LIVE_WIDTH).collect();
        write!(out, "\r\x1b[K{line}")
    }

    /// Returns the live line. The URL, which needs the most room, comes last, where the line is cut
    /// off.
    fn live_line(&self, since: Duration) -> String {
        let count = self.under_way.len();
        let mut line =
            format!("{count} under way, {}", progress::describe_total(&self.counted(since)));
        // If only one request is in progress, its own progress is shown, too.
        if let Some((url, RequestProgress { bytes, total: Some(total), seconds_left })) =
            self.single_download()
        {
            if let Some(left) = seconds_left.filter(|_| self.estimated_seconds().is_none()) {
                line = format!("{line}, {} left", shown::span(left));
            }
            let percent = bytes.saturating_mul(100).checked_div(*total).unwrap_or(100).min(100);
            line = format!("{line}, {percent}% of {}", shown::line(url));
        }
        line
    }

    fn estimated_seconds(&self) -> Option<u64> {
        self.whole.and_then(|whole| whole.seconds_left)
    }

    /// Returns the progress of all requests, with the time left if the daemon reports it. Without a
    /// rate from the daemon, the rate is the average since the start.
    fn counted(&self, since: Duration) -> TotalProgress {
        let add = |sum: u64, one: &RequestProgress| sum.saturating_add(one.bytes);
        let bytes = self.under_way.values().fold(self.settled_bytes, add);
        let milliseconds = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).max(1);
        let on_average = bytes.saturating_mul(1_000) / milliseconds;
        let total = self.whole.unwrap_or_default();
        let under_way = u64::try_from(self.under_way.len()).unwrap_or(u64::MAX);
        TotalProgress {
            done: self.done,
            failed: self.failed,
            left: total.left.saturating_sub(under_way).max(self.waiting),
            bytes,
            rate: total.rate.or(Some(on_average)),
            seconds_left: total.seconds_left,
        }
    }

    fn single_download(&self) -> Option<(&String, &RequestProgress)> {
        self.under_way.iter().next().filter(|_| self.under_way.len() == 1)
    }
}

/// Returns the end of an English noun after `count`.
fn plural_end(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Returns the report of a recursive fetch: the counts, the failures with their referring pages,
/// and the number of pages left out for each reason.
pub(crate) fn report(run: &RunItem) -> String {
    let (counts, dead) = (&run.report.counts, run.report.counts.dead);
    let mut text = format!(
        "{}: {} page{} and {} sub-resource{}: {} fetched ({}), {} unchanged, {} already stored, \
         {} failed",
        shown::line(&run.start),
        counts.pages,
        plural_end(counts.pages),
        counts.parts,
        plural_end(counts.parts),
        counts.fetched,
        shown::bytes(counts.bytes),
        counts.unchanged,
        counts.kept,
        counts.failed,
    );
    if dead > 0 {
        // Writing to a `String` does not fail.
        let _written = write!(text, ", {dead} dead link{}", plural_end(dead));
    }
    for failed in &run.report.failed {
        let from = failed.from.as_deref().map(|from| format!(" (from {})", shown::line(from)));
        let what = if failed.dead { "leads nowhere" } else { "failed" };
        let (url, reason) = (shown::line(&failed.url), shown::line(&failed.reason));
        // Writing to a `String` does not fail.
        let _written = write!(text, "\n  {what}: {url}{}: {reason}", from.unwrap_or_default());
    }
    for (why, left) in &run.report.left_out {
        let _written = write!(text, "\n  left out: {}, for {}", left.count, left_out(*why));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{End, ExitStatus, ProgressDisplay};

    fn play(live: bool, events: &[(u64, &str)]) -> (String, ProgressDisplay) {
        let (mut progress, mut out) = (ProgressDisplay::new(live), Vec::new());
        for (milliseconds, text) in events {
            let event = serde_json::from_str(text).unwrap();
            progress.event(event, Duration::from_millis(*milliseconds), &mut out).unwrap();
        }
        progress.finish(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), progress)
    }

    const STREAM: &[(u64, &str)] = &[
        (0, r#"{"event":"start","url":"http://a/"}"#),
        (50, r#"{"event":"progress","url":"http://a/","bytes":500,"total":2000}"#),
        (1000, r#"{"event":"progress","url":"http://a/","bytes":1000,"total":2000}"#),
        (2000, r#"{"event":"done","url":"http://a/","status":200,"bytes":2000}"#),
        (2000, r#"{"event":"redirect","url":"http://b/","status":301,"location":"http://b/x"}"#),
        (2000, r#"{"event":"failed","url":"http://c/","error":"refused\u001b[31m"}"#),
        (
            2000,
            r#"{"event":"retry","url":"http://d/","error":"timeout","next":"2026-11-20T12:00:00Z"}"#,
        ),
        (2000, r#"{"event":"queued","url":"http://e/"}"#),
        (2000, r#"{"event":"parked","url":"http://f/"}"#),
        (2000, r#"{"event":"end","fetched":1,"failed":1,"waiting":2}"#),
    ];

    const LINES: &str = "\
done      200  2.0 kB  http://a/
redirect  301          http://b/ -> http://b/x
failed                 http://c/: refused⟨U+001B⟩[31m
retry                  http://d/: timeout; again at 2026-11-20T12:00:00Z
queued                 http://e/
1 stored, 1 failed, 2 waiting
";

    #[test]
    fn progress_in_a_pipe_has_plain_lines() {
        let (out, progress) = play(false, STREAM);
        assert_eq!(out, LINES);
        assert_eq!(progress.end(), Some(End { fetched: 1, failed: 1, waiting: 2 }));
    }

    #[test]
    fn progress_in_a_terminal_updates_one_line() {
        let (out, _) = play(true, STREAM);
        let settled: String = out.split("\r\x1b[K").filter(|part| part.ends_with('\n')).collect();
        assert_eq!(settled, LINES);
        let live: Vec<_> = out
            .split("\r\x1b[K")
            .filter(|part| !part.is_empty() && !part.ends_with('\n'))
            .collect();
        assert_eq!(
            live,
            [
                "1 under way, 0 done, 0 failed, 0 B, 0 B/s",
                "1 under way, 0 done, 0 failed, 1.0 kB, 1.0 kB/s, 50% of http://a/",
            ]
        );
        assert!(out.ends_with("\r\x1b[K"), "the live line is cleared");
    }

    #[test]
    fn the_estimate_of_the_daemon_is_shown() {
        let steps = [
            (
                0,
                r#"{"event":"progress","url":"http://a/","bytes":1,"total":9,"rate":1,"seconds_left":8}"#,
            ),
            (
                500,
                r#"{"event":"whole","done":0,"failed":0,"left":4,"bytes":1,"rate":7,"seconds_left":90}"#,
            ),
        ];
        let (out, _) = play(true, &steps);
        let live: Vec<_> = out.split("\r\x1b[K").filter(|part| !part.is_empty()).collect();
        assert_eq!(
            live,
            [
                "1 under way, 0 done, 0 failed, 1 B, 1.0 kB/s, 0:08 left, 11% of http://a/",
                "1 under way, 0 done, 0 failed, 3 to go, 1 B, 7 B/s, 1:30 left, 11% of http://a/",
            ]
        );
        let held = r#"{"event":"held","held":{"reason":"mode"},"count":2}"#;
        let (out, _) = play(false, &[(0, held)]);
        assert_eq!(out, "held                   2: waits until the proxy is online\n");
    }

    #[test]
    fn a_live_line_is_never_wider_than_the_terminal() {
        let url = format!("http://a/{}", "x".repeat(500));
        let text = format!(r#"{{"event":"progress","url":"{url}","bytes":1,"total":2}}"#);
        let (out, _) = play(true, &[(0, &text)]);
        assert_eq!(out.split("\r\x1b[K").nth(1).unwrap().chars().count(), super::LIVE_WIDTH);
    }

    #[test]
    fn the_outcome_decides_the_exit_status() {
        let table = [
            ((0, 0, 0), ExitStatus::Done),
            ((3, 0, 0), ExitStatus::Done),
            ((3, 0, 1), ExitStatus::Queued),
            ((3, 1, 1), ExitStatus::Failed),
        ];
        for ((fetched, failed, waiting), want) in table {
            assert_eq!(End { fetched, failed, waiting }.exit_status(), want);
        }
        let cut_off = play(false, &STREAM[..3]).1;
        assert_eq!(cut_off.end(), None);
    }
}
