//! Asks the origin and stores its response.

use std::sync::Arc;

use hyper::header::AGE;
use hyper::{HeaderMap, Response, StatusCode, Version};
use tokio::sync::mpsc;
use tracing::debug;
use wwwoffle_config::UrlParts;

use super::amend::OriginResponseMark;
use super::ask::ProxyRequest;
use super::body::{self, Body};
use super::choose::{CopyLookup, Revalidation};
use super::decide::{CopyState, Decision, OnlineUse, decide};
use super::download::{
    Allowance, AnswerHead, Download, DownloadJob, HeadOutcome, JoinOutcome, LeavingRules, run,
};
use super::finish::undecodable_message;
use super::freshen::ConfirmedCopy;
use super::keep::{NotKept, StorageRules};
use super::reply::OfflineSwitchMark;
use super::rules::vary_rules;
use super::saver::SaverRules;
use super::status::{CacheStatus, Forward, HitReason, NotStored};
use super::verdict::{is_of_use, verdict};
use super::{Client, MAX_INTERIMS};
use super::{forward, offline, quota, ranges, recode, reply, saver, serve_copy};
use crate::base::mode::{Mode, ModeSetting};
use crate::base::owner::{self, ResponseOwner};
use crate::net::upstream::{Failure, Interim, LeftOutFile};
use crate::proxy::context::ProxyContext;
use crate::storage::feed::FeedReader;
use crate::storage::store::StoredCopy;
use wwwoffle_http::caching::conditional::{self, Conditions};
use wwwoffle_http::caching::reuse::{Override, Reuse, Unreachable, is_failure};
use wwwoffle_http::fields::add_via;

/// Asks the origin, or joins a download of the same resource, and serves the response.
pub(super) async fn fetch(
    context: &Arc<ProxyContext>,
    client: &Client,
    mut ask: ProxyRequest,
    found: &CopyLookup,
) -> Response<Body> {
    let mut conditions = Conditions::default();
    // The origin evaluates conditions for our copy, and we evaluate the client's conditions. A form
    // keeps its conditions, because they decide whether it is executed.
    if ask.form.is_none() {
        conditions = Conditions::of(&ask.head.fields);
        conditional::strip(&mut ask.head.fields);
    }
    let (conditions, nothing) = (&conditions, CopyLookup::default());
    let turn = OriginFetch { context, client, ask: &ask, found, conditions };
    let mut found = found;
    if let Some(response) = turn.answer().await {
        match recode::look_ahead(response).await {
            Ok(response) => return queue_if_offline(context, &ask, response).await,
            Err(undecodable) if undecodable.is_damaged() => found = &nothing,
            Err(undecodable) => return undecodable_message(context, &ask.reader(), &undecodable),
        }
    }
    // The stored body is damaged, or the response has a coding that the client does not accept and
    // that must not be decoded. The response is requested again in the codings of the client.
    ask.codings.use_client_codings();
    let turn = OriginFetch { context, client, ask: &ask, found, conditions };
    match turn.start_download(turn.create_unshared_download(), turn.revalidation()).await {
        Some(response) => queue_if_offline(context, &ask, response).await,
        // Unreachable: `None` is returned only if we requested all codings.
        None => turn.answer_failure(&Failure::Ours),
    }
}

/// In auto mode, queues the request if the link went down before the origin was reached and no copy
/// is stored. A request a moment later would be queued too.
async fn queue_if_offline(
    context: &ProxyContext,
    ask: &ProxyRequest,
    response: Response<Body>,
) -> Response<Body> {
    let went = response.extensions().get::<OfflineSwitchMark>().is_some();
    if !went || context.base.mode.chosen() != ModeSetting::Auto {
        return response;
    }
    match decide(Mode::Offline, CopyState::Nothing, OnlineUse::default(), ask.asked) {
        Decision::QueuePage => offline::queue_page(context, ask).await,
        Decision::QueuePart => offline::queue_part(context, ask).await,
        _ => response,
    }
}

