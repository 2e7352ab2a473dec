//! `GET /api/entries`: the entries of the spool, in the order of the directory walk.

pub(super) mod compress;
pub(super) mod edit;
pub mod exchange;
pub(super) mod import;

use crate::base::text::Text;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::Frame;
use wwwoffle_spool::{EntryList, Error, Spool};
use wwwoffle_url::CanonicalUrl;

use crate::base::owner::{BadOwner, Owner, Places};
use crate::fetch::hold::HoldState;
use crate::net::upstream::BoxError;
use crate::page::form::SubmittedForm;
use crate::proxy::body::{self, Body};
use crate::site::api::fault::CallFault;
use crate::site::api::{check_url_count, push_line};
use crate::site::caller::Caller;
use crate::site::context::SiteContext;
use crate::site::history::call::fault;
use crate::site::info;
use wwwoffle_api::{EntryItem, Info, ListKind};

/// Number of entries read in one blocking call.
const ENTRIES_AT_ONCE: usize = 100;

/// Returns the list that the argument `what` names: entries of the spool (by default all entries)
/// or the queue. The walk through the spool proceeds as the client reads, and ends when the client
/// disconnects.
pub(in crate::site) async fn list(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<Body, CallFault> {
    let form = read(arguments)?;
    let what = match form.value("what") {
        None | Some("") => ListKind::ALL,
        Some(text) => ListKind::parse(text).map_err(|error| CallFault::bad(error.to_string()))?,
    };
    match what {
        ListKind::Outgoing => Ok(outgoing(caller)),
        ListKind::Entries { scheme, host } => {
            let (scheme, host) = (scheme.map(str::to_owned), host.map(str::to_owned));
            let start = move |spool: &Spool| spool.list(scheme.as_deref(), host.as_deref());
            let context = &caller.context;
            let list = context.storage.store.run(start).await?;
            let viewer = (!caller.is_administrator()).then(|| caller.owner.clone());
            Ok(walk(Arc::clone(context), viewer, list))
        }
    }
}

/// Returns the owner of the requested entries: the owner `named`, or else the caller. Refuses an
/// owner whose entries the caller may not see.
pub(in crate::site) fn owner(caller: &Caller, named: Option<&str>) -> Result<Owner, CallFault> {
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return Ok(caller.owner.clone());
    };
    let owner: Owner =
        named.parse().map_err(|error: BadOwner| CallFault::bad(error.to_string()))?;
    if caller.is_administrator() || owner == caller.owner {
        return Ok(owner);
    }
    let error =
        "the copies of others are only shown to the command line, and with the control password";
    Err(CallFault::new(StatusCode::FORBIDDEN, error))
}

/// Returns the details of the URL in the argument `url`: of the entry of the caller or of `owner`,
/// or else of the public entry.
pub(in crate::site) async fn info(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<Info<Text>, CallFault> {
    let (url, owner) = requested_url(caller, arguments)?;
    info::of(&caller.context, &owner, &url).await.map_err(|error| fault(&url, error))
}

/// Parses the arguments `url` and `owner` of a call.
pub(in crate::site) fn requested_url(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<(String, Owner), CallFault> {
    let form = read(arguments)?;
    let url = form.value("url").filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| CallFault::bad("expected the argument url"))?;
    Ok((url.to_owned(), owner(caller, form.value("owner"))?))
}

/// Returns the places of the responses to requests of `owner` for these URLs.
pub(in crate::site) fn places(
    caller: &Caller,
    urls: &[String],
    owner: &Owner,
) -> Result<Vec<Places>, CallFault> {
    check_url_count(urls)?;
    let places = |text: &String| match CanonicalUrl::parse(text, &caller.context.base.local) {
        Ok(url) => Ok(Places::of_url(&url, owner)),
        Err(error) => Err(CallFault::url(text, &error)),
    };
    urls.iter().map(places).collect()
}

pub(in crate::site) fn read(arguments: Option<&str>) -> Result<SubmittedForm, CallFault> {
    SubmittedForm::of_arguments(arguments).map_err(|error| CallFault::bad(error.to_string()))
}

/// Walks the spool and returns the entries that `viewer` may see. If `viewer` is `None`, returns
/// all entries.
fn walk(context: Arc<SiteContext>, viewer: Option<Owner>, list: EntryList) -> Body {
    let frames = stream::unfold(Some(list), move |list| {
        let (context, viewer) = (Arc::clone(&context), viewer.clone());
        async move {
            let mut list = list?;
            if context.base.tasks.is_stopping() {
                let error = BoxError::from("the daemon stops");
                return Some((Err(error), None));
            }
            let read = context.storage.store.run(move |_| {
                let lines = next_lines(&mut list, viewer.as_ref())?;
                Ok((lines, list))
            });
            match read.await {
                Ok((None, _)) => None,
                Ok((Some(lines), list)) => Some((Ok(Frame::data(Bytes::from(lines))), Some(list))),
                Err(error) => {
                    // The response is aborted, so that the client does not take an incomplete list
                    // for a complete one.
                    let fault = CallFault::from(error);
                    Some((Err(BoxError::from(fault.error)), None))
                }
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Returns a line for each of the next entries that `viewer` may see; `None` at the end.
fn next_lines(list: &mut EntryList, viewer: Option<&Owner>) -> Result<Option<Vec<u8>>, Error> {
    let (mut lines, mut count) = (Vec::new(), 0);
    for summary in list.take(ENTRIES_AT_ONCE) {
        let summary = summary?;
        count += 1;
        if viewer.is_none_or(|viewer| viewer.may_see(&summary.place)) {
            push_line(&mut lines, &EntryItem::from(summary));
        }
    }
    Ok((count > 0).then_some(lines))
}

fn outgoing(caller: &Caller) -> Body {
    let mut lines = Vec::new();
    let (list, hold_state) = (
        caller.context.storage.store.spool().queue().list(),
        HoldState::new(&caller.context.fetch),
    );
    for request in list.iter().filter(|request| caller.may_see_queued(&request.place)) {
        push_line(&mut lines, &EntryItem::of_waiting(request, hold_state.held(request)));
    }
    body::from_bytes(lines)
}
