//! What this spool has yet to tell the archive tier: the directory `tier/`.
//!
//! ```text
//! tier/pushed     a text of the program: everything was pushed when the spool was closed
//! tier/node       the name of this spool in the tier
//! tier/<key>      an entry that a person removed, which the tier may still have
//! ```
//!
//! A removal is recorded only if the [`RemovalRule`] of the program says so. Whoever opens the spool
//! to write takes the file `pushed` away first, so that it never outlives a change. The file of a
//! removal is durable before the entry is removed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use wwwoffle_url::Key;

use crate::durability::Root;
use crate::entry::Entry;
use crate::entry::place::{MAX_VARIANT, Place};
use crate::error::{Error, Result, SpoolFault};
use crate::fs::names::names_if_any;
use crate::fs::whole::read_whole;

/// The directory.
pub(crate) const TIER: &str = "tier";

const PUSHED: &str = "pushed";

const NODE: &str = "node";

/// The length of the name of a spool.
const NODE_DIGITS: usize = 32;

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

/// Says whether the removal of an entry by a person is recorded. The default records none.
#[derive(Clone, Default)]
pub struct RemovalRule(Option<Arc<EntryTest>>);

type EntryTest = dyn Fn(&Entry) -> bool + Send + Sync;

impl RemovalRule {
    /// A removal is recorded if `rule` returns true for an entry of its key. `rule` must not call
    /// the spool.
    #[must_use]
    pub fn from_rule(rule: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> RemovalRule {
        RemovalRule(Some(Arc::new(rule)))
    }

    /// Whether no removal is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn covers(&self, entry: &Entry) -> bool {
        self.0.as_ref().is_some_and(|rule| rule(entry))
    }
}

impl fmt::Debug for RemovalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "RemovalRule(none)" } else { "RemovalRule(..)" })
    }
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
    root.make_dir(&root.join(TIER))?;
    root.replace_file(&root.join(TIER).join(PUSHED), text.as_bytes())
}

/// Records the removal of the entries of a key, the newest of which was stored at `stored`.
pub(crate) fn record(root: &Root, place: &Place, stored: Timestamp) -> Result<()> {
    root.make_dir(&root.join(TIER))?;
    let text = format!("{FIRST_LINE}\n{}\n", root.stamp().max(stored));
    root.replace_file(&path(root, place.key()), text.as_bytes())
}

/// The name of this spool in the archive tier: made at the first call, and the same afterwards.
pub(crate) fn node(root: &Root) -> Result<String> {
    let path = root.join(TIER).join(NODE);
    let known = read_whole(&*root.disk, &path, MAX_FILE)?.and_then(std::result::Result::ok);
    let known = known.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(name) = known.as_deref().and_then(|text| text.strip_suffix('\n'))
        && name.len() == NODE_DIGITS
        && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return Ok(name.to_owned());
    }
    let mut random = [0; NODE_DIGITS / 2];
    getrandom::fill(&mut random).map_err(SpoolFault::Random)?;
    let name = hex::encode(random);
    root.make_dir(&root.join(TIER))?;
    root.replace_file(&path, format!("{name}\n").as_bytes())?;
    Ok(name)
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

/// Forgets the removal of a key, because it was undone.
pub(crate) fn withdraw(root: &Root, key: Key) -> Result<()> {
    if read(root, key)?.is_some() {
        root.remove_file(&path(root, key))?;
    }
    Ok(())
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