/// Revalidates the stored copy in the background, while the client gets this copy (RFC 5861 §3).
/// Only one background revalidation of a resource runs at a time.
pub(super) fn revalidate(
    context: &Arc<ProxyContext>,
    client: &Client,
    mut ask: ProxyRequest,
    found: &CopyLookup,
) {
    conditional::strip(&mut ask.head.fields);
    let turn =
        OriginFetch { context, client, ask: &ask, found, conditions: &Conditions::default() };
    let about = turn.revalidation();
    let joined = context.traffic.downloads.join(
        &ask.places,
        &ask.head.fields,
        about.identities(),
        ask.start.now,
        false,
    );
    if let JoinOutcome::New(download) = joined {
        let job = turn.build_job(about, None);
        let leaving = LeavingRules { finishes: true, ..job.leaving_rules };
        let job = DownloadJob { leaving_rules: leaving, ..job };
        context.base.tasks.spawn(run(Arc::clone(context), job, download));
    }
}

/// One client's request to the origin, whose response may be stored.
#[derive(Clone, Copy)]
struct OriginFetch<'a> {
    context: &'a Arc<ProxyContext>,
    client: &'a Client,
    ask: &'a ProxyRequest,
    found: &'a CopyLookup,
    conditions: &'a Conditions,
}

