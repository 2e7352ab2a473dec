//! Runs a download of the daemon, in its context.

use std::sync::Arc;
use std::time::Duration;

use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Request};
use tokio::sync::mpsc;
use tracing::{debug, warn};
use wwwoffle_config::{Config, SizeLimit};
use wwwoffle_http::caching::vary::Vary;
use wwwoffle_http::head;
use wwwoffle_spool::{Error, Outgoing, OutgoingSummary, RequestKind, Secrets};
use wwwoffle_url::{Key, LocalHost};

use super::begin::run_download;
use super::unread::UnreadLimits;
use super::{Download, DownloadEnd, DownloadJob, Downloads, HeadOutcome};
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
    let (key, sent) = (job.places.queued.key(), job.head.clone());
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
        DownloadEnd::Kept(status) => {
            context.storage.store.set_full(false);
            // The queue follows redirects, and tries again after errors.
            if status.is_success()
                && let Err(error) = dequeue_answered(&context, key, &sent, download).await
            {
                warn!(
                    error = error_chain(&error),
                    "a request with a response cannot be removed from the queue"
                );
            }
        }
        DownloadEnd::Unkeepable(error) if error.is_full() => {
            context.storage.store.set_full(true);
        }
        _ => {}
    }
    download.end(outcome);
}

/// Removes a queued request if a client has `sent` the same request and got the response to it: with
/// the same spelling of the URL, secrets, and values of the fields in `Vary`. A request that was
/// queued after the download had started stays: its response may differ.
async fn dequeue_answered(
    context: &ProxyContext,
    key: Key,
    sent: &Request<()>,
    download: &Download,
) -> Result<(), Error> {
    let store = &context.storage.store;
    let started = timestamp(download.started());
    let Some(waiting) = store.spool().queue().summary(&key) else { return Ok(()) };
    // A queued form was confirmed separately, so it is another submission. The queue itself handles
    // a request on which a recursive fetch or a monitor depends.
    let is_for_others = matches!(waiting.kind, RequestKind::Post | RequestKind::Monitored)
        || !waiting.runs.is_empty();
    let target = sent.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    if is_for_others
        || waiting.queued > started
        || !waiting.has_only_target(target)
        || context.worker.is_active(&key)
    {
        return Ok(());
    }
    let answer = match download.head().await {
        HeadOutcome::Keeping(head) => head.fields.clone(),
        HeadOutcome::Unchanged(confirmed) => confirmed.fields,
        HeadOutcome::Passing(_) | HeadOutcome::Failed(_) => return Ok(()),
    };
    let Some(queued) = store.queued(key).await? else { return Ok(()) };
    if is_same(&queued, sent.headers(), &Vary::of(&answer)) {
        // Another task may have changed the request in the meantime.
        let is_unchanged = move |now: &OutgoingSummary| *now == waiting;
        store.run(move |spool| spool.queue().remove_if(&key, is_unchanged)).await?;
        context.worker.wake();
    }
    Ok(())
}

/// Whether the response to a request with the fields `sent` answers `queued`.
fn is_same(queued: &Outgoing, sent: &HeaderMap, vary: &Vary) -> bool {
    let secrets = match &queued.secrets {
        Secrets::None => &[][..],
        Secrets::Open(secrets) => secrets,
        Secrets::Unreadable(_) => return false,
    };
    // The options demand more than the page, such as a copy from a web archive.
    queued.options.is_none()
        && secrets == head::write_secrets(sent)
        && head::read_request(&queued.head, secrets).is_ok_and(|queued| {
            vary.text(&queued.headers).is_some_and(|text| vary.text(sent) == Some(text))
        })
}
