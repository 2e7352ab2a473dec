//! The result of the last fetch of the queue.

use jiff::{SignedDuration, Timestamp};

/// The key of the saved result in the state of the spool.
pub(super) const STATE: &str = "last-fetch";

/// The longest time between a result and a new start that still continues the same fetch.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(10);

/// The result of a fetch of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFetch {
    /// The time at which the last request was answered or given up.
    pub at: Timestamp,
    /// The number of answered requests.
    pub done: u64,
    /// The number of requests given up.
    pub failed: u64,
}

/// The results of the current fetch and of the one before it.
#[derive(Debug, Default)]
pub(super) struct LastFetches {
    /// The result since the last start of fetching the queue; `None` before the first request is
    /// answered or given up.
    now: Option<LastFetch>,
    before: Option<LastFetch>,
    is_changed: bool,
}

impl LastFetches {
    /// Restores the stored text. Invalid text counts as no result.
    pub(super) fn restore(&mut self, text: &str) {
        self.before = read(text);
    }

    /// Returns the text to store, if it has changed since the last call.
    pub(super) fn changed(&mut self) -> Option<String> {
        let LastFetch { at, done, failed } = self.last_result()?;
        std::mem::take(&mut self.is_changed).then(|| format!("{at} {done} {failed}"))
    }

    /// Starts a fetch. Going online starts a fetch twice, by the mode and by a command. So a start
    /// within [`AT_ONCE`] of the last result continues the same fetch.
    pub(super) fn start_fetch(&mut self, at: Timestamp) {
        if self.now.is_some_and(|now| at.duration_since(now.at).abs() < AT_ONCE) {
            return;
        }
        self.before = self.last_result();
        self.now = None;
    }

    /// Counts a request that was answered or given up.
    pub(super) fn count(&mut self, is_done: bool, at: Timestamp) {
        let now = self.now.get_or_insert(LastFetch { at, done: 0, failed: 0 });
        now.at = at;
        let count = if is_done { &mut now.done } else { &mut now.failed };
        *count = count.saturating_add(1);
        self.is_changed = true;
    }

    /// The last fetch with a result, if any.
    pub(super) fn last_result(&self) -> Option<LastFetch> {
        self.now.or(self.before)
    }
}

fn read(text: &str) -> Option<LastFetch> {
    let mut words = text.split(' ');
    let (at, done, failed) = (words.next()?, words.next()?, words.next()?);
    Some(LastFetch { at: at.parse().ok()?, done: done.parse().ok()?, failed: failed.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_successful_fetch_survives_a_restart() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut last = LastFetches::default();
        assert_eq!((last.last_result(), last.changed()), (None, None));
        last.start_fetch(at(0));
        last.count(true, at(5));
        last.start_fetch(at(6));
        last.count(true, at(6));
        last.count(false, at(7));
        let result = LastFetch { at: at(7), done: 2, failed: 1 };
        assert_eq!(last.last_result(), Some(result));
        // A start without responses.
        last.start_fetch(at(60));
        assert_eq!(last.last_result(), Some(result));
        let text = last.changed().unwrap();
        assert_eq!(last.changed(), None);
        let mut again = LastFetches::default();
        again.restore(&text);
        assert_eq!((again.last_result(), again.changed()), (Some(result), None));
        for bad in ["", "x", "1970-01-01T00:00:05Z", "1970-01-01T00:00:05Z 1", "a 1 1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
