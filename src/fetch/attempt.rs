//! One attempt at a queued request. It returns a verdict, which the caller records in the queue.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::VARY;
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Request, StatusCode};
use tracing::debug;
use wwwoffle_config::{SizeLimit, UrlParts};
use wwwoffle_spool::{Outgoing, RequestKind, RunMembership, Secrets};
use wwwoffle_url::CanonicalUrl;

use super::browser::{self, VisitOutcome};
use super::capture::{self, WantedCapture};
use super::follow::{FollowUps, StoredAnswer, follow};
use super::recurse::ask_robots::is_refused;
use super::recurse::outcome;
use super::recurse::run::{LeftOut, UrlOutcome};
use super::successor;
use super::verdict::{FetchVerdict, not_kept};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places, ResponseOwner};
use crate::base::spelling::Spelling;
use crate::fetch::context::FetchContext;
use crate::net::upstream::{Failure, LeftOutFile};
use crate::proxy::download::{
    Allowance, Download, DownloadEnd, DownloadJob, HeadOutcome, JoinOutcome, LeavingRules, run,
};
use crate::proxy::keep::StorageRules;
use crate::proxy::last::LastKey;
use crate::proxy::rules::{
    FilterContext, Ruling, StoragePolicy, determine_ruling, parent, vary_rules,
};
use crate::proxy::saver::{self, SaverRules};
use crate::proxy::target::of_url;
use crate::proxy::{censor, choose, quota, verdict};
use crate::storage::store::StoredCopy;
use wwwoffle_http::head;
use wwwoffle_http::retry_after::retry_after;

/// The error for a request whose owner this version does not know.
const UNKNOWN_OWNER: &str = "this version does not know its owner";

/// The error for a form whose response we did not wait for.
const CUT_OFF: &str = "the daemon went offline or stopped before the response to it was complete";

/// Attempts a queued request once, and returns the verdict.
pub(super) async fn attempt(context: &Arc<FetchContext>, outgoing: &Outgoing) -> FetchVerdict {
    // A recursive fetch that has joined this request needs the page of the site.
    if outgoing.summary.runs.is_empty()
        && let Some(wanted) = WantedCapture::of(outgoing)
        && let Some(verdict) = capture::attempt(context, outgoing, wanted).await
    {
        return verdict;
    }
    let AttemptFacts { request, job, copy, how, .. } = match gather_facts(context, outgoing).await {
        Ok(foreseen) => foreseen,
        Err(verdict) => return verdict,
    };
    let places = Arc::clone(&job.places);
    if let Some((copy, how)) = copy.zip(how) {
        let bytes = copy.entry.body_len();
        return finish_stored(context, outgoing, &known(&request, &places, &copy), bytes, how)
            .await;
    }
    if is_refused(context, outgoing).await {
        return FetchVerdict::LeftOut(LeftOut::Robots);
    }
    if owner(outgoing).is_ok_and(|owner| quota::begin_request(&context.proxy, &owner).is_err()) {
        return FetchVerdict::Untried;
    }
    let (download, outcome, wait) = fetch_response(context, outgoing, &request.headers, job).await;
    match outcome {
        DownloadEnd::Kept(status) => match download.head().await {
            HeadOutcome::Keeping(head) => {
                let (fields, known) = (&head.fields, None);
                let answered =
                    StoredAnswer { request: &request, places: &places, status, fields, known };
                let bytes = download.feed().length();
                finish_stored(context, outgoing, &answered, bytes, UrlOutcome::Fetched).await
            }
            HeadOutcome::Unchanged(confirmed) => {
                let mut answered = known(&request, &places, &confirmed.copy);
                answered.fields = &confirmed.fields;
                let bytes = confirmed.copy.entry.body_len();
                finish_stored(context, outgoing, &answered, bytes, UrlOutcome::Unchanged).await
            }
            HeadOutcome::Passing(_) | HeadOutcome::Failed(_) => {
                let (led, how) = (FollowUps::default(), UrlOutcome::Fetched);
                FetchVerdict::Done { status, bytes: 0, led, how }
            }
        },
        DownloadEnd::NotKept(status, reason) => not_kept(status, reason, wait),
        DownloadEnd::Unkeepable(error) => FetchVerdict::Again {
            error: error_chain(error.as_ref()),
            status: None,
            acted: true,
            wait: None,
        },
        DownloadEnd::Failed(failure) => judge_failure(context, outgoing, &download, &failure),
    }
}

