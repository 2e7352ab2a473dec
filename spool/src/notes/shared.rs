//! What this spool has yet to tell the archive tier: the directory `tier/`.
//!
//! ```text
//! tier/pushed     a text of the program: everything was pushed when the spool was closed
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

/// Records the removal of the entries of a key.
pub(crate) fn record(root: &Root, place: &Place) -> Result<()> {
    root.make_dir(&root.join(TIER))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewEntry, Options, Spool};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn store(spool: &Spool, url: &str) -> Place {
        let place = Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap());
        let when = "2026-01-01T00:00:00Z".parse().unwrap();
        let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        let request = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        let new = NewEntry { asked: when, when, head, request, connection: None };
        spool.begin(&place, new).unwrap().finish(None).unwrap();
        place
    }

    #[test]
    fn only_removals_that_the_rule_covers_are_recorded() {
        let root = tempfile::tempdir().unwrap();
        let removals = RemovalRule::from_rule(|entry| entry.url().contains("shared"));
        let options = Options { removals, ..Options::default() };
        let (spool, _) = Spool::open(root.path(), &options).unwrap();
        let own = store(&spool, "http://intranet.example/");
        assert!(spool.remove(&own).unwrap());
        assert!(!root.path().join(TIER).exists(), "nothing is recorded");
        let shared = store(&spool, "http://shared.example/");
        assert!(spool.remove(&shared).unwrap());
        let found = spool.shared_removals(9).unwrap();
        assert_eq!(found.iter().map(|one| one.key).collect::<Vec<_>>(), [shared.key()]);
        spool.forget_shared_removal(&found[0]).unwrap();
        assert_eq!(spool.shared_removals(9).unwrap(), []);
    }

    #[test]
    fn an_undone_removal_is_withdrawn() {
        let root = tempfile::tempdir().unwrap();
        let removals = RemovalRule::from_rule(|_| true);
        let (spool, _) =
            Spool::open(root.path(), &Options { removals, ..Options::default() }).unwrap();
        let place = store(&spool, "http://shared.example/");
        let removal = spool.removal("ada");
        assert!(spool.remove_for_now(&place, &removal).unwrap());
        assert!(spool.shared_removal(place.key()).unwrap().is_some());
        spool.undo_removal(&removal, &mut |_| {}).unwrap().unwrap();
        assert!(spool.is_there(&place).unwrap());
        assert_eq!(spool.shared_removal(place.key()).unwrap(), None);
    }

    #[test]
    fn without_a_rule_nothing_of_the_tier_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let place = store(&spool, "http://h.example/");
        spool.remove(&place).unwrap();
        assert!(!root.path().join(TIER).exists());
    }
}
