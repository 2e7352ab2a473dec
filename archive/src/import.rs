//! Imports an archive into the spool.

mod elsewhere;
mod keep;
mod own;
mod queue;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::elsewhere::CopyBudget;
pub(crate) use self::keep::EntryBody;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::{Key, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::detect::{self, ArchiveKind};
use crate::error::{Error, ItemFault, Result};
use crate::item::ItemContent;
use crate::refusal::Reason;
use crate::report::{ImportReport, MAX_FORMER};

/// Progress is recorded after this number of items, or after [`MARK_BYTES`] bytes of stored bodies.
const MARK_ITEMS: u64 = 500;
const MARK_BYTES: u64 = 64 << 20;

/// The default limit for the length of a body, in bytes.
pub const MAX_BODY: u64 = 4 << 30;

/// The options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Whether entries of the archive replace stored entries, even newer ones.
    pub replace: bool,
    /// Whether nothing is stored. The report then says what would have been stored.
    pub dry_run: bool,
    /// The owner of personal responses.
    pub private: PersonalOwner,
    /// The longest body that is accepted, in bytes.
    pub max_body: u64,
    /// The scheme for URLs of a folder of plain files.
    pub scheme: String,
    /// The names of the proxy. Its own pages are refused.
    pub local: LocalHost,
    /// The current time. A later time in an archive is replaced by it.
    pub now: Timestamp,
}

/// The owner of personal responses. These are responses that set a cookie or are `private`, and
/// responses to requests with a cookie, a password or a form. If an archive does not show whether a
/// response is personal, it counts as personal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonalOwner {
    /// This owner.
    Owner(String),
    /// Everyone. Cookies that the responses set are removed.
    Everyone,
}

/// Decisions about places and recursive fetches that this crate leaves to its caller.
pub trait Placement {
    /// The [`options`](wwwoffle_spool::Outgoing::options) of the first request of a recursive fetch
    /// with these arguments of WWWOFFLE 2.9. This default refuses every recursive fetch.
    ///
    /// # Errors
    ///
    /// The reason why the arguments are not supported.
    fn recursion(&self, _arguments: &[(String, String)]) -> Result<String, Reason> {
        Err("it is a recursive fetch".into())
    }

    /// The place of a response: its URL, owner and variant. Both heads are HTTP/1.1. The request
    /// head has no secrets.
    fn place(
        &self,
        url: &CanonicalUrl,
        owner: Option<&str>,
        request: &[u8],
        answer: &[u8],
    ) -> Place;

    /// Adds to the head of the request what opens the response to the login in `url`. This default
    /// adds nothing.
    fn add_login(&self, _url: &CanonicalUrl, request: Vec<u8>) -> Vec<u8> {
        request
    }
}

/// A placement that ignores variants.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainPlacement;

impl Placement for PlainPlacement {
    fn place(&self, url: &CanonicalUrl, owner: Option<&str>, _: &[u8], _: &[u8]) -> Place {
        Place::of(url).owned_by(owner.unwrap_or_default())
    }
}

/// Whether to continue an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportControl {
    /// Continue.
    Continue,
    /// Stop here. The next import of the same archive resumes.
    Stop,
}

/// The recorded progress of an unfinished import.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Checkpoint {
    /// The number of finished items.
    items: u64,
    report: ImportReport,
}

/// A running import.
struct Import<'a> {
    spool: &'a Spool,
    placing: &'a dyn Placement,
    options: &'a ImportOptions,
    kind: ArchiveKind,
    report: ImportReport,
    budget: CopyBudget,
}

/// Imports an archive into the spool. Calls `watch` after each item, including items that are
/// skipped because an interrupted import has finished them.
///
/// An interrupted import is resumed if the archive has not changed and the options are the same. An
/// import of a folder always starts from the beginning.
///
/// # Errors
///
/// [`Error::is_unknown`] if `path` is not a supported archive, [`Error::is_full`] if the disk is
/// full, and [`Error::is_stopped`] if `watch` returned [`ImportControl::Stop`]. Otherwise another
/// error of the disk or of the spool. Entries stored so far remain.
pub fn import(
    spool: &Spool,
    path: &Path,
    options: &ImportOptions,
    placing: &dyn Placement,
    watch: &mut dyn FnMut(&ImportReport) -> ImportControl,
) -> Result<ImportReport> {
    let mut archive = detect::open(path, &options.scheme, &options.local)?;
    let how = format!("{} {:?} {}", options.replace, options.private, options.max_body);
    let identity = archive.identity.filter(|_| !options.dry_run);
    let key = identity.map(|identity| detect::key(&identity, &how));
    let mark = match key {
        Some(key) => read_mark(spool, key)?,
        None => Checkpoint::default(),
    };
    for _ in 0..mark.items {
        if archive.source.next()?.is_none() {
            break;
        }
        // Skipping finished items may take long in a large archive, so `watch` is called here too.
        if watch(&mark.report) == ImportControl::Stop {
            return Err(Error::stopped());
        }
    }
    let kind = archive.kind;
    let budget = CopyBudget::of(archive.length);
    let mut import = Import { spool, placing, options, kind, report: mark.report, budget };
    let (mut items, mut marked) = (mark.items, (mark.items, import.report.bytes));
    let ended = loop {
        let Some(item) = archive.source.next()? else { break Ok(()) };
        let item_name = item.name;
        import.import_item(&item_name, item.what)?;
        items += 1;
        let is_stopped = watch(&import.report) == ImportControl::Stop;
        let is_time = items - marked.0 >= MARK_ITEMS
            || import.report.bytes - marked.1 >= MARK_BYTES
            || is_stopped;
        if let Some(key) = key.filter(|_| is_time) {
            marked = (items, import.report.bytes);
            let report = import.report.without_former_requests();
            write_mark(spool, key, &Checkpoint { items, report })?;
        }
        if is_stopped {
            break Err(Error::stopped());
        }
    };
    ended?;
    if !options.dry_run {
        spool.flush()?;
        import.report.sessions = archive.source.sessions();
    }
    if let Some(key) = key {
        spool.remove_import(key)?;
    }
    Ok(import.report)
}

fn read_mark(spool: &Spool, key: Key) -> Result<Checkpoint> {
    let text = spool.import(key)?;
    // If the record is unreadable, the import starts from the beginning. It recognises items that
    // are already stored, and does not store them again.
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Records the progress. First syncs everything that was stored.
fn write_mark(spool: &Spool, key: Key, mark: &Checkpoint) -> Result<()> {
    spool.flush()?;
    if let Ok(text) = serde_json::to_string(mark) {
        spool.set_import(key, &text)?;
    }
    Ok(())
}

impl Import<'_> {
    fn import_item(&mut self, name: &str, what: ItemContent<'_>) -> Result<()> {
        let done = match what {
            ItemContent::Exchange(exchange) => self.store_response(*exchange),
            ItemContent::QueuedRequest(waiting) => self.queue(*waiting),
            ItemContent::Monitored { request, schedule, last_run } => {
                self.monitor(*request, schedule, last_run)
            }
            ItemContent::FormerRequest(request) => {
                if self.report.former_requests.len() < MAX_FORMER {
                    self.report.requests.listed += 1;
                    self.report.former_requests.push(request);
                }
                Ok(())
            }
            ItemContent::Refused(reason) => Err(reason.into()),
            ItemContent::Passed => {
                self.report.passed += 1;
                Ok(())
            }
        };
        match done {
            Ok(()) => {}
            Err(ItemFault::Refused(reason)) => self.report.refuse(name, &reason),
            Err(ItemFault::Failed(error)) => return Err(error),
        }
        Ok(())
    }
}
