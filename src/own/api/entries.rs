//! `GET /api/entries`: what the spool has, as the directories are walked.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use wwwoffle_spool::{Error, List, Spool};

use super::super::info::{self, NoInfo};
use super::{Fault, push_line};
use crate::api::{EntryItem, Info, What};
use crate::daemon::Daemon;
use crate::pages::form::Form;
use crate::proxy::body::{self, Body};
use crate::upstream::BoxError;

/// How many entries are read in one go.
const ENTRIES_AT_ONCE: usize = 100;

/// Begins a list of what the argument `what` names, or of all entries. The walk goes on as the
/// client reads, and ends when it leaves.
pub(super) async fn list(daemon: &Arc<Daemon>, arguments: Option<&str>) -> Result<Body, Fault> {
    let form = read(arguments)?;
    let what = match form.value("what") {
        None | Some("") => What::ALL,
        Some(text) => What::parse(text).map_err(|error| Fault::bad(error.to_string()))?,
    };
    match what {
        What::Outgoing => Ok(outgoing(daemon)),
        What::Entries { scheme, host } => {
            let (scheme, host) = (scheme.map(str::to_owned), host.map(str::to_owned));
            let start = move |spool: &Spool| spool.list(scheme.as_deref(), host.as_deref());
            let list = daemon.store.run(start).await?;
            Ok(walk(Arc::clone(daemon), list))
        }
    }
}

/// What is known of the URL in the argument `url`.
pub(super) async fn info(daemon: &Daemon, arguments: Option<&str>) -> Result<Info, Fault> {
    let form = read(arguments)?;
    let url = form.value("url").filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| Fault::bad("expected the argument url".to_owned()))?;
    info::of(daemon, url).await.map_err(|error| match error {
        NoInfo::Url(error) => Fault::url(url, &error),
        NoInfo::Spool(error) => Fault::from(error),
    })
}

fn read(arguments: Option<&str>) -> Result<Form, Fault> {
    let arguments = arguments.unwrap_or_default().as_bytes();
    Form::parse(Some("application/x-www-form-urlencoded"), arguments)
        .map_err(|error| Fault::bad(error.to_string()))
}

fn walk(daemon: Arc<Daemon>, list: List) -> Body {
    let frames = stream::unfold(Some(list), move |list| {
        let daemon = Arc::clone(&daemon);
        async move {
            let mut list = list?;
            if daemon.tasks.is_stopping() {
                let error = BoxError::from("the daemon stops");
                return Some((Err(error), None));
            }
            let read = daemon.store.run(move |_| {
                let lines = some(&mut list)?;
                Ok((lines, list))
            });
            match read.await {
                Ok((lines, _)) if lines.is_empty() => None,
                Ok((lines, list)) => Some((Ok(Frame::data(Bytes::from(lines))), Some(list))),
                Err(error) => {
                    // Cut off, so that what is missing is not taken for all there is.
                    let fault = Fault::from(error);
                    Some((Err(BoxError::from(fault.error)), None))
                }
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The lines of the next entries; none at the end.
fn some(list: &mut List) -> Result<Vec<u8>, Error> {
    let mut lines = Vec::new();
    for summary in list.take(ENTRIES_AT_ONCE) {
        push_line(&mut lines, &EntryItem::from(summary?));
    }
    Ok(lines)
}

fn outgoing(daemon: &Daemon) -> Body {
    let mut lines = Vec::new();
    for request in daemon.store.spool().queue().list() {
        push_line(&mut lines, &EntryItem::from(&request));
    }
    body::whole(lines)
}
