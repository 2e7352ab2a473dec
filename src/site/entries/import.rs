//! `POST /api/import`: imports a local archive into the spool and reports progress line by line.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use wwwoffle_archive::{ImportControl, ImportEvent, ImportOptions, ImportReport, import};

use super::super::caller::Caller;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::proxy::placer::Placer;
use crate::site::api::fault::CallFault;
use crate::site::api::line;
use crate::site::context::SiteContext;
use crate::site::entries::exchange::options;
use crate::site::lists::export::received;
use crate::storage::lists::sessions::add_earlier_sessions;
use crate::storage::store::timestamp;
use wwwoffle_api::ImportRequest;

/// Interval between progress reports.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Number of lines buffered for the client. If the client does not read them, the import waits.
const LINES_AHEAD: usize = 8;

/// Starts an import. It ends early if the client disconnects or the daemon stops; the next import
/// of the archive continues at the same point.
pub(in crate::site) fn start(caller: &Caller, wanted: ImportRequest) -> Result<Body, CallFault> {
    if !caller.is_on_socket() {
        let error = "archives are only imported by the command line, because their paths are on this machine";
        return Err(CallFault::new(StatusCode::FORBIDDEN, error));
    }
    let context = Arc::clone(&caller.context);
    let options = options(&wanted, context.base.local.clone(), timestamp(clock::now()))
        .map_err(|error| CallFault::bad(error.to_string()))?;
    let (tell, receiver) = mpsc::channel(LINES_AHEAD);
    let path = PathBuf::from(wanted.path);
    // The task ends soon after a stop, because it checks for a stop at each step.
    let _detached = spawn_blocking(move || run(&context, &path, &options, &tell));
    Ok(received(receiver))
}

fn run(
    context: &SiteContext,
    path: &std::path::Path,
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
        Err(error) => ImportEvent::Failed { error: error_chain(&error) },
    };
    // A disconnected reader needs no last line.
    let _told = tell.blocking_send(Ok(line(&end)));
}
