//! Fetches captures of web archives with their sub-resources, at once or from the queue.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use tempfile::NamedTempFile;
use tokio::time::timeout;
use wwwoffle_archive::{ImportControl, ImportOptions, MAX_BODY, PersonalOwner, import};
use wwwoffle_index::essence;
use wwwoffle_spool::{Error, Outgoing, OutgoingSummary, RequestKind, Spool};
use wwwoffle_url::CanonicalUrl;

use super::attempt::{owner, request_url};
use super::follow::FollowUps;
use super::recurse::choose::{ChosenLink, LinkAction, MAX_NESTING, WantedClasses, choose, part};
use super::recurse::follow::browser;
use super::recurse::read::ReferenceReader;
use super::recurse::run::UrlOutcome;
use super::verdict::FetchVerdict;
use super::want::{self, WantError};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places, Requester};
use crate::fetch::context::FetchContext;
use crate::proxy::captures::{
    CaptureFault, CaptureOffer, FetchedCapture, capture_of, check_url, fetch, look_up,
};
use crate::proxy::placer::Placer;
use crate::proxy::{body, recode, saver};
use crate::storage::store::{StoredCopy, timestamp};
use crate::storage::versions::{self, PageVersions};
use wwwoffle_http::caching::coding::CodingTerms;
use wwwoffle_http::head::{CAPTURE, with_field, write_response};

/// The largest number of sub-resources of one capture, and of their bytes.
const MAX_PARTS: usize = 100;
const MAX_PARTS_BYTES: usize = 64 << 20;

/// The number of sub-resources that are fetched at the same time.
const PARTS_AT_ONCE: usize = 4;

/// How long all sub-resources of a capture may take.
const PARTS_WITHIN: Duration = Duration::from_secs(600);

/// The largest number of decoded bytes in which references are searched.
const MAX_READ: usize = 16 << 20;

/// A sub-resource is not fetched if a version from within this time of the capture is stored.
const NEAR: SignedDuration = SignedDuration::from_hours(24);

/// The option of a queued request for a capture. The time follows it, if one is wanted.
const OPTION: &str = "capture";

/// The reason why no capture was stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreCaptureError {
    /// There is no capture.
    #[error(transparent)]
    Capture(#[from] CaptureFault),
    /// The capture cannot be stored.
    #[error("the capture cannot be stored: {0}")]
    NotStored(String),
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] Error),
}

/// A capture with the time at which it was stored, or a copy of the same time.
#[derive(Debug)]
pub struct StoredVersion {
    /// The capture.
    pub capture: FetchedCapture,
    /// When the version was stored.
    pub stored: Timestamp,
}

/// The number of sub-resources that were stored, and of those that the archive does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredParts {
    /// Those that were stored.
    pub stored: usize,
    /// Those that are missing.
    pub missing: usize,
}

/// The result of each TimeGate.
pub type GateOutcomes = Vec<(String, Result<CaptureOffer, CaptureFault>)>;

/// Asks all TimeGates, or one of them.
///
/// # Errors
///
/// [`CaptureFault`], if no archive may be asked.
pub async fn look_up_all(
    context: &FetchContext,
    owner: &Owner,
    url: &CanonicalUrl,
    only: Option<&str>,
    at: Option<Timestamp>,
) -> Result<GateOutcomes, CaptureFault> {
    let config = context.base.config();
    check_url(&context.proxy, &config, url)?;
    let gates = config.web_archives.time_gates.addresses().iter();
    let asks = gates.filter(|gate| only.is_none_or(|only| only == *gate)).map(|gate| async move {
        (gate.clone(), look_up(&context.proxy, owner, url, gate, at).await)
    });
    let found = join_all(asks).await;
    if found.is_empty() { Err(CaptureFault::UnknownGate) } else { Ok(found) }
}

/// The capture that is closest to `at`, or the latest one.
///
/// # Errors
///
/// The reason of one of the archives, if none has a capture.
pub fn best(found: GateOutcomes, at: Option<Timestamp>) -> Result<CaptureOffer, CaptureFault> {
    let distance =
        |offer: &CaptureOffer| offer.captured.duration_since(at.unwrap_or(Timestamp::MAX)).abs();
    let (mut offers, mut fault) = (Vec::new(), CaptureFault::Missing);
    for (_, found) in found {
        match found {
            Ok(offer) => offers.push(offer),
            Err(reason) => fault = reason,
        }
    }
    offers.into_iter().min_by_key(distance).ok_or(fault)
}

