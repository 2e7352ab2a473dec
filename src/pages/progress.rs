//! How far a download has come, in words.

use jiff::Timestamp;

use super::shown;
use crate::api::Download;

/// How much is here, how fast it comes, and how often it was taken up again.
#[must_use]
pub fn line(download: &Download) -> String {
    let of = download.total.map(|total| format!(" of {}", shown::bytes(total)));
    let rate = download.rate.filter(|_| download.waiting.is_none());
    let rate = rate.map(|rate| format!(", {}/s", shown::bytes(rate)));
    let resumed = match download.resumed {
        0 => String::new(),
        1 => ", taken up again once".to_owned(),
        times => format!(", taken up again {times} times"),
    };
    let received = shown::bytes(download.bytes);
    format!("{received}{}{}{resumed}", of.unwrap_or_default(), rate.unwrap_or_default())
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
    fn each_number_that_is_known_is_told() {
        let plain = Download {
            url: "http://a.example/".to_owned(),
            bytes: 1_500,
            total: None,
            rate: None,
            resumed: 0,
            waiting: None,
        };
        assert_eq!(line(&plain), "1.5 kB");
        assert_eq!(waiting(&plain, |time| time.to_string()), None);
        let running = Download { total: Some(3_000), rate: Some(200), resumed: 1, ..plain.clone() };
        assert_eq!(line(&running), "1.5 kB of 3.0 kB, 200 B/s, taken up again once");
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
