//! The JSON API. Its shapes are in [`crate::api`].

mod by_hand;
mod compress;
mod config;
mod entries;
mod events;
mod fault;
mod history;
mod import;
pub(super) mod index;
mod monitor;
mod plan;
mod purge;
mod queue;
pub(super) mod runs;
mod stream;
mod sum;
mod tell;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wwwoffle_spool::Place;
use wwwoffle_url::Key;

use self::fault::Fault;
use super::caller::Caller;
use super::permission::Permission;
use super::{forms, is_read, statistics, status};
use crate::api::{
    ApiError, Deleted, DownloadEnded, DownloadToEnd, FetchRequest, Flushed, GetRequest, ModeChange,
    ModeRequest, Queue, QueueTarget, Retried, Started, Stopping,
};
use crate::base::error_chain::error_chain;
use crate::base::shown;
use crate::fetch;
use crate::page::guard::ActionScope;
use crate::page::message::{Denied, Message};
use crate::page::token::Purpose;
use crate::proxy::admit::with_challenge;
use crate::proxy::body::{self, Body};
use crate::proxy::target;

/// Where all calls are.
const PREFIX: &str = "/api/";

/// The field with the general token, where calls come over TCP.
const TOKEN: &str = "x-wwwoffle-token";

/// Bytes of the longest body of a call: one URL of the longest kind and some, or very many others.
const LONGEST_CALL: usize = 8 << 20;

/// How many URLs one call may name.
const MOST_URLS: usize = 10_000;

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Status,
    Statistics,
    Queue,
    Entries,
    Events,
    Schema,
    Info,
    Index,
    Search,
    Reindex,
    History,
    HistoryRestore,
    HistoryDelete,
    Mode,
    Retry,
    Delete,
    Priority,
    Get,
    Fetch,
    Forget,
    Purge,
    Pins,
    Rename,
    Compress,
    Write,
    Flush,
    Import,
    Stop,
    Monitor,
    MonitorDelete,
    Runs,
    RunsPlan,
    RunsStop,
    DownloadsEnd,
    QueuePlan,
    MonitorDiff,
    Config,
    ConfigVersions,
    ConfigUndo,
    ConfigReload,
}

/// Each call by its path below [`PREFIX`].
const CALLS: [(&str, Call); 40] = [
    ("status", Call::Status),
    ("statistics", Call::Statistics),
    ("queue", Call::Queue),
    ("entries", Call::Entries),
    ("events", Call::Events),
    ("config/schema", Call::Schema),
    ("info", Call::Info),
    ("index", Call::Index),
    ("search", Call::Search),
    ("reindex", Call::Reindex),
    ("history", Call::History),
    ("history/restore", Call::HistoryRestore),
    ("history/delete", Call::HistoryDelete),
    ("mode", Call::Mode),
    ("queue/retry", Call::Retry),
    ("queue/delete", Call::Delete),
    ("queue/priority", Call::Priority),
    ("get", Call::Get),
    ("fetch", Call::Fetch),
    ("entries/delete", Call::Forget),
    ("purge", Call::Purge),
    ("pins", Call::Pins),
    ("entries/move", Call::Rename),
    ("entries/compress", Call::Compress),
    ("entries/write", Call::Write),
    ("flush", Call::Flush),
    ("import", Call::Import),
    ("stop", Call::Stop),
    ("monitor", Call::Monitor),
    ("monitor/diff", Call::MonitorDiff),
    ("monitor/delete", Call::MonitorDelete),
    ("runs", Call::Runs),
    ("runs/plan", Call::RunsPlan),
    ("runs/stop", Call::RunsStop),
    ("downloads/end", Call::DownloadsEnd),
    ("queue/plan", Call::QueuePlan),
    ("config", Call::Config),
    ("config/versions", Call::ConfigVersions),
    ("config/undo", Call::ConfigUndo),
    ("config/reload", Call::ConfigReload),
];