/// Fetches a capture, and stores it for everyone as a version of the page.
///
/// # Errors
///
/// [`StoreCaptureError`], if there is no capture or it cannot be stored.
pub async fn store(
    context: &FetchContext,
    owner: &Owner,
    url: &CanonicalUrl,
    gate: &str,
    at: Option<Timestamp>,
) -> Result<StoredVersion, StoreCaptureError> {
    let capture = fetch(&context.proxy, owner, url, gate, at).await?;
    let personal = check_stored(context, owner, url, capture.offer.captured).await?;
    let archive = warc(url, &capture);
    let options = ImportOptions {
        replace: false,
        dry_run: false,
        private: PersonalOwner::Everyone,
        max_body: MAX_BODY,
        scheme: "https".to_owned(),
        local: context.base.local.clone(),
        now: timestamp(clock::now()),
    };
    let kept = context.storage.store.run(move |spool| Ok(import_one(spool, &archive, &options)));
    kept.await??;
    if let Some(personal) = personal {
        // Only this error: no other variant, and nothing that has replaced it since.
        context.storage.store.run(move |spool| spool.remove_seen(&personal.entry)).await?;
    }
    let places = Places::of_url(url, owner);
    let found = versions::of(&context.storage, &places).await?;
    let version = found.and_then(|found| {
        let current = &found.current.entry;
        // A purge would otherwise remove it by the age of the capture.
        context.storage.index.record_use(current.place(), timestamp(clock::now()));
        let older = found.older.iter().map(|version| (version.when, version.stored));
        let mut all = std::iter::once((current.received(), current.stored())).chain(older);
        all.find(|(received, _)| *received == capture.offer.captured)
    });
    let (_, stored) = version.ok_or_else(|| {
        not_stored("the same response, or another one of that time, is stored already")
    })?;
    Ok(StoredVersion { capture, stored })
}

/// Refuses a capture that would replace or stand behind what the site itself sent: a page of the
/// site that is older than the capture, or a personal one. Returns a personal error, behind which
/// nobody would see the capture.
async fn check_stored(
    context: &FetchContext,
    owner: &Owner,
    url: &CanonicalUrl,
    captured: Timestamp,
) -> Result<Option<Arc<StoredCopy>>, StoreCaptureError> {
    let found = versions::of(&context.storage, &Places::of_url(url, owner)).await?;
    let Some(PageVersions { current, older, .. }) = found else { return Ok(None) };
    let is_personal = current.entry.place().owner().is_some();
    let is_page = current.status.is_success() || current.status.is_redirection();
    let has_versions = is_personal && !older.is_empty();
    if !is_page && !has_versions {
        return Ok(is_personal.then_some(current));
    }
    let is_newest = current.entry.checked() < captured && capture_of(&current).is_none();
    if is_personal || is_newest {
        return Err(not_stored(
            "a copy from the site itself is stored, which no capture replaces: `wwwoffle rm URL` \
             removes it, or ask for an earlier capture with --at",
        ));
    }
    Ok(None)
}

/// Fetches the sub-resources of a capture from the same archive, as of the same time, and stores
/// them. Those that it does not have are left out.
pub async fn store_parts(
    context: &FetchContext,
    owner: &Owner,
    page: &CanonicalUrl,
    capture: &FetchedCapture,
) -> StoredParts {
    let mut counts = StoredParts::default();
    let storing = store_levels(context, owner, page, capture, &mut counts);
    // The sub-resources that are stored by then stay.
    let _in_time = timeout(PARTS_WITHIN, storing).await;
    counts
}

async fn store_levels(
    context: &FetchContext,
    owner: &Owner,
    page: &CanonicalUrl,
    capture: &FetchedCapture,
    counts: &mut StoredParts,
) {
    let (gate, at) = (capture.offer.gate.as_str(), capture.offer.captured);
    let (mut known, mut bytes) = (HashSet::from([page.key()]), 0);
    let mut level = references(context, page, page, capture).await;
    for _ in 0..=MAX_NESTING {
        level.retain(|url| known.len() <= MAX_PARTS && known.insert(url.key()));
        let fetch_one = |url: CanonicalUrl| async move {
            if is_stored_near(context, owner, &url, at).await {
                return (url, None);
            }
            let stored = store(context, owner, &url, gate, Some(at)).await;
            (url, Some(stored))
        };
        let mut fetched =
            stream::iter(std::mem::take(&mut level)).map(fetch_one).buffer_unordered(PARTS_AT_ONCE);
        while let Some((url, stored)) = fetched.next().await {
            match stored {
                Some(Ok(part)) => {
                    counts.stored += 1;
                    bytes += part.capture.body.len();
                    level.extend(references(context, page, &url, &part.capture).await);
                }
                Some(Err(StoreCaptureError::Capture(_))) => counts.missing += 1,
                Some(Err(error)) => {
                    let (error, url) = (error_chain(&error), url.as_str());
                    tracing::debug!(error, url, "a part of a capture is not stored");
                }
                None => {}
            }
            if bytes > MAX_PARTS_BYTES {
                return;
            }
        }
    }
}