/// The verdict on a request whose download has failed.
fn judge_failure(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    download: &Download,
    failure: &Failure,
) -> FetchVerdict {
    match failure {
        Failure::Offline | Failure::Stopping
            if outgoing.summary.kind == RequestKind::Post && download.is_sent() =>
        {
            FetchVerdict::Again { error: CUT_OFF.to_owned(), status: None, acted: true, wait: None }
        }
        Failure::Offline | Failure::Stopping | Failure::OverBudget | Failure::OverQuota => {
            FetchVerdict::Untried
        }
        Failure::TooLong(bytes) => FetchVerdict::TooLong { bytes: *bytes },
        Failure::LeftOut(file) => {
            count_left_out(context, outgoing, file);
            FetchVerdict::LeftOut(LeftOut::Saver)
        }
        failure if failure.may_pass() => {
            let acted = !failure.is_before_sending();
            FetchVerdict::Again { error: failure.chain(), status: None, acted, wait: None }
        }
        failure => FetchVerdict::Failed { error: failure.chain(), status: None },
    }
}

/// The verdict on a request whose response another node has brought into the spool. `None` if the
/// spool does not have it.
#[cfg(feature = "tier")]
pub(super) async fn answer_from_spool(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
) -> Option<FetchVerdict> {
    let AttemptFacts { request, job, near, .. } = match gather_facts(context, outgoing).await {
        Ok(facts) => facts,
        Err(verdict) => return Some(verdict),
    };
    // Another node has fetched it with other fields, so this may be another variant.
    let copy = near?;
    let (bytes, answered) = (copy.entry.body_len(), known(&request, &job.places, &copy));
    Some(finish_stored(context, outgoing, &answered, bytes, UrlOutcome::Fetched).await)
}

/// The facts known before a request is sent.
pub(super) struct AttemptFacts {
    /// The recorded request with its secrets.
    pub(super) request: Parts,
    /// The download that runs if the stored copy does not answer the request.
    pub(super) job: DownloadJob,
    /// The stored copy, if any.
    pub(super) copy: Option<Arc<StoredCopy>>,
    /// The stored copy, or the nearest one.
    pub(super) near: Option<Arc<StoredCopy>>,
    /// How the stored copy arrived. `None` if it does not answer the request.
    pub(super) how: Option<UrlOutcome>,
}

/// Collects the known facts about a request without contacting its origin.
///
/// # Errors
///
/// The verdict, if a rule decides the request, or the recorded request or the spool cannot be read.
pub(super) async fn gather_facts(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
) -> Result<AttemptFacts, FetchVerdict> {
    if let Some(verdict) = apply_rules(context, outgoing).await {
        return Err(verdict);
    }
    let prepared = prepare(context, outgoing).await;
    prepared.map_err(|error| FetchVerdict::Failed { error, status: None })
}

/// Describes the response in `copy`, which is stored already.
pub(super) fn known<'a>(
    request: &'a Parts,
    places: &'a Places,
    copy: &'a Arc<StoredCopy>,
) -> StoredAnswer<'a> {
    let (status, fields, known) = (copy.status, &copy.fields, Some(Arc::clone(copy)));
    StoredAnswer { request, places, status, fields, known }
}

/// Follows the references of a stored response and opens the page in a browser, if configured.
async fn finish_stored(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    answered: &StoredAnswer<'_>,
    bytes: u64,
    how: UrlOutcome,
) -> FetchVerdict {
    let status = answered.status;
    let followed = follow(context, context.fetcher.runs(), outgoing, answered).await;
    outcome::end_finished_runs(context, outgoing);
    match followed {
        Ok(led) => match browser::open(context, outgoing, answered).await {
            VisitOutcome::Over => FetchVerdict::Done { status, bytes, led, how },
            VisitOutcome::Interrupted => FetchVerdict::Untried,
        },
        Err(error) => {
            FetchVerdict::Again { error, status: Some(status.as_u16()), acted: true, wait: None }
        }
    }
}

