//! The stored versions of one page: the list, the view of a version, and the actions on a version.

pub(super) mod base_element;
pub(super) mod calendar;
pub(super) mod call;
pub(super) mod changes;
pub mod page;
pub mod version_list;

use std::sync::Arc;

use hyper::header::{
    CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderName, HeaderValue, LINK, LOCATION, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_spool::RestoreOutcome;

use self::changes::{DiffArguments, DiffError, no_difference_page};
use self::page::LineCounts;
use super::caller::Caller;
use super::info::InfoError;
use super::info::source::body_in_pieces;
use crate::base::owner::{Owner, Places};
use crate::page::bar::capture_banner;
use crate::page::form::SubmittedForm;
use crate::page::links;
use crate::proxy::body::{self, Body};
use crate::proxy::captures::capture_of;
use crate::proxy::{recode, reply};
use crate::site::address::AddressPage;
use crate::site::context::SiteContext;
use crate::storage::store::StoredCopy;
use crate::storage::versions::memento::{self, LINK_FORMAT, http_date, links};
use crate::storage::versions::text::PagePart;
use crate::storage::versions::{self, NotCompared, PageVersions};
use wwwoffle_api::History;
use wwwoffle_http::caching::coding::CodingTerms;
use wwwoffle_http::head::capture_in;
use wwwoffle_http::media_type::content_essence;
use wwwoffle_http::redirect::location;

/// Number of versions whose text is compared with the text of the previous version. For older
/// versions, only the heads are compared.
const COMPARED: usize = 6;

/// Maximum length of a body that is read for this comparison, in bytes.
const COMPARED_BODY: u64 = 512 << 10;

/// Content security policy of a page shown as an earlier version. Such a page has an opaque origin,
/// and can neither run scripts nor send forms.
const GLASS_CASE: &str = "sandbox; default-src data: http: https: 'unsafe-inline'; \
     script-src 'none'; object-src 'none'; frame-src 'none'; connect-src 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// Response fields that are kept when an earlier version is shown.
const SHOWN: [HeaderName; 4] =
    [CONTENT_TYPE, CONTENT_LANGUAGE, CONTENT_DISPOSITION, CONTENT_ENCODING];

/// Failure of an action on a version.
#[derive(Debug, thiserror::Error)]
pub(super) enum VersionActionError {
    /// The URL is invalid, or the spool failed.
    #[error(transparent)]
    Url(#[from] InfoError),
    /// No version was stored at this time.
    #[error("no such version is stored")]
    Missing,
    /// The entry was replaced repeatedly during the action.
    #[error("newer responses were stored during the change: try again")]
    Overtaken,
    /// The form names no version.
    #[error("expected a time as 2026-11-20T14:25:15.812Z in the field at")]
    Time,
}

/// Returns the history of a URL, and the stored versions that it lists: those of `owner`, or else
/// the public ones.
pub(super) async fn of(
    context: &SiteContext,
    owner: &Owner,
    url: &str,
) -> Result<(History, Option<PageVersions>), InfoError> {
    let (url, found) = find(context, owner, url).await?;
    let mut history = match &found {
        None => version_list::of(&url, None, &[]),
        Some(PageVersions { left_over: Some(newest), older, .. }) => {
            let all: Vec<_> = std::iter::once(newest).chain(older).cloned().collect();
            version_list::of(&url, None, &all)
        }
        Some(found) => version_list::of(&url, Some(&found.current.entry), &found.older),
    };
    if let Some(found) = &found {
        mark_captures(context, &mut history, found).await?;
    }
    Ok((history, found))
}

/// Notes which older versions came from a web archive. Only their entries say so.
async fn mark_captures(
    context: &SiteContext,
    history: &mut History,
    found: &PageVersions,
) -> Result<(), wwwoffle_spool::Error> {
    let place = found.current.entry.place().clone();
    let older = history.versions.iter().filter(|version| !version.present);
    let stored: Vec<_> = older.map(|version| version.stored).collect();
    let look = move |spool: &wwwoffle_spool::Spool| {
        let mut captures = Vec::new();
        for stored in stored {
            let entry = spool.version(&place, stored)?.found();
            let capture = entry.and_then(|entry| capture_in(entry.request()));
            captures.extend(capture.map(|capture| (stored, capture)));
        }
        Ok(captures)
    };
    for (stored, capture) in context.storage.store.run(look).await? {
        let marked = history.versions.iter_mut().find(|version| version.stored == stored);
        if let Some(version) = marked {
            version.capture = Some(capture);
        }
    }
    Ok(())
}

/// Returns the canonical URL without credentials, and its stored entry with the older versions:
/// those of `owner`, or else the public ones.
pub(super) async fn find(
    context: &SiteContext,
    owner: &Owner,
    url: &str,
) -> Result<(String, Option<PageVersions>), InfoError> {
    let (_, places) = Places::of_text(url, &context.base.local, owner)?;
    Ok((places.public.url().to_owned(), versions::of(&context.storage, &places).await?))
}

/// Shows the list.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let context = &caller.context;
    match listed(caller, arguments).await {
        Ok((history, found)) => {
            let skipped = DiffArguments::read(arguments).map_or(0, |asked| asked.skipped);
            let lines = match &found {
                Some(found) => lines(context, &history, found, skipped).await,
                None => Vec::new(),
            };
            caller.page(page::page(&caller.shell, &history, &lines, skipped))
        }
        Err(DiffError::NoUrl) => caller.ask_for_address(AddressPage::History, ""),
        Err(DiffError::Url(_)) => {
            let typed = DiffArguments::read(arguments).map(|asked| asked.url).unwrap_or_default();
            caller.ask_for_address(AddressPage::History, &typed)
        }
        Err(error) => no_difference_page(caller, arguments, &error),
    }
}

async fn listed(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<(History, Option<PageVersions>), DiffError> {
    let asked = DiffArguments::read(arguments)?;
    Ok(of(&caller.context, &caller.owner, &asked.url).await?)
}

/// Returns the line counts of the newest versions after the `skipped` ones. The count of a version is `None` if the version
/// or the previous one has no text, is too long, or cannot be read.
async fn lines(
    context: &SiteContext,
    history: &History,
    found: &PageVersions,
    skipped: usize,
) -> Vec<Option<LineCounts>> {
    let mut counts_of_lines = Vec::new();
    let pairs = history.versions.iter().zip(history.versions.iter().skip(1));
    for (new, old) in pairs.skip(skipped).take(COMPARED) {
        let is_short = new.bytes.max(old.bytes) <= COMPARED_BODY;
        let compared = if is_short {
            let (from, to) = (Some(old.stored), Some(new.stored));
            versions::compare(&context.storage, found, from, to, &PagePart::default()).await.ok()
        } else {
            None
        };
        counts_of_lines.push(compared.map(|compared| LineCounts {
            added: compared.diff.added,
            removed: compared.diff.removed,
        }));
    }
    counts_of_lines
}

/// Responds with the time map, the list for programs that support Memento (RFC 7089).
pub(super) async fn timemap(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    match listed(caller, arguments).await {
        Ok((_, None)) => no_difference_page(caller, arguments, &NotCompared::NotKept.into()),
        Ok((history, Some(_))) => {
            let text = memento::timemap(caller.shell.origin.as_str(), &history);
            caller.other(StatusCode::OK, Some(LINK_FORMAT), body::from_bytes(text))
        }
        Err(error) => no_difference_page(caller, arguments, &error),
    }
}

/// Shows one version: the current one, unless the arguments name another one.
pub(super) async fn version(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    match read(caller, arguments).await {
        Ok(copy) => serve_version(caller, &copy).await,
        Err(error) => no_difference_page(caller, arguments, &error),
    }
}

/// Shows one version with marks for its changes since an earlier one.
pub(super) async fn marked(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let shown = match DiffArguments::read(arguments) {
        Ok(asked) => marked_version(caller, asked).await,
        Err(error) => Err(error),
    };
    shown.unwrap_or_else(|error| no_difference_page(caller, arguments, &error))
}

/// Marks the changes of the version that was stored at `at` or `to`, or else of the current one,
/// since the version that was stored at `from`.
async fn marked_version(
    caller: &Caller,
    asked: DiffArguments,
) -> Result<Response<Body>, DiffError> {
    let context = &caller.context;
    let Ok(turn) = Arc::clone(&context.limits.sources).try_acquire_owned() else {
        return Ok(reply::plain(503, "other pages are being compared; try again in a moment"));
    };
    let (history, found) = of(context, &caller.owner, &asked.url).await?;
    let found = found.ok_or(NotCompared::NotKept)?;
    let from = asked.from.ok_or(NotCompared::NoVersion)?;
    let to = asked.at.or(asked.to).unwrap_or_else(|| found.current.entry.stored());
    let version = |stored: Timestamp| {
        let version = history.versions.iter().find(|version| version.stored == stored);
        version.cloned().ok_or(NotCompared::NoVersion)
    };
    let (before, after) = (version(from)?, version(to)?);
    if !asked.has_came {
        // The address has the time from which the page gets its pictures and styles.
        let times = (after.stored, after.received);
        return Ok(caller.see_other(&memento::marked_path(&history.url, from, times)));
    }
    let (shell, url) = (caller.shell.clone(), history.url.clone());
    let note = move |counts| page::marked_note(&shell, &url, (&before, &after), counts);
    let (copy, marked) = versions::mark_changes(&context.storage, &found, (from, to), note).await?;
    let url = copy.entry.url();
    let marked = body_in_pieces(marked.into(), turn);
    let body = base_element::insert_base(marked, url, None).await;
    let html = Some("text/html; charset=utf-8");
    let mut response = caller.other(StatusCode::OK, html, body);
    isolate(response.headers_mut());
    Ok(response)
}

/// Adds the fields that prevent a stored page from acting in our name. The referrer tells the proxy
/// the time of the version, so that sub-resources are served from that time.
fn isolate(fields: &mut HeaderMap) {
    fields.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(GLASS_CASE));
    fields.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    fields.insert(REFERRER_POLICY, HeaderValue::from_static("unsafe-url"));
}

async fn read(caller: &Caller, arguments: Option<&str>) -> Result<Arc<StoredCopy>, DiffError> {
    let asked = DiffArguments::read(arguments)?;
    let context = &caller.context;
    let (_, found) = find(context, &caller.owner, &asked.url).await?;
    let found = found.ok_or(NotCompared::NotKept)?;
    let stored = asked.at.unwrap_or_else(|| found.current.entry.stored());
    let copy = found.read(&context.storage, stored).await?;
    Ok(copy.ok_or(NotCompared::NoVersion)?)
}

/// Shows a stored response under our own origin. [`GLASS_CASE`] prevents it from acting in our
/// name. A page gets a `<base>` element for its links.
async fn serve_version(caller: &Caller, copy: &Arc<StoredCopy>) -> Response<Body> {
    let delivery = CodingTerms::of_a_reader().deliver(copy.status, &copy.fields);
    let mut theirs = copy.fields.clone();
    delivery.amend(&mut theirs);
    let url = copy.entry.url();
    let mut body = recode::body(delivery, body::stored(&caller.context.storage.store, copy, None));
    if is_page(&theirs) {
        let banner = capture_of(copy)
            .map(|memento| capture_banner(&caller.shell, url, memento, copy.entry.received()));
        body = base_element::insert_base(body, url, banner).await;
    }
    let mut response = caller.other(copy.status, None, body);
    let fields = response.headers_mut();
    for name in SHOWN {
        if let Some(value) = theirs.get(&name) {
            fields.insert(name, value.clone());
        }
    }
    // A relative `Location` would lead to a page of ours, so the absolute URL is sent.
    if let Some(to) = location(url, copy.status, &theirs)
        && let Ok(to) = HeaderValue::try_from(to)
    {
        fields.insert(LOCATION, to);
    }
    isolate(fields);
    let entry = &copy.entry;
    let link = links(caller.shell.origin.as_str(), url, (entry.stored(), entry.received()));
    for (name, value) in
        [(LINK, link), (HeaderName::from_static("memento-datetime"), http_date(entry.received()))]
    {
        if let Ok(value) = HeaderValue::from_str(&value) {
            fields.insert(name, value);
        }
    }
    response
}

/// Whether a response with these fields is an HTML page without content coding.
fn is_page(fields: &HeaderMap) -> bool {
    content_essence(fields) == "text/html" && !fields.contains_key(CONTENT_ENCODING)
}

/// Makes the version stored at the time `stored` the current one, and the former current version an
/// older one. Uses the versions of `owner`, or else the public ones.
pub(super) async fn restore(
    context: &SiteContext,
    owner: &Owner,
    url: &str,
    stored: Timestamp,
) -> Result<(), VersionActionError> {
    let (_, found) = find(context, owner, url).await?;
    let place = found.ok_or(VersionActionError::Missing)?.current.entry.place().clone();
    let restored = context.storage.store.run(move |spool| spool.restore(&place, stored)).await;
    match restored.map_err(InfoError::from)? {
        RestoreOutcome::Done | RestoreOutcome::Same => Ok(()),
        RestoreOutcome::Missing => Err(VersionActionError::Missing),
        RestoreOutcome::Overtaken => Err(VersionActionError::Overtaken),
    }
}

/// Deletes an older version.
pub(super) async fn remove(
    context: &SiteContext,
    owner: &Owner,
    url: &str,
    stored: Timestamp,
) -> Result<(), VersionActionError> {
    let (_, found) = find(context, owner, url).await?;
    let found = found.ok_or(VersionActionError::Missing)?;
    if !found.left_over.iter().chain(&found.older).any(|version| version.stored == stored) {
        return Err(VersionActionError::Missing);
    }
    let place = found.current.entry.place().clone();
    let removed =
        context.storage.store.run(move |spool| spool.remove_version(&place, stored)).await;
    if removed.map_err(InfoError::from)? { Ok(()) } else { Err(VersionActionError::Missing) }
}

/// A button of the list, which acts on the version that its form names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionAction {
    /// Makes the version the current one.
    Restore,
    /// Deletes the version.
    Remove,
}

/// Performs the action of a button, and redirects to the list.
pub(super) async fn perform(
    caller: &Caller,
    button: VersionAction,
    form: &SubmittedForm,
) -> Result<Response<Body>, VersionActionError> {
    let url = form.value("url").unwrap_or_default().trim();
    let at = form
        .value("at")
        .and_then(|text| text.trim().parse().ok())
        .ok_or(VersionActionError::Time)?;
    let (context, owner) = (&caller.context, &caller.owner);
    match button {
        VersionAction::Restore => restore(context, owner, url, at).await?,
        VersionAction::Remove => remove(context, owner, url, at).await?,
    }
    Ok(caller.see_other(&links::history(url)))
}
