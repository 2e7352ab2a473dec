//! A spool that is only read, and that another process may have open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::durability::open;
use crate::entry::place::Place;
use crate::entry::summary::Summary;
use crate::entry::{Entries, Lookup};
use crate::error::Result;
use crate::fs::{Disk, SYSTEM_DISK};
use crate::queue::monitor::MonitorSummary;
use crate::queue::outgoing::{Outgoing, OutgoingSummary};
use crate::queue::{self, monitor};
use crate::tree::list::EntryList;
use crate::tree::variants::{KeyLookup, VariantChoice};
use crate::tree::{LOOKUP_TRIES, versions};
use wwwoffle_url::Key;

/// A spool opened for reading, as by the command line, even while another process has it open. A
/// reader changes nothing: damaged files stay where they are. Entries in the current batch of the
/// other process are not found.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) root: PathBuf,
}

impl Reader {
    /// Opens the spool at `root` for reading.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_no_spool`] if `root` is something else, or if the disk fails.
    pub fn open(root: &Path) -> Result<Reader> {
        Reader::open_with(Arc::new(SYSTEM_DISK), root)
    }

    /// Opens the spool on another disk.
    ///
    /// # Errors
    ///
    /// Those of [`Reader::open`].
    pub fn open_with(disk: Arc<dyn Disk>, root: &Path) -> Result<Reader> {
        open::check_root(&*disk, root)?;
        Ok(Reader { disk, root: root.to_owned() })
    }

    /// Looks up an entry. A damaged one is [`Lookup::SetAside`], although the file was not moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entry(&self, place: &Place) -> Result<Lookup> {
        let which =
            if place.variant_text().is_empty() { VariantChoice::All } else { VariantChoice::Exact };
        Ok(self.look_up(place, which)?.into())
    }

    /// Looks up every entry of a key, as [`crate::Spool::entries`]. Nothing is moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entries(&self, place: &Place) -> Result<Entries> {
        self.look_up(place, VariantChoice::All)
    }

    /// Lists the older versions of exactly this place, as [`crate::Spool::versions`].
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn versions(&self, place: &Place) -> Result<Vec<Summary>> {
        versions::list(&*self.disk, &self.root, place)
    }

    /// Looks up an older version, as [`crate::Spool::version`]. Nothing is moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn version(&self, place: &Place, stored: Timestamp) -> Result<Lookup> {
        versions::find_version(&*self.disk, &self.root, place, stored)
    }

    fn look_up(&self, place: &Place, which: VariantChoice) -> Result<Entries> {
        let mut tries = 0;
        loop {
            let look = KeyLookup::at(&*self.disk, &self.root, place, which, &[])?;
            tries += 1;
            if !look.moved || tries == LOOKUP_TRIES {
                return Ok(look.into_entries());
            }
        }
    }

    /// Lists the entries of the spool, of a scheme, of a host (with its port) under all schemes, or
    /// of both.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn list(&self, scheme: Option<&str>, host: Option<&str>) -> Result<EntryList> {
        EntryList::new(Arc::clone(&self.disk), &self.root, Vec::new(), scheme, host)
    }

    /// Lists the outgoing requests, the oldest first. Invalid files are skipped.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn queue(&self) -> Result<Vec<OutgoingSummary>> {
        queue::files::list_requests(&*self.disk, &self.root)
    }

    /// Reads an outgoing request; its secrets are marked as unreadable. `None` if it is missing or
    /// invalid.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn request(&self, key: &Key) -> Result<Option<Outgoing>> {
        queue::files::find_request(&*self.disk, &self.root, key)
    }

    /// Lists the monitored pages, by URL. Invalid files are skipped.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn monitors(&self) -> Result<Vec<MonitorSummary>> {
        monitor::list(&*self.disk, &self.root)
    }

    /// A walk over the directories of entries.
    #[must_use]
    pub fn walk(&self) -> crate::tree::walk::SpoolWalk {
        crate::tree::walk::SpoolWalk::new(Arc::clone(&self.disk), self.root.clone())
    }

    /// The directory of the spool.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
