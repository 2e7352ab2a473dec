//! Older versions of pages: lists, contents and differences.

pub mod diff;
pub mod entered_time;
pub mod feed;
pub mod marked;
pub mod memento;
pub mod text;

use std::sync::Arc;

use hyper::header::CONTENT_TYPE;
use jiff::Timestamp;
use wwwoffle_spool::{Error, Place, Spool, Summary};

use self::diff::Diff;
use self::marked::{MarkCounts, VersionHtml};
use self::text::{PagePart, VersionText, extract, extract_part};
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::storage::body_pieces::read_beginning;
use crate::storage::context::StorageContext;
use crate::storage::lookup::look_up;
use crate::storage::store::StoredCopy;

/// Maximum number of decoded bytes of a body that are read to compare it.
const READ: usize = 1 << 20;

/// The number of bytes at the beginning of a page that are searched for its title.
const TITLE_WITHIN: usize = 32 << 10;

/// A page with its older versions.
#[derive(Debug)]
pub struct PageVersions {
    /// The current copy.
    pub current: Arc<StoredCopy>,
    /// The older versions, newest first.
    pub older: Vec<Summary>,
    /// The newest older version, if the current copy is missing, for example because its file was
    /// damaged. `current` is then that version.
    pub left_over: Option<Summary>,
}

impl PageVersions {
    /// Returns the version that was stored at this time. `None` if it is missing or damaged.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn read(
        &self,
        context: &StorageContext,
        stored: Timestamp,
    ) -> Result<Option<Arc<StoredCopy>>, Error> {
        if stored == self.current.entry.stored() {
            return Ok(Some(Arc::clone(&self.current)));
        }
        read(context, self.current.entry.place(), stored).await
    }
}

/// The reason why two versions cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum NotCompared {
    /// The page is not stored.
    #[error("it is not stored")]
    NotKept,
    /// There is only one version, or no version of the requested time.
    #[error(
        "there is no older version, or none of that time; `keep-versions` sets how many are stored"
    )]
    NoVersion,
    /// The page is not text; it is an image, for example.
    #[error("one of the versions has no text")]
    NoText,
    /// The page is not a web page, or too complex to be marked.
    #[error("one of the versions is not a web page")]
    NoPage,
    /// A version cannot be read, for this reason.
    #[error("one of the versions cannot be read: {0}")]
    Unread(String),
    /// The spool failed.
    #[error("the spool failed")]
    Spool(#[from] Error),
}

/// Two versions compared.
#[derive(Debug)]
pub struct VersionComparison {
    /// When the older version was stored.
    pub from: Timestamp,
    /// When the newer version was stored.
    pub to: Timestamp,
    /// The title of the newer version.
    pub title: Option<String>,
    /// The difference.
    pub diff: Diff,
}

/// The entry at one of these places with its older versions; `None` if nothing is stored. A
/// personal entry takes precedence over a shared one.
///
/// # Errors
///
/// If the disk fails.
pub async fn of(context: &StorageContext, places: &Places) -> Result<Option<PageVersions>, Error> {
    let found = look_up(&context.store, places).await?.choose(Mode::Offline);
    let Some(current) = found.map(Arc::new) else {
        return orphaned_versions(context, places).await;
    };
    let place = current.entry.place().clone();
    let mut older = context.store.run(move |spool| spool.versions(&place)).await?;
    // If the daemon crashed while it replaced this entry, the current file is also linked as a
    // version.
    older.retain(|version| version.stored != current.entry.stored());
    Ok(Some(PageVersions { current, older, left_over: None }))
}

/// The older versions of a page whose current copy is gone. `None` if there are none.
async fn orphaned_versions(
    context: &StorageContext,
    places: &Places,
) -> Result<Option<PageVersions>, Error> {
    for place in [&places.own, &places.public] {
        let at = place.clone();
        let mut older = context.store.run(move |spool| spool.versions(&at)).await?;
        if older.is_empty() {
            continue;
        }
        let newest = older.remove(0);
        let read = read(context, place, newest.stored).await?;
        let is_theirs = |copy: &Arc<StoredCopy>| {
            place == &places.own || places.accepts_public(&copy.fields, false)
        };
        if let Some(current) = read.filter(is_theirs) {
            return Ok(Some(PageVersions { current, older, left_over: Some(newest) }));
        }
    }
    Ok(None)
}

