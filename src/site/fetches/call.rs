//! The calls that fetch pages: `/api/get`, `/api/fetch`, `/api/runs`, `/api/downloads/end`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderValue;
use hyper::{Method, Response, StatusCode};
use wwwoffle_spool::{OutgoingSummary, Place, RequestKind, RequestState, RunId};

use crate::base::error_chain::error_chain;
use crate::base::owner::Requester;
use crate::base::shown;
use crate::fetch::recurse::{begin, outcome};
use crate::fetch::{FormDraft, hold};
use crate::proxy::ask::MAX_KEPT_POST;
use crate::proxy::body::Body;
use crate::site::api::fault::CallFault;
use crate::site::api::line_report::{EventInbox, LineReport, ReportTrigger, body};
use crate::site::api::stream::{self, WantedRequest};
use crate::site::api::sum::{OverallProgress, held_events, progress};
use crate::site::api::{check_urls, json, lines};
use crate::site::caller::Caller;
use crate::site::context::SiteContext;
use crate::site::status;
use wwwoffle_api::fetch_spec::RecursiveRequest;
use wwwoffle_api::runs::{RunItem, RunList, RunRequest, RunStopped, RunToStop};
use wwwoffle_api::{
    DownloadEnded, DownloadToEnd, Event, FetchRequest, FetchResponse, FormMethod, FormToSend,
    GetRequest, TotalProgress,
};

/// Starts to fetch URLs. All URLs are validated first, so that one mistake does not leave the call
/// half done.
pub(in crate::site) fn get(
    caller: &Caller,
    wanted: GetRequest,
) -> Result<Response<Body>, CallFault> {
    check_urls(caller, &wanted.urls)?;
    let what = match wanted.form {
        Some(form) => WantedRequest::Form(form_draft(form)?),
        None if wanted.refresh => WantedRequest::NewPage,
        None => WantedRequest::Page,
    };
    Ok(lines(caller, stream::get(&caller.context, caller.requester(), wanted.urls, what)))
}

/// Decodes the form of a call, which must fit into the queue.
fn form_draft(form: FormToSend) -> Result<FormDraft, CallFault> {
    let body = BASE64_STANDARD
        .decode(form.body)
        .map_err(|error| CallFault::bad(format!("the body of the form is not base64: {error}")))?;
    if u64::try_from(body.len()).unwrap_or(u64::MAX) > MAX_KEPT_POST {
        let most = shown::bytes(MAX_KEPT_POST);
        return Err(CallFault::bad(format!("the body of the form is larger than {most}")));
    }
    let content_type = HeaderValue::from_str(&form.content_type)
        .map_err(|_| CallFault::bad("the type of the form is not a field value"))?;
    let method = match form.method {
        FormMethod::Post => Method::POST,
        FormMethod::Put => Method::PUT,
    };
    Ok(FormDraft { method, content_type, body: body.into() })
}

/// Starts to fetch the queue.
pub(in crate::site) fn fetch(
    caller: &Caller,
    wanted: FetchRequest,
) -> Result<Response<Body>, CallFault> {
    if !caller.mode().may_dial() {
        return Err(CallFault::new(
            StatusCode::CONFLICT,
            "the mode is offline, so nothing is fetched: go online first",
        ));
    }
    let context = &caller.context;
    if wanted.wait {
        return Ok(lines(caller, stream::fetch(context, wanted.budget)));
    }
    context.fetch.fetcher.begin(wanted.budget);
    let queue = status::counts(context);
    Ok(json(caller, &FetchResponse { started: queue.waiting.saturating_add(queue.active) }))
}

/// Ends a download.
pub(in crate::site) fn end_download(
    caller: &Caller,
    wanted: DownloadToEnd,
) -> Result<DownloadEnded, CallFault> {
    let unknown = || CallFault::new(StatusCode::NOT_FOUND, "no such download is under way");
    let url = status::end_download(caller, wanted.id).ok_or_else(unknown)?;
    Ok(DownloadEnded { url })
}

