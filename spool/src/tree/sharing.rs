//! Bodies that are kept once, whatever has the same.
//!
//! ```text
//! bodies/6a/6ae8a755….warc    a holder: the file of the entry that had this body first, with it
//! ```
//!
//! A holder is named by the SHA-256 of the body; of what is kept for one person, by that of this name in hex, a
//! line feed and the owner: what is kept for one person shares with nothing of others, so that nobody learns from
//! a file, a size or a time what they have. Each entry and older version that shares the body, the first
//! one too, has a `revisit` record in place of its response, and is otherwise what it was: its own file
//! with its own head and times. So whatever is removed or replaced, the others have all they need, and nobody
//! counts anything: a holder goes when a walk over all files has met none that refers to it ([`sharing`]).
//!
//! # What keeps a holder from going too early
//!
//! References lie under names of entries and older versions alone, never below `tmp/` for later: an update of
//! what shares a body gets its name at once ([`Store::update`]). A name changes only while `commit` is held,
//! and what takes one name takes it from another of the same directory of keys. So a directory that stood
//! still while it was read tells all references in it, then and afterwards; only [`crate::Spool::share`] makes others,
//! and it is one at a time.

mod all;
mod files;
mod replace;
mod share;

use std::path::PathBuf;

use crate::entry::Entry;
use crate::entry::body::is_whole;
use crate::entry::holder::{holder, name_of, path_of};
use crate::entry::read::Content;
use crate::error::{Error, Result};
use crate::tree::Tree;

pub use all::Bodies;
pub use share::{MIN_SHARED, Sharing};

impl Tree {
    /// The file that has the body which an entry shares, and what it is.
    pub(crate) fn holder_of(&self, entry: &Entry) -> Result<Option<(PathBuf, Entry)>> {
        let path = path_of(name_of(*entry.digest(), entry.place().owner()));
        let held = holder(&*self.root.disk, &self.root.path, *entry.digest(), entry.place())?;
        Ok(match held {
            Content::Whole(holder) => Some((self.root.join(path), holder)),
            _ => None,
        })
    }

    /// The same for the holder of an entry whose body was read to its end and is not what was stored. It is read
    /// once more: many may share it.
    pub(crate) fn set_refuted_holder_aside(&self, entry: &Entry) -> Result<()> {
        if !entry.shares_body() {
            return Ok(());
        }
        let Some((path, holder)) = self.holder_of(entry)? else { return Ok(()) };
        if !is_whole(&holder)? {
            let reason = "its body does not agree with its digest";
            let damage = self.root.move_aside(&path, reason);
            self.root.fail(Error::damaged(damage));
        }
        Ok(())
    }
}
