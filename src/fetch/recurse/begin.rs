//! The start of a recursive fetch.

use std::sync::Arc;

use wwwoffle_spool::{Outgoing, RequestKind, RunId, RunMembership};
use wwwoffle_url::CanonicalUrl;

use super::run::Run;
use super::runs::{MAX_OWNED_RUNS, MAX_RUNS};
use crate::base::clock;
use crate::base::owner::Requester;
use crate::fetch::context::FetchContext;
use crate::fetch::want::{self, WantError};
use crate::proxy::target::of_url;
use crate::storage::store::timestamp;
use wwwoffle_api::fetch_spec::{FetchSpec, RecursiveRequest};

/// The reason why a fetch did not start.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The page cannot be requested.
    #[error(transparent)]
    Page(#[from] WantError),
    /// Too many fetches are running.
    #[error(
        "{MAX_RUNS} recursive fetches are already running: stop one with `wwwoffle runs --stop ID`"
    )]
    TooMany,
    /// Too many fetches of this user or guest are running.
    #[error("{MAX_OWNED_RUNS} fetches of yours are under way already: wait until one has ended")]
    ShareUsedUp,
    /// The system has no randomness.
    #[error("the system has no randomness")]
    Random(#[source] getrandom::Error),
}

/// Starts the fetch `asked` for `requester`. `kind` is the kind of the request for the start page.
/// The fetch continues whenever the mode allows.
///
/// # Errors
///
/// [`NotBegun`] if nothing was started.
pub async fn begin(
    context: &Arc<FetchContext>,
    requester: &Requester,
    asked: &RecursiveRequest,
    kind: RequestKind,
) -> Result<RunId, NotBegun> {
    let (run, outgoing) = first(context, requester, asked, kind)?;
    start(context, run, outgoing).await
}

/// Starts a fetch like [`begin`], for a recorded request with its secrets. The secrets are sent to
/// the same origin only.
///
/// # Errors
///
/// [`NotBegun`] if nothing was started.
pub(crate) async fn begin_at(
    context: &Arc<FetchContext>,
    outgoing: Outgoing,
    spec: &FetchSpec,
) -> Result<RunId, NotBegun> {
    let url =
        of_url(outgoing.summary.place.url(), &context.base.local).map_err(WantError::from)?.url;
    let (run, outgoing) = run_at(url, outgoing, spec)?;
    start(context, run, outgoing).await
}

async fn start(
    context: &Arc<FetchContext>,
    run: Run,
    outgoing: Outgoing,
) -> Result<RunId, NotBegun> {
    let (id, text) = (run.id, run.to_text());
    context.fetcher.runs().add(run)?;
    // The run is stored first, so that after a crash no queued request names an unknown run.
    let begun = async {
        context.storage.store.set_run(id, text).await?;
        want::put(context, outgoing).await
    };
    if let Err(error) = begun.await {
        context.fetcher.runs().forget(id);
        return Err(WantError::from(error).into());
    }
    context.fetcher.wake();
    Ok(id)
}

/// The run that would start, and the request for its first page.
///
/// # Errors
///
/// [`NotBegun`] if the page cannot be requested, or the system has no randomness.
pub(in crate::fetch) fn first(
    context: &FetchContext,
    requester: &Requester,
    asked: &RecursiveRequest,
    kind: RequestKind,
) -> Result<(Run, Outgoing), NotBegun> {
    let resource = of_url(&asked.url, &context.base.local).map_err(WantError::from)?;
    let ask = want::follow_aliases(context, requester, resource)?;
    let ask = want::unless_form_answer(ask)?;
    run_at(ask.bare.clone(), want::outgoing(context, &ask, kind), &asked.spec)
}

/// A run that starts with this request for `url`.
fn run_at(
    url: CanonicalUrl,
    mut outgoing: Outgoing,
    spec: &FetchSpec,
) -> Result<(Run, Outgoing), NotBegun> {
    let id = RunId::from_number(getrandom::u64().map_err(NotBegun::Random)?);
    let owner = outgoing.summary.place.owner().map(str::to_owned);
    let now = timestamp(clock::now());
    let mut run = Run::new(id, owner, url, spec.clone(), now);
    run.take_start_page(outgoing.summary.place.key());
    outgoing.summary.runs = vec![RunMembership { run: id, depth: spec.depth }];
    outgoing.summary.renew = spec.force || outgoing.summary.kind.always_revalidates();
    Ok((run, outgoing))
}
