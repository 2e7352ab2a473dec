//! Stores the runs on disk: reads them at the start, and writes them when they change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;
use wwwoffle_spool::{RequestState, RunId};
use wwwoffle_url::Key;

use super::run::{Run, links_left};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::fetch::context::FetchContext;
use crate::storage::store::timestamp;

/// The delay before a change is written.
const WRITTEN_AFTER: Duration = Duration::from_secs(2);

/// Reads the stored runs. An invalid text is moved to `damaged/`. The queued requests of such a run
/// are fetched nevertheless.
pub(in crate::fetch) async fn load(context: &FetchContext) {
    let texts = match context.storage.store.runs().await {
        Ok(texts) => texts,
        Err(error) => {
            return warn!(error = error_chain(&error), "the recursive fetches cannot be read");
        }
    };
    let mut known = Vec::new();
    for (id, text) in texts {
        match Run::parse(&text, &context.base.local) {
            Ok(run) if run.id == id => known.push(run),
            Ok(_) => set_aside(context, id, "its name does not match its content".to_owned()).await,
            Err(error) => set_aside(context, id, error_chain(&error)).await,
        }
    }
    let taken = context.fetcher.runs().take_in(known);
    reconcile(context, taken);
}

async fn set_aside(context: &FetchContext, id: RunId, reason: String) {
    warn!(%id, reason, "the record of a recursive fetch is damaged, and was moved to damaged/");
    context.storage.store.set_run_aside(id, reason).await;
}

/// Reconciles these runs with the queue, because the text of a run may be some seconds old. The
/// waiting URLs of a run become those for which it has requests in the queue. Ends the runs that
/// have no such requests.
fn reconcile(context: &FetchContext, taken: Vec<RunId>) {
    let mut queued: HashMap<RunId, HashMap<Key, Option<u16>>> = HashMap::new();
    context.storage.store.spool().queue().visit(|request| {
        for member in
            request.runs.iter().filter(|_| request.fetching.state == RequestState::Waiting)
        {
            let left = links_left(request.class.is_some(), member.depth);
            queued.entry(member.run).or_default().insert(request.place.key(), left);
        }
    });
    let runs = context.fetcher.runs();
    for id in taken {
        let queued = queued.remove(&id).unwrap_or_default();
        runs.change(id, |run| run.waits_for(queued));
        runs.end_if_done(id, timestamp(clock::now()));
    }
}

/// Writes changed runs until the daemon stops. Each daemon has one such task.
pub(in crate::fetch) async fn save_changes(context: Arc<FetchContext>) {
    loop {
        tokio::select! {
            () = context.base.tasks.stopping() => break,
            () = context.fetcher.runs().changed() => {}
        }
        tokio::select! {
            () = context.base.tasks.stopping() => break,
            () = tokio::time::sleep(WRITTEN_AFTER) => {}
        }
        write(&context).await;
    }
    write(&context).await;
}

async fn write(context: &FetchContext) {
    let runs = context.fetcher.runs();
    for id in runs.take_changed() {
        let text = runs.with_run(id, Run::to_text);
        let written = match text {
            Some(text) => context.storage.store.set_run(id, text).await,
            None => context.storage.store.remove_run(id).await.map(drop),
        };
        if let Err(error) = written {
            // The next change causes another attempt. Results that were not written are found in
            // the spool.
            warn!(%id, error = error_chain(&error), "the state of a recursive fetch cannot be \
                stored");
        }
    }
    runs.forget_the_oldest();
}