/// Returns all runs that the caller may see.
pub(in crate::site) fn all(caller: &Caller) -> RunList {
    let list = caller.context.fetch.fetcher.runs().list();
    let may_see = |run: &RunItem| caller.may_see_owned(run.owner.as_deref());
    RunList { runs: list.into_iter().filter(may_see).collect() }
}

/// Starts to fetch pages with their sub-resources and links. All URLs are validated first, so that
/// one mistake does not leave the call half done.
pub(in crate::site) async fn start(
    caller: &Caller,
    wanted: RunRequest,
) -> Result<Response<Body>, CallFault> {
    check_urls(caller, &wanted.urls)?;
    let mut follow = RunFollower::new(&caller.context);
    for url in wanted.urls {
        let asked = RecursiveRequest { url, spec: wanted.spec.clone() };
        follow.begin(&caller.requester(), &asked).await;
    }
    if wanted.wait {
        return Ok(lines(caller, body(follow)));
    }
    if let Some(Event::Failed { error, .. }) = follow.inbox.ready.pop_front() {
        return Err(CallFault::new(StatusCode::CONFLICT, error));
    }
    let runs = caller.context.fetch.fetcher.runs();
    let begun = follow.ids.iter().filter_map(|id| runs.item(*id));
    Ok(json(caller, &RunList { runs: begun.collect() }))
}

/// Cancels a run.
pub(in crate::site) async fn stop(
    caller: &Caller,
    wanted: RunToStop,
) -> Result<RunStopped, CallFault> {
    let unknown = || CallFault::new(StatusCode::NOT_FOUND, "no such fetch is under way");
    let id = wanted.id.parse().map_err(|_| unknown())?;
    let removed = stop_for(caller, id).await?.ok_or_else(unknown)?;
    Ok(RunStopped { removed })
}

/// Cancels the run with this id. Returns the number of requests removed from the queue; `None` if
/// the run has ended or the caller may not see it.
///
/// # Errors
///
/// If the disk fails.
pub(in crate::site) async fn stop_for(
    caller: &Caller,
    id: RunId,
) -> Result<Option<u64>, wwwoffle_spool::Error> {
    let runs = caller.context.fetch.fetcher.runs();
    let may_see = runs.with_run(id, |run| caller.may_see_owned(run.owner.as_deref()));
    if may_see != Some(true) {
        return Ok(None);
    }
    outcome::stop(&caller.context.fetch, id).await
}

/// A report on the progress of runs until they have ended. Dropping it ends the report, not the
/// runs.
struct RunFollower {
    inbox: EventInbox,
    ids: Vec<RunId>,
    /// Last reported size of each running download, in bytes.
    reported: HashMap<String, u64>,
    sum: OverallProgress,
    failed: u64,
}

impl LineReport for RunFollower {
    fn inbox(&mut self) -> &mut EventInbox {
        &mut self.inbox
    }

    async fn advance(&mut self) {
        match self.inbox.wait_for_event().await {
            ReportTrigger::Event(event) => self.inbox.ready.push_back(event),
            ReportTrigger::Look => self.update().await,
            ReportTrigger::Other => {}
        }
    }
}

impl RunFollower {
    fn new(context: &Arc<SiteContext>) -> Self {
        Self {
            inbox: EventInbox::new(context),
            ids: Vec::new(),
            reported: HashMap::new(),
            sum: OverallProgress::default(),
            failed: 0,
        }
    }

    async fn begin(&mut self, requester: &Requester, asked: &RecursiveRequest) {
        match begin(&self.inbox.context.fetch, requester, asked, RequestKind::Page).await {
            Ok(id) => self.ids.push(id),
            Err(error) => {
                self.failed += 1;
                let (url, error) = (asked.url.clone(), error_chain(&error));
                self.inbox.ready.push_back(Event::Failed { url, status: None, error });
            }
        }
    }

