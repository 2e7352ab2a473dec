//! Status of the daemon, in the types of the API.

use std::collections::{BTreeSet, HashMap};

use wwwoffle_config::Config;
use wwwoffle_spool::{OutgoingSummary, RequestState};
use wwwoffle_url::Key;

use super::caller::Caller;
use super::fetches;
use super::queue::QueueRank;
use crate::base::clock;
use crate::base::owner::Owner;
use crate::base::small_file::is_program;
use crate::fetch::hold::HoldState;
use crate::net::link::LinkClass;
use crate::net::upstream::FailingParent;
use crate::proxy::download::{self, ProgressSnapshot};
use crate::site::context::SiteContext;
use crate::site::link::LinkReport;
use crate::storage::store::timestamp;
use wwwoffle_api::{
    DaemonActivity, DaemonProcess, DownloadItem, DownloadWaiting, FailingParentItem, FetchAttempts,
    Hold, ItemState, LinkStatus, ModeSetting, OutgoingTrouble, QueueCounts, QueueItem,
    RejectionItem, Status, TierStatus,
};

/// Maximum number of reported rejections.
const MAX_REJECTIONS: usize = 100;

/// Returns the status of the daemon as a whole.
pub(super) fn status(caller: &Caller) -> Status {
    with_queue(caller, counts(&caller.context))
}

/// Returns the status of the daemon. The numbers of the queue include only the requests that the
/// caller may see.
pub(super) fn status_for_caller(caller: &Caller) -> Status {
    with_queue(caller, counts_for_caller(caller))
}

fn with_queue(caller: &Caller, queue: QueueCounts) -> Status {
    let (context, mode) = (&caller.context, caller.mode());
    let (changes, purge) = (context.base.mode.changes(), context.storage.purging.status());
    let runs = fetches::call::all(caller).runs.into_iter().filter(|run| run.ended.is_none());
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode,
        chosen: context.base.mode.chosen(),
        link: link(context),
        metered: context.net.link.class(&context.base.config()) == LinkClass::Metered,
        activity: DaemonActivity {
            last_online: changes.online.map(timestamp),
            last_offline: changes.offline.map(timestamp),
            runs: u64::try_from(runs.count()).unwrap_or(u64::MAX),
            purge: purge.running.then_some(purge.looked),
            tier: tier(caller),
        },
        process: DaemonProcess {
            pid: std::process::id(),
            spool: context.storage.store.spool().root().display().to_string(),
            read_only: context.storage.store.spool().is_read_only(),
            listen: context.base.listening.iter().map(ToString::to_string).collect(),
            since: timestamp(context.base.since),
            missing_programs: missing_programs(&context.base.config()),
        },
        queue,
        downloads: downloads(caller),
        connections: u64::try_from(context.connected()).unwrap_or(u64::MAX),
        outgoing: OutgoingTrouble {
            outward_refused: context.net.upstream.dialer().refused_count(),
            failing_parents: failing_parents(context),
        },
        rejections: rejections(caller),
    }
}

/// Returns the programs for the texts of documents that cannot be executed.
fn missing_programs(config: &Config) -> Vec<String> {
    let programs = config.index_options.text_programs.iter().map(|(_, program)| &program.path);
    let missing: BTreeSet<_> = programs.filter(|path| !is_program(path)).collect();
    missing.into_iter().map(|path| path.display().to_string()).collect()
}

/// Returns the parent proxies that failed and are avoided.
fn failing_parents(context: &SiteContext) -> Vec<FailingParentItem> {
    let avoided = context.net.upstream.dialer().parents().avoided().into_iter();
    let item = |failing: FailingParent| FailingParentItem {
        parent: failing.parent,
        reason: failing.reason,
        since: timestamp(failing.since),
        until: timestamp(clock::now() + failing.remaining),
    };
    avoided.map(item).collect()
}

