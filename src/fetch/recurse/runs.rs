//! The recursive fetches under way, and those that have lately ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tracing::{info, warn};
use wwwoffle_spool::{Error, Outgoing, RequestState, RunId};
use wwwoffle_url::{CanonicalUrl, Key};

use super::aim::Aim;
use super::run::{Outcome, Report, Run, Step};
use crate::clock;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::store::timestamp;

/// How long what has changed may wait to be written.
const WRITTEN_AFTER: Duration = Duration::from_secs(2);

/// How many that have ended are remembered with their reports.
const MAX_ENDED: usize = 50;

/// How many may be under way at once.
pub const MAX_RUNS: usize = 200;

/// All runs of a daemon.
#[derive(Debug, Default)]
pub struct Runs {
    known: Mutex<BTreeMap<RunId, Run>>,
    /// Those whose text is older than they are, and those whose text is to go.
    changed: Mutex<HashSet<RunId>>,
    news: Notify,
}

/// What is told of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is known by.
    pub id: RunId,
    /// Whose it is.
    pub owner: Option<String>,
    /// Where it began.
    pub start: String,
    /// What it is to bring.
    pub aim: Aim,
    /// When it began.
    pub begun: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How many of what it has taken still wait.
    pub waiting: usize,
    /// What it brought.
    pub report: Report,
}

impl Told {
    fn of(run: &Run) -> Self {
        Self {
            id: run.id,
            owner: run.owner.clone(),
            start: run.starts().first().map(|start| start.as_str().to_owned()).unwrap_or_default(),
            aim: run.aim.clone(),
            begun: run.begun,
            ended: run.ended,
            waiting: run.waiting(),
            report: run.report.clone(),
        }
    }
}

impl Runs {
    /// Looks at a run.
    pub fn look<T>(&self, id: RunId, look: impl FnOnce(&Run) -> T) -> Option<T> {
        self.lock().get(&id).map(look)
    }

    /// Changes a run that has not ended.
    pub(super) fn change<T>(&self, id: RunId, change: impl FnOnce(&mut Run) -> T) -> Option<T> {
        let mut known = self.lock();
        let run = known.get_mut(&id).filter(|run| run.ended.is_none())?;
        let done = change(run);
        drop(known);
        self.mark(id);
        Some(done)
    }