/// Compares two versions: the one that was stored at `from` with the one that was stored at `to`.
/// Without `to`, the newer version is the current copy. Without `from`, the older version is the
/// one before the newer version.
///
/// # Errors
///
/// [`NotCompared`] with the reason.
pub async fn compare(
    context: &StorageContext,
    versions: &PageVersions,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    part: &PagePart,
) -> Result<VersionComparison, NotCompared> {
    let current = versions.current.entry.stored();
    let to = to.unwrap_or(current);
    let before = versions.older.iter().map(|one| one.stored).find(|stored| *stored < to);
    let from = from.or(before).ok_or(NotCompared::NoVersion)?;
    let version_of =
        |stored| async move { versions.read(context, stored).await?.ok_or(NotCompared::NoVersion) };
    let (old, new) = (
        text(context, &version_of(from).await?, part).await?,
        text(context, &version_of(to).await?, part).await?,
    );
    let title = new.title.clone();
    // The comparison may take a while and must not block other tasks.
    let diff = context.store.run(move |_| Ok(Diff::of(&old, &new))).await?;
    Ok(VersionComparison { from, to, title, diff })
}

/// The version that was stored at `to`, with marks for its changes since the version that was stored
/// at `from`: HTML in UTF-8. `note` makes the HTML that is shown at its top.
///
/// # Errors
///
/// [`NotCompared`] with the reason.
pub async fn mark_changes(
    context: &StorageContext,
    versions: &PageVersions,
    (from, to): (Timestamp, Timestamp),
    note: impl FnOnce(MarkCounts) -> String + Send + 'static,
) -> Result<(Arc<StoredCopy>, String), NotCompared> {
    let version_of =
        |stored| async move { versions.read(context, stored).await?.ok_or(NotCompared::NoVersion) };
    let (old, new) = (version_of(from).await?, version_of(to).await?);
    let (before, now) = (html(context, &old).await?, html(context, &new).await?);
    let marked = context.store.run(move |_| Ok(marked::mark(&before, &now, note))).await?;
    Ok((new, marked.ok_or(NotCompared::NoPage)?))
}

/// The HTML of a stored copy, from at most [`READ`] bytes of its body.
async fn html(
    context: &StorageContext,
    copy: &Arc<StoredCopy>,
) -> Result<VersionHtml, NotCompared> {
    let (body, is_cut) = read_body(context, copy).await?;
    let content_type = content_type(copy).map(str::to_owned);
    let url = copy.entry.url().to_owned();
    let html = move |_: &Spool| Ok(text::html(content_type.as_deref(), &url, &body));
    let html = context.store.run(html).await?.ok_or(NotCompared::NoPage)?;
    Ok(VersionHtml { html, is_cut })
}

/// At most [`READ`] bytes of the body of a stored copy, and whether there is more.
async fn read_body(
    context: &StorageContext,
    copy: &Arc<StoredCopy>,
) -> Result<(Vec<u8>, bool), NotCompared> {
    let mut body = read_beginning(&context.store, copy, READ + 1).await.map_err(|error| {
        NotCompared::Unread(format!("its body cannot be read: {}", error_chain(&*error)))
    })?;
    let is_longer = body.len() > READ;
    body.truncate(READ);
    Ok((body, is_longer))
}

/// The older version at a place that was stored at this time, if it exists and is undamaged.
///
/// # Errors
///
/// If the disk fails.
pub async fn read(
    context: &StorageContext,
    place: &Place,
    stored: Timestamp,
) -> Result<Option<Arc<StoredCopy>>, Error> {
    let place = place.clone();
    let found = context.store.run(move |spool| spool.version(&place, stored)).await?.found();
    Ok(found.and_then(StoredCopy::read).map(Arc::new))
}

/// The title of a stored page, if it is near the beginning of the page.
pub async fn title(context: &StorageContext, copy: &Arc<StoredCopy>) -> Option<String> {
    let mut body = read_beginning(&context.store, copy, TITLE_WITHIN).await.ok()?;
    body.truncate(TITLE_WITHIN);
    extract(content_type(copy), copy.entry.url(), &body)?.title
}

fn content_type(copy: &StoredCopy) -> Option<&str> {
    copy.fields.get(CONTENT_TYPE)?.to_str().ok()
}

/// The text of a stored copy, from at most [`READ`] bytes of its body.
async fn text(
    context: &StorageContext,
    copy: &Arc<StoredCopy>,
    part: &PagePart,
) -> Result<VersionText, NotCompared> {
    let (body, is_longer) = read_body(context, copy).await?;
    let content_type = content_type(copy).map(str::to_owned);
    let (url, part) = (copy.entry.url().to_owned(), part.clone());
    let text = move |_: &Spool| Ok(extract_part(content_type.as_deref(), &url, &body, &part));
    let text = context.store.run(text);
    let mut text = text.await?.ok_or(NotCompared::NoText)?;
    text.is_cut |= is_longer;
    Ok(text)
}
