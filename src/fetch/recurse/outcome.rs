//! Records the results of requests for the runs that want them.

use tracing::info;
use wwwoffle_spool::{Error, Outgoing, RunId};
use wwwoffle_url::{CanonicalUrl, Key};

use super::run::{FetchCounts, LeftOut, UrlOutcome};
use super::runs::Runs;
use crate::base::clock;
use crate::fetch::context::FetchContext;
use crate::storage::store::timestamp;

/// Records the result of a request for all its runs, and ends the runs that have no requests left.
pub(in crate::fetch) fn record(
    context: &FetchContext,
    outgoing: &Outgoing,
    outcome: UrlOutcome,
    bytes: u64,
) {
    context.fetcher.runs().record(outgoing, outcome, bytes);
    end_finished_runs(context, outgoing);
}

/// Records the failure of a request for all its runs.
pub(in crate::fetch) fn failed(
    context: &FetchContext,
    outgoing: &Outgoing,
    reason: &str,
    dead: bool,
) {
    context.fetcher.runs().failed(outgoing, reason, dead);
    end_finished_runs(context, outgoing);
}

/// Records that a request has left the queue because the URL is left out.
pub(in crate::fetch) fn record_exclusion(
    context: &FetchContext,
    outgoing: &Outgoing,
    why: LeftOut,
) {
    context.fetcher.runs().record_exclusion(outgoing, why);
    end_finished_runs(context, outgoing);
}

/// The runs that have taken these requests, each with the key of the request.
pub(in crate::fetch) fn runs_of(next: &[Outgoing]) -> Vec<(RunId, Key)> {
    let of = |request: &Outgoing| {
        let key = request.summary.place.key();
        request.summary.runs.iter().map(move |member| (member.run, key)).collect::<Vec<_>>()
    };
    next.iter().flat_map(of).collect()
}

/// Makes the runs forget requests that they have taken, because these could not be queued. The
/// requests are considered again with the page that refers to them.
pub(in crate::fetch) fn release_requests(context: &FetchContext, taken: Vec<(RunId, Key)>) {
    for (id, key) in taken {
        context.fetcher.runs().change(id, |run| run.release_url(&key));
    }
}

/// Passes the target of a redirect to the runs that wanted its source, as far as their limits
/// allow. Returns whether the target is to be requested: `false` if runs wanted the source, and
/// none of them takes the target.
pub(in crate::fetch) fn redirected(
    context: &FetchContext,
    runs: &Runs,
    from: &Outgoing,
    to: &mut Outgoing,
) -> bool {
    if from.summary.runs.is_empty() {
        return true;
    }
    let parse = |outgoing: &Outgoing| {
        CanonicalUrl::parse(outgoing.summary.place.url(), &context.base.local)
    };
    let (Ok(old), Ok(new)) = (parse(from), parse(to)) else { return false };
    let now = timestamp(clock::now());
    runs.redirected(from, to, [&old, &new], now)
}

/// Ends the runs that want this request and have no requests left.
pub(in crate::fetch) fn end_finished_runs(context: &FetchContext, outgoing: &Outgoing) {
    for id in outgoing.summary.runs.iter().map(|member| member.run) {
        if let Some(report) = context.fetcher.runs().end_if_done(id, timestamp(clock::now())) {
            let FetchCounts { pages, parts, failed, .. } = report.counts;
            info!(%id, pages, parts, failed, "a recursive fetch is done");
        }
    }
}

/// Stops a run. Requests that only this run wants leave the queue. Returns their number; `None` if
/// the run is not in progress.
///
/// # Errors
///
/// If the disk fails; the run ends nevertheless.
pub async fn stop(context: &FetchContext, id: RunId) -> Result<Option<u64>, Error> {
    let runs = context.fetcher.runs();
    let now = timestamp(clock::now());
    if runs.change(id, |run| run.end(now)).is_none() {
        return Ok(None);
    }
    context.storage.store.forget_run(id).await.map(Some)
}
