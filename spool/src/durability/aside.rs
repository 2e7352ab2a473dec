//! The directory `damaged/`: damaged and foreign files, each with a note that gives the reason.

use std::path::{Path, PathBuf};

use crate::durability::{DAMAGED, Root};
use crate::entry::holder::{BODIES, holder, name_of, path_of};
use crate::entry::read::EntryContent;
use crate::entry::summary::read_start;
use crate::error::{Damage, Error};

/// The ending of the file name of a note in `damaged/`.
pub(crate) const NOTE: &str = ".reason";

/// The longest part of the old name that the new name contains, in bytes. A file name has at most
/// 255 bytes. The new name also has a time before this part, and the name of the note has an ending
/// after it.
const MAX_NAME: usize = 200;

impl Root {
    /// Moves the file at `path` to `damaged/`, and writes a note beside the moved file. If the move
    /// fails, the reason in the result says so.
    pub(crate) fn move_aside(&self, path: &Path, reason: &str) -> Damage {
        // The damaged file may refer to the holder of a shared body. The holder must be checked
        // first, because the reference cannot be read once the file is moved.
        self.set_bad_holder_aside(path);
        let mut damage = Damage::new(path.to_owned(), reason);
        let to = self.name_aside(path);
        if let Err(error) = self.rename_into_place(path, &to) {
            damage.reason = format!("{reason} (and it could not be moved: {error})");
            return damage;
        }
        self.write_note(path, &to, reason);
        damage.moved_to = Some(to);
        damage
    }

    /// Sets aside the shared body that the file at `path` refers to, if that body is damaged. The
    /// other entries with this body are set aside when they are looked up.
    pub(crate) fn set_bad_holder_aside(&self, path: &Path) {
        if path.starts_with(self.join(BODIES)) {
            // References in the file of a shared body are invalid, and could lead back to the same
            // file.
            return;
        }
        let Ok(Some((first, _))) = read_start(&*self.disk, path) else { return };
        if first.refers.is_none() {
            return;
        }
        let held = holder(&*self.disk, &self.path, first.digest, &first.place);
        if let Ok(EntryContent::Bad(reason)) = held {
            let path = path_of(name_of(first.digest, first.place.owner()));
            let damage = self.move_aside(&self.join(path), reason);
            self.record_failure(Error::damaged(damage));
        }
    }

    /// Returns an unused path in `damaged/` for the file at `path`. The new name consists of the
    /// current time and the old name, of which only the last [`MAX_NAME`] bytes are used.
    pub(crate) fn name_aside(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut start = name.len().saturating_sub(MAX_NAME);
        while !name.is_char_boundary(start) {
            start += 1;
        }
        let name = name.get(start..).unwrap_or_default();
        self.join(DAMAGED).join(format!("{}-{name}", self.stamp().as_microsecond()))
    }

    /// Writes the note for the file moved to `to`: where it was, and why it was moved.
    #[expect(
        clippy::unnecessary_debug_formatting,
        reason = "quoted: a path may hold control bytes"
    )]
    pub(crate) fn write_note(&self, path: &Path, to: &Path, reason: &str) {
        // A note that cannot be written is not an error: the file is already in `damaged/`.
        if let Ok(file) = self.disk.create(&note_of(to)) {
            let _ = file.write_all_at(format!("{path:?}\n{reason}\n").as_bytes(), 0);
        }
    }
}

pub(crate) fn note_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}{NOTE}"))
}

/// Returns the time when a file was moved to `damaged/`, in microseconds since 1970, from its name
/// there. `None` if the name does not begin with such a time.
pub(crate) fn time_of(name: &str) -> Option<i64> {
    let (time, _) = name.split_once('-')?;
    time.parse().ok().filter(|_| time.bytes().all(|byte| byte.is_ascii_digit()))
}
