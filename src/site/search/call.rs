//! `GET /api/index`, `GET /api/search` and `POST /api/reindex`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
#[cfg(feature = "tier")]
use hyper::StatusCode;
use hyper::body::Frame;
use tokio::sync::oneshot;
use wwwoffle_index::{Error, ReindexScope, Sessions, Viewer};

use super::super::caller::Caller;
#[cfg(feature = "tier")]
use super::everywhere::{self, Unsearched};
use crate::base::error_chain::error_chain;
use crate::base::text::Text;
use crate::net::upstream::BoxError;
use crate::page::form::{BadForm, SubmittedForm};
use crate::proxy::body::Body;
use crate::site::api::fault::CallFault;
use crate::site::api::line;
use crate::site::collections::access;
use crate::site::lists::page::list_unavailable;
use crate::storage::collections::members::entry_set;
use crate::storage::lists::found::{self, ListSource};
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::{self, sessions};
use crate::storage::store::timestamp;
use wwwoffle_api::{IndexPage, ReindexEvent, ReindexRequest, SearchPage};

/// Interval between progress reports of an index rebuild.
const TELL: Duration = Duration::from_millis(500);

/// The default number of hits of a search in all nodes.
#[cfg(feature = "tier")]
const USUAL_HITS: usize = 50;

/// The largest number of hosts of all nodes in a list.
#[cfg(feature = "tier")]
const MAX_HOSTS: usize = 100;

/// Maximum time that a list waits until the index contains the last changes of the spool.
const CURRENT_WITHIN: Duration = Duration::from_secs(2);

/// Parses a list or search request from the arguments of a URL.
fn parse_query(arguments: Option<&str>) -> Result<ListQuery, Text> {
    query_of(SubmittedForm::of_arguments(arguments))
}

/// Reads a list or search request from the fields of a form.
pub(in crate::site) fn query_of(form: Result<SubmittedForm, BadForm>) -> Result<ListQuery, Text> {
    let form = form.map_err(|error| list_unavailable(&error.to_string()))?;
    ListQuery::parse(|name| form.value(name))
}

