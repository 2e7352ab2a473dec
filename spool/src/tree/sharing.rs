//! Bodies that several entries share, stored once.
//!
//! ```text
//! bodies/6a/6ae8a755….warc    a holder: the former file of the first entry with this body
//! ```
//!
//! A holder is named by the SHA-256 of its body. For an entry with an owner, the name is the
//! SHA-256 of that name in hex, a line feed and the owner. So copies of one person share bodies
//! only with each other, and no file, size or time reveals what others have stored. Each entry and
//! older version that shares a body, including the first one, has a `revisit` record in place of
//! its response, and still has its own file with its own head and times. If one is removed or
//! replaced, the others stay complete. There is no reference count: a holder is removed when a walk
//! over all files finds no reference to it ([`share`]).
//!
//! # Why no holder is removed too early
//!
//! Only entries and older versions have references. Files that wait below `tmp/` never have one: an
//! update of an entry that shares its body is renamed at once ([`Tree::update`]). Names change only
//! while `commit` is held, and a file is only renamed within its directory of keys. So a directory
//! that was unchanged while it was read shows every reference in it, then and later. Only
//! [`crate::Spool::share`] adds references, and only one call of it runs at a time.

mod all;
mod files;
mod replace;
mod share;

use std::path::PathBuf;

use crate::entry::Entry;
use crate::entry::body::is_whole;
use crate::entry::holder::{holder, name_of, path_of};
use crate::entry::read::EntryContent;
use crate::error::{Error, Result};
use crate::tree::Tree;

pub use all::SharedBodies;
pub use share::{MIN_SHARED, SharingReport};

impl Tree {
    /// Reads the holder that an entry refers to, with its path. `None` if there is no valid holder.
    pub(crate) fn holder_of(&self, entry: &Entry) -> Result<Option<(PathBuf, Entry)>> {
        let path = path_of(name_of(*entry.digest(), entry.place().owner()));
        let held = holder(&*self.root.disk, &self.root.path, *entry.digest(), entry.place())?;
        Ok(match held {
            EntryContent::Whole(holder) => Some((self.root.join(path), holder)),
            _ => None,
        })
    }

    /// Sets the holder of an entry aside, if reading it again shows that its body is damaged. Many
    /// entries may share it.
    pub(crate) fn set_refuted_holder_aside(&self, entry: &Entry) -> Result<()> {
        if !entry.shares_body() {
            return Ok(());
        }
        let Some((path, holder)) = self.holder_of(entry)? else { return Ok(()) };
        if !is_whole(&holder)? {
            let damage = self.root.move_aside(&path, "its body does not match its digest");
            self.root.record_failure(Error::damaged(damage));
        }
        Ok(())
    }
}