impl OriginFetch<'_> {
    /// Joins or starts a download. Returns `None` if the response is unreadable for the client, and
    /// must be requested again in a coding that it accepts.
    async fn answer(self) -> Option<Response<Body>> {
        let ask = self.ask;
        if ask.form.is_some() {
            return self.start_download(self.create_unshared_download(), self.revalidation()).await;
        }
        let about = self.revalidation();
        let downloads = &self.context.traffic.downloads;
        match downloads.join(
            &ask.places,
            &ask.head.fields,
            about.identities(),
            ask.start.now,
            ask.asked.reload,
        ) {
            JoinOutcome::New(download) => self.start_download(download, about).await,
            // The download has broken off, and may never continue. So the client gets a separate
            // download of the current response.
            JoinOutcome::Running(download) if download.progress().waiting.is_some() => {
                self.start_download(self.create_unshared_download(), about).await
            }
            JoinOutcome::Running(download) => match self.join_download(download).await {
                Some(response) => Some(response),
                // The response of the download is not for this client, so a separate download is
                // started.
                None => self.start_download(self.create_unshared_download(), about).await,
            },
        }
    }

    fn create_unshared_download(self) -> Arc<Download> {
        self.context.traffic.downloads.unshared(
            &self.ask.places,
            &self.ask.head.fields,
            self.ask.start.now,
        )
    }

    /// Whether the client can read a response. Also true if the origin was asked for the codings of
    /// the client, because no better response exists then.
    fn is_acceptable(self, status: StatusCode, fields: &HeaderMap) -> bool {
        let codings = &self.ask.codings;
        !codings.requests_all_codings() || codings.deliver(status, fields).is_readable()
    }

    /// Starts the download and serves its response. Returns `None` like [`OriginFetch::answer`].
    async fn start_download(
        self,
        download: Arc<Download>,
        about: Revalidation,
    ) -> Option<Response<Body>> {
        let reader = download.feed().read().map(|reader| reader.for_client(&self.client.presence));
        let (interim, interims) = mpsc::channel(MAX_INTERIMS);
        // RFC 9110 §15.2: HTTP/1.0 does not define interim responses.
        let job =
            self.build_job(about, (self.ask.head.version > Version::HTTP_10).then_some(interim));
        let task = run(Arc::clone(self.context), job, Arc::clone(&download));
        self.context.base.tasks.spawn(task);
        Some(match self.wait_for_head(&download, Some(interims)).await {
            HeadOutcome::Keeping(head) if !self.is_acceptable(head.status, &head.fields) => {
                return None;
            }
            HeadOutcome::Keeping(head) => self.serve_stored(&head, reader, false),
            HeadOutcome::Unchanged(confirmed) => self.serve_confirmed(confirmed),
            HeadOutcome::Passing(NotKept::Partial) => self.serve_range(&download).await,
            HeadOutcome::Passing(reason) => return self.serve_unstored(&download, reason),
            HeadOutcome::Failed(failure) => self.answer_failure(&failure),
        })
    }

    /// Joins another client's download, and serves its response. Returns `None` if the download can
    /// no longer be joined, or if its response is not for this client.
    async fn join_download(self, download: Arc<Download>) -> Option<Response<Body>> {
        let (download, reader) = download.join().await?;
        let reader = reader.for_client(&self.client.presence);
        match self.wait_for_head(&download, None).await {
            HeadOutcome::Keeping(head)
                if download.serves(&self.ask.head.fields, &head.fields)
                    && self.ask.codings.deliver(head.status, &head.fields).is_readable()
                    && self.may_share(&download, &head) =>
            {
                Some(self.serve_stored(&head, Some(reader), true))
            }
            // The download revalidates the same copies, because they are part of the join key.
            HeadOutcome::Unchanged(confirmed)
                if download.serves(&self.ask.head.fields, &confirmed.fields)
                    && !owner::sets_cookie(&confirmed.fields)
                    && self.ask.owner.may_see(confirmed.copy.entry.place())
                    && self.reads(&confirmed.copy) =>
            {
                Some(self.serve_confirmed(confirmed))
            }
            // The client that started the download may not access this network. This client may be
            // allowed to.
            HeadOutcome::Failed(failure) if matches!(*failure, Failure::Inward { .. }) => None,
            HeadOutcome::Failed(failure) if matches!(&*failure, Failure::LeftOut(file) if self.wants(&download, file)) => {
                None
            }
            HeadOutcome::Failed(failure) => Some(self.answer_failure(&failure)),
            HeadOutcome::Keeping(_) | HeadOutcome::Unchanged(_) | HeadOutcome::Passing(_) => None,
        }
    }

    /// Whether a file that is left out for another client must be requested for this client: its
    /// rules may differ, because it opens the file itself or shows another page, or it may get
    /// another response, or the response sets a cookie, which is for one client only.
    fn wants(self, download: &Download, file: &LeftOutFile) -> bool {
        let accepts = |rules: SaverRules| rules.check_head(file.status, &file.fields).is_ok();
        saver::rules(self.context, self.ask).is_none_or(accepts)
            || !download.serves(&self.ask.head.fields, &file.fields)
            || owner::sets_cookie(&file.fields)
    }

    /// Whether another client's response may be used for this client. A response that sets a cookie
    /// is for one client only: even two browsers of the same person must not share a session.
    fn may_share(self, download: &Download, head: &AnswerHead) -> bool {
        let is_ours = head.whose == ResponseOwner::Everyone || download.is_of(&self.ask.places);
        is_ours && !owner::sets_cookie(&head.fields)
    }

    fn revalidation(self) -> Revalidation {
        let (config, url) = (&self.ask.start.config, UrlParts::of(&self.ask.bare));
        // Every submission of a form is a new action, so it revalidates no stored copy.
        let asks = self.ask.form.is_none() && self.asks_conditionally();
        let may_ask = |copy: &StoredCopy| asks && self.reads(copy) && !self.is_withheld(copy);
        let mut about = self.found.plan_revalidation(may_ask, self.ask.is_personal());
        if !*config.online_options.validate_with_etag.of(&url) {
            about.question = about.question.by_date();
        }
        about
    }

    fn build_job(self, about: Revalidation, interim: Option<mpsc::Sender<Interim>>) -> DownloadJob {
        let (config, url) = (&self.ask.start.config, UrlParts::of(&self.ask.bare));
        DownloadJob {
            places: self.ask.places.clone(),
            origin: self.ask.resource.origin.clone(),
            head: self.ask.origin_request(&self.context.base.pseudonym),
            body: self.ask.form.as_ref().map(|form| form.body.clone()),
            stored_status: self.found.spelled_alike().map(|copy| copy.status),
            storage_rules: StorageRules::of(config, &url, &self.ask.head.fields),
            vary_rules: vary_rules(config, &url),
            get_places: self.ask.form.as_ref().map(|form| Arc::clone(&form.answers)),
            revalidation: about,
            allowance: Allowance {
                usage: quota::account(self.context, &self.ask.owner),
                saver: saver::rules(self.context, self.ask),
                ..Allowance::default()
            },
            leaving_rules: LeavingRules::of(config, &url),
            interim,
        }
    }

    /// Whether the client can read the stored copy. An unreadable copy is not revalidated: many
    /// servers use one tag for all codings of a page, so they would confirm the unreadable copy.
    fn reads(self, copy: &StoredCopy) -> bool {
        super::reads(self.ask, copy)
    }

    /// Waits for the head, and forwards interim responses while waiting.
    async fn wait_for_head(
        self,
        download: &Download,
        interims: Option<mpsc::Receiver<Interim>>,
    ) -> HeadOutcome {
        let Some(mut interims) = interims else { return download.head().await };
        let mut headed = std::pin::pin!(download.head());
        loop {
            tokio::select! {
                biased;
                Some(interim) = interims.recv() => self.client.forward_interim(interim),
                headed = &mut headed => return headed,
            }
        }
    }

    fn serve_stored(
        self,
        head: &AnswerHead,
        reader: Option<FeedReader>,
        collapsed: bool,
    ) -> Response<Body> {
        let Some(reader) = reader else { return self.answer_failure(&Failure::Abandoned) };
        let mut fields = head.fields.clone();
        let delivery = self.ask.codings.deliver(head.status, &fields);
        delivery.amend(&mut fields);
        add_via(&mut fields, head.version, &self.context.base.pseudonym);
        let status = if !head.is_stored {
            let (forward, why) = (self.forward(), NotStored::Spool);
            CacheStatus::Passed { forward, status: head.status, why }
        } else if head.resumed {
            CacheStatus::Resumed { collapsed }
        } else {
            CacheStatus::Stored { forward: self.forward(), collapsed, by: self.cause() }
        };
        let mut response;
        if self.conditions.are_met_by(head.status, &fields) {
            // The download continues without this client, and the page is stored.
            conditional::not_modified(&mut fields);
            response = Response::new(body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response = Response::new(body::empty());
            let body = body::download(reader);
            if collapsed {
                let patience = Some(recode::JOINED_WITHIN);
                recode::put(&mut response, self.ask, delivery, body, patience);
            } else {
                *response.body_mut() = recode::body(delivery, body);
            }
            *response.status_mut() = head.status;
        }
        *response.headers_mut() = fields;
        status.mark(&mut response);
        response.extensions_mut().insert(OriginResponseMark);
        response
    }

    /// Serves the confirmed copy with its newer fields (RFC 9111 §3.2, §4.3.4).
    fn serve_confirmed(self, confirmed: ConfirmedCopy) -> Response<Body> {
        let ConfirmedCopy { copy, fields } = confirmed;
        // The copy was just confirmed, so its age is that of the origin's response, if declared.
        let age = fields.get(AGE).cloned();
        let status = CacheStatus::Validated { forward: self.forward(), by: self.cause() };
        let response =
            serve_copy::build_response(self.context, self.ask, &copy, fields, self.conditions);
        let mut response = reply::with_status(response, status);
        match age {
            Some(age) => response.headers_mut().insert(AGE, age),
            None => response.headers_mut().remove(AGE),
        };
        response
    }

    /// Forwards a range that the origin has sent. The range may be stored as a segment.
    async fn serve_range(self, download: &Download) -> Response<Body> {
        match download.take() {
            Some(answer) => {
                ranges::keep::forward_range(self.context, self.ask, self.conditions, answer).await
            }
            None => self.answer_failure(&Failure::Abandoned),
        }
    }

    /// The reason why the origin is asked.
    fn forward(self) -> Forward {
        match Forward::of(self.ask.copy.verdict.as_ref()) {
            Forward::UriMiss if self.found.own().is_none() && !self.found.all().is_empty() => {
                Forward::VaryMiss
            }
            forward => forward,
        }
    }

    /// The option that caused the request to the origin, or that made the request unconditional.
    fn cause(self) -> Option<&'static str> {
        let verdict = self.ask.copy.verdict.and_then(|verdict| verdict.by).map(Override::as_str);
        let is_whole = self.found.own().is_some() && !self.asks_conditionally();
        verdict.or(self.ask.copy.overruled).or(is_whole.then_some("request-conditional"))
    }

    /// Whether requests to the origin are conditional: `request-conditional`.
    fn asks_conditionally(self) -> bool {
        let url = UrlParts::of(&self.ask.bare);
        *self.ask.start.config.online_options.request_conditional.of(&url)
    }

    /// Whether the stored copy may only be used offline.
    fn is_withheld(self, copy: &StoredCopy) -> bool {
        matches!(verdict(self.context, self.ask, copy).reuse, Reuse::Withheld(_))
    }

    fn serve_unstored(self, download: &Download, why: NotKept) -> Option<Response<Body>> {
        match (download.take(), self.found.own(), self.ask.copy.verdict) {
            // RFC 5861 §4; a form never gets a stored response.
            (Some(answer), Some(copy), Some(verdict))
                if verdict.instead_of_error
                    && is_failure(answer.status())
                    && self.ask.form.is_none() =>
            {
                Some(self.serve_copy(copy, CacheStatus::InsteadOf(answer.status())))
            }
            (Some(answer), ..) if !self.is_acceptable(answer.status(), answer.headers()) => None,
            (Some(answer), ..) => {
                let why = NotStored::Answer(why);
                Some(forward::respond(self.context, self.ask, answer, self.forward(), why))
            }
            (None, ..) => Some(self.answer_failure(&Failure::Abandoned)),
        }
    }

    /// The `304` to a client whose own copy is the file that the data saver leaves out. The head of
    /// the response is enough to know that. `None` if the client has no such copy.
    fn confirm_left_out(self, file: &LeftOutFile) -> Option<Response<Body>> {
        let mut fields = file.fields.clone();
        self.ask.codings.deliver(file.status, &fields).amend(&mut fields);
        add_via(&mut fields, Version::HTTP_11, &self.context.base.pseudonym);
        self.conditions.are_met_by(file.status, &fields).then(|| {
            conditional::not_modified(&mut fields);
            let mut response = serve_copy::without_body(StatusCode::NOT_MODIFIED, fields);
            response.extensions_mut().insert(OriginResponseMark);
            reply::with_status(response, CacheStatus::LeftOut)
        })
    }

    /// Handles an unreachable origin by serving the stored copy. If the fields of the copy forbid
    /// this (RFC 9111 §4.2.4), the copy is served only if an option or the mode auto overrules
    /// them. If the mode changed to offline during the request, the copy is served as in offline
    /// mode. If no copy may be served, the response is a message.
    fn answer_failure(self, failure: &Failure) -> Response<Body> {
        let url = self.ask.resource.url.as_str();
        debug!(url, failure = failure.chain(), "the origin did not respond");
        if let Failure::LeftOut(file) = failure
            && let Some(response) = self.confirm_left_out(file)
        {
            return response;
        }
        let copy = self.found.fallback_copy().filter(|_| self.ask.form.is_none());
        let judged = copy.map(|copy| (copy, verdict(self.context, self.ask, copy)));
        let of_use = judged.filter(|(copy, verdict)| is_of_use(self.ask.start.mode, copy, verdict));
        let Some((copy, verdict)) = of_use else {
            if let Failure::LeftOut(file) = failure {
                return saver::replacement(self.context, self.ask, Some(file));
            }
            return reply::failed(self.context, self.ask, failure, copy.map(Arc::as_ref));
        };
        match verdict.unreachable {
            _ if matches!(failure, Failure::LeftOut(_)) => {
                self.serve_copy(copy, CacheStatus::Unreachable(Some(saver::BY)))
            }
            _ if matches!(failure, Failure::Offline) => {
                self.serve_copy(copy, CacheStatus::Hit(HitReason::Offline))
            }
            Unreachable::Serve => self.serve_copy(copy, CacheStatus::Unreachable(None)),
            Unreachable::ServeOverruled => {
                let by = Override::ServeUnreachable.as_str();
                self.serve_copy(copy, CacheStatus::Unreachable(Some(by)))
            }
            // In auto mode, whether the origin responds determines whether we are online. So an
            // origin that does not respond must not hide a stored page.
            Unreachable::Forbidden if self.context.base.mode.chosen() == ModeSetting::Auto => {
                self.serve_copy(copy, CacheStatus::Unreachable(Some("auto")))
            }
            Unreachable::Forbidden if matches!(verdict.reuse, Reuse::Withheld(_)) => {
                reply::failed(self.context, self.ask, failure, Some(copy))
            }
            Unreachable::Forbidden => {
                reply::revalidation_failed(self.context, self.ask, copy, failure)
            }
        }
    }

    /// Serves the stored copy in place of a response of its origin.
    fn serve_copy(self, copy: &Arc<StoredCopy>, status: CacheStatus) -> Response<Body> {
        let fields = serve_copy::unconfirmed_fields(self.ask, copy);
        let response =
            serve_copy::build_response(self.context, self.ask, copy, fields, self.conditions);
        reply::with_status(response, status)
    }
}