    /// All of them, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<Told> {
        let mut list: Vec<_> = self.lock().values().map(Told::of).collect();
        list.sort_by_key(|told| std::cmp::Reverse(told.begun));
        list
    }

    /// One of them.
    #[must_use]
    pub fn told(&self, id: RunId) -> Option<Told> {
        self.look(id, Told::of)
    }

    /// Adds a run; `false` when there are too many.
    pub(super) fn add(&self, run: Run) -> bool {
        let id = run.id;
        {
            let mut known = self.lock();
            if known.values().filter(|run| run.ended.is_none()).count() >= MAX_RUNS {
                return false;
            }
            known.insert(id, run);
        }
        self.mark(id);
        true
    }

    /// Records that there is nothing left to do for a run, if that is so. The report stays.
    pub(super) fn end_if_done(&self, id: RunId, now: Timestamp) -> Option<Report> {
        let mut known = self.lock();
        let run = known.get_mut(&id).filter(|run| run.ended.is_none() && run.waiting() == 0)?;
        run.end(now);
        let report = run.report.clone();
        drop(known);
        self.mark(id);
        Some(report)
    }

    /// Forgets a run altogether; `false` when it is not known.
    pub(super) fn forget(&self, id: RunId) -> bool {
        let was_known = self.lock().remove(&id).is_some();
        if was_known {
            self.mark(id);
        }
        was_known
    }

    fn mark(&self, id: RunId) {
        let is_first = {
            let mut changed = lock(&self.changed);
            changed.insert(id);
            changed.len() == 1
        };
        if is_first {
            self.news.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Run>> {
        lock(&self.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is whole after any panic: each change is one call, or only counts.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the runs of before. A text that is none is set aside, and its requests go on without it.
pub(in crate::fetch) async fn load(daemon: &Daemon) {
    let texts = match daemon.store.runs().await {
        Ok(texts) => texts,
        Err(error) => return warn!(error = error_chain(&error), "the runs cannot be read"),
    };
    let mut known = BTreeMap::new();
    for (id, text) in texts {
        match Run::parse(&text, &daemon.local) {
            Ok(run) if run.id == id => {
                known.insert(id, run);
            }
            Ok(_) => set_aside(daemon, id, "it is called by another name".to_owned()).await,
            Err(error) => set_aside(daemon, id, error_chain(&error)).await,
        }
    }
    *daemon.fetcher.runs().lock() = known;
    reconcile(daemon);
}

async fn set_aside(daemon: &Daemon, id: RunId, reason: String) {
    warn!(%id, reason, "the text of a fetch cannot be read, and was set aside");
    daemon.store.set_run_aside(id, reason).await;
}

/// The queue is the truth of what waits: a text may be some seconds older.
fn reconcile(daemon: &Daemon) {
    let mut queued: HashMap<RunId, HashMap<Key, Option<u16>>> = HashMap::new();
    daemon.store.spool().queue().visit(|request| {
        for wish in request.wishes.iter().filter(|_| request.state == RequestState::Waiting) {
            let left = request.class.is_none().then_some(wish.depth);
            queued.entry(wish.run).or_default().insert(request.place.key(), left);
        }
    });
    let runs = daemon.fetcher.runs();
    let ids: Vec<_> = runs.lock().keys().copied().collect();
    for id in ids {
        let queued = queued.remove(&id).unwrap_or_default();
        runs.change(id, |run| run.waits_for(queued));
        runs.end_if_done(id, timestamp(clock::now()));
    }
}

/// Writes what changes, until the daemon stops. One task of each daemon.
pub(in crate::fetch) async fn keep(daemon: Arc<Daemon>) {
    loop {
        tokio::select! {
            () = daemon.tasks.stopping() => break,
            () = daemon.fetcher.runs().news.notified() => {}
        }
        tokio::select! {
            () = daemon.tasks.stopping() => break,
            () = tokio::time::sleep(WRITTEN_AFTER) => {}
        }
        write(&daemon).await;
    }
    write(&daemon).await;
}

async fn write(daemon: &Daemon) {
    let runs = daemon.fetcher.runs();
    let changed = std::mem::take(&mut *lock(&runs.changed));
    for id in changed {
        let text = runs.look(id, Run::to_text);
        let written = match text {
            Some(text) => daemon.store.set_run(id, text).await,
            None => daemon.store.remove_run(id).await.map(drop),
        };
        if let Err(error) = written {
            // It is tried again with the next change; what is not written is found in the spool.
            warn!(%id, error = error_chain(&error), "the state of a fetch cannot be written");
        }
    }
    for id in too_many_ended(&runs.lock()) {
        runs.forget(id);
    }
}

fn too_many_ended(known: &BTreeMap<RunId, Run>) -> Vec<RunId> {
    let mut ended: Vec<_> = known.values().filter_map(|run| Some((run.ended?, run.id))).collect();
    ended.sort_unstable();
    let surplus = ended.len().saturating_sub(MAX_ENDED);
    ended.into_iter().take(surplus).map(|(_, id)| id).collect()
}

/// Records what came of a request for all who want it, and ends those that have nothing left.
pub(in crate::fetch) fn came(daemon: &Daemon, outgoing: &Outgoing, outcome: Outcome, bytes: u64) {
    let key = outgoing.place.key();
    for wish in &outgoing.wishes {
        daemon.fetcher.runs().change(wish.run, |run| run.came(&key, outcome, bytes));
        ended(daemon, wish.run);
    }
}

/// The same for what was not to be had.
pub(in crate::fetch) fn failed(daemon: &Daemon, outgoing: &Outgoing, reason: &str, dead: bool) {
    let key = outgoing.place.key();
    for wish in &outgoing.wishes {
        let failed = super::run::Failed {
            url: outgoing.place.url().to_owned(),
            from: outgoing.page.clone(),
            reason: reason.to_owned(),
            dead,
        };
        daemon.fetcher.runs().change(wish.run, |run| run.failed(&key, failed));
        ended(daemon, wish.run);
    }
}

/// Records that a request has left the queue because its site asks programs to leave it alone.
pub(in crate::fetch) fn left_alone(daemon: &Daemon, outgoing: &Outgoing) {
    let key = outgoing.place.key();
    for wish in &outgoing.wishes {
        daemon.fetcher.runs().change(wish.run, |run| run.untake(&key));
        ended(daemon, wish.run);
    }
}

/// Which runs have taken these requests.
pub(in crate::fetch) fn taken_by(next: &[Outgoing]) -> Vec<(RunId, Key)> {
    let of = |request: &Outgoing| {
        let key = request.place.key();
        request.wishes.iter().map(move |wish| (wish.run, key)).collect::<Vec<_>>()
    };
    next.iter().flat_map(of).collect()
}

/// Takes back what did not get onto the queue: it is considered again with the page that leads there.
pub(in crate::fetch) fn untake(daemon: &Daemon, taken: Vec<(RunId, Key)>) {
    for (id, key) in taken {
        daemon.fetcher.runs().change(id, |run| run.untake(&key));
    }
}

/// Where a redirect leads belongs to those who want what was redirected, as far as it is within what they
/// asked for. `false` when nobody is left who wants it.
pub(in crate::fetch) fn redirected(daemon: &Daemon, from: &Outgoing, to: &mut Outgoing) -> bool {
    if from.wishes.is_empty() {
        return true;
    }
    let parse = |outgoing: &Outgoing| CanonicalUrl::parse(outgoing.place.url(), &daemon.local);
    let (Ok(old), Ok(new)) = (parse(from), parse(to)) else { return false };
    let (key, now) = (to.place.key(), timestamp(clock::now()));
    to.wishes.retain(|wish| {
        let step = daemon.fetcher.runs().change(wish.run, |run| {
            run.moved(&old, &new);
            if from.class.is_some() {
                run.part(new.as_str(), key, now)
            } else {
                run.page(&new, key, wish.depth, now)
            }
        });
        matches!(step, Some(Ok(Step::Fetch | Step::Follow)))
    });
    !to.wishes.is_empty()
}

pub(super) fn ended(daemon: &Daemon, id: RunId) {
    if let Some(report) = daemon.fetcher.runs().end_if_done(id, timestamp(clock::now())) {
        let counts = report.counts;
        info!(%id, pages = counts.pages, parts = counts.parts, failed = counts.failed, "a fetch is done");
    }
}

/// Ends a run before its time: what only it wanted leaves the queue. Returns how many requests that
/// were; `None` when no such run is under way.
///
/// # Errors
///
/// When the disk fails; the run is ended all the same.
pub async fn stop(daemon: &Daemon, id: RunId) -> Result<Option<u64>, Error> {
    let runs = daemon.fetcher.runs();
    let now = timestamp(clock::now());
    if runs.change(id, |run| run.end(now)).is_none() {
        return Ok(None);
    }
    daemon.store.forget_run(id).await.map(Some)
}
