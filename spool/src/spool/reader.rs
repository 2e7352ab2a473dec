//! A spool that another process may have open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::durability::open;
use crate::entry::place::Place;
use crate::entry::summary::Summary;
use crate::entry::{Entries, Lookup};
use crate::error::Result;
use crate::fs::{Disk, SystemDisk};
use crate::queue;
use crate::queue::monitor;
use crate::queue::monitor::MonitorSummary;
use crate::queue::outgoing::{Outgoing, OutgoingSummary};
use crate::tree::list::{Host, List};
use crate::tree::shelf::{KeyLookup, VariantChoice};
use crate::tree::{LOOKUP_TRIES, list, versions};
use wwwoffle_url::Key;

/// A spool to read from, whoever has it open: for the command line. It changes nothing, so damaged
/// files stay where they are; entries still in their batch are not found.
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
    /// [`crate::Error::is_no_spool`] when `root` is something else, or when the disk fails.
    pub fn open(root: &Path) -> Result<Reader> {
        Reader::open_with(Arc::new(SystemDisk), root)
    }

    /// The same on another disk.
    ///
    /// # Errors
    ///
    /// Those of [`Reader::open`].
    pub fn open_with(disk: Arc<dyn Disk>, root: &Path) -> Result<Reader> {
        open::check_root(&*disk, root)?;
        Ok(Reader { disk, root: root.to_owned() })
    }

    /// Looks an entry up. A damaged one is [`Lookup::SetAside`], though it was not moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entry(&self, place: &Place) -> Result<Lookup> {
        let which =
            if place.variant_text().is_empty() { VariantChoice::All } else { VariantChoice::Exact };
        Ok(self.look(place, which)?.into())
    }

    /// All that is kept under the key of a place, as [`crate::Spool::entries`]; nothing is moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn entries(&self, place: &Place) -> Result<Entries> {
        self.look(place, VariantChoice::All)
    }

    /// The older versions of the entry of exactly this place, as [`crate::Spool::versions`].
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn versions(&self, place: &Place) -> Result<Vec<Summary>> {
        versions::list(&*self.disk, &self.root, place)
    }

    /// One of them, as [`crate::Spool::version`]; nothing is moved.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn version(&self, place: &Place, stored: Timestamp) -> Result<Lookup> {
        versions::look(&*self.disk, &self.root, place, stored)
    }

    fn look(&self, place: &Place, which: VariantChoice) -> Result<Entries> {
        let mut tries = 0;
        loop {
            let look = KeyLookup::at(&*self.disk, &self.root, place, which, &[])?;
            tries += 1;
            if !look.moved || tries == LOOKUP_TRIES {
                return Ok(look.told());
            }
        }
    }

    /// The entries of the spool, of a scheme, of a host (with its port) under all schemes, or of both.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn list(&self, scheme: Option<&str>, host: Option<&str>) -> Result<List> {
        List::new(Arc::clone(&self.disk), &self.root, Vec::new(), scheme, host)
    }

    /// The hosts of a scheme, or of all, of which entries are kept, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn hosts(&self, scheme: Option<&str>) -> Result<Vec<Host>> {
        list::hosts(&self.disk, &self.root, scheme)
    }

    /// The requests that wait, the oldest first. Files that are no requests are passed over.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn queue(&self) -> Result<Vec<OutgoingSummary>> {
        queue::list(&*self.disk, &self.root)
    }

    /// A request that waits, without its secrets, which it is told of as unreadable. `None` for none, or for
    /// a file that is no request.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn request(&self, key: &Key) -> Result<Option<Outgoing>> {
        queue::look(&*self.disk, &self.root, key)
    }

    /// What is looked at on a schedule, by URL. Files that are nothing of the kind are passed over.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn monitors(&self) -> Result<Vec<MonitorSummary>> {
        monitor::list(&*self.disk, &self.root)
    }

    /// A walk over the directories of entries.
    #[must_use]
    pub fn walk(&self) -> crate::tree::walk::Walk {
        crate::tree::walk::Walk::new(Arc::clone(&self.disk), self.root.clone())
    }

    /// The directory it is in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
