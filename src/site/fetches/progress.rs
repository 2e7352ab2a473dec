//! Progress of downloads and recursive fetches: in words and in percent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::base::shown;
use crate::base::text::{Text, TextValue, count, count_same, row, tr};
use crate::fetch::gauge::Gauge;
use wwwoffle_api::runs::RunItem;
use wwwoffle_api::{DownloadItem, TotalProgress};

/// The time after which the measurement of a fetch that no page shows is discarded.
const GAUGE_FOR: Duration = Duration::from_secs(60);

/// The measured speeds of the recursive fetches that pages show, by their IDs. There are at most as
/// many as fetches, and only recent ones.
#[derive(Debug, Default)]
pub(in crate::site) struct RunGauges(Mutex<HashMap<String, (Instant, Gauge)>>);

impl RunGauges {
    /// Returns the progress of each of `runs`, with its speed and time left if an earlier page has
    /// shown it in the last seconds. `moves` is false if the mode does not allow fetching.
    pub(super) fn measure(&self, runs: &[RunItem], moves: bool) -> Vec<TotalProgress> {
        let now = Instant::now();
        let mut gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.retain(|_, (last, _)| now.duration_since(*last) < GAUGE_FOR);
        let measure = |run: &RunItem| {
            let counted = TotalProgress::of_run(run);
            if run.ended.is_some() {
                return counted;
            }
            let (last, gauge) =
                gauges.entry(run.id.clone()).or_insert_with(|| (now, Gauge::default()));
            *last = now;
            gauge.measure(counted, moves, now)
        };
        runs.iter().map(measure).collect()
    }
}

/// Returns the received share of a download in percent, if its length is known.
#[must_use]
pub fn percent(download: &DownloadItem) -> Option<u64> {
    share(download.bytes, download.total?)
}

/// Returns the share of the known requests that are finished, in percent.
#[must_use]
pub fn percent_of_total(whole: &TotalProgress) -> Option<u64> {
    let finished = whole.done.saturating_add(whole.failed);
    share(finished, finished.saturating_add(whole.left))
}

fn share(part: u64, whole: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(whole).map(|percent| percent.min(100))
}

/// Describes the speed and the remaining time; `None` if neither is known.
#[must_use]
pub fn describe_pace(whole: &TotalProgress) -> Option<Text> {
    let speed = whole.rate.filter(|bytes| *bytes > 0).map(rate);
    let facts: Vec<_> = speed.into_iter().chain(whole.seconds_left.map(left)).collect();
    (!facts.is_empty()).then(|| row(facts))
}

/// Describes a download: received size, speed, remaining time and number of resumptions.
#[must_use]
pub fn describe_download(download: &DownloadItem) -> Text {
    let received = shown::bytes(download.bytes);
    let mut facts = vec![match download.total {
        Some(total) => {
            let text = tr("{size} of {total}").with("size", received);
            text.with("total", shown::bytes(total)).into()
        }
        None => received.into(),
    }];
    facts.extend(download.rate.filter(|_| download.waiting.is_none()).map(rate));
    facts.extend(download.seconds_left.map(left));
    let resumed = count(u64::from(download.resumed), "resumed once", "resumed {n} times");
    facts.extend(resumed.if_any().map(TextValue::from));
    row(facts)
}

/// Describes the progress of all requests together: their numbers and the received size, and the
/// speed and the remaining time if they are known.
#[must_use]
pub fn describe_total(whole: &TotalProgress) -> Text {
    let mut facts: Vec<TextValue> = vec![
        count_same(whole.done, "{n} done").into(),
        count_same(whole.failed, "{n} failed").into(),
    ];
    facts.extend(count_same(whole.left, "{n} to go").if_any().map(TextValue::from));
    facts.push(shown::bytes(whole.bytes).into());
    facts.extend(whole.rate.map(rate));
    facts.extend(whole.seconds_left.map(left));
    row(facts)
}

fn rate(bytes: u64) -> TextValue {
    tr("{size}/s").with("size", shown::bytes(bytes)).into()
}

fn left(seconds: u64) -> TextValue {
    tr("{time} left").with("time", shown::span(seconds)).into()
}

