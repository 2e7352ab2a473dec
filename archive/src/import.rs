//! An archive into the spool.

mod elsewhere;
mod keep;
mod own;
mod queue;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::elsewhere::Budget;
pub(crate) use self::keep::EntryBody;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::{Key, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::detect::{self, Kind};
use crate::error::{Error, Result};
use crate::item::What;
use crate::refusal::Reason;
use crate::report::Report;

/// So many things of an archive are taken before it is written down how far the import is, and so
/// many bytes.
const MARK_ITEMS: u64 = 500;
const MARK_BYTES: u64 = 64 << 20;

/// The longest body that is taken unless something else is said, in bytes.
pub const MAX_BODY: u64 = 4 << 30;

/// How an archive is imported.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// What is kept gives way to what the archive has, however old that is.
    pub replace: bool,
    /// Nothing is kept: it is only told what would be.
    pub dry_run: bool,
    /// For whom answers are kept that may be meant for one person.
    pub private: Private,
    /// The longest body that is taken, in bytes.
    pub max_body: u64,
    /// The scheme of the URLs of a folder of plain files.
    pub scheme: String,
    /// The names of the proxy, whose own pages are not taken.
    pub local: LocalHost,
    /// The time. Nothing came later.
    pub now: Timestamp,
}

/// For whom answers are kept that may be meant for one person: those that set a cookie or are `private`,
/// and those to requests with a cookie, a password or a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Private {
    /// For this owner.
    Owner(String),
    /// For everyone, without the cookies that they set.
    Everyone,
}

/// Where answers belong and what requests mean, as far as this crate does not know it.
pub trait Placing {
    /// The [`options`](wwwoffle_spool::Outgoing::options) of a request that a recursive fetch with these
    /// arguments of WWWOFFLE 2.9 begins with.
    ///
    /// # Errors
    ///
    /// Why there is no such fetch.
    fn recursion(&self, _arguments: &[(String, String)]) -> Result<String, Reason> {
        Err("it is a recursive fetch".into())
    }

    /// The place of an answer: of its URL, its owner, and what of the request it varies with. Both heads
    /// are HTTP/1.1; that of the request has no secrets.
    fn place(
        &self,
        url: &CanonicalUrl,
        owner: Option<&str>,
        request: &[u8],
        answer: &[u8],
    ) -> Place;
}

/// Nothing varies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plainly;

impl Placing for Plainly {
    fn place(&self, url: &CanonicalUrl, owner: Option<&str>, _: &[u8], _: &[u8]) -> Place {
        Place::of(url).owned_by(owner.unwrap_or_default())
    }
}

/// Whether an import goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// It does.
    On,
    /// It ends here, and goes on from here the next time.
    NoFurther,
}

/// What is written down of an import that is not at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Mark {
    /// So many things of the archive are done.
    items: u64,
    report: Report,
}

/// An import under way.
struct Import<'a> {
    spool: &'a Spool,
    placing: &'a dyn Placing,
    options: &'a ImportOptions,
    kind: Kind,
    report: Report,
    budget: Budget,
}

/// Takes an archive into the spool, and tells `watch` now and then how far it is.
///
/// What was taken before, as it was interrupted, is not taken once more, unless the archive has changed.
///
/// # Errors
///
/// [`Error::is_unknown`] for what is no archive, [`Error::is_full`] when the disk is full,
/// [`Error::is_stopped`], or what else a disk says. What was kept stays.
pub fn import(
    spool: &Spool,
    path: &Path,
    options: &ImportOptions,
    placing: &dyn Placing,
    watch: &mut dyn FnMut(&Report) -> Go,
) -> Result<Report> {
    let mut archive = detect::open(path, &options.scheme, &options.local)?;
    let how = format!("{} {:?} {}", options.replace, options.private, options.max_body);
    let identity = archive.identity.filter(|_| !options.dry_run);
    let key = identity.map(|identity| detect::key(&identity, &how));
    let mark = match key {
        Some(key) => read_mark(spool, key)?,
        None => Mark::default(),
    };
    for _ in 0..mark.items {
        if archive.source.next()?.is_none() {
            break;
        }
        // It may be most of a long archive.
        if watch(&mark.report) == Go::NoFurther {
            return Err(Error::stopped());
        }
    }
    let kind = archive.kind;
    let budget = Budget::of(archive.length);
    let mut import = Import { spool, placing, options, kind, report: mark.report, budget };
    let (mut items, mut marked) = (mark.items, (mark.items, import.report.bytes));
    let ended = loop {
        let Some(item) = archive.source.next()? else { break Ok(()) };
        let item_name = item.name;
        import.take(&item_name, item.what)?;
        items += 1;
        let is_stopped = watch(&import.report) == Go::NoFurther;
        let is_time = items - marked.0 >= MARK_ITEMS
            || import.report.bytes - marked.1 >= MARK_BYTES
            || is_stopped;
        if let Some(key) = key.filter(|_| is_time) {
            marked = (items, import.report.bytes);
            write_mark(spool, key, &Mark { items, report: import.report.clone() })?;
        }
        if is_stopped {
            break Err(Error::stopped());
        }
    };
    ended?;
    if !options.dry_run {
        spool.flush()?;
    }
    if let Some(key) = key {
        spool.remove_import(key)?;
    }
    Ok(import.report)
}

fn read_mark(spool: &Spool, key: Key) -> Result<Mark> {
    let text = spool.import(key)?;
    // One that cannot be read is as none: then what is there is compared and skipped.
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Writes down how far it is, when all that is on the medium.
fn write_mark(spool: &Spool, key: Key, mark: &Mark) -> Result<()> {
    spool.flush()?;
    if let Ok(text) = serde_json::to_string(mark) {
        spool.set_import(key, &text)?;
    }
    Ok(())
}

impl Import<'_> {
    fn take(&mut self, name: &str, what: What<'_>) -> Result<()> {
        let refused = match what {
            What::Exchange(exchange) => self.keep(*exchange)?,
            What::Waiting(waiting) => self.queue(*waiting)?,
            What::Monitored(waiting, schedule) => self.monitor(*waiting, schedule)?,
            What::Refused(reason) => Err(reason),
            What::Passed => {
                self.report.passed += 1;
                Ok(())
            }
        };
        if let Err(reason) = refused {
            self.report.refuse(name, &reason);
        }
        Ok(())
    }
}
