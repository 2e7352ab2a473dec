//! Runs a download of the daemon, in its context.

use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tracing::{debug, warn};
use wwwoffle_config::{Config, SizeLimit};
use wwwoffle_spool::{OutgoingSummary, RequestKind};
use wwwoffle_url::{Key, LocalHost};

use super::begin::run_download;
use super::unread::UnreadLimits;
use super::{Download, DownloadEnd, DownloadJob, Downloads};
use crate::base::error_chain::error_chain;
use crate::base::mode::ModeSwitch;
use crate::base::tasks::Tasks;
use crate::net::upstream::{Answer, Failure, Interim, Origin, Outbound, Upstream};
use crate::proxy::context::ProxyContext;
use crate::storage::store::{Store, timestamp};

/// A sender of requests to origins: the network, or a script in tests.
pub(super) trait OriginClient: Sync {
    /// Sends a request and waits for the head of its response.
    fn ask(
        &self,
        origin: &Origin,
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send;

    /// Resolves when a request waits for the connection of this download to `origin`. Returns
    /// whether `gives_up` agreed.
    fn yields(
        &self,
        origin: &Origin,
        download: u64,
        gives_up: impl Fn() -> bool + Send,
    ) -> impl Future<Output = bool> + Send;
}

impl OriginClient for Arc<Upstream> {
    async fn ask(
        &self,
        origin: &Origin,
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> Result<Answer, Failure> {
        self.send(origin, head, body, interim).await
    }

    async fn yields(
        &self,
        origin: &Origin,
        download: u64,
        gives_up: impl Fn() -> bool + Send,
    ) -> bool {
        Upstream::yields(self, origin, download, gives_up).await
    }
}

/// The context of a download.
#[derive(Debug)]
pub(super) struct DownloadContext<'a, A> {
    pub(super) asks: &'a A,
    pub(super) store: &'a Store,
    pub(super) local: &'a LocalHost,
    pub(super) downloads: &'a Downloads,
    pub(super) mode: &'a ModeSwitch,
    pub(super) tasks: &'a Tasks,
    pub(super) patience: Patience,
}

/// The limits on retries and on stored bytes of a download.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Maximum number of consecutive attempts without progress.
    pub(super) attempts: usize,
    /// The pause before the first attempt.
    pub(super) pause: Duration,
    /// Maximum bytes of a stored body.
    pub(super) most: u64,
    /// The limits while no client reads the download.
    pub(super) unread: UnreadLimits,
}

impl Patience {
    fn of(config: &Config) -> Self {
        let fetching = &config.fetch_options;
        let most = match config.options.max_body {
            SizeLimit::At(size) => size.bytes(),
            SizeLimit::None => u64::MAX,
        };
        Self {
            attempts: fetching.resume_attempts.get(),
            pause: fetching.resume_delay,
            most,
            unread: UnreadLimits::of(config),
        }
    }
}

/// Fetches `job` and serves all clients of `download`. Runs in a task of its own.
///
/// If the future is dropped, the unfinished file is discarded, and the body breaks off for its
/// readers.
pub async fn run(context: Arc<ProxyContext>, job: DownloadJob, download: Arc<Download>) {
    let key = job.places.queued.key();
    let ground = DownloadContext {
        asks: &context.net.upstream,
        store: &context.storage.store,
        local: &context.base.local,
        downloads: &context.traffic.downloads,
        mode: &context.base.mode,
        tasks: &context.base.tasks,
        patience: Patience::of(&context.base.config()),
    };
    let (guard, outcome) = Box::pin(run_download(&ground, job, download)).await;
    let download = &guard.download;
    context.traffic.downloads.leave(download);
    debug!(url = download.url(), ?outcome, "download ended");
    match &outcome {
        DownloadEnd::Kept(_) => {
            context.storage.store.set_full(false);
            dequeue_answered(&context, key, timestamp(download.started())).await;
        }
        DownloadEnd::Unkeepable(error) if error.is_full() => {
            context.storage.store.set_full(true);
        }
        _ => {}
    }
    download.end(outcome);
}

/// Removes a queued request if a request of a client has fetched the response to it. A request that
/// was queued after the download had `started` stays: its response may differ.
async fn dequeue_answered(context: &ProxyContext, key: Key, started: Timestamp) {
    // A queued form stays: it was confirmed separately, so it is another submission. A request on
    // which a recursive fetch depends also stays, because the queue itself handles it.
    let is_answered = move |queued: &OutgoingSummary| {
        queued.kind != RequestKind::Post && queued.runs.is_empty() && queued.queued <= started
    };
    let queued = context.storage.store.spool().queue().summary(&key);
    if queued.is_some_and(|queued| is_answered(&queued)) && !context.worker.is_active(&key) {
        // Another task may change the queue before this one does, so `remove_if` checks the request
        // again.
        let removed =
            context.storage.store.run(move |spool| spool.queue().remove_if(&key, is_answered));
        if let Err(error) = removed.await {
            warn!(
                error = error_chain(&error),
                "a request with a response cannot be removed from the queue"
            );
        }
        context.worker.wake();
    }
}