/// The number of bytes that are searched at once.
const PIECE: usize = 64 << 10;

/// Whether a version from about this time is stored.
async fn is_stored_near(
    context: &FetchContext,
    owner: &Owner,
    url: &CanonicalUrl,
    at: Timestamp,
) -> bool {
    let Ok(Some(found)) = versions::of(&context.storage, &Places::of_url(url, owner)).await else {
        return false;
    };
    let current = &found.current;
    // A capture of a page or style sheet may have parts that are missing: it is read once more.
    let kind = current.fields.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let has_parts = ["text/css", "text/html"].contains(&&*essence(kind));
    if has_parts && capture_of(current).is_some() || !current.status.is_success() {
        return false;
    }
    let older = found.older.iter().map(|version| version.when);
    let mut all = std::iter::once(current.entry.received()).chain(older);
    all.any(|received| received.duration_since(at).abs() <= NEAR)
}

/// The sub-resources of a capture that a fetch of the page would get.
async fn references(
    context: &FetchContext,
    page: &CanonicalUrl,
    url: &CanonicalUrl,
    capture: &FetchedCapture,
) -> Vec<CanonicalUrl> {
    let config = context.base.config();
    let delivery = CodingTerms::of_a_reader().deliver(capture.status, &capture.fields);
    let mut body = recode::body(delivery, body::from_bytes(capture.body.clone()));
    let (viewport, mut read) = (browser(&config), 0);
    let mut reader = ReferenceReader::new(url.as_str(), &capture.fields, &viewport);
    while !reader.is_done()
        && read < MAX_READ
        && let Some(Ok(frame)) = body.frame().await
    {
        let frame = frame.into_data().unwrap_or_default();
        for piece in frame.chunks(PIECE) {
            if read >= MAX_READ || reader.is_done() {
                break;
            }
            read += piece.len();
            if reader.write(piece).is_err() {
                return Vec::new();
            }
            tokio::task::yield_now().await;
        }
    }
    let Ok(Some(found)) = reader.finish() else { return Vec::new() };
    let wanted = WantedClasses::of(&config, page, &[]);
    let chosen = choose(&found, url, &wanted, &context.base.local).into_iter();
    let is_part = |one: &ChosenLink<'_>| {
        one.what == LinkAction::Part
            && !saver::leaves_out(&config, part(one.link.class), &one.url, page)
    };
    chosen.filter(is_part).map(|one| one.url.without_credentials()).collect()
}

/// Queues a request for the capture of a page that is closest to `at`, or for the latest one. It
/// replaces a request for the page itself.
///
/// # Errors
///
/// [`CaptureFault`], if no archive may be asked; or if the spool fails.
pub async fn queue(
    context: &FetchContext,
    requester: &Requester,
    url: &CanonicalUrl,
    at: Option<Timestamp>,
) -> Result<(), StoreCaptureError> {
    check_url(&context.proxy, &context.base.config(), url)?;
    let request = want::request(context, requester, url.as_str(), RequestKind::Page);
    let mut request = request.map_err(|error| match error {
        WantError::Spool(error) => error.into(),
        _ => StoreCaptureError::Capture(CaptureFault::Ruled),
    })?;
    request.options = Some(at.map_or_else(|| OPTION.to_owned(), |at| format!("{OPTION} {at}")));
    let (key, options) = (request.summary.place.key(), request.options.clone());
    let waiting = context.storage.store.spool().queue().summary(&key);
    // These need the page of the site itself.
    let is_for_others = |one: &OutgoingSummary| {
        !one.runs.is_empty() || matches!(one.kind, RequestKind::Monitored | RequestKind::Recursive)
    };
    if waiting.is_some_and(|one| is_for_others(&one)) {
        return Err(not_stored("a fetch of this page waits in the queue: remove it there first"));
    }
    want::put(context, request).await?;
    if let Some(mut known) = context.storage.store.queued(key).await?
        && known.options != options
    {
        known.options = options;
        context.storage.store.requeue(known).await?;
    }
    context.fetcher.wake();
    Ok(())
}

/// The capture that a queued request is for.
pub(super) struct WantedCapture {
    /// The time to which it should be close; `None` for the latest one.
    at: Option<Timestamp>,
}

