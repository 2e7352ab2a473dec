//! The limits of downloads that no client reads. A download is *unawaited* if the queue does not
//! wait for it either.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wwwoffle_config::{Config, SizeLimit};

use super::run::{DownloadContext, OriginClient};
use super::{Download, Downloads};
use crate::net::upstream::{Failure, Origin};

/// The interval at which the limits of a download without readers are checked.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long an unawaited download may stall.
const STILL: Duration = Duration::from_secs(30);

/// Minimum average speed of an unawaited download, in bytes per second.
const SLOWEST: u64 = 64;

/// How long an unawaited download may be slower than `SLOWEST`.
const SLOW: Duration = Duration::from_secs(120);

/// Maximum number of unawaited downloads that continue.
const MOST: usize = 64;

/// Maximum speed of an unawaited download of unknown length, in bytes per second.
const RATE: u64 = 1_000_000;

/// When the last reader left a download, and the bytes that had arrived by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastRead {
    since: Instant,
    bytes: u64,
}

impl LastRead {
    /// Records that the last reader of `download` leaves now.
    pub(super) fn now(download: &Download) -> Self {
        Self { since: Instant::now(), bytes: download.progress.snapshot().bytes }
    }

    /// Whether the last reader left at least `slow` ago, and the average speed since then is below
    /// [`SLOWEST`].
    fn is_slow(&self, download: &Download, slow: Duration) -> bool {
        let (elapsed, bytes) = (self.since.elapsed(), download.progress.snapshot().bytes);
        elapsed >= slow && bytes.saturating_sub(self.bytes) < SLOWEST * elapsed.as_secs()
    }
}

/// The limits of a download while no client reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnreadLimits {
    /// Maximum bytes of a body of unknown length: `unread-size`.
    pub(super) size: u64,
    /// Time limit for a body of unknown length: `unread-time`.
    pub(super) time: Duration,
    /// How long an unawaited download may stall.
    pub(super) still: Duration,
    /// How long an unawaited download may be slower than [`SLOWEST`].
    pub(super) slow: Duration,
}

impl UnreadLimits {
    pub(super) fn of(config: &Config) -> Self {
        let size = match config.options.unread_size {
            SizeLimit::At(size) => size.bytes(),
            SizeLimit::None => u64::MAX,
        };
        Self { size, time: config.options.unread_time, still: STILL, slow: SLOW }
    }

    /// Why a download without readers must end; `None` if it may continue. `total` is the length of
    /// its body. `is_unbounded` lifts the limits for a body of unknown length.
    pub(super) fn judge(
        &self,
        download: &Download,
        left: LastRead,
        total: Option<u64>,
        is_unbounded: bool,
    ) -> Option<Failure> {
        let is_bounded = total.is_none() && !is_unbounded;
        if is_bounded && (download.feed.length() >= self.size || left.since.elapsed() >= self.time)
        {
            return Some(Failure::TooLong(None));
        }
        // A download that has broken off waits between its attempts, so it does not count as
        // stalled.
        let is_unwanted = !download.is_awaited() && !download.progress.is_waiting();
        let is_still =
            download.progress.stalled_for() >= self.still || left.is_slow(download, self.slow);
        (is_unwanted && is_still).then_some(Failure::Stalled)
    }
}

/// How long to wait after `new` bytes of an unawaited download of unknown length. Such a download
/// is slowed to leave bandwidth to others. `None` for any other download.
pub(super) fn unread_delay(download: &Download, total: Option<u64>, new: u64) -> Option<Duration> {
    let is_unwanted = download.feed.readers() == 0 && !download.is_awaited();
    let micros = new.saturating_mul(1_000_000).checked_div(RATE).unwrap_or(0);
    (is_unwanted && total.is_none()).then(|| Duration::from_micros(micros))
}

impl Downloads {
    /// Whether too many downloads continue for which neither a client nor the queue waits.
    pub(super) fn has_too_many_unread(&self) -> bool {
        self.lock().all.values().filter(|download| download.is_unwanted()).count() > MOST
    }
}

/// Resolves with the reason to end a download at once: a user stops it, or the mode is offline and
/// no client reads it.
pub(super) async fn wait_for_end<A>(
    ground: &DownloadContext<'_, A>,
    download: &Download,
) -> Failure {
    let mut is_stopped = download.is_stopped.subscribe();
    tokio::select! {
        biased;
        // Cannot fail: the sender is in the download.
        _ = is_stopped.wait_for(|is_stopped| *is_stopped) => Failure::EndedByHand,
        () = offline(ground, download) => Failure::Offline,
    }
}