/// States what an interrupted download waits for; `None` if it does not wait. `time` formats a
/// time.
#[must_use]
pub fn describe_wait<T: Into<TextValue>>(
    download: &DownloadItem,
    time: impl Fn(Timestamp) -> T,
) -> Option<Text> {
    let waiting = download.waiting.as_ref()?;
    let text = tr("interrupted at {since}: {error}; attempt {attempt} to resume at {next}");
    Some(
        text.with("since", time(waiting.since))
            .with("error", shown::text(&waiting.error))
            .with("attempt", waiting.attempts.to_string())
            .with("next", time(waiting.next)),
    )
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::base::shown::ShownTime;
    use crate::page::testing::time;
    use wwwoffle_api::DownloadWaiting;

    #[test]
    fn the_total_shows_the_known_numbers() {
        let some = TotalProgress { done: 3, failed: 1, bytes: 1_500, ..TotalProgress::default() };
        assert_eq!(describe_total(&some).to_string(), "3 done, 1 failed, 1.5 kB");
        let more = TotalProgress { left: 7, rate: Some(200), seconds_left: Some(3_725), ..some };
        assert_eq!(
            describe_total(&more).to_string(),
            "3 done, 1 failed, 7 to go, 1.5 kB, 200 B/s, 1:02:05 left"
        );
    }

    #[test]
    fn the_share_of_finished_requests_is_known_if_there_are_any() {
        for (done, failed, left, want) in
            [(0, 0, 0, None), (0, 0, 5, Some(0)), (3, 1, 4, Some(50)), (3, 1, 0, Some(100))]
        {
            let whole = TotalProgress { done, failed, left, ..TotalProgress::default() };
            assert_eq!(percent_of_total(&whole), want, "{done} {failed} {left}");
        }
        assert_eq!(describe_pace(&TotalProgress::default()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_speed_of_a_fetch_is_measured_from_page_to_page() {
        let gauges = RunGauges::default();
        let run = |fetched: u64, waiting: u64, ended| {
            let mut report = wwwoffle_api::runs::Report::default();
            report.counts.fetched = fetched;
            report.counts.bytes = fetched * 1_000;
            let (id, start, spec) =
                ("1".to_owned(), String::new(), wwwoffle_api::fetch_spec::FetchSpec::default());
            RunItem { id, owner: None, start, spec, begun: time(), ended, waiting, report }
        };
        assert_eq!(gauges.measure(&[run(0, 40, None)], true)[0].seconds_left, None);
        tokio::time::advance(Duration::from_secs(10)).await;
        let seen = gauges.measure(&[run(20, 20, None)], true)[0];
        assert_eq!((seen.rate, seen.seconds_left), (Some(2_000), Some(10)));
        assert_eq!(gauges.measure(&[run(40, 0, Some(time()))], true)[0].rate, None);
        tokio::time::advance(2 * GAUGE_FOR).await;
        gauges.measure(&[], true);
        assert!(gauges.0.lock().unwrap().is_empty());
    }

    #[test]
    fn each_known_number_of_a_download_is_shown() {
        let plain = DownloadItem {
            id: 1,
            url: "http://a.example/".to_owned(),
            bytes: 1_500,
            total: None,
            rate: None,
            seconds_left: None,
            resumed: 0,
            waiting: None,
        };
        assert_eq!(describe_download(&plain).to_string(), "1.5 kB");
        assert_eq!(describe_wait(&plain, |time| time.to_string()), None);
        let running =
            DownloadItem { total: Some(3_000), rate: Some(200), resumed: 1, ..plain.clone() };
        assert_eq!(
            describe_download(&running).to_string(),
            "1.5 kB of 3.0 kB, 200 B/s, resumed once"
        );
        let foretold = DownloadItem { seconds_left: Some(8), resumed: 0, ..running.clone() };
        assert_eq!(
            describe_download(&foretold).to_string(),
            "1.5 kB of 3.0 kB, 200 B/s, 0:08 left"
        );
        let error = "reset\u{1b}[2J".to_owned();
        let broken = DownloadWaiting { since: time(), next: time(), attempts: 3, error };
        let broken = DownloadItem { resumed: 2, waiting: Some(broken), ..running };
        assert_eq!(describe_download(&broken).to_string(), "1.5 kB of 3.0 kB, resumed 2 times");
        assert_eq!(
            describe_wait(&broken, |_| "noon".to_owned()).unwrap().to_string(),
            "interrupted at noon: reset⟨U+001B⟩[2J; attempt 3 to resume at noon"
        );
        let shown = describe_wait(&broken, |time| ShownTime::new(time, &TimeZone::UTC)).unwrap();
        assert!(shown.to_string().ends_with("to resume at 2026-11-20 12:00"), "{shown}");
    }
}