/// Returns how the stored copy arrived if it answers the request. `None` if the origin must be
/// contacted. A form is never answered by a stored copy.
///
/// - [`UrlOutcome::Fetched`]: the copy was checked since a run of the request began. Or it is a
///   shared copy that was checked after the request was queued, because another client may have
///   sent the same request. The second case excludes requests with secrets, copies that vary, and
///   responses other than 2xx, because redirects are followed for each request.
/// - [`UrlOutcome::Kept`]: the copy is fresh, the request belongs to a run or is for a
///   sub-resource, and it does not demand revalidation.
fn is_answered(
    context: &FetchContext,
    outgoing: &Outgoing,
    copy: &StoredCopy,
) -> Option<UrlOutcome> {
    if outgoing.summary.kind == RequestKind::Post {
        return None;
    }
    if !outgoing.summary.runs.is_empty() {
        let begun =
            |member: &RunMembership| context.fetcher.runs().with_run(member.run, |run| run.begun);
        if outgoing
            .summary
            .runs
            .iter()
            .any(|member| begun(member).is_some_and(|begun| copy.entry.checked() >= begun))
        {
            return Some(UrlOutcome::Fetched);
        }
    }
    let is_newer = matches!(outgoing.secrets, Secrets::None)
        && copy.entry.place().owner().is_none()
        && copy.status.is_success()
        && copy.entry.checked() > outgoing.summary.queued
        && !copy.fields.contains_key(VARY);
    if is_newer {
        return Some(UrlOutcome::Fetched);
    }
    let may_be_old = !outgoing.summary.renew
        && (outgoing.summary.class.is_some() || !outgoing.summary.runs.is_empty());
    (may_be_old && is_fresh(context, outgoing, copy)).then_some(UrlOutcome::Kept)
}

/// Whether `copy` may be reused without revalidation (RFC 9111 §4.2).
fn is_fresh(context: &FetchContext, outgoing: &Outgoing, copy: &StoredCopy) -> bool {
    let Ok(url) = CanonicalUrl::parse(request_url(outgoing), &context.base.local) else {
        return false;
    };
    let credentials = url.user().is_some() || !matches!(outgoing.secrets, Secrets::None);
    verdict::is_fresh(&context.proxy, &url.without_credentials(), copy, credentials)
}

/// Requests the origin, or joins a running download of the same URL, and waits for its end. Also
/// returns the delay that the response demands with `Retry-After`; `None` if a download was joined.
async fn fetch_response(
    context: &Arc<FetchContext>,
    outgoing: &Outgoing,
    fields: &HeaderMap,
    job: DownloadJob,
) -> (Arc<Download>, DownloadEnd, Option<Duration>) {
    let downloads = &context.proxy.traffic.downloads;
    if outgoing.summary.kind != RequestKind::Post {
        let about = job.revalidation.identities();
        match downloads.join(&job.places, fields, about, clock::now(), false) {
            JoinOutcome::Running(download) => {
                let (download, outcome) = download.outcome().await;
                let is_elsewhere = match download.head().await {
                    HeadOutcome::Keeping(head) => {
                        (head.whose == ResponseOwner::Own && !download.is_of(&job.places))
                            || !download.serves(fields, &head.fields)
                    }
                    _ => false,
                };
                let is_left = matches!(
                    &outcome,
                    DownloadEnd::Failed(failure)
                        if matches!(
                            **failure,
                            Failure::Abandoned | Failure::Inward { .. } | Failure::LeftOut(_)
                        )
                );
                if !is_elsewhere && !is_left {
                    return (download, outcome, None);
                }
                // This request cannot use the running download: the response is for other requests
                // only, or the download failed because all its clients left or because its client
                // is not allowed to reach this origin or does not want the response. So this request
                // is sent separately.
            }
            JoinOutcome::New(download) => return run_ours(context, job, download).await,
        }
    }
    let alone = downloads.unshared(&job.places, fields, clock::now());
    run_ours(context, job, alone).await
}

async fn run_ours(
    context: &Arc<FetchContext>,
    job: DownloadJob,
    download: Arc<Download>,
) -> (Arc<Download>, DownloadEnd, Option<Duration>) {
    context.base.tasks.spawn(run(Arc::clone(&context.proxy), job, Arc::clone(&download)));
    let (download, outcome) = download.outcome().await;
    // A response that is not stored has no reader here. `take` returns `None` if a client has taken
    // the response before.
    let answer = download.take();
    let wait = answer.and_then(|answer| retry_after(answer.headers(), clock::now()));
    (download, outcome, wait)
}

