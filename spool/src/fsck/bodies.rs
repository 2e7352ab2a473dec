//! Shared bodies, and the entries that share them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::file_check::FileCheck;
use super::finding::{FileFault, Remedy};
use crate::entry::holder::{name_of, path_of};
use crate::entry::read::EntryContent;
use crate::entry::summary::read_start;
use crate::entry::warc::Reason;
use crate::entry::{Entry, holder, read};
use crate::error::Result;
use wwwoffle_url::Key;

/// The facts about shared bodies that a check has gathered.
#[derive(Debug, Default)]
pub(super) struct BodyIndex {
    /// The bodies that some entry refers to, by the short form of their names.
    needed: HashSet<u64>,
    /// The bodies that were read, each with its fault, if any.
    read: HashMap<u64, Option<Reason>>,
    /// Whether some references are unknown, because a file could not be read or a directory was not
    /// followed.
    pub(super) is_blind: bool,
}

impl FileCheck<'_> {
    /// Checks an entry that shares its body. Each body is read once.
    pub(super) fn shared(&self, path: &Path, entry: &Entry) -> Result<Option<Reason>> {
        let name = holder::short(name_of(*entry.digest(), entry.place().owner()));
        self.bodies.borrow_mut().needed.insert(name);
        if !self.is_deep {
            return Ok(None);
        }
        if let Some(reason) = self.records(path, entry)? {
            return Ok(Some(reason));
        }
        let known = self.bodies.borrow().read.get(&name).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let reason = super::file_check::content(entry)?;
        self.bodies.borrow_mut().read.insert(name, reason);
        Ok(reason)
    }

    /// Records the reference of an invalid entry. If the reference cannot be read, no shared body
    /// is reported as unneeded.
    pub(super) fn bad_entry(&self, path: &Path) -> Result<()> {
        let first = read_start(self.disk, path)?.map(|(first, _)| first);
        let mut bodies = self.bodies.borrow_mut();
        match first {
            Some(first) if first.refers.is_some() => {
                let name = name_of(first.digest, first.place.owner());
                bodies.needed.insert(holder::short(name));
            }
            Some(_) => {}
            None => bodies.is_blind = true,
        }
        Ok(())
    }

    /// Checks the file of a shared body.
    pub(super) fn holder(&self, path: &Path) -> Result<Option<FileFault>> {
        let holder = match read::read_any(self.disk, None, path, None)? {
            EntryContent::Missing | EntryContent::Moved => return Ok(None),
            EntryContent::Whole(holder) if holder.is_part() => {
                return Ok(Some(FileFault::set_aside("it is a segment, not a complete response")));
            }
            EntryContent::Whole(holder) => holder,
            EntryContent::Bad(reason) => return Ok(Some(FileFault::set_aside(reason))),
        };
        if let Some(reason) = self.body(path, &holder)? {
            return Ok(Some(FileFault::set_aside(reason)));
        }
        let to = path_of(name_of(*holder.digest(), holder.place().owner()));
        let right = self.root.join(&to);
        if right == path {
            return Ok(None);
        }
        let remedy = if self.is_there(&right)? { Remedy::SetAside } else { Remedy::Rename(to) };
        Ok(Some(FileFault::new("its name is not that of its body", remedy)))
    }

    /// Returns the fault of a shared body that no entry refers to, and `None` for any other file.
    /// Must be called after all entries were checked.
    pub(super) fn find_unreferenced(&self, path: &Path) -> Result<Option<FileFault>> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let Ok(key) = stem.parse::<Key>() else { return Ok(None) };
        let bodies = self.bodies.borrow();
        if bodies.is_blind || bodies.needed.contains(&holder::short(key)) {
            return Ok(None);
        }
        // If the body was changed after the check began, the check may have missed references to
        // it.
        let stamp = self.disk.stamp(path).ok().flatten();
        if stamp.zip(self.began).is_some_and(|(stamp, began)| stamp.changed() >= began) {
            return Ok(None);
        }
        // An invalid or misnamed file has been reported already.
        let EntryContent::Whole(holder) = read::read_any(self.disk, None, path, None)? else {
            return Ok(None);
        };
        if name_of(*holder.digest(), holder.place().owner()) != key {
            return Ok(None);
        }
        let why = "a shared body that no entry needs";
        Ok(Some(FileFault::new(why, Remedy::Remove)))
    }
}