    /// Reports the progress of the runs, and their end.
    async fn update(&mut self) {
        while let Some(event) = self.inbox.event() {
            self.inbox.ready.push_back(event);
        }
        let runs = self.inbox.context.fetch.fetcher.runs();
        let runs: Vec<_> = self.ids.iter().filter_map(|id| runs.item(*id)).collect();
        let is_over = runs.iter().all(|run| run.ended.is_some()) || self.is_stalled();
        if is_over {
            self.end(runs).await;
        } else {
            self.report_progress(&runs);
            self.inbox.ready.extend(runs.into_iter().map(|run| Event::Run { run: Box::new(run) }));
        }
    }

    /// Reports the progress of each download that the runs want, and the overall progress.
    fn report_progress(&mut self, items: &[RunItem]) {
        let wanted = self.running_urls();
        let mut under_way = 0_u64;
        for download in self.inbox.context.proxy.traffic.downloads.list() {
            let (url, shown) = (download.url(), download.progress());
            if !wanted.contains(url) {
                continue;
            }
            under_way = under_way.saturating_add(shown.bytes);
            if self.reported.insert(url.to_owned(), shown.bytes) != Some(shown.bytes) {
                self.inbox.ready.push_back(progress(url, &shown));
            }
        }
        self.reported.retain(|url, _| wanted.contains(url));
        let mut whole = items
            .iter()
            .map(TotalProgress::of_run)
            .fold(TotalProgress::default(), TotalProgress::and);
        whole.bytes = whole.bytes.saturating_add(under_way);
        let whole = self.sum.update_from(whole, self.inbox.may_dial());
        self.inbox.ready.extend(whole.map(Event::Whole));
    }

    /// Returns the URLs of the running downloads that the runs want.
    fn running_urls(&self) -> HashSet<String> {
        let (fetcher, mut urls) = (&self.inbox.context.fetch.fetcher, HashSet::new());
        self.inbox.context.storage.store.spool().queue().visit(|request| {
            if self.is_wanted(request) && fetcher.is_active(&request.place.key()) {
                urls.insert(request.place.url().to_owned());
            }
        });
        urls
    }

    fn is_wanted(&self, request: &OutgoingSummary) -> bool {
        request.runs.iter().any(|member| self.ids.contains(&member.run))
    }

    /// Whether nothing more will happen for now: no download is running, and each request that the
    /// runs want has failed, needs the consent of the user, or is blocked for a long time.
    fn is_stalled(&self) -> bool {
        let fetcher = &self.inbox.context.fetch.fetcher;
        if fetcher.active_count() > 0 {
            return false;
        }
        let ours = self.waiting_places();
        ours.is_empty() || hold::all_held(&self.inbox.context.fetch, ours.iter()).is_some()
    }

    /// Returns the places of the waiting requests that the runs want.
    fn waiting_places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        self.inbox.context.storage.store.spool().queue().visit(|request| {
            if self.is_wanted(request) && request.fetching.state == RequestState::Waiting {
                places.push(request.place.clone());
            }
        });
        places
    }

    async fn end(&mut self, runs: Vec<RunItem>) {
        self.failed += u64::from(!self.inbox.flush().await);
        let held = hold::all_held(&self.inbox.context.fetch, self.waiting_places().iter());
        self.inbox.ready.extend(held_events(held));
        let (mut fetched, mut dead, mut waiting) = (0_u64, 0_u64, 0_u64);
        for run in runs {
            let counts = run.report.counts;
            fetched += counts.fetched + counts.unchanged + counts.kept;
            self.failed += counts.failed;
            dead += counts.dead;
            waiting += run.waiting;
            self.inbox.ready.push_back(Event::Run { run: Box::new(run) });
        }
        self.inbox.end(Event::End { fetched, failed: self.failed, dead, waiting });
    }
}
