//! `POST /api/import`: imports a local archive into the spool and reports progress line by line.
//! `POST /api/import/upload` does the same with an archive in the body of the call.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Incoming;
use tempfile::{Builder, NamedTempFile};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use wwwoffle_archive::{ImportControl, ImportEvent, ImportOptions, ImportReport, import};
use wwwoffle_spool::fs::{Disk as _, SYSTEM_DISK};
use wwwoffle_spool::purge::space;

use super::super::caller::Caller;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::proxy::placer::Placer;
use crate::site::api::fault::CallFault;
use crate::site::api::line;
use crate::site::context::SiteContext;
use crate::site::entries::edit::cut_short;
use crate::site::entries::exchange::options;
use crate::site::entries::read;
use crate::site::lists::export::received;
use crate::storage::lists::sessions::add_earlier_sessions;
use crate::storage::purge::room::min_free_at;
use crate::storage::store::timestamp;
use wwwoffle_api::ImportRequest;

/// Interval between progress reports.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Number of lines buffered for the client. If the client does not read them, the import waits.
const LINES_AHEAD: usize = 8;

/// Starts an import. It ends early if the client disconnects or the daemon stops; the next import
/// of the archive continues at the same point.
pub(in crate::site) fn start(caller: &Caller, wanted: ImportRequest) -> Result<Body, CallFault> {
    check_socket(caller)?;
    import_file(caller, wanted, None)
}

/// Receives an archive, and then imports it like [`start`]. The argument `options` has the fields of
/// the other call as JSON; the path is ignored. So a daemon can import a file that it cannot read.
pub(in crate::site) async fn upload(
    caller: &Caller,
    arguments: Option<&str>,
    mut body: Incoming,
) -> Result<Body, CallFault> {
    check_socket(caller)?;
    let form = read(arguments)?;
    let wanted: ImportRequest = serde_json::from_str(form.value("options").unwrap_or("{}"))
        .map_err(|error| CallFault::bad(error.to_string()))?;
    let store = &caller.context.storage.store;
    let spare = min_free_at(&caller.context.base.config(), store.spool().root());
    // After a crash, the next opening of the spool removes a file with this ending.
    let created = store.run(|spool| {
        let directory = spool.root().join("tmp");
        Ok(Builder::new().prefix("import-").suffix(".rewrite").tempfile_in(directory))
    });
    let mut archive = created.await?.map_err(|error| not_received(&error))?;
    // A program that writes the archive into a pipe may pause.
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| cut_short())?.into_data() else { continue };
        let written = store.run(move |spool| {
            let has_room = space(spool.root()).is_ok_and(|space| space.free > spare);
            let full = || io::Error::from(io::ErrorKind::StorageFull);
            let written = if has_room { archive.write_all(&data) } else { Err(full()) };
            Ok(written.map(|()| archive))
        });
        archive = written.await?.map_err(|error| not_received(&error))?;
    }
    import_file(caller, wanted, Some(archive))
}

fn check_socket(caller: &Caller) -> Result<(), CallFault> {
    if caller.is_on_socket() {
        return Ok(());
    }
    let error = "only the command line on this machine may import archives";
    Err(CallFault::new(StatusCode::FORBIDDEN, error))
}

fn not_received(error: &io::Error) -> CallFault {
    let error = format!("the archive cannot be received: {}", error_chain(error));
    CallFault::new(StatusCode::INSUFFICIENT_STORAGE, error)
}

/// Imports `received`, or else the file that the request names.
fn import_file(
    caller: &Caller,
    wanted: ImportRequest,
    received_file: Option<NamedTempFile>,
) -> Result<Body, CallFault> {
    let context = Arc::clone(&caller.context);
    let options = options(&wanted, context.base.local.clone(), timestamp(clock::now()))
        .map_err(|error| CallFault::bad(error.to_string()))?;
    let (tell, receiver) = mpsc::channel(LINES_AHEAD);
    let named = PathBuf::from(wanted.path);
    // The task ends soon after a stop, because it checks for a stop at each step.
    let _detached = spawn_blocking(move || {
        // A received file is removed when it is dropped.
        let upload = received_file.as_ref().map(NamedTempFile::path);
        let archive = (upload.unwrap_or(&named), upload.is_some());
        run(&context, archive, &options, &tell);
    });
    Ok(received(receiver))
}

/// Imports the archive at `path`.
fn run(
    context: &SiteContext,
    (path, is_received): (&Path, bool),
    options: &ImportOptions,
    tell: &mpsc::Sender<Result<Bytes, BoxError>>,
) {
    let mut last = Instant::now();
    let mut watch = |report: &ImportReport| {
        if context.base.tasks.is_stopping() {
            return ImportControl::Stop;
        }
        if last.elapsed() < TELL_EVERY {
            return if tell.is_closed() { ImportControl::Stop } else { ImportControl::Continue };
        }
        last = Instant::now();
        match tell.blocking_send(Ok(line(&ImportEvent::Progress(report.without_former_requests()))))
        {
            Ok(()) => ImportControl::Continue,
            Err(_) => ImportControl::Stop,
        }
    };
    let done = import(context.storage.store.spool(), path, options, &Placer::default(), &mut watch);
    if done.as_ref().is_ok_and(|report| report.requests.queued > 0) {
        context.fetch.fetcher.wake();
    }
    let end = match done {
        Ok(mut report) => {
            if !options.dry_run {
                let record = add_earlier_sessions(&context.storage, &mut report);
                tokio::runtime::Handle::current().block_on(record);
            }
            ImportEvent::End(report)
        }
        Err(error) => ImportEvent::Failed {
            // The name of a received file says nothing.
            error: if is_received {
                // A client does not know the name of this file.
                error_chain(&error).replace(&*path.to_string_lossy(), "the file")
            } else {
                error_chain(&error)
            },
            is_unreadable: error.is_denied() || SYSTEM_DISK.open(path).is_err(),
        },
    };
    // A disconnected reader needs no last line.
    let _told = tell.blocking_send(Ok(line(&end)));
}
