//! `GET /api/entries`: what the spool has, as the directories are walked.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use wwwoffle_spool::{Error, List, OutgoingSummary, RequestState, Summary};

use super::{Fault, push_line};
use crate::api::EntryItem;
use crate::daemon::Daemon;
use crate::pages::form::Form;
use crate::pages::shown;
use crate::proxy::body::{self, Body};
use crate::upstream::BoxError;

/// How many entries are read in one go.
const ENTRIES_AT_ONCE: usize = 100;

/// The schemes of which entries are kept.
const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// What is to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What<'a> {
    Entries { scheme: Option<&'a str>, host: Option<&'a str> },
    Outgoing,
}

/// Begins a list of what the argument `what` names, or of all entries. The walk goes on as the
/// client reads, and ends when it leaves.
pub(super) async fn list(daemon: &Arc<Daemon>, arguments: Option<&str>) -> Result<Body, Fault> {
    let form = Form::parse(
        Some("application/x-www-form-urlencoded"),
        arguments.unwrap_or_default().as_bytes(),
    )
    .map_err(|error| Fault::bad(error.to_string()))?;
    match parse(form.value("what").unwrap_or_default())? {
        What::Outgoing => Ok(outgoing(daemon)),
        What::Entries { scheme, host } => {
            let (scheme, host) = (scheme.map(str::to_owned), host.map(str::to_owned));
            let start =
                move |spool: &wwwoffle_spool::Spool| spool.list(scheme.as_deref(), host.as_deref());
            let list = daemon.store.run(start).await?;
            Ok(walk(Arc::clone(daemon), list))
        }
    }
}

fn parse(what: &str) -> Result<What<'_>, Fault> {
    let what = what.trim_end_matches('/');
    let (scheme, host) = match what.split_once('/') {
        Some((scheme, host)) => (scheme, Some(host)),
        None => (what, None),
    };
    match host {
        None if scheme.is_empty() => Ok(What::Entries { scheme: None, host: None }),
        None if scheme == "outgoing" => Ok(What::Outgoing),
        Some(host) if host.is_empty() || host.contains('/') => Err(unknown(what)),
        host if SCHEMES.contains(&scheme) => Ok(What::Entries { scheme: Some(scheme), host }),
        _ => Err(unknown(what)),
    }
}

fn unknown(what: &str) -> Fault {
    Fault::bad(format!(
        "what is outgoing, {} or one of these with a host, as http/www.example.org, not {:?}",
        SCHEMES.join(", "),
        shown::text(what)
    ))
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
        push_line(&mut lines, &entry(summary?));
    }
    Ok(lines)
}

fn outgoing(daemon: &Daemon) -> Body {
    let mut lines = Vec::new();
    for request in daemon.store.spool().queue().list() {
        push_line(&mut lines, &waiting(&request));
    }
    body::whole(lines)
}

fn entry(summary: Summary) -> EntryItem {
    EntryItem {
        url: summary.place.url().to_owned(),
        key: summary.place.key().to_string(),
        status: Some(summary.status),
        content_type: summary
            .content_type
            .map(|value| String::from_utf8_lossy(&value).into_owned()),
        bytes: summary.body_len,
        stored: summary.stored,
    }
}

fn waiting(request: &OutgoingSummary) -> EntryItem {
    let status = match request.state {
        RequestState::Waiting => None,
        RequestState::Failed { status, .. } => status,
    };
    EntryItem {
        url: request.place.url().to_owned(),
        key: request.place.key().to_string(),
        status,
        content_type: None,
        bytes: 0,
        stored: request.queued,
    }
}

#[cfg(test)]
mod tests {
    use super::{What, parse};

    #[test]
    fn what_names_a_scheme_a_host_or_the_queue() {
        let entries = |scheme, host| What::Entries { scheme, host };
        let table = [
            ("", entries(None, None)),
            ("http", entries(Some("http"), None)),
            ("https/", entries(Some("https"), None)),
            ("http/a:81", entries(Some("http"), Some("a:81"))),
            ("outgoing", What::Outgoing),
        ];
        for (text, want) in table {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        for text in ["tmp", "../x", "http/a/b", "http//a", "outgoing/a", "HTTP", "lock"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
