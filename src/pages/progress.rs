//! How far a download has come, in words.

use jiff::Timestamp;

use super::shown;
use crate::api::{Download, Whole};

/// How much is here, how fast it comes, and how often it was taken up again.
#[must_use]
pub fn line(download: &Download) -> String {
    let of = download.total.map(|total| format!(" of {}", shown::bytes(total)));
    let rate = download.rate.filter(|_| download.waiting.is_none());
    let rate = rate.map(|rate| format!(", {}/s", shown::bytes(rate)));
    let left = download.seconds_left.map(|left| format!(", {} left", shown::span(left)));
    let resumed = match download.resumed {
        0 => String::new(),
        1 => ", taken up again once".to_owned(),
        times => format!(", taken up again {times} times"),
    };
    let received = shown::bytes(download.bytes);
    let [of, rate, left] = [of, rate, left].map(Option::unwrap_or_default);
    format!("{received}{of}{rate}{left}{resumed}")
}

/// How far all of it has come together: how much is done and left, and how long that takes if it can be
/// said.
#[must_use]
pub fn whole(whole: &Whole) -> String {
    let mut text = format!("{} done, {} failed", whole.done, whole.failed);
    if whole.left > 0 {
        text = format!("{text}, {} to go", whole.left);
    }
    text = format!("{text}, {}", shown::bytes(whole.bytes));
    if let Some(rate) = whole.rate {
        text = format!("{text}, {}/s", shown::bytes(rate));
    }
    match whole.seconds_left {
        Some(left) => format!("{text}, {} left", shown::span(left)),
        None => text,
    }
}

/// What a download that broke off waits for, if it did; `time` writes a moment.
#[must_use]
pub fn waiting(download: &Download, time: impl Fn(Timestamp) -> String) -> Option<String> {
    let waiting = download.waiting.as_ref()?;
    let (since, next) = (time(waiting.since), time(waiting.next));
    let error = shown::text(&waiting.error);
    let attempt = waiting.attempts;
    Some(format!("broke off at {since}: {error}; attempt {attempt} to take it up again at {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::DownloadWaiting;
    use crate::pages::testing::time;

    #[test]
    fn the_whole_tells_what_can_be_said() {
        let some = Whole { done: 3, failed: 1, bytes: 1_500, ..Whole::default() };
        assert_eq!(whole(&some), "3 done, 1 failed, 1.5 kB");
        let more = Whole { left: 7, rate: Some(200), seconds_left: Some(3_725), ..some };
        assert_eq!(whole(&more), "3 done, 1 failed, 7 to go, 1.5 kB, 200 B/s, 1:02:05 left");
    }

    #[test]
    fn each_number_that_is_known_is_told() {
        let plain = Download {
            url: "http://a.example/".to_owned(),
            bytes: 1_500,
            total: None,
            rate: None,
            seconds_left: None,
            resumed: 0,
            waiting: None,
        };
        assert_eq!(line(&plain), "1.5 kB");
        assert_eq!(waiting(&plain, |time| time.to_string()), None);
        let running = Download { total: Some(3_000), rate: Some(200), resumed: 1, ..plain.clone() };
        assert_eq!(line(&running), "1.5 kB of 3.0 kB, 200 B/s, taken up again once");
        let foretold = Download { seconds_left: Some(8), resumed: 0, ..running.clone() };
        assert_eq!(line(&foretold), "1.5 kB of 3.0 kB, 200 B/s, 0:08 left");
        let error = "reset\u{1b}[2J".to_owned();
        let broken = DownloadWaiting { since: time(), next: time(), attempts: 3, error };
        let broken = Download { resumed: 2, waiting: Some(broken), ..running };
        assert_eq!(line(&broken), "1.5 kB of 3.0 kB, taken up again 2 times");
        assert_eq!(
            waiting(&broken, |_| "noon".to_owned()).unwrap(),
            "broke off at noon: reset⟨U+001B⟩[2J; attempt 3 to take it up again at noon"
        );
    }
}