impl Call {
    fn at(path: &str) -> Option<Self> {
        let name = path.strip_prefix(PREFIX)?;
        CALLS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call)
    }

    /// The methods it takes.
    fn allowed(self) -> &'static str {
        match self {
            Self::Status
            | Self::Statistics
            | Self::Queue
            | Self::QueuePlan
            | Self::Entries
            | Self::Events
            | Self::Schema
            | Self::Info
            | Self::Index
            | Self::Search
            | Self::History
            | Self::MonitorDiff
            | Self::ConfigVersions => "GET, HEAD",
            Self::Config | Self::Monitor | Self::Runs | Self::Purge | Self::Pins => {
                "GET, HEAD, POST"
            }
            _ => "POST",
        }
    }

    /// What a POST of it needs.
    fn needs(self) -> Permission {
        match self {
            Self::Status
            | Self::Statistics
            | Self::Queue
            | Self::QueuePlan
            | Self::Entries
            | Self::Events
            | Self::Schema
            | Self::Info
            | Self::Index
            | Self::Search
            | Self::History
            | Self::MonitorDiff
            | Self::ConfigVersions
            | Self::Get
            | Self::Retry
            | Self::Delete
            | Self::Priority
            | Self::Runs
            | Self::RunsPlan
            | Self::RunsStop => Permission::Request,
            Self::Mode
            | Self::Fetch
            | Self::Forget
            | Self::Purge
            | Self::Pins
            | Self::Compress
            | Self::Flush
            | Self::HistoryRestore
            | Self::HistoryDelete
            | Self::Monitor
            | Self::MonitorDelete
            | Self::DownloadsEnd
            | Self::Config
            | Self::ConfigUndo
            | Self::ConfigReload
            | Self::Stop => Permission::Change,
            Self::Write | Self::Rename | Self::Import | Self::Reindex => Permission::Administer,
        }
    }

    fn takes(self, method: &Method) -> bool {
        self.allowed().split(", ").any(|allowed| allowed == method.as_str())
    }
}

