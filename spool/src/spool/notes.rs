//! Small files of the program and its user.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use jiff::Timestamp;
use jiff::civil::Date;
use wwwoffle_url::Key;

use super::{Reader, Spool};
use crate::error::{Damage, Result};
use crate::fs::PathTarget;
use crate::notes::own_pages::{self, UserPages};
use crate::notes::shared::{self, SharedRemoval};
use crate::notes::state::{self, ProgramState};
use crate::notes::statistics::{self, Statistics};
use crate::notes::used::{self, Uses};
use crate::notes::{collections, imports, local, pins, usage};
use crate::queue::membership::RunId;
use crate::queue::runs;

impl Spool {
    /// Reads when entries were last used, as last written. A missing or invalid file counts as
    /// empty.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn uses(&self) -> Result<Uses> {
        used::read(self.disk_root())
    }

    /// Writes when entries were last used, durably, and replaces the previous list.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full; the previous list then stays.
    pub fn set_uses(&self, uses: &mut dyn Iterator<Item = (Key, Timestamp)>) -> Result<()> {
        used::write(self.disk_root(), uses)
    }

    /// Reads the state of the program. An invalid file is set aside and reported, and the default
    /// is returned.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn state(&self) -> Result<(ProgramState, Option<Damage>)> {
        state::read(self.disk_root())
    }

    /// Writes the state of the program, durably.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`], or if the disk fails or is full; the old state then stays.
    pub fn set_state(&self, state: &ProgramState) -> Result<()> {
        state::write(self.disk_root(), state)
    }

    /// Reads the statistics. An invalid file is set aside and reported, and counting starts at
    /// zero.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn statistics(&self) -> Result<(Statistics, Option<Damage>)> {
        statistics::read(self.disk_root())
    }

    /// Writes the statistics, and replaces the previous ones.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`], or if the disk fails or is full; the previous file then
    /// stays.
    pub fn set_statistics(&self, statistics: &Statistics) -> Result<()> {
        statistics::write(self.disk_root(), statistics)
    }

    /// Reads the usage of a day, with owners in place of hosts. An invalid file is set aside and
    /// reported, and the counts are zero.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn usage(&self, day: Date) -> Result<(Statistics, Option<Damage>)> {
        usage::read(self.disk_root(), day)
    }

    /// Writes the usage of a day, and replaces the previous counts.
    ///
    /// # Errors
    ///
    /// As [`Spool::set_statistics`].
    pub fn set_usage(&self, day: Date, usage: &Statistics) -> Result<()> {
        usage::write(self.disk_root(), day, usage)
    }

    /// Removes the usage of a day. Returns false if there was none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_usage(&self, day: Date) -> Result<bool> {
        usage::remove(self.disk_root(), day)
    }

    /// Lists the days whose usage is stored, earliest first.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn usage_days(&self) -> Result<Vec<Date>> {
        usage::days(self.disk_root())
    }

    /// The name of this spool in the archive tier: random, made at the first call.
    ///
    /// # Errors
    ///
    /// If the disk fails, or the spool is read-only.
    pub fn tier_node(&self) -> Result<String> {
        shared::node(self.disk_root())
    }

    /// Lists at most `most` removals that the archive tier has not been told of.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn shared_removals(&self, most: usize) -> Result<Vec<SharedRemoval>> {
        shared::list(self.disk_root(), most)
    }

    /// The removal of an entry of this key that the archive tier has not been told of.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn shared_removal(&self, key: Key) -> Result<Option<SharedRemoval>> {
        shared::read(self.disk_root(), key)
    }

    /// Forgets a removal, because the archive tier knows it.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn forget_shared_removal(&self, removal: &SharedRemoval) -> Result<()> {
        shared::forget(self.disk_root(), removal)
    }

    /// Writes a text that [`Spool::pushed`] returns after the next opening, and only then.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`], or if the disk fails or is full.
    pub fn set_pushed(&self, text: &str) -> Result<()> {
        shared::set_pushed(self.disk_root(), text)
    }

    /// The pinned URLs, canonical and without credentials.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] if the file of pins is invalid; or if the disk fails.
    pub fn pins(&self) -> Result<BTreeSet<String>> {
        pins::read(&*self.disk_root().disk, self.root())
    }

    /// Pins or unpins URLs, durably. Returns false if nothing had to change.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] if there are too many pins; [`crate::Error::is_invalid`] for
    /// a text with a line end; those of [`Spool::pins`]; or if the disk fails or is full. Nothing
    /// is then changed.
    pub fn set_pinned(&self, urls: &[String], is_pinned: bool) -> Result<bool> {
        self.tree().pins.set(self.disk_root(), urls, is_pinned)
    }

    /// Reads the text with the collections of an owner; those of everyone if `owner` is `None`.
    /// `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_invalid`] if the file is damaged; or if the disk fails.
    pub fn collections(&self, owner: Option<&str>) -> Result<Option<String>> {
        collections::read(&*self.disk_root().disk, self.root(), owner)
    }

    /// Replaces the text with the collections of an owner, durably. `edit` gets the current text,
    /// and returns the new one, or `None` if nothing changes. No other change happens during the
    /// call.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] above [`crate::MAX_COLLECTIONS_TEXT`] bytes, or if
    /// [`crate::MAX_COLLECTION_OWNERS`] owners have collections; those of [`Spool::collections`];
    /// or if the disk fails or is full. The old text then stays.
    pub fn change_collections(
        &self,
        owner: Option<&str>,
        edit: &mut dyn FnMut(Option<&str>) -> Option<String>,
    ) -> Result<()> {
        self.tree().collections.change(self.disk_root(), owner, edit)
    }

    /// Lists the runs that have a text, in no order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn runs(&self) -> Result<Vec<RunId>> {
        runs::list(self.disk_root())
    }

    /// Reads the text of a run. `None` if it is missing, or was invalid and set aside.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn run(&self, id: RunId) -> Result<Option<String>> {
        runs::read(self.disk_root(), id)
    }

    /// Writes the text of a run, durably, and replaces the previous one.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] above [`crate::MAX_RUN`] bytes; or if the disk fails or is
    /// full.
    pub fn set_run(&self, id: RunId, text: &str) -> Result<()> {
        runs::write(self.disk_root(), id, text)
    }

    /// Removes the text of a run. Returns false if there was none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_run(&self, id: RunId) -> Result<bool> {
        self.disk_root().remove_file(&runs::path(self.disk_root(), id))
    }

    /// Moves the text of a run to `damaged/`; `reason` is for a person.
    #[must_use]
    pub fn set_run_aside(&self, id: RunId, reason: &str) -> Damage {
        self.disk_root().move_aside(&runs::path(self.disk_root(), id), reason)
    }

    /// Reads the progress of an unfinished import. `None` if it is missing, or was invalid and set
    /// aside.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn import(&self, key: Key) -> Result<Option<String>> {
        imports::read(self.disk_root(), key)
    }

    /// Writes the progress of an import, durably, and replaces the previous text.
    ///
    /// # Errors
    ///
    /// [`crate::Error::is_too_large`] above [`crate::MAX_IMPORT`] bytes; or if the disk fails or is
    /// full.
    pub fn set_import(&self, key: Key, text: &str) -> Result<()> {
        imports::write(self.disk_root(), key, text)
    }

    /// Removes the progress of an import. Returns false if there was none.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn remove_import(&self, key: Key) -> Result<bool> {
        self.disk_root().remove_file(&imports::path(self.disk_root(), key))
    }

    /// Reads the user's templates and texts in `html/`.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read. An unreadable file is reported in [`UserPages::not_read`].
    pub fn own_pages(&self) -> Result<UserPages> {
        own_pages::read_all(self.disk_root())
    }

    /// Opens a file of the user below `local/`. `path` yields the names that lead to it; see
    /// [`open_beneath`](crate::fs::open_beneath).
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn local<'a>(&self, path: impl Iterator<Item = &'a OsStr>) -> Result<PathTarget> {
        local::open(self.root(), path)
    }
}

impl Reader {
    /// The pinned URLs, as [`Spool::pins`].
    ///
    /// # Errors
    ///
    /// Those of [`Spool::pins`].
    pub fn pins(&self) -> Result<BTreeSet<String>> {
        pins::read(&*self.disk, &self.root)
    }

    /// The text with the collections of an owner, as [`Spool::collections`].
    ///
    /// # Errors
    ///
    /// Those of [`Spool::collections`].
    pub fn collections(&self, owner: Option<&str>) -> Result<Option<String>> {
        collections::read(&*self.disk, &self.root, owner)
    }

    /// Reads the state of the program. If the file is damaged or missing, returns the default.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn state(&self) -> Result<ProgramState> {
        state::peek(&*self.disk, &self.root)
    }
}