/// Returns the verdict that follows from the URL and the requester without a request. `None` if the
/// request may be sent. The configuration may have changed since the request was queued, and
/// redirects may lead to any URL.
async fn apply_rules(context: &Arc<FetchContext>, outgoing: &Outgoing) -> Option<FetchVerdict> {
    let failed = |error: &str| Some(FetchVerdict::Failed { error: error.to_owned(), status: None });
    // An invalid URL fails later, with its own reason.
    let url = CanonicalUrl::parse(request_url(outgoing), &context.base.local).ok()?;
    if url.is_form_answer() {
        return failed("it is the response to a form; only sending the form again gets a new one");
    }
    // A request with lost secrets fails later, with its own reason.
    let filter_context = recorded(outgoing).map_or_else(
        |_| FilterContext::default(),
        |request| {
            FilterContext::of_recorded(
                &request.headers,
                outgoing.summary.page.as_deref(),
                &context.base.local,
            )
        },
    );
    let to = match determine_ruling(&context.base.config(), &url, &filter_context) {
        Ruling::Usual(StoragePolicy::Usual) => return None,
        Ruling::Usual(StoragePolicy::NeverKept | StoragePolicy::Nearby) => {
            return failed("the configuration forbids storing it");
        }
        Ruling::Blocked { by, .. } => {
            debug!(url = url.as_str(), %by, "blocked");
            return failed("the configuration forbids fetching it ([dont-get])");
        }
        Ruling::OtherProtocol => {
            return failed(
                "its port belongs to another protocol; [dont-get] allowed-ports can allow it",
            );
        }
        Ruling::Moved { to, .. } => to,
    };
    let status = StatusCode::TEMPORARY_REDIRECT;
    let followed = match recorded(outgoing) {
        Ok(request) => successor::of(context, outgoing, &request, status, &to, None).await,
        Err(error) => return failed(&error),
    };
    Some(match followed {
        Ok(led) => FetchVerdict::Done { status, bytes: 0, led, how: UrlOutcome::Fetched },
        Err(error) => FetchVerdict::Again { error, status: None, acted: false, wait: None },
    })
}

/// Rebuilds the request and prepares its download, which revalidates the stored copy, if any. The
/// error is a reason for the user.
async fn prepare(context: &FetchContext, outgoing: &Outgoing) -> Result<AttemptFacts, String> {
    let request = recorded(outgoing)?;
    // Only the origin of this resource is used; path and fields are those of the recorded request.
    let mut resource =
        of_url(request_url(outgoing), &context.base.local).map_err(|error| error_chain(&error))?;
    let places =
        Places::of_queued(&outgoing.summary.place, &context.base.local).ok_or(UNKNOWN_OWNER)?;
    let mut sent = Request::from_parts(request.clone(), ());
    let url = CanonicalUrl::parse(request_url(outgoing), &context.base.local)
        .map_err(|error| error_chain(&error))?
        .without_credentials();
    let target = request.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // A queued login of an earlier version is part of the key of its place.
    let mut keyed = CanonicalUrl::parse(places.public.url(), &context.base.local)
        .map_err(|error| error_chain(&error))?;
    let owner = places.owner().ok_or(UNKNOWN_OWNER)?;
    let places =
        Places { queued: places.queued, ..Places::of(&mut keyed, &request.headers, &owner) };
    let places = Arc::new(places.with_spelling(&Spelling::of(target, &url)));
    let (config, parts) = (context.base.config(), UrlParts::of(&url));
    censor::request(&config, &url, sent.headers_mut());
    resource.origin.via = parent(&context.base, &config, &url);
    resource.origin.reach = outgoing.summary.asked_from.into();
    let selecting = || sent.headers().clone();
    let rules = vary_rules(&config, &parts);
    let how = (config.caching.shared, &rules);
    let found = choose::find(&context.storage.store, &places, how, selecting).await;
    let found = found.map_err(|error| error_chain(&error))?;
    let personal = !matches!(outgoing.secrets, Secrets::None);
    let is_form = outgoing.summary.kind == RequestKind::Post;
    let job = DownloadJob {
        places,
        origin: resource.origin,
        head: sent,
        body: (!outgoing.body.is_empty() || is_form).then(|| Bytes::from(outgoing.body.clone())),
        stored_status: found.spelled_alike().map(|copy| copy.status),
        // Errors of the origin are not stored, because a queued request is tried again later.
        storage_rules: StorageRules {
            errors: false,
            ..StorageRules::of(&config, &parts, &request.headers)
        },
        vary_rules: rules,
        get_places: None,
        revalidation: found.plan_revalidation(|_| !is_form, personal),
        leaving_rules: LeavingRules::queued(&config, &UrlParts::of(&url)),
        allowance: allowance(context, outgoing, &url),
        interim: None,
    };
    let copy = found.own().map(Arc::clone);
    let how = copy.as_ref().and_then(|copy| is_answered(context, outgoing, copy));
    let near = copy.clone().or_else(|| found.fallback_copy().cloned());
    Ok(AttemptFacts { request, job, copy, near, how })
}

