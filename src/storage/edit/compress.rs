//! Compresses and expands entries: of some URLs, of a host, or all.

use std::collections::HashSet;

use wwwoffle_spool::purge::space;
use wwwoffle_spool::{Error, Place, RewriteBounds, RewriteOutcome, Spool};

use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use wwwoffle_api::CompressedUrls;

/// The unit in which the report counts disk space, in bytes: the block size of the file system, or
/// a divisor of it.
const BLOCK: u64 = 4_096;

/// The entries to rewrite.
#[derive(Clone, Debug)]
pub enum CompressTarget {
    /// The entries of these URLs.
    Urls(Vec<Places>),
    /// The entries of a host with its port, under all schemes; `None` for all hosts.
    Hosts(Option<String>),
}

/// The form in which entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredForm {
    /// Compressed, where that saves enough.
    Compressed,
    /// Not compressed.
    Plain,
}

/// Rewrites entries and their older versions one by one, so that each entry is always complete. At
/// least `spare` bytes of the disk stay free. `go_on` is called before each entry and within large
/// ones. Returns `None` if `go_on` returned false. An entry that cannot be rewritten is reported,
/// and the other entries are still processed.
///
/// # Errors
///
/// If the disk is full, or the entries cannot be listed. Entries that were already rewritten stay
/// rewritten.
pub fn rewrite_entries(
    spool: &Spool,
    which: &CompressTarget,
    form: StoredForm,
    (spare, go_on): (u64, &dyn Fn() -> bool),
) -> Result<Option<CompressedUrls>, Error> {
    let free = || space(spool.root()).ok().map(|space| space.free);
    let bounds = RewriteBounds::new(spare, &free, go_on);
    let mut work = CompressWork { spool, form, bounds, done: CompressedUrls::default() };
    let is_all = match which {
        CompressTarget::Urls(all) => work.urls(all)?,
        CompressTarget::Hosts(host) => {
            let mut is_all = true;
            for summary in spool.list(None, host.as_deref())? {
                is_all = go_on() && work.rewrite_entry(&summary?.place)?;
                if !is_all {
                    break;
                }
            }
            is_all
        }
    };
    Ok(is_all.then_some(work.done))
}

struct CompressWork<'a> {
    spool: &'a Spool,
    form: StoredForm,
    bounds: RewriteBounds<'a>,
    done: CompressedUrls,
}

impl CompressWork<'_> {
    /// Rewrites the entries of these URLs. Returns false if `go_on` requested to stop.
    fn urls(&mut self, all: &[Places]) -> Result<bool, Error> {
        for places in all {
            let (mut seen, mut is_any) = (HashSet::new(), false);
            for place in [&places.own, &places.public] {
                if !seen.insert(place.key()) {
                    continue;
                }
                for entry in self.spool.entries(place)?.found {
                    is_any = true;
                    if !self.rewrite_entry(entry.place())? {
                        return Ok(false);
                    }
                }
            }
            if !is_any {
                self.done.missing.push(places.public.url().to_owned());
            }
        }
        Ok(true)
    }

    /// Rewrites an entry and its older versions. Returns false if `go_on` requested to stop.
    fn rewrite_entry(&mut self, place: &Place) -> Result<bool, Error> {
        let versions = match self.spool.versions(place) {
            Ok(versions) => versions,
            Err(error) => return self.failed(error).map(|()| true),
        };
        for version in std::iter::once(None).chain(versions.iter().map(|it| Some(it.stored))) {
            let rewritten = match self.form {
                StoredForm::Compressed => self.spool.compress_within(place, version, &self.bounds),
                StoredForm::Plain => self.spool.expand_within(place, version, &self.bounds),
            };
            match rewritten {
                Ok(RewriteOutcome::Stopped) => return Ok(false),
                Ok(RewriteOutcome::NoRoom) => {
                    self.log_failure("there is too little free disk space for it");
                }
                Ok(rewritten) => note(rewritten, &mut self.done),
                Err(error) => self.failed(error)?,
            }
        }
        Ok(true)
    }

    /// Reports an entry that cannot be rewritten. A full disk ends the whole call, because no other
    /// entry could be written either.
    fn failed(&mut self, error: Error) -> Result<(), Error> {
        if error.is_full() {
            return Err(error);
        }
        self.log_failure(&error_chain(&error));
        Ok(())
    }

    fn log_failure(&mut self, why: &str) {
        self.done.failed += 1;
        self.done.first_failure.get_or_insert_with(|| why.to_owned());
    }
}

fn note(rewritten: RewriteOutcome, done: &mut CompressedUrls) {
    let blocks = |len: u64| len.div_ceil(BLOCK).saturating_mul(BLOCK);
    match rewritten {
        RewriteOutcome::Done { before, after } => {
            done.rewritten += 1;
            done.before = done.before.saturating_add(blocks(before));
            done.after = done.after.saturating_add(blocks(after));
        }
        RewriteOutcome::Already => done.already += 1,
        RewriteOutcome::NotWorth => done.not_worth += 1,
        // A newer entry has replaced the entry, the entry was removed, or the caller handles the
        // outcome.
        RewriteOutcome::Overtaken
        | RewriteOutcome::Missing
        | RewriteOutcome::NoRoom
        | RewriteOutcome::Stopped => {}
    }
}