/// Returns a page of a list.
pub(in crate::site) async fn list(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<IndexPage, CallFault> {
    #[cfg(feature = "tier")]
    if let Ok(form) = SubmittedForm::of_arguments(arguments)
        && everywhere::is_wanted(&form)
    {
        return list_everywhere(caller, &form).await;
    }
    let wanted = parse_query(arguments).map_err(|why| CallFault::bad(why.to_string()))?;
    check_collection(caller, &wanted).await?;
    Ok(query_index(caller, wanted, found::list).await?)
}

/// Refuses a query for a collection that the caller may not see.
async fn check_collection(caller: &Caller, wanted: &ListQuery) -> Result<(), CallFault> {
    if let Some(name) = &wanted.collection {
        access::named(caller, name).await?;
    }
    Ok(())
}

/// Returns a page of search results.
pub(in crate::site) async fn search(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<SearchPage, CallFault> {
    #[cfg(feature = "tier")]
    if let Ok(form) = SubmittedForm::of_arguments(arguments)
        && everywhere::is_wanted(&form)
    {
        return search_everywhere(caller, &form).await;
    }
    let wanted = parse_query(arguments).map_err(|why| CallFault::bad(why.to_string()))?;
    if wanted.query().is_empty() {
        return Err(CallFault::bad("expected the argument q with words to search for"));
    }
    check_collection(caller, &wanted).await?;
    Ok(query_index(caller, wanted, found::search).await?)
}

/// Searches in the entries of all nodes.
#[cfg(feature = "tier")]
async fn search_everywhere(caller: &Caller, form: &SubmittedForm) -> Result<SearchPage, CallFault> {
    check_tier(caller)?;
    let found = everywhere::search(caller, form, USUAL_HITS, |_| None).await;
    found.map_err(unsearched)
}

/// Lists the hosts of all nodes.
#[cfg(feature = "tier")]
async fn list_everywhere(caller: &Caller, form: &SubmittedForm) -> Result<IndexPage, CallFault> {
    check_tier(caller)?;
    if form.value("what") != Some("hosts") {
        return Err(CallFault::bad("of all nodes only hosts are listed: use what=hosts"));
    }
    let limit = form.value("limit").map(str::parse::<usize>).transpose();
    let limit = limit.map_err(|_| CallFault::bad("limit is no number"))?;
    let limit = limit.unwrap_or(USUAL_HITS).clamp(1, MAX_HOSTS);
    everywhere::hosts(caller, form, limit).await.map_err(unsearched)
}

#[cfg(feature = "tier")]
fn check_tier(caller: &Caller) -> Result<(), CallFault> {
    let is_possible = everywhere::is_possible(caller);
    is_possible.then_some(()).ok_or_else(|| CallFault::bad("this node belongs to no archive tier"))
}

#[cfg(feature = "tier")]
fn unsearched(why: Unsearched) -> CallFault {
    match why {
        Unsearched::Bad(why) => CallFault::bad(why.to_string()),
        Unsearched::Unavailable => {
            let why = "the archive tier cannot be searched now";
            CallFault::new(StatusCode::SERVICE_UNAVAILABLE, why)
        }
    }
}

/// Runs a list or search request for a caller, off the runtime's threads.
pub(in crate::site) async fn query_index<T: Send + 'static>(
    caller: &Caller,
    wanted: ListQuery,
    act: impl FnOnce(&ListSource<'_>, &ListQuery) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let viewer = lists::viewer((!caller.is_administrator()).then_some(&caller.owner));
    query_index_for(caller, viewer, wanted, act).await
}

/// Runs a list or search request for a given viewer.
pub(in crate::site) async fn query_index_for<T: Send + 'static>(
    caller: &Caller,
    viewer: Viewer,
    wanted: ListQuery,
    act: impl FnOnce(&ListSource<'_>, &ListQuery) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let context = &caller.context;
    // Only administrators can list entries that the configuration excludes from lists.
    let wanted = ListQuery { all: wanted.all && caller.is_administrator(), ..wanted };
    let sessions: Sessions = sessions::sessions(&context.storage).await;
    let collection = match &wanted.collection {
        Some(name) => Some(access::named(caller, name).await.ok()),
        None => None,
    };
    let (spool, config) = (context.storage.store.spool().clone(), context.base.config());
    let now = timestamp(crate::base::clock::now());
    lists::call_index(&context.storage, move |index| {
        let (spool, config, sessions, viewer) = (&spool, &*config, &sessions, &viewer);
        // If this takes too long, the list is shown even though it is not current.
        let _late = index.wait_until_current_within(false, CURRENT_WITHIN);
        let source = ListSource { index, spool, config, sessions, viewer, now };
        let mut wanted = wanted;
        if let Some(collection) = collection {
            // A collection that is unknown, or private, has no entries.
            let set = collection.map(|one| entry_set(&source, &one)).transpose()?;
            wanted.filter.among = Some(Arc::new(set.unwrap_or_default()));
        }
        act(&source, &wanted)
    })
    .await
}

/// Rebuilds the index, or looks for changes made by other programs, and reports progress.
pub(in crate::site) fn reindex(caller: &Caller, wanted: &ReindexRequest) -> Body {
    let what = if wanted.changed { ReindexScope::Changed } else { ReindexScope::All };
    let ((tell, done), index) = (oneshot::channel(), caller.context.storage.index.clone());
    let context = Arc::clone(&caller.context);
    caller.context.base.tasks.spawn(async move {
        let outcome = tokio::select! {
            () = context.base.tasks.stopping() => return,
            outcome = lists::rebuild(&context.storage, what) => outcome,
        };
        // The client may have disconnected.
        let _ = tell.send(outcome);
    });
    let frames = stream::unfold(Some(done), move |done| {
        let index = index.clone();
        async move {
            let mut done = done?;
            let (event, rest) = match tokio::time::timeout(TELL, &mut done).await {
                Ok(Ok(Ok(()))) => (ReindexEvent::Done, None),
                Ok(Ok(Err(error))) => (ReindexEvent::Failed(error_chain(&error)), None),
                Ok(Err(_)) => (ReindexEvent::Failed("the daemon stops".to_owned()), None),
                Err(_) => (ReindexEvent::Walked(index.progress().walked.unwrap_or(0)), Some(done)),
            };
            Some((Ok::<_, BoxError>(Frame::data(line(&event))), rest))
        }
    });
    StreamBody::new(frames).boxed_unsync()
}