/// Whether a path is one of the API, known or not.
pub(super) fn has(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers a call.
pub(super) async fn answer(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    match carry_out(caller, path, arguments, &parts, incoming).await {
        Ok(response) => response,
        Err(fault) => refused(caller, fault),
    }
}

fn refused(caller: &Caller, fault: Fault) -> Response<Body> {
    let mut response = json(caller, &ApiError { error: fault.error });
    *response.status_mut() = fault.status;
    if let Some(allowed) = fault.allowed {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    }
    response
}

fn end_download(caller: &Caller, wanted: DownloadToEnd) -> Result<DownloadEnded, Fault> {
    let unknown = || Fault::new(StatusCode::NOT_FOUND, "no such download is under way".to_owned());
    let url = status::end_download(caller, wanted.id).ok_or_else(unknown)?;
    Ok(DownloadEnded { url })
}

/// Says no to whoever may not call, and asks for what is missing.
pub(super) fn denied(caller: &Caller, denied: Denied) -> Response<Body> {
    let error = Message::Denied(denied).title().to_lowercase();
    let mut response = json(caller, &ApiError { error });
    *response.status_mut() = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
    with_challenge(response, denied)
}

async fn carry_out(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
    parts: &Parts,
    incoming: Incoming,
) -> Result<Response<Body>, Fault> {
    caller.check_origin()?;
    let call = Call::at(path).ok_or_else(|| Fault::unknown(path))?;
    if !call.takes(&parts.method) {
        return Err(Fault::not_with(&parts.method, call.allowed()));
    }
    let token = parts.headers.get(TOKEN).map(|value| value.to_str().unwrap_or("?"));
    let token = caller.worth(Purpose::General, token);
    let reads = is_read(&parts.method);
    let needed = if reads { Permission::Read } else { call.needs() };
    caller.check(needed, ActionScope::General, token)?;
    let call_body = CallBody { caller, parts, incoming };
    let context = &caller.context;
    Ok(match call {
        Call::Status => json(caller, &status::status(caller)),
        Call::Statistics => json(caller, &statistics::statistics(caller)),
        Call::Queue => json(caller, &Queue { queue: status::queue(caller) }),
        Call::Entries => lines(caller, entries::list(caller, arguments).await?),
        Call::Events => events::answer(caller, &parts.method),
        Call::Schema => schema(caller),
        Call::Info => json(caller, &entries::info(caller, arguments).await?),
        Call::Index => json(caller, &index::list(caller, arguments).await?),
        Call::Search => json(caller, &index::search(caller, arguments).await?),
        Call::Reindex => lines(caller, index::reindex(caller, &call_body.read().await?)?),
        Call::History => json(caller, &history::list(caller, arguments).await?),
        Call::HistoryRestore => {
            json(caller, &history::restore(caller, call_body.read().await?).await?)
        }
        Call::HistoryDelete => {
            json(caller, &history::delete(caller, call_body.read().await?).await?)
        }
        Call::Mode => json(caller, &mode(caller, call_body.read().await?).await?),
        Call::Retry => json(caller, &retry(caller, call_body.read().await?).await?),
        Call::Delete => json(caller, &delete(caller, call_body.read().await?).await?),
        Call::Priority => json(caller, &queue::prioritize(caller, call_body.read().await?).await?),
        Call::Get => get(caller, call_body.read().await?)?,
        Call::Fetch => fetch(caller, call_body.read().await?)?,
        Call::Forget => json(caller, &by_hand::forget(caller, call_body.read().await?).await?),
        Call::Purge if reads => json(caller, &caller.context.storage.purging.told()),
        Call::Purge => lines(caller, purge::start(caller, call_body.read().await?)?),
        Call::Pins if reads => json(caller, &purge::pins(caller).await?),
        Call::Pins => json(caller, &purge::pin(caller, call_body.read().await?).await?),
        Call::Rename => json(caller, &by_hand::rename(caller, call_body.read().await?).await?),
        Call::Compress => lines(caller, compress::start(caller, &call_body.read().await?)?),
        Call::Write => json(caller, &by_hand::write(caller, arguments, call_body.incoming).await?),
        Call::Flush => json(caller, &flush(caller).await?),
        Call::Import => lines(caller, import::start(caller, call_body.read().await?)?),
        Call::Monitor if reads => json(caller, &monitor::all(caller)),
        Call::Monitor => json(caller, &monitor::set(caller, call_body.read().await?).await?),
        Call::MonitorDiff => json(caller, &monitor::diff(caller, arguments).await?),
        Call::MonitorDelete => {
            json(caller, &monitor::delete(caller, call_body.read().await?).await?)
        }
        Call::Runs if reads => json(caller, &runs::all(caller)),
        Call::Runs => runs::start(caller, call_body.read().await?).await?,
        Call::RunsPlan => json(caller, &plan::runs(caller, call_body.read().await?).await?),
        Call::QueuePlan => json(caller, &plan::queue(caller).await?),
        Call::DownloadsEnd => json(caller, &end_download(caller, call_body.read().await?)?),
        Call::RunsStop => json(caller, &runs::stop(caller, call_body.read().await?).await?),
        Call::Config if reads => config::state(caller).await?,
        Call::Config => {
            let expected = config::expected(parts)?;
            config::edit(caller, expected, call_body.read().await?).await
        }
        Call::ConfigVersions => config::versions(caller).await,
        Call::ConfigUndo => {
            let expected = config::expected(parts)?;
            config::undo(caller, expected, call_body.read().await?).await
        }
        Call::ConfigReload => config::reload(caller).await,
        Call::Stop => {
            // The answer is still sent: a connection ends only after what it is answering.
            context.base.tasks.stop();
            json(caller, &Stopping { stopping: true })
        }
    })
}

/// Gives every kept page its name on the disk, for whoever reads the spool beside the daemon.
async fn flush(caller: &Caller) -> Result<Flushed, Fault> {
    match caller.context.storage.store.run(wwwoffle_spool::Spool::flush).await {
        Ok(()) => Ok(Flushed { flushed: true }),
        Err(error) => Err(Fault::new(StatusCode::INTERNAL_SERVER_ERROR, error_chain(&error))),
    }
}

/// The body of a call that may be carried out.
struct CallBody<'a> {
    caller: &'a Caller,
    parts: &'a Parts,
    incoming: Incoming,
}

