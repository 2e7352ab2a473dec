//! Upkeep: check, repair, compress, share bodies, purge.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Options, Reader, Spool};
use crate::entry::gzip::{RewriteBounds, RewriteOutcome};
use crate::entry::place::Place;
use crate::error::{Error, Result};
use crate::fs::{Disk, space};
use crate::fsck::{self, CheckOptions, CheckTotals, Finding};
use crate::purge::trim::{self, TrimReport};
use crate::purge::{Candidates, CompressionPass, Sweep};
use crate::tree::check_recent::RecentCheck;
use crate::tree::rewrite::FileForm;
use crate::tree::sharing::{SharedBodies, SharingReport};

/// The space in bytes that is reserved for the other parts of an entry: head, request, file name.
const BESIDES_BODY: u64 = 16 << 10;

impl Reader {
    /// Checks the whole spool, and passes every fault to `tell`. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the root cannot be read. Any other I/O failure is reported as a finding.
    pub fn check(&self, how: &CheckOptions, tell: &mut dyn FnMut(&Finding)) -> Result<CheckTotals> {
        fsck::walk(&*self.disk, &self.root, how, None, tell)
    }
}

impl Spool {
    /// Checks the spool at `root` and repairs it. No process may have it open.
    ///
    /// # Errors
    ///
    /// [`Error::is_locked`] if another process has it open, [`Error::is_no_spool`] if `root` is
    /// something else; or if the root cannot be read or written. Any other I/O failure is reported
    /// as a finding.
    pub fn repair(
        root: &Path,
        options: &Options,
        how: &CheckOptions,
        tell: &mut dyn FnMut(&Finding),
    ) -> Result<CheckTotals> {
        Spool::repair_with(Arc::new(options.disk), root, options, how, tell)
    }

    /// Repairs the spool on another disk.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::repair`].
    pub fn repair_with(
        disk: Arc<dyn Disk>,
        root: &Path,
        options: &Options,
        how: &CheckOptions,
        tell: &mut dyn FnMut(&Finding),
    ) -> Result<CheckTotals> {
        fsck::repair(disk, root, options.versions.clone(), how, tell)
    }

    /// Compresses the file of exactly this place, if that saves enough space. The entry, or a range
    /// of its body, can be read as before. At each moment one of the two forms is durable.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full; the file is then unchanged.
    pub fn compress(&self, place: &Place) -> Result<RewriteOutcome> {
        self.compress_within(place, None, &RewriteBounds::unlimited())
    }

    /// Compresses the older version that was stored at this time.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::compress`].
    pub fn compress_version(&self, place: &Place, stored: Timestamp) -> Result<RewriteOutcome> {
        self.compress_within(place, Some(stored), &RewriteBounds::unlimited())
    }

    /// Rewrites the file of exactly this place without compression.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::compress`].
    pub fn expand(&self, place: &Place) -> Result<RewriteOutcome> {
        self.expand_within(place, None, &RewriteBounds::unlimited())
    }

    /// Rewrites the older version that was stored at this time without compression.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::compress`].
    pub fn expand_version(&self, place: &Place, stored: Timestamp) -> Result<RewriteOutcome> {
        self.expand_within(place, Some(stored), &RewriteBounds::unlimited())
    }

    /// Compresses the entry of a place, or its older version that was stored at the time `version`,
    /// within bounds.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::compress`].
    pub fn compress_within(
        &self,
        place: &Place,
        version: Option<Timestamp>,
        bounds: &RewriteBounds<'_>,
    ) -> Result<RewriteOutcome> {
        self.tree().rewrite(place, version, FileForm::Compressed, bounds)
    }

    /// Expands the entry of a place, or its older version that was stored at the time `version`,
    /// within bounds.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::compress`].
    pub fn expand_within(
        &self,
        place: &Place,
        version: Option<Timestamp>,
        bounds: &RewriteBounds<'_>,
    ) -> Result<RewriteOutcome> {
        self.tree().rewrite(place, version, FileForm::Plain, bounds)
    }

    /// Stores each body of at least `above` bytes only once, and removes shared bodies that no
    /// entry needs. The smallest effective value of `above` is [`crate::MIN_SHARED`]; `None` shares
    /// no further bodies. Two bodies are compared byte by byte before they count as equal. The call
    /// walks over all files, twice if there is something to share, and needs eight bytes of memory
    /// for each body that may be shared.
    ///
    /// `go_on` is called before each directory of the first walk, and before each file of the
    /// second; when it returns false, the work stops. Whenever the program stops, each entry has
    /// its old or its new form.
    pub fn share(&self, above: Option<u64>, go_on: &dyn Fn() -> bool) -> SharingReport {
        self.tree().share(above, go_on)
    }

    /// Reads which bodies are shared. Needs less than forty bytes of memory for each.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn bodies(&self) -> Result<SharedBodies> {
        SharedBodies::read(self.disk_root())
    }

    /// Removes the segments and the damaged files that exceed their limits of size or age, the
    /// oldest first. Files set aside within the last [`crate::MIN_DAMAGED_AGE`] stay.
    ///
    /// # Errors
    ///
    /// If the disk fails; earlier removals stay done.
    pub fn trim(&self) -> Result<TrimReport> {
        trim::trim(self.tree())
    }

    /// Verifies the entries stored last, if the spool was not closed properly
    /// ([`crate::Recovery::was_not_closed`]). Reads each completely, the newest first, and sets
    /// damaged ones aside. Continues while `goes_on` is true; the next call, or the next opening,
    /// continues from there. If one entry is unreadable, the others are still checked.
    #[must_use]
    pub fn check_recent(&self, goes_on: &dyn Fn() -> bool) -> RecentCheck {
        self.tree().check_recent(goes_on)
    }

    /// Creates the missing slots of the reserve, which is the room for small files on a full disk:
    /// the mode, outgoing requests and other files that are replaced as a whole.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full; existing slots stay.
    pub fn keep_reserve(&self) -> Result<()> {
        self.disk_root().keep_reserve()
    }

    /// Fails if the disk reports too little space for an entry with a body of `length` bytes.
    ///
    /// # Errors
    ///
    /// [`Error::is_full`].
    pub fn check_room(&self, length: u64) -> Result<()> {
        let is_full =
            space(self.root()).is_ok_and(|space| space.free < length.saturating_add(BESIDES_BODY));
        let full = || Error::disk("write", self.root(), rustix::io::Errno::NOSPC.into());
        if is_full { Err(full()) } else { Ok(()) }
    }

    /// Returns an iterator over the entries, each with its disk usage. A directory that cannot be read
    /// is one error, and the others follow.
    ///
    /// # Errors
    ///
    /// If the disk fails, here or at each step.
    pub fn candidates(&self) -> Result<Candidates> {
        Candidates::new(&self.walk())
    }

    /// Begins to purge entries.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn sweep(&self) -> Result<Sweep> {
        Sweep::new(Arc::clone(self.session()))
    }

    /// Begins to compress entries.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn compression(&self) -> Result<CompressionPass> {
        CompressionPass::new(Arc::clone(self.session()))
    }
}