/// Resolves when no client reads the download and another request waits for the connection of the
/// download. From then on the download cannot be joined.
pub(super) async fn wait_to_yield<A: OriginClient>(asks: &A, origin: &Origin, download: &Download) {
    loop {
        if !download.is_unwanted() || download.line.is_waiting() {
            sleep(LOOK_EVERY).await;
            continue;
        }
        // A client may have joined by now.
        let gives_up = || download.is_unwanted() && download.feed.close_left();
        if asks.yields(origin, download.id, gives_up).await {
            return;
        }
    }
}

/// Resolves when all clients of a download have left while the download waits for a connection. The
/// connection then goes to a request whose client is still present.
pub(super) async fn leaves_line(download: &Download) {
    loop {
        download.line.waits().await;
        if download.is_unwanted() && download.feed.close_unread() {
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Resolves when the mode is offline and no client reads the download.
async fn offline<A>(ground: &DownloadContext<'_, A>, download: &Download) {
    let mut mode = ground.mode.watch();
    loop {
        // Cannot fail: the daemon holds the sender of the mode.
        drop(mode.wait_for(|mode| !mode.may_dial()).await);
        tokio::select! {
            biased;
            () = download.feed.wait_until_unread() => return,
            _ = mode.wait_for(|mode| mode.may_dial()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use std::sync::Arc;
    use std::time::SystemTime;
    use tokio::time::advance;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::*;
    use crate::base::owner::{Owner, Places};

    fn left(downloads: &Downloads) -> Arc<Download> {
        let mut url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let places = Places::of(&mut url, &HeaderMap::new(), &Owner::Local);
        let download = downloads.unshared(&places, &HeaderMap::new(), SystemTime::UNIX_EPOCH);
        drop(download.feed.read());
        download
    }

    #[tokio::test(start_paused = true)]
    async fn time_and_stillness_of_an_unread_download_are_bounded() {
        let bounds = UnreadLimits::of(&Config::default());
        let download = left(&Downloads::default());
        let since = LastRead::now(&download);
        let judge = |total| bounds.judge(&download, since, total, false);
        assert!(judge(None).is_none());
        advance(STILL).await;
        assert!(matches!(judge(Some(1)), Some(Failure::Stalled)));
        let queue = download.ended.subscribe();
        assert!(judge(Some(1)).is_none(), "the queue waits for it");
        drop(queue);
        advance(bounds.time).await;
        download.progress.set_bytes(2 * SLOWEST * bounds.time.as_secs());
        assert!(judge(Some(1)).is_none(), "it moves");
        assert!(matches!(judge(None), Some(Failure::TooLong(None))));
        assert!(bounds.judge(&download, since, None, true).is_none(), "a person wants it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_unawaited_download_ends() {
        let bounds = UnreadLimits::of(&Config::default());
        let download = left(&Downloads::default());
        download.progress.set_bytes(1_000_000);
        let since = LastRead::now(&download);
        let mut ended = None;
        for second in 1..=SLOW.as_secs() {
            assert!(ended.is_none(), "after {second} seconds");
            advance(Duration::from_secs(1)).await;
            download.progress.set_bytes(1_000_000 + second);
            ended = bounds.judge(&download, since, Some(2_000_000), false);
        }
        assert!(matches!(ended, Some(Failure::Stalled)), "{ended:?}");
        let _queue = download.ended.subscribe();
        assert!(bounds.judge(&download, since, Some(2_000_000), false).is_none());
    }

    #[test]
    fn an_unawaited_body_of_unknown_length_is_slowed_down() {
        let download = left(&Downloads::default());
        assert_eq!(unread_delay(&download, None, RATE), Some(Duration::from_secs(1)));
        assert_eq!(unread_delay(&download, Some(2 * RATE), RATE), None);
        let _reader = download.feed.read();
        assert_eq!(unread_delay(&download, None, RATE), None);
    }

    #[test]
    fn the_number_of_unread_downloads_is_limited() {
        let downloads = Downloads::default();
        let all: Vec<_> = (0..MOST).map(|_| left(&downloads)).collect();
        assert!(!downloads.has_too_many_unread());
        let _one_more = left(&downloads);
        assert!(downloads.has_too_many_unread());
        downloads.leave(all.first().unwrap());
        assert!(!downloads.has_too_many_unread());
    }
}