impl CallBody<'_> {
    async fn read<T: DeserializeOwned>(self) -> Result<T, Fault> {
        let content_type =
            self.parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !essence.trim().eq_ignore_ascii_case(JSON) {
            return Err(Fault::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected a body of type {JSON}"),
            ));
        }
        let whole = self.caller.read(self.incoming, LONGEST_CALL).await?;
        serde_json::from_slice(&whole)
            .map_err(|error| Fault::bad(format!("the body cannot be understood: {error}")))
    }
}

async fn mode(caller: &Caller, wanted: ModeRequest) -> Result<ModeChange, Fault> {
    let mode = wanted.mode;
    match caller.context.storage.switch(mode).await {
        Ok(was) => Ok(ModeChange { mode, was }),
        Err(error) => Err(Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!(
                "the mode is {mode} now, but the next start will not know: {}",
                error_chain(&error)
            ),
        )),
    }
}

async fn retry(caller: &Caller, target: QueueTarget) -> Result<Retried, Fault> {
    let chosen = match target {
        QueueTarget::Key(text) => Some(key(&text)?),
        QueueTarget::All => None,
    };
    let is_theirs = |place: &Place| caller.may_see_queued(place);
    let only = chosen.as_ref().map(std::slice::from_ref);
    Ok(Retried { retried: fetch::retry(&caller.context.fetch, only, is_theirs).await? })
}

async fn delete(caller: &Caller, target: QueueTarget) -> Result<Deleted, Fault> {
    let deleted = match target {
        QueueTarget::Key(text) => u64::from(forms::dequeue(caller, key(&text)?).await?),
        QueueTarget::All => forms::empty_queue(caller).await?,
    };
    Ok(Deleted { deleted })
}

/// Begins to get URLs. Each is looked at first, so that a mistake in one leaves nothing half done.
fn get(caller: &Caller, wanted: GetRequest) -> Result<Response<Body>, Fault> {
    not_too_many(&wanted.urls)?;
    for text in &wanted.urls {
        target::of_url(text, &caller.context.base.local)
            .map_err(|error| Fault::url(text, &error))?;
    }
    Ok(lines(caller, stream::get(&caller.context, caller.requester(), wanted.urls, wanted.refresh)))
}

fn fetch(caller: &Caller, wanted: FetchRequest) -> Result<Response<Body>, Fault> {
    if !caller.mode().may_dial() {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "the mode is offline, so nothing is fetched: go online first".to_owned(),
        ));
    }
    let context = &caller.context;
    if wanted.wait {
        return Ok(lines(caller, stream::fetch(context, wanted.budget)));
    }
    context.fetch.fetcher.begin(wanted.budget);
    let queue = status::counts(context);
    Ok(json(caller, &Started { started: queue.waiting.saturating_add(queue.active) }))
}

fn not_too_many(urls: &[String]) -> Result<(), Fault> {
    if urls.len() > MOST_URLS {
        return Err(Fault::bad(format!("expected at most {MOST_URLS} URLs, not {}", urls.len())));
    }
    Ok(())
}

fn key(text: &str) -> Result<Key, Fault> {
    text.parse().map_err(|_| {
        Fault::bad(format!("expected a key of 64 hex digits, not {:?}", shown::text(text)))
    })
}

fn json(caller: &Caller, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => caller.other(StatusCode::OK, Some(JSON), body::whole(text)),
        Err(error) => {
            tracing::error!(%error, "an answer of the API cannot be written");
            caller.other(StatusCode::INTERNAL_SERVER_ERROR, None, body::empty())
        }
    }
}