/// Returns the state of the archive tier, if this node belongs to one. The fault of an engine names
/// its address, so only the owner of the machine gets its text.
pub(super) fn tier(caller: &Caller) -> Option<TierStatus> {
    #[cfg(feature = "tier")]
    let status = caller.context.proxy.traffic.tier.as_ref().map(|tier| tier.status());
    #[cfg(not(feature = "tier"))]
    let status: Option<TierStatus> = None;
    let mut status = status?;
    if !caller.owns() {
        status.fault = status.fault.map(|_| "an engine does not answer".to_owned());
    }
    Some(status)
}

/// Returns the state of the link, if the mode follows it.
fn link(context: &SiteContext) -> Option<LinkStatus> {
    let link = context.net.link.judgement();
    (context.base.mode.chosen() == ModeSetting::Auto).then(|| LinkStatus {
        reason: link.reason.to_string(),
        since: timestamp(link.since),
        portal: link.portal().map(|portal| portal.url.clone()),
        probed: link.probed.map(timestamp),
        probes: context.net.upstream.dialer().probes(),
    })
}

/// Returns the state of the link for pages: our own verdict if the mode follows the link, or else
/// that of the system.
pub(super) fn link_report(context: &SiteContext) -> LinkReport {
    let link = context.net.link.judgement();
    if context.base.mode.chosen() != ModeSetting::Auto {
        return LinkReport {
            reason: context.net.link.connectivity().text(),
            decides: None,
            portal: None,
        };
    }
    LinkReport {
        reason: link.reason.text(),
        decides: Some(timestamp(link.since)),
        portal: link.portal().map(|portal| portal.url.clone()),
    }
}

/// Returns the clients that recently rejected our certificates. A caller at another machine gets
/// only its own rejections, because the hosts tell what the others visit.
pub(super) fn rejections(caller: &Caller) -> Vec<RejectionItem> {
    let sees_all = caller.is_here() || caller.is_administrator();
    let list = caller.context.proxy.clients.tls.rejections.list(clock::now()).into_iter();
    let list = list.filter(|one| sees_all || Owner::of(one.client, None) == caller.machine);
    list.take(MAX_REJECTIONS)
        .map(|one| RejectionItem {
            host: one.host,
            client: one.client.to_string(),
            until: timestamp(one.until),
        })
        .collect()
}

/// Returns the queued requests that the caller may see, oldest first.
pub(super) fn queue(caller: &Caller) -> Vec<QueueItem> {
    let (context, now) = (&caller.context, timestamp(clock::now()));
    let mut list = context.storage.store.spool().queue().list();
    list.retain(|request| caller.may_see_queued(&request.place));
    let states: Vec<_> = list.iter().map(|request| state(context, request)).collect();
    let mut line: Vec<_> = (list.iter().zip(&states))
        .filter(|(_, state)| **state == ItemState::Waiting)
        .map(|(request, state)| QueueRank::of(request, *state, now))
        .collect();
    line.sort_unstable();
    let turns: HashMap<Key, u64> = line.iter().map(|stand| stand.turn.key).zip(1..).collect();
    let hold_state = HoldState::new(&context.fetch);
    let items = list.into_iter().zip(states).map(|(request, state)| {
        let (held, turn) = (hold_state.held(&request), turns.get(&request.place.key()).copied());
        QueueItem { turn, ..item(request, state, held) }
    });
    items.collect()
}

/// Returns the numbers of queued requests by state.
pub(super) fn counts(context: &SiteContext) -> QueueCounts {
    let mut counts = QueueCounts::default();
    context.storage.store.spool().queue().visit(|request| counts.add(state(context, request)));
    counts
}

/// Returns the numbers of those queued requests that the caller may see, by state.
pub(super) fn counts_for_caller(caller: &Caller) -> QueueCounts {
    let (context, mut counts) = (&caller.context, QueueCounts::default());
    context.storage.store.spool().queue().visit(|request| {
        if caller.may_see_queued(&request.place) {
            counts.add(state(context, request));
        }
    });
    counts
}