impl WantedCapture {
    /// `None` if the request is for the page itself.
    pub(super) fn of(outgoing: &Outgoing) -> Option<Self> {
        let rest = outgoing.options.as_deref()?.strip_prefix(OPTION)?;
        Some(Self { at: rest.trim().parse().ok() })
    }
}

/// Attempts a queued request for a capture. `None` if no archive has one: then the page itself is
/// requested.
pub(super) async fn attempt(
    context: &FetchContext,
    outgoing: &Outgoing,
    WantedCapture { at }: WantedCapture,
) -> Option<FetchVerdict> {
    let failed = |error: String| Some(FetchVerdict::Failed { error, status: None });
    let owner = match owner(outgoing) {
        Ok(owner) => owner,
        Err(error) => return failed(error),
    };
    let url = match CanonicalUrl::parse(request_url(outgoing), &context.base.local) {
        Ok(url) => url.without_credentials(),
        Err(error) => return failed(error_chain(&error)),
    };
    let storing = async {
        let offer = best(look_up_all(context, &owner, &url, None, at).await?, at)?;
        store(context, &owner, &url, &offer.gate, Some(offer.captured)).await
    };
    let StoredVersion { capture, .. } = match storing.await {
        Ok(stored) => stored,
        Err(StoreCaptureError::Capture(CaptureFault::Missing)) => return None,
        Err(StoreCaptureError::Capture(CaptureFault::Offline)) => {
            return Some(FetchVerdict::Untried);
        }
        Err(error) if may_pass(&error) => {
            let error = error_chain(&error);
            return Some(FetchVerdict::Again { error, status: None, acted: false, wait: None });
        }
        Err(error) => return failed(error_chain(&error)),
    };
    let parts = store_parts(context, &owner, &url, &capture).await;
    if parts.missing > 0 && !context.base.mode.now().may_dial() {
        // Those that are stored by now are not fetched again.
        return Some(FetchVerdict::Untried);
    }
    let bytes = u64::try_from(capture.body.len()).unwrap_or(u64::MAX);
    let (status, led, how) = (capture.status, FollowUps::default(), UrlOutcome::Fetched);
    Some(FetchVerdict::Done { status, bytes, led, how })
}

/// Whether another attempt may succeed.
fn may_pass(error: &StoreCaptureError) -> bool {
    match error {
        StoreCaptureError::Capture(CaptureFault::NoMemento(status)) => {
            *status == 429 || *status >= 500
        }
        StoreCaptureError::Capture(fault) => {
            matches!(fault, CaptureFault::Late | CaptureFault::Failed(_))
        }
        StoreCaptureError::Spool(_) => true,
        StoreCaptureError::NotStored(_) => false,
    }
}

fn not_stored(why: &str) -> StoreCaptureError {
    StoreCaptureError::NotStored(why.to_owned())
}

/// The capture as a WARC with the records of one exchange. The request has the mark of a capture.
fn warc(url: &CanonicalUrl, capture: &FetchedCapture) -> Vec<u8> {
    let (target, host) = (url.path_and_arguments(), url.host_port());
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let request = with_field(request.as_bytes(), &CAPTURE, &capture.offer.memento);
    let mut block = write_response(capture.status, &capture.fields);
    block.extend_from_slice(&capture.body);
    let mut bytes = Vec::with_capacity(block.len() + request.len() + 1_000);
    for (kind, block) in [("request", &request), ("response", &block)] {
        let head = format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {}\r\n\
             Content-Type: application/http; msgtype={kind}\r\nContent-Length: {}\r\n\r\n",
            capture.offer.captured,
            block.len(),
        );
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(block);
        bytes.extend_from_slice(b"\r\n\r\n");
    }
    bytes
}

/// Imports the archive of one exchange.
fn import_one(
    spool: &Spool,
    archive: &[u8],
    options: &ImportOptions,
) -> Result<(), StoreCaptureError> {
    let written = NamedTempFile::with_prefix_in("capture-", spool.root().join("tmp"))
        .and_then(|mut file| file.write_all(archive).map(|()| file));
    let file = written.map_err(|error| StoreCaptureError::NotStored(error_chain(&error)))?;
    let mut go_on = |_: &_| ImportControl::Continue;
    let report = import(spool, file.path(), options, &Placer::default(), &mut go_on)
        .map_err(|error| StoreCaptureError::NotStored(error_chain(&error)))?;
    if let Some(refused) = report.refusals.first() {
        return Err(not_stored(&refused.reason));
    }
    if report.outdated > 0 {
        return Err(not_stored(
            "a newer copy is stored, and [caching] keep-versions stores no older versions",
        ));
    }
    Ok(())
}