/// Every option, for programs that help to edit the configuration.
fn schema(caller: &Caller) -> Response<Body> {
    let schema = wwwoffle_config::describe::json_schema();
    caller.other(StatusCode::OK, Some(JSON), body::whole(schema.into_bytes()))
}

fn lines(caller: &Caller, lines: Body) -> Response<Body> {
    caller.other(StatusCode::OK, Some(LINES), lines)
}

/// Adds one line of an answer that comes line by line.
fn push_line(buffer: &mut Vec<u8>, value: &impl Serialize) {
    let start = buffer.len();
    match serde_json::to_writer(&mut *buffer, value) {
        Ok(()) => buffer.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "a line of the API cannot be written");
            buffer.truncate(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLS, Call, Method, PREFIX};
    use crate::site::permission::tests::rows;
    use std::collections::BTreeMap;

    #[test]
    fn each_changing_call_needs_what_the_table_says() {
        let posts = CALLS.iter().filter(|(_, call)| call.takes(&Method::POST));
        let needs: BTreeMap<_, _> =
            posts.map(|(name, call)| (format!("{PREFIX}{name}"), call.needs())).collect();
        assert_eq!(needs, rows(|path| path.starts_with(PREFIX)));
    }

    #[test]
    fn calls_that_change_something_are_posts() {
        let table = [
            ("/api/status", Call::Status, "GET"),
            ("/api/queue", Call::Queue, "GET"),
            ("/api/entries", Call::Entries, "HEAD"),
            ("/api/events", Call::Events, "GET"),
            ("/api/info", Call::Info, "GET"),
            ("/api/index", Call::Index, "GET"),
            ("/api/search", Call::Search, "GET"),
            ("/api/reindex", Call::Reindex, "POST"),
            ("/api/history", Call::History, "GET"),
            ("/api/history/restore", Call::HistoryRestore, "POST"),
            ("/api/history/delete", Call::HistoryDelete, "POST"),
            ("/api/mode", Call::Mode, "POST"),
            ("/api/queue/retry", Call::Retry, "POST"),
            ("/api/queue/delete", Call::Delete, "POST"),
            ("/api/queue/priority", Call::Priority, "POST"),
            ("/api/get", Call::Get, "POST"),
            ("/api/fetch", Call::Fetch, "POST"),
            ("/api/entries/delete", Call::Forget, "POST"),
            ("/api/entries/move", Call::Rename, "POST"),
            ("/api/entries/compress", Call::Compress, "POST"),
            ("/api/entries/write", Call::Write, "POST"),
            ("/api/monitor/diff", Call::MonitorDiff, "GET"),
            ("/api/monitor/delete", Call::MonitorDelete, "POST"),
            ("/api/runs/stop", Call::RunsStop, "POST"),
            ("/api/downloads/end", Call::DownloadsEnd, "POST"),
            ("/api/runs/plan", Call::RunsPlan, "POST"),
            ("/api/queue/plan", Call::QueuePlan, "GET"),
            ("/api/flush", Call::Flush, "POST"),
            ("/api/stop", Call::Stop, "POST"),
            ("/api/config/versions", Call::ConfigVersions, "GET"),
            ("/api/config/undo", Call::ConfigUndo, "POST"),
            ("/api/config/reload", Call::ConfigReload, "POST"),
        ];
        for (path, call, method) in table {
            assert_eq!(Call::at(path), Some(call), "{path}");
            for tried in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
                let taken = call.takes(&Method::from_bytes(tried.as_bytes()).unwrap());
                let want =
                    tried == method || (method != "POST" && ["GET", "HEAD"].contains(&tried));
                assert_eq!(taken, want, "{tried} {path}");
            }
        }
        assert_eq!(Call::at("/api/config"), Some(Call::Config));
        assert_eq!(Call::at("/api/monitor"), Some(Call::Monitor));
        for both in [Call::Config, Call::Monitor] {
            assert_eq!(both.allowed(), "GET, HEAD, POST");
        }
        for path in ["/api/", "/api/status/", "/api/Status", "/status", ""] {
            assert_eq!(Call::at(path), None, "{path}");
        }
    }
}