/// Returns the running downloads that the caller may see.
pub(super) fn downloads(caller: &Caller) -> Vec<DownloadItem> {
    let list = caller.context.proxy.traffic.downloads.list();
    list.iter()
        .filter(|download| may_see(caller, download))
        .map(|download| download_item(download.id(), download.url(), download.progress()))
        .collect()
}

/// Cancels a download and returns its URL. `None` if the caller may not see the download, or it was
/// cancelled before.
pub(super) fn end_download(caller: &Caller, id: u64) -> Option<String> {
    let list = caller.context.proxy.traffic.downloads.list();
    let download = list.iter().find(|download| download.id() == id)?;
    (may_see(caller, download) && download.stop()).then(|| download.url().to_owned())
}

fn may_see(caller: &Caller, download: &download::Download) -> bool {
    !download.is_personal() || caller.may_see(download.own())
}

fn download_item(id: u64, url: &str, progress: ProgressSnapshot) -> DownloadItem {
    let seconds_left = progress.time_left().map(|time| time.as_secs());
    let waiting = progress.waiting.map(|waiting| DownloadWaiting {
        since: timestamp(waiting.since),
        next: timestamp(waiting.next),
        attempts: waiting.attempts,
        error: waiting.error,
    });
    DownloadItem {
        id,
        url: url.to_owned(),
        bytes: progress.bytes,
        total: progress.total,
        rate: progress.rate,
        seconds_left,
        resumed: progress.resumed,
        waiting,
    }
}

pub(super) fn state(context: &SiteContext, request: &OutgoingSummary) -> ItemState {
    match request.fetching.state {
        _ if context.fetch.fetcher.is_active(&request.place.key()) => ItemState::Active,
        RequestState::Waiting => ItemState::Waiting,
        RequestState::Failed { .. } => ItemState::Failed,
        RequestState::Asking { .. } => ItemState::Asking,
    }
}

pub(super) fn item(request: OutgoingSummary, state: ItemState, held: Option<Hold>) -> QueueItem {
    let error = match request.fetching.state {
        RequestState::Failed { reason, .. } => Some(reason),
        RequestState::Waiting | RequestState::Asking { .. } => request.fetching.last_error,
    };
    QueueItem {
        key: request.place.key().to_string(),
        url: request.place.url().to_owned(),
        method: request.line.method,
        kind: request.kind,
        page: request.page,
        queued: request.queued,
        state,
        attempts: FetchAttempts {
            count: request.fetching.attempts,
            not_before: request.fetching.not_before,
            held,
            error,
        },
        priority: request.priority,
        turn: None,
        owner: request.place.owner().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_spool::{Outgoing, Place, RequestKind, Timestamp};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn a_failed_request_has_its_reason() {
        let url = CanonicalUrl::parse("http://u:p@h.example/x", &LocalHost::default()).unwrap();
        let head = b"GET /x HTTP/1.1\r\nHost: h.example\r\n\r\n".to_vec();
        let queued = Timestamp::UNIX_EPOCH;
        let mut outgoing = Outgoing::new(Place::of(&url), head, RequestKind::Part, queued);
        outgoing.summary.page = Some("http://h.example/".to_owned());
        outgoing.summary.fetching.last_error = Some("refused".to_owned());
        let waiting = item(outgoing.summary.clone(), ItemState::Waiting, Some(Hold::Mode));
        assert_eq!((waiting.url.as_str(), waiting.method.as_str()), ("http://h.example/x", "GET"));
        assert_eq!(
            (waiting.kind, waiting.attempts.error.as_deref()),
            (RequestKind::Part, Some("refused"))
        );
        assert_eq!((waiting.key, waiting.attempts.held), (url.key().to_string(), Some(Hold::Mode)));
        outgoing.summary.fetching.state =
            RequestState::Failed { reason: "gone".to_owned(), status: Some(410) };
        let failed = item(outgoing.summary.clone(), ItemState::Failed, None);
        assert_eq!(failed.attempts.error.as_deref(), Some("gone"));
    }
}