/// The allowed size of the response. The response to a form is unlimited, because a form is sent
/// only once.
fn allowance(context: &FetchContext, outgoing: &Outgoing, url: &CanonicalUrl) -> Allowance {
    let usage = owner(outgoing).ok().and_then(|owner| quota::account(&context.proxy, &owner));
    if outgoing.summary.kind == RequestKind::Post {
        let (is_unbounded, is_sent_once) = (true, true);
        return Allowance { usage, is_unbounded, is_sent_once, ..Allowance::default() };
    }
    let ceiling = match *context.base.config().fetch_options.ask_above.of(&UrlParts::of(url)) {
        SizeLimit::At(size) if !outgoing.any_length => Some(size.bytes()),
        SizeLimit::At(_) | SizeLimit::None => None,
    };
    let meter = Some(context.fetcher.meter(outgoing.summary.place.owner()));
    let is_part = outgoing.summary.kind == RequestKind::Part || outgoing.summary.class.is_some();
    let is_saving = is_part && !outgoing.any_length && !is_wanted_whole(context, outgoing);
    let rules = || {
        let page = outgoing.summary.page.as_deref();
        let page = page.and_then(|page| CanonicalUrl::parse(page, &context.base.local).ok());
        SaverRules::of(&context.base.config(), url, page.as_ref())
    };
    let saver = is_saving.then(rules).flatten();
    let is_unbounded = outgoing.any_length;
    Allowance { ceiling, meter, usage, is_unbounded, is_sent_once: false, saver }
}

/// Counts a file that the data saver leaves out for the owner of the request.
fn count_left_out(context: &FetchContext, outgoing: &Outgoing, file: &LeftOutFile) {
    let url = CanonicalUrl::parse(request_url(outgoing), &context.base.local);
    if let (Ok(url), Ok(owner)) = (url, owner(outgoing)) {
        let url = url.without_credentials();
        let key = LastKey::new(url.key(), owner);
        saver::count(&context.proxy, url.host(), key, file);
    }
}

/// Whether a run fetches what the data saver would leave out.
fn is_wanted_whole(context: &FetchContext, outgoing: &Outgoing) -> bool {
    let is_whole = |member: &RunMembership| {
        context.fetcher.runs().with_run(member.run, |run| run.spec.whole).unwrap_or_default()
    };
    outgoing.summary.runs.iter().any(is_whole)
}

/// Returns the owner of a request. Fails if this version does not know the owner.
pub(super) fn owner(outgoing: &Outgoing) -> Result<Owner, String> {
    Owner::of_queued(&outgoing.summary.place).ok_or_else(|| UNKNOWN_OWNER.to_owned())
}

/// Returns the recorded request with its secrets, or the reason why it cannot be read.
fn recorded(outgoing: &Outgoing) -> Result<Parts, String> {
    let secrets = match &outgoing.secrets {
        Secrets::None => &[][..],
        Secrets::Open(secrets) => secrets,
        Secrets::Unreadable(_) => {
            return Err(
                "its cookies and credentials can no longer be read; request it again in the browser"
                    .to_owned(),
            );
        }
    };
    head::read_request(&outgoing.head, secrets)
        .map_err(|error| format!("the recorded request cannot be read: {error}"))
}

/// The URL of a request, without the suffix that the key of a POST has.
pub(super) fn request_url(outgoing: &Outgoing) -> &str {
    base_of(outgoing.summary.kind, outgoing.summary.place.url())
}

/// Returns `url` without the suffix that the key of a POST has. The URLs of other kinds have no
/// such suffix.
pub(super) fn base_of(kind: RequestKind, url: &str) -> &str {
    if kind == RequestKind::Post { url.split("?!").next().unwrap_or(url) } else { url }
}
