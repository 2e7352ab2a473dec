//! Small files that are written whole, and the room that is kept for them on a full disk: `reserve/`.
//!
//! There lie [`SLOTS`] files of [`SLOT`] bytes that mean nothing. When a small file finds no room, one of
//! them is changed to what that is to hold, and takes its place: what it had of the disk is never free in between, so nobody
//! else can have it, and a file system that writes in place needs no block more for it. Where it does not, the
//! room of a slot is given up before the file is written once more, as with any other.
//!
//! This is the one place where a file is changed that has a name. A crash may give what has just become another
//! file its old name back. So what lies there is changed only as long as it has, to the
//! last byte, what a slot holds: it is then no other file. What has not is removed, by its name alone.
//!
//! Nothing is lost by deleting them. They are made by [`crate::Spool::keep_reserve`], and not on opening: who
//! only opens a spool to do one thing needs none.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::durability::{Durability, Root};
use crate::error::{Error, Result, is_missing};
use crate::fs::parallel::lock;
use crate::fs::size::wide;
use crate::fs::{DiskFile, Opened, parent, read_exactly};

/// The directory in the root.
pub(crate) const RESERVE: &str = "reserve";

/// So many small files are written at least on a full disk.
const SLOTS: u8 = 16;

/// So many of them are for the state alone: the mode is to be saved also when much was asked for before.
const FOR_STATE: u8 = 4;

/// The length of one in bytes. A request with its secrets is hardly longer.
const SLOT: usize = 16 << 10;

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    /// Somebody has asked for it since the spool was opened.
    is_kept: bool,
    /// All slots are there.
    is_whole: bool,
}

impl Root {
    /// Creates the slots that are missing.
    pub(crate) fn keep_reserve(&self) -> Result<()> {
        let mut reserve = lock(&self.reserve);
        reserve.is_kept = true;
        self.fill_reserve(&mut reserve)
    }

    /// Writes a small file whole: aside, synced unless nothing is, then renamed.
    pub(crate) fn replace_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.replace_with(to, bytes, FOR_STATE..SLOTS)
    }

    /// The same for the state, which has all that is kept for a full disk.
    pub(crate) fn replace_state(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.replace_with(to, bytes, 0..SLOTS)
    }

    /// The same for what is its owner's alone.
    pub(crate) fn replace_private_file(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        self.put_file(to, bytes, self.create_private_tmp()?)
    }

    /// The same, and nothing makes room for it.
    pub(crate) fn put_file(
        &self,
        to: &Path,
        bytes: &[u8],
        (path, file): (PathBuf, Arc<dyn DiskFile>),
    ) -> Result<()> {
        let written = (|| {
            let fail = |error| Error::disk("write", to, error);
            file.write_all_at(bytes, 0).map_err(fail)?;
            if self.durability != Durability::None {
                file.sync().map_err(fail)?;
            }
            self.rename_into_place(&path, to)
        })();
        if written.is_err() {
            let _ = self.disk.remove_file(&path);
            return written;
        }
        self.sync_replaced(to)
    }

    fn sync_replaced(&self, to: &Path) -> Result<()> {
        if self.durability == Durability::None {
            return Ok(());
        }
        self.sync_names(&[parent(to)])
    }

    fn replace_with(&self, to: &Path, bytes: &[u8], slots: Range<u8>) -> Result<()> {
        let put = || self.put_file(to, bytes, self.create_tmp()?);
        let is_full = |done: &Result<()>| done.as_ref().is_err_and(Error::is_full);
        let mut done = put();
        if !is_full(&done) {
            return done;
        }
        let mut reserve = lock(&self.reserve);
        reserve.is_whole = false;
        // What is longer than all of them together is not helped by them.
        let slots = slots.rev().filter(|_| bytes.len() <= SLOT * usize::from(SLOTS - FOR_STATE));
        for number in slots {
            done = self.put_with_slot(number, to, bytes, &put).unwrap_or(done);
            if !is_full(&done) {
                break;
            }
        }
        // Nothing is left but the room of a list that is only an aid.
        if is_full(&done) && self.give_up_recent() {
            done = put();
        }
        // What was at `to` has left room, most often as much as was taken.
        let _as_much_as_there_is = self.fill_reserve(&mut reserve);
        done
    }

    /// Writes a file with what a slot has of the disk; `None` if there is no such slot.
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
        if file.is_some_and(|file| self.turn_slot(&slot, &*file, to, bytes).is_ok()) {
            return Some(self.sync_replaced(to));
        }
        // Its room at least.
        let _removed_or_not = self.disk.remove_file(&slot);
        Some(put())
    }

    /// Makes a slot the file at `to`. Where that fails it is a slot no more.
    fn turn_slot(
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
        if self.durability != Durability::None {
            file.sync()?;
        }
        self.disk.rename(slot, to)
    }

    /// Makes the slots that are missing, those for the state first.
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
            Ok(Opened::File(file, _)) if is_slot(&*file, number) => return Ok(()),
            Err(error) if is_missing(&error) => {}
            // Whatever it is, it was on its way to be another file, or a slot.
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

/// What a slot holds: no text, nothing that a file system could keep in less room, and of no two the same
/// (`SplitMix64`).
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
