//! Writing small files as a whole, and the reserve for them on a full disk: `reserve/`.
//!
//! The reserve is [`SLOTS`] files of [`SLOT`] bytes, called slots. If a small file finds no room, a
//! slot is overwritten with the new content and renamed. Its blocks are never free in between, so
//! no other program can take them, and a file system that writes in place needs no further block.
//! If overwriting fails, as it may on a copy-on-write file system, the slot is removed and the file
//! is then written as usual.
//!
//! Only this module changes files in place. After a crash, a file that has just been renamed may
//! have its old name, that of a slot, again. So a slot is overwritten only if every byte is that of
//! a slot, which proves that it is no other file. Any other file with the name of a slot is
//! removed.
//!
//! Deleting the slots loses nothing. [`crate::Spool::keep_reserve`] creates them. Opening a spool
//! does not, because a program that opens it for one action needs no reserve.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::durability::Root;
use crate::error::{Error, Result, is_missing};
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::fs::{DiskFile, OpenedFile, read_exactly};

/// The directory in the root.
pub(crate) const RESERVE: &str = "reserve";

/// The number of slots. Each makes room for one small file on a full disk.
const SLOTS: u8 = 16;

/// The slots reserved for the state file, so that the mode can be saved even after many requests
/// have used the other slots.
const FOR_STATE: u8 = 4;

/// The length of a slot in bytes. Few requests are longer, even with secrets.
const SLOT: usize = 16 << 10;

/// The state of the reserve.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    /// Whether the program has asked for a reserve since the spool was opened.
    is_kept: bool,
    /// Whether all slots exist.
    is_whole: bool,
}

impl Root {
    /// Creates the missing slots, now and whenever slots have been used.
    pub(crate) fn keep_reserve(&self) -> Result<()> {
        let mut reserve = lock(&self.reserve);
        reserve.is_kept = true;
        self.fill_reserve(&mut reserve)
    }

    /// Writes a small file to `tmp/`, syncs it if the spool syncs files, and renames it to `to`. On
    /// a full disk, a slot that is not reserved for the state file may be used.
    pub(crate) fn replace_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.replace_with(to, bytes, FOR_STATE..SLOTS)
    }

    /// Writes the state file like [`Root::replace_file`]. On a full disk, every slot may be used.
    pub(crate) fn replace_state(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.replace_with(to, bytes, 0..SLOTS)
    }

    /// Writes a file that only its owner in the file system may read. No slot is used.
    pub(crate) fn replace_private_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.put_file(to, self.create_private_tmp()?, |file| file.write_all_at(bytes, 0))
    }

    /// Writes the new `file` at `path` with `write` and renames it to `to`, without using the
    /// reserve.
    pub(crate) fn put_file(
        &self,
        to: &Path,
        (path, file): (PathBuf, Arc<dyn DiskFile>),
        write: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
    ) -> Result<()> {
        let written = (|| {
            let fail = |error| Error::disk("write", to, error);
            write(&*file).map_err(fail)?;
            if self.is_synced() {
                file.sync().map_err(fail)?;
            }
            self.rename_into_place(&path, to)
        })();
        if written.is_err() {
            let _ = self.disk.remove_file(&path);
            return written;
        }
        self.sync_name(to)
    }

    fn replace_with(&self, to: &Path, bytes: &[u8], slots: Range<u8>) -> Result<()> {
        let put = || self.put_file(to, self.create_tmp()?, |file| file.write_all_at(bytes, 0));
        let is_full = |done: &Result<()>| done.as_ref().is_err_and(Error::is_full);
        let mut done = put();
        if !is_full(&done) {
            return done;
        }
        let mut reserve = lock(&self.reserve);
        reserve.is_whole = false;
        // No slot is used for a file that is longer than all slots not reserved for the state file,
        // because it would not fit.
        let slots = slots.rev().filter(|_| bytes.len() <= SLOT * usize::from(SLOTS - FOR_STATE));
        for number in slots {
            done = self.put_with_slot(number, to, bytes, &put).unwrap_or(done);
            if !is_full(&done) {
                break;
            }
        }
        // The last resort is to delete the list of recent entries, which is only an aid.
        if is_full(&done) && self.delete_recent() {
            done = put();
        }
        // The blocks of the replaced file are free now. They are about enough for a new slot.
        let _as_much_as_there_is = self.fill_reserve(&mut reserve);
        done
    }

    /// Writes `bytes` to `to` in the blocks of a slot. If that fails, removes the slot and calls
    /// `put`. `None` if the slot does not exist.
    fn put_with_slot(
        &self,
        number: u8,
        to: &Path,
        bytes: &[u8],
        put: &dyn Fn() -> Result<()>,
    ) -> Option<Result<()>> {
        let slot = self.slot(number);
        let opened = match self.disk.open_to_change(&slot) {
            Err(error) if is_missing(&error) => return None,
            opened => opened.ok(),
        };
        let file = opened.filter(|file| is_slot(&**file, number));
        if file.is_some_and(|file| self.convert_slot(&slot, &*file, to, bytes).is_ok()) {
            return Some(self.sync_name(to));
        }
        // Removing the slot at least frees its blocks.
        let _removed_or_not = self.disk.remove_file(&slot);
        Some(put())
    }

    /// Turns a slot into the file at `to`. If that fails, the file may no longer be a slot.
    fn convert_slot(
        &self,
        slot: &Path,
        file: &dyn DiskFile,
        to: &Path,
        bytes: &[u8],
    ) -> io::Result<()> {
        if bytes.len() > SLOT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        file.write_all_at(bytes, 0)?;
        file.set_len(wide(bytes.len()))?;
        if self.is_synced() {
            file.sync()?;
        }
        self.disk.rename(slot, to)
    }

    /// Creates the missing slots, beginning with those for the state.
    fn fill_reserve(&self, reserve: &mut Reserve) -> Result<()> {
        if reserve.is_whole || !reserve.is_kept {
            return Ok(());
        }
        self.make_dir(&self.join(RESERVE))?;
        (0..SLOTS).try_for_each(|number| self.make_slot(number))?;
        reserve.is_whole = true;
        Ok(())
    }

    fn make_slot(&self, number: u8) -> Result<()> {
        let path = self.slot(number);
        match self.disk.open(&path) {
            Ok(OpenedFile::File(file, _)) if is_slot(&*file, number) => return Ok(()),
            Err(error) if is_missing(&error) => {}
            // A crash interrupted the creation of this slot, or the conversion of a slot into
            // another file.
            _ => {
                self.remove_file(&path)?;
            }
        }
        let fail = |error| Error::disk("write", &path, error);
        let file = self.disk.create(&path).map_err(fail)?;
        file.write_all_at(&content(number), 0).map_err(|error| {
            let _ = self.disk.remove_file(&path);
            fail(error)
        })
    }

    fn slot(&self, number: u8) -> PathBuf {
        self.join(RESERVE).join(format!("{number:02}"))
    }
}

fn is_slot(file: &dyn DiskFile, number: u8) -> bool {
    read_exactly(file, SLOT + 1, 0).is_ok_and(|bytes| bytes == content(number))
}

/// Returns the content of a slot: incompressible and different for each slot (generated by
/// `SplitMix64`).
fn content(number: u8) -> Vec<u8> {
    let (mut bytes, mut state) = (Vec::with_capacity(SLOT), u64::from(number) << 32);
    while bytes.len() < SLOT {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes
}
