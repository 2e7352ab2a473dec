//! Differences between two versions of a page, and the feed of changes.

use std::collections::HashMap;

use hyper::{Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_spool::Error;
use wwwoffle_url::{ParseError, url_encode_form_args};

use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places};
use crate::fetch::monitor;
use crate::page::form::{BadForm, SubmittedForm};
use crate::proxy::body::{self, Body};
use crate::site::address::decoded;
use crate::site::caller::Caller;
use crate::site::history::page as history;
use crate::site::info::InfoError;
use crate::site::monitor::page as pages;
use crate::storage::store::timestamp;
use crate::storage::versions::diff::Diff;
use crate::storage::versions::feed::{self, MAX_ENTRIES, VersionChange};
use crate::storage::versions::text::PagePart;
use crate::storage::versions::{self, NotCompared, VersionComparison};
use wwwoffle_api::VersionDiff;

/// The largest number of pairs of versions that are compared for one response with the feed.
/// Further changes of pages with a chosen part are left out.
const MAX_COMPARED: usize = 200;

/// Content type of the feed (RFC 4287 §7).
const ATOM: &str = "application/atom+xml; charset=utf-8";

/// Failure to compare versions.
#[derive(Debug, thiserror::Error)]
pub(in crate::site) enum DiffError {
    /// The arguments are not a valid form.
    #[error(transparent)]
    SubmittedForm(#[from] BadForm),
    /// The arguments contain no URL.
    #[error("expected a URL, as in /history/?https://www.example.org/")]
    NoUrl,
    /// The URL is invalid.
    #[error("no URL")]
    Url(#[from] ParseError),
    /// A time is invalid.
    #[error("expected a time as 2026-11-20T14:25:15.812Z in {0:?}")]
    Time(&'static str),
    /// The versions cannot be compared.
    #[error(transparent)]
    Versions(#[from] NotCompared),
}

impl From<Error> for DiffError {
    fn from(error: Error) -> Self {
        Self::Versions(error.into())
    }
}

impl From<InfoError> for DiffError {
    fn from(error: InfoError) -> Self {
        match error {
            InfoError::Url(error) => Self::Url(error),
            InfoError::Spool(error) => Self::from(error),
        }
    }
}

/// The arguments of an address: a URL alone, or the fields of a form.
pub(in crate::site) struct DiffArguments {
    pub(in crate::site) url: String,
    pub(in crate::site) from: Option<Timestamp>,
    pub(in crate::site) to: Option<Timestamp>,
    /// Time when the version to show was stored.
    pub(in crate::site) at: Option<Timestamp>,
    /// Whether the address has the time from which a version gets its sub-resources.
    pub(in crate::site) has_came: bool,
    /// Number of versions before the first one that a list shows.
    pub(in crate::site) skipped: usize,
}

impl DiffArguments {
    pub(in crate::site) fn read(arguments: Option<&str>) -> Result<Self, DiffError> {
        let arguments = arguments.unwrap_or_default();
        let names = ["url=", "from=", "to=", "at="];
        let is_form = names.iter().any(|name| arguments.starts_with(name));
        let asked = if is_form {
            let form = SubmittedForm::of_arguments(Some(arguments))?;
            let time = |name| {
                let text = form.value(name).filter(|text| !text.is_empty());
                text.map(|text| text.parse().map_err(|_| DiffError::Time(name))).transpose()
            };
            let url = form.value("url").unwrap_or_default().trim().to_owned();
            let has_came = form.value("came").is_some();
            // Another text begins with the first version.
            let skipped = form.value("skip").and_then(|text| text.parse().ok()).unwrap_or_default();
            Self { url, from: time("from")?, to: time("to")?, at: time("at")?, has_came, skipped }
        } else {
            let (from, to, at) = (None, None, None);
            Self { url: decoded(arguments), from, to, at, has_came: false, skipped: 0 }
        };
        if asked.url.is_empty() { Err(DiffError::NoUrl) } else { Ok(asked) }
    }
}

/// Compares two versions of the entry of the caller, or else of the public entry.
async fn compared(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<(VersionDiff, Diff), DiffError> {
    let asked = DiffArguments::read(arguments)?;
    let context = &caller.context;
    let (_, places) = Places::of_text(&asked.url, &context.base.local, &caller.owner)?;
    let versions = versions::of(&context.storage, &places).await?.ok_or(NotCompared::NotKept)?;
    let part = PagePart::default();
    let done = versions::compare(&context.storage, &versions, asked.from, asked.to, &part).await?;
    let older = versions.older.iter().map(|one| one.stored);
    let difference = VersionDiff {
        url: places.public.url().to_owned(),
        versions: std::iter::once(versions.current.entry.stored()).chain(older).collect(),
        from: done.from,
        to: done.to,
        title: done.title,
        added: done.diff.added,
        removed: done.diff.removed,
        diff: done.diff.plain(),
        is_cut: done.diff.is_cut,
    };
    Ok((difference, done.diff))
}

/// Returns the difference for programs.
pub(in crate::site) async fn difference(
    caller: &Caller,
    arguments: Option<&str>,
) -> Result<VersionDiff, DiffError> {
    compared(caller, arguments).await.map(|(difference, _)| difference)
}

/// Shows the difference as a page.
pub(in crate::site) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    match compared(caller, arguments).await {
        Ok((difference, diff)) => caller.page(pages::diff(&caller.shell, &difference, &diff)),
        Err(error) => no_difference_page(caller, arguments, &error),
    }
}

/// Shows the page that says why there is no difference to show.
pub(in crate::site) fn no_difference_page(
    caller: &Caller,
    arguments: Option<&str>,
    error: &DiffError,
) -> Response<Body> {
    match error {
        DiffError::Versions(NotCompared::Spool(error)) => caller.spool_failed(error),
        DiffError::Versions(why) => {
            let url = DiffArguments::read(arguments).map(|asked| asked.url).unwrap_or_default();
            caller.page(history::no_history_page(&caller.shell, &url, why))
        }
        error => caller.bad_address(&error_chain(error)),
    }
}

/// Responds with the feed of changes of the caller's monitored pages.
pub(in crate::site) async fn feed(caller: &Caller) -> Response<Body> {
    match changes(caller).await {
        Ok(changes) => {
            let origin = caller.shell.origin.as_str();
            let root = caller.context.storage.store.spool().root().display();
            let name = format!("{root} {}", caller.owner);
            let now = timestamp(clock::now());
            let link = format!("{origin}/monitor/feed");
            let xml = feed::write(changes, &name, &link, now);
            caller.other(StatusCode::OK, Some(ATOM), body::from_bytes(xml))
        }
        Err(error) => caller.spool_failed(&error),
    }
}

async fn changes(caller: &Caller) -> Result<Vec<VersionChange>, Error> {
    let context = &caller.context;
    let (mut found, mut compared) = (Vec::new(), 0);
    // Only the caller's own pages, even for administrators: feed readers may show them to others.
    let own = monitor::list(&context.fetch, |place| {
        Owner::of_queued(place).as_ref() == Some(&caller.owner)
    });
    for one in own {
        let Some(places) = Places::of_queued(&one.place, &context.base.local) else { continue };
        let Some(versions) = versions::of(&context.storage, &places).await? else { continue };
        let current = versions.current.entry.stored();
        let times = std::iter::once(current).chain(versions.older.iter().map(|one| one.stored));
        let times: Vec<_> = times.take(MAX_ENTRIES + 1).collect();
        let part = monitor::report::of(&one).map(|report| monitor::report::part(&report));
        for (stored, before) in times.iter().zip(times.iter().skip(1)) {
            if let Some(part) = part.as_ref().filter(|part| !part.is_whole()) {
                let pair = (Some(*before), Some(*stored));
                let done = versions::compare(&context.storage, &versions, pair.0, pair.1, part);
                let has_changed = |done: VersionComparison| done.diff.added + done.diff.removed > 0;
                compared += 1;
                // Versions that cannot be compared are listed.
                if compared > MAX_COMPARED || !done.await.map_or(true, has_changed) {
                    continue;
                }
            }
            let change = change(caller, &versions, *stored, *before);
            found.push((change, std::sync::Arc::clone(&versions.current)));
        }
    }
    found.sort_by_key(|(change, _)| std::cmp::Reverse(change.stored));
    found.truncate(MAX_ENTRIES);
    let mut titles: HashMap<String, Option<String>> = HashMap::new();
    let mut changes = Vec::new();
    for (mut change, copy) in found {
        if !titles.contains_key(&change.url) {
            let title = versions::title(&context.storage, &copy).await;
            titles.insert(change.url.clone(), title);
        }
        change.title = titles.get(&change.url).cloned().flatten();
        changes.push(change);
    }
    Ok(changes)
}

fn change(
    caller: &Caller,
    versions: &versions::PageVersions,
    stored: Timestamp,
    before: Timestamp,
) -> VersionChange {
    let place = versions.current.entry.place();
    let url = place.url().to_owned();
    let link = format!(
        "{}/monitor/diff/?url={}&from={before}&to={stored}",
        caller.shell.origin.as_str(),
        url_encode_form_args(url.as_bytes())
    );
    let name = format!("{} {}", place.key(), place.variant_text());
    VersionChange { url, name, stored, before, title: None, link }
}
