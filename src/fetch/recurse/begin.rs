//! The beginning of a recursive fetch.

use std::sync::Arc;

use wwwoffle_spool::{RequestKind, RequestState, RunId, Wish};

use super::aim::Asked;
use super::run::Run;
use super::runs::MAX_RUNS;
use crate::clock;
use crate::daemon::Daemon;
use crate::fetch::want::{self, WantError};
use crate::proxy::owner::Requester;
use crate::proxy::target::of_url;
use crate::store::timestamp;

/// Why a fetch does not begin.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The page cannot be asked for.
    #[error(transparent)]
    Page(#[from] WantError),
    /// There are too many.
    #[error("{MAX_RUNS} fetches are under way already")]
    TooMany,
    /// The system has no randomness.
    #[error("the system has no randomness")]
    Random(#[source] getrandom::Error),
}

/// Begins to fetch what `asked` says, for `requester`; `kind` says who waits for it. It goes on whenever the
/// mode allows.
///
/// # Errors
///
/// [`NotBegun`] says why nothing was begun.
pub async fn begin(
    daemon: &Arc<Daemon>,
    requester: &Requester,
    asked: &Asked,
    kind: RequestKind,
) -> Result<RunId, NotBegun> {
    let resource = of_url(&asked.url, &daemon.local).map_err(WantError::from)?;
    let ask = want::follow_aliases(daemon, requester, resource)?;
    let id = RunId::from_number(getrandom::u64().map_err(NotBegun::Random)?);
    let now = timestamp(clock::now());
    let place = &ask.places.queued;
    let owner = place.owner().map(str::to_owned);
    let mut run = Run::new(id, owner, ask.bare.clone(), asked.aim.clone(), now);
    run.begin(place.key());
    let mut outgoing = want::outgoing(daemon, &ask, kind);
    outgoing.wishes = vec![Wish { run: id, depth: asked.aim.depth }];
    outgoing.renew = asked.aim.force || kind.renews();
    let text = run.to_text();
    if !daemon.fetcher.runs().add(run) {
        return Err(NotBegun::TooMany);
    }
    // A request on the queue never names a run that a crash would make unknown.
    let begun = async {
        daemon.store.set_run(id, text).await?;
        put(daemon, outgoing).await
    };
    if let Err(error) = begun.await {
        daemon.fetcher.runs().forget(id);
        return Err(WantError::from(error).into());
    }
    daemon.fetcher.nudge();
    Ok(id)
}

/// Puts a request on the queue; one that has failed before waits again.
async fn put(
    daemon: &Daemon,
    outgoing: wwwoffle_spool::Outgoing,
) -> Result<(), wwwoffle_spool::Error> {
    let key = outgoing.place.key();
    daemon.store.enqueue(outgoing).await?;
    if let Some(mut known) = daemon.store.queued(key).await?
        && known.state != RequestState::Waiting
    {
        known.state = RequestState::Waiting;
        (known.attempts, known.not_before) = (0, None);
        daemon.store.requeue(known).await?;
    }
    Ok(())
}
