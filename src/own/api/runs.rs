//! Fetches that follow links: `/api/runs`.

use std::sync::Arc;

use hyper::{Response, StatusCode};
use wwwoffle_spool::{RequestKind, RequestState, RunId};

use super::tell::{News, Tell, Teller, body};
use super::{Fault, json, lines, not_too_many};
use crate::api::Event;
use crate::api::runs::{RunItem, RunList, RunRequest, RunStopped, RunToStop};
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::fetch::recurse::aim::Asked;
use crate::fetch::recurse::{begin, outcome, runs};
use crate::own::caller::Caller;
use crate::proxy::body::Body;
use crate::proxy::owner::Owner;
use crate::proxy::target;

impl From<runs::Told> for RunItem {
    fn from(told: runs::Told) -> Self {
        Self {
            id: told.id.to_string(),
            owner: told.owner,
            start: told.start,
            aim: told.aim,
            begun: told.begun,
            ended: told.ended,
            waiting: u64::try_from(told.waiting).unwrap_or(u64::MAX),
            report: told.report,
        }
    }
}

/// All that the caller may see.
pub(in crate::own) fn all(caller: &Caller) -> RunList {
    let list = caller.daemon.fetcher.runs().list();
    let may_see = |told: &runs::Told| caller.may_see_owned(told.owner.as_deref());
    RunList { runs: list.into_iter().filter(may_see).map(RunItem::from).collect() }
}

/// Begins to fetch pages with what belongs to them. Each URL is looked at first, so that a mistake in one
/// leaves nothing half done.
pub(super) async fn start(caller: &Caller, wanted: RunRequest) -> Result<Response<Body>, Fault> {
    not_too_many(&wanted.urls)?;
    for text in &wanted.urls {
        target::of_url(text, &caller.daemon.local).map_err(|error| Fault::url(text, &error))?;
    }
    let mut follow = Follow::new(&caller.daemon);
    for url in wanted.urls {
        let asked = Asked { url, aim: wanted.aim.clone() };
        follow.begin(&caller.owner, &asked).await;
    }
    if wanted.wait {
        return Ok(lines(caller, body(follow)));
    }
    if let Some(Event::Failed { error, .. }) = follow.teller.ready.pop_front() {
        return Err(Fault::new(StatusCode::CONFLICT, error));
    }
    let runs = caller.daemon.fetcher.runs();
    let begun = follow.ids.iter().filter_map(|id| runs.told(*id)).map(RunItem::from);
    Ok(json(caller, &RunList { runs: begun.collect() }))
}

/// Ends a fetch before its time.
pub(super) async fn stop(caller: &Caller, wanted: RunToStop) -> Result<RunStopped, Fault> {
    let unknown = || Fault::new(StatusCode::NOT_FOUND, "no such fetch is under way".to_owned());
    let id = wanted.id.parse().map_err(|_| unknown())?;
    let removed = stop_for(caller, id).await?.ok_or_else(unknown)?;
    Ok(RunStopped { removed })
}

/// The same for one that is known to be so called. Returns how many requests have left the queue; `None`
/// for one that is not under way, or another's.
///
/// # Errors
///
/// When the disk fails.
pub(in crate::own) async fn stop_for(
    caller: &Caller,
    id: RunId,
) -> Result<Option<u64>, wwwoffle_spool::Error> {
    let told = caller.daemon.fetcher.runs().told(id);
    if !told.is_some_and(|told| caller.may_see_owned(told.owner.as_deref())) {
        return Ok(None);
    }
    outcome::stop(&caller.daemon, id).await
}

/// Tells of runs until they have ended. Dropping it ends the telling, and nothing else.
struct Follow {
    teller: Teller,
    ids: Vec<RunId>,
    failed: u64,
}

impl Tell for Follow {
    fn teller(&mut self) -> &mut Teller {
        &mut self.teller
    }

    async fn go_on(&mut self) {
        match self.teller.news().await {
            News::Event(event) => self.teller.ready.push_back(event),
            News::Look => self.look().await,
            News::Other => {}
        }
    }
}

impl Follow {
    fn new(daemon: &Arc<Daemon>) -> Self {
        Self { teller: Teller::new(daemon), ids: Vec::new(), failed: 0 }
    }

    async fn begin(&mut self, owner: &Owner, asked: &Asked) {
        match begin(&self.teller.daemon, owner, asked, RequestKind::Page).await {
            Ok(id) => self.ids.push(id),
            Err(error) => {
                self.failed += 1;
                let (url, error) = (asked.url.clone(), error_chain(&error));
                self.teller.ready.push_back(Event::Failed { url, status: None, error });
            }
        }
    }

    /// Tells how far the runs have come, and whether that is the end.
    async fn look(&mut self) {
        while let Some(event) = self.teller.event() {
            self.teller.ready.push_back(event);
        }
        let runs = self.teller.daemon.fetcher.runs();
        let told: Vec<_> = self.ids.iter().filter_map(|id| runs.told(*id)).collect();
        let is_over = told.iter().all(|told| told.ended.is_some()) || self.nothing_moves();
        if is_over {
            self.end(told).await;
        } else {
            let counts = told.into_iter().map(|told| Event::Run { run: Box::new(told.into()) });
            self.teller.ready.extend(counts);
        }
    }

    /// Whether nothing more happens for now: the mode does not allow it, or a person has to be asked.
    fn nothing_moves(&mut self) -> bool {
        let daemon = &self.teller.daemon;
        if daemon.fetcher.active_count() > 0 {
            return false;
        }
        let mut moves = false;
        daemon.store.spool().queue().visit(|request| {
            let is_ours = request.wishes.iter().any(|wish| self.ids.contains(&wish.run));
            moves |= is_ours && request.state == RequestState::Waiting;
        });
        !moves || !self.teller.may_dial()
    }

    async fn end(&mut self, told: Vec<runs::Told>) {
        self.failed += u64::from(!self.teller.flush().await);
        let (mut fetched, mut waiting) = (0_u64, 0_u64);
        for told in told {
            let counts = told.report.counts;
            fetched += counts.fetched + counts.unchanged + counts.kept;
            self.failed += counts.failed;
            waiting += u64::try_from(told.waiting).unwrap_or(u64::MAX);
            self.teller.ready.push_back(Event::Run { run: Box::new(told.into()) });
        }
        self.teller.end(Event::End { fetched, failed: self.failed, waiting });
    }
}
