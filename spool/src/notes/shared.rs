//! What this spool has yet to tell the archive tier: the directory `tier/`.
//!
//! ```text
//! tier/pushed     a text of the program: everything was pushed when the spool was closed
//! tier/<key>      an entry that a person removed, which the tier may still have
//! ```
//!
//! The program creates the directory when the spool becomes part of a tier. Whoever opens the spool
//! to write takes the file `pushed` away first, so that it never outlives a change. The file of a
//! removal is durable before the entry is removed.

use std::path::PathBuf;

use jiff::Timestamp;
use wwwoffle_url::Key;

use crate::durability::Root;
use crate::entry::place::{MAX_VARIANT, Place};
use crate::error::{Error, Result};
use crate::fs::names::names_if_any;
use crate::fs::whole::read_whole;

/// The directory.
pub(crate) const TIER: &str = "tier";

const PUSHED: &str = "pushed";

const FIRST_LINE: &str = "wwwoffle-removed 1";

/// The longest file, in bytes.
const MAX_FILE: usize = MAX_VARIANT;

/// An entry for everyone that a person removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRemoval {
    /// The key of its place.
    pub key: Key,
    /// The time of the removal. Entries that were stored later are not meant.
    pub at: Timestamp,
}

/// Creates the directory. From now on, removals are recorded.
pub(crate) fn prepare(root: &Root) -> Result<()> {
    root.make_dir(&root.join(TIER))
}

/// Reads and removes the text of [`set_pushed`], durably.
pub(crate) fn take_pushed(root: &Root) -> Result<Option<String>> {
    let path = root.join(TIER).join(PUSHED);
    let Some(bytes) = read_whole(&*root.disk, &path, MAX_FILE)? else { return Ok(None) };
    root.remove_file(&path)?;
    root.sync_dir(&root.join(TIER))?;
    Ok(bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Writes a text that the next opening of the spool takes.
pub(crate) fn set_pushed(root: &Root, text: &str) -> Result<()> {
    Error::check_length("the text for the archive tier", text.len(), MAX_FILE)?;
    root.replace_file(&root.join(TIER).join(PUSHED), text.as_bytes())
}

/// Records the removal of an entry for everyone, if the spool is part of a tier.
pub(crate) fn record(root: &Root, place: &Place) -> Result<()> {
    let is_shared = place.owner().is_none() && place.login().is_none() && place.follows_from_url();
    if !is_shared || !root.is_directory(&root.join(TIER))? {
        return Ok(());
    }
    let text = format!("{FIRST_LINE}\n{}\n", root.stamp());
    root.replace_file(&path(root, place.key()), text.as_bytes())
}

/// Lists at most `most` recorded removals. Other names and unreadable files are ignored.
pub(crate) fn list(root: &Root, most: usize) -> Result<Vec<SharedRemoval>> {
    let mut found = Vec::new();
    for name in names_if_any(&*root.disk, &root.join(TIER))? {
        if found.len() >= most {
            break;
        }
        let key = name?.to_str().and_then(|name| name.parse::<Key>().ok());
        let Some(key) = key else { continue };
        found.extend(read(root, key)?);
    }
    Ok(found)
}

/// Reads the recorded removal of a key.
pub(crate) fn read(root: &Root, key: Key) -> Result<Option<SharedRemoval>> {
    let bytes = read_whole(&*root.disk, &path(root, key), MAX_FILE)?;
    let text = bytes.and_then(Result::ok).and_then(|bytes| String::from_utf8(bytes).ok());
    let at = text.and_then(|text| {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        (lines.next()? == FIRST_LINE).then(|| lines.next()?.parse::<Timestamp>().ok())?
    });
    Ok(at.map(|at| SharedRemoval { key, at }))
}

/// Forgets a removal, unless the key was removed once more since.
pub(crate) fn forget(root: &Root, removal: &SharedRemoval) -> Result<()> {
    if read(root, removal.key)?.is_some_and(|found| found.at <= removal.at) {
        root.remove_file(&path(root, removal.key))?;
    }
    Ok(())
}

fn path(root: &Root, key: Key) -> PathBuf {
    root.join(TIER).join(key.to_string())
}
