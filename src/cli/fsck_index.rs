//! Compares the index with the files, and repairs it.

use std::path::PathBuf;
use std::sync::Arc;

use wwwoffle_index::{CheckReport, FILE, Index, ReindexScope, check};
use wwwoffle_spool::{CheckVerdict, Finding, Reader};

use super::failure::{VerbFailure, VerbResult};
use super::offline;
use super::settings::Settings;
use crate::base::error_chain::error_chain;

/// The result of comparing the index with the files.
#[derive(Debug, Default)]
pub(super) struct IndexCheck {
    /// The counts; `None` if there is no index, or if it is too damaged to be read.
    pub(super) report: Option<CheckReport>,
    /// The fault that was found in the index, repaired or not; `None` if there is none.
    pub(super) finding: Option<Finding>,
}

/// Compares the index with the files, and changes nothing.
pub(super) fn compare(reader: &Reader) -> VerbResult<IndexCheck> {
    match check(reader) {
        Ok(None) => Ok(IndexCheck::default()),
        Ok(Some(found)) => {
            let wrong =
                (!found.is_sound()).then(|| finding(CheckVerdict::Mendable, reason(&found)));
            Ok(IndexCheck { report: Some(found), finding: wrong })
        }
        Err(error) if error.is_damaged() => {
            let wrong = finding(CheckVerdict::Mendable, error_chain(&error));
            Ok(IndexCheck { report: None, finding: Some(wrong) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Compares the index with the files, and repairs it. No daemon may have the spool open.
pub(super) fn repair(settings: &Settings<'_>) -> VerbResult<IndexCheck> {
    let root = settings.spool()?;
    let open = || Reader::open(&root).map_err(|error| offline::unusable(&root, &error));
    let before = compare(&open()?)?;
    let Some(wrong) = before.finding else { return Ok(before) };
    let fail = |error| VerbFailure::failed("the index cannot be repaired", &error);
    let spool = offline::spool(settings)?;
    let pages = settings.index_pages()?;
    let index = Index::open(&spool, Some(Arc::new(pages))).map_err(fail)?;
    // `wait_until_current` adds the changed files to the index and rebuilds a damaged one. Compare
    // again to find out what else is wrong.
    let mended =
        index.wait_until_current(false).and_then(|()| match check(&open_reader(&root)?)? {
            Some(found) if found.is_sound() => Ok(()),
            Some(found) if found.has_all() => index.reindex_places(&found.different),
            _ => index.reindex(ReindexScope::All),
        });
    index.stop();
    drop((index, spool));
    mended.map_err(fail)?;
    let after = compare(&open()?)?;
    let verdict =
        if after.finding.is_none() { CheckVerdict::Repaired } else { CheckVerdict::BeyondRepair };
    Ok(IndexCheck { finding: Some(finding(verdict, wrong.reason)), ..after })
}

fn open_reader(root: &std::path::Path) -> Result<Reader, wwwoffle_index::Error> {
    Ok(Reader::open(root)?)
}

fn finding(verdict: CheckVerdict, reason: String) -> Finding {
    Finding::new(PathBuf::from(FILE), verdict, reason)
}

fn reason(found: &CheckReport) -> String {
    let counts = [
        (found.without_file, "of its entries have no file"),
        (found.without_entry, "files have no entry"),
        (found.other, "of its entries belong to other files"),
    ];
    let parts = counts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    parts.join(", ")
}
