//! The directory `damaged/`: what was found damaged or foreign, with a note beside it that says why.

use std::path::{Path, PathBuf};

use crate::durability::{DAMAGED, Root};
use crate::entry::holder::{BODIES, holder, name_of, path_of};
use crate::entry::read::Content;
use crate::entry::summary::beginning;
use crate::error::{Damage, Error};

/// What the names of the notes end with.
pub(crate) const NOTE: &str = ".reason";

/// More bytes than this of a name are not taken over: with the time before them and the end of the note's
/// name behind they have to be a name still, of at most 255.
const MAX_NAME: usize = 200;

impl Root {
    /// Moves what is at `path` to `damaged/`, with a file beside it that says why.
    pub(crate) fn move_aside(&self, path: &Path, reason: &str) -> Damage {
        // Before that is out of reach: nobody knows better what is wrong with its body.
        self.set_bad_holder_aside(path);
        let mut damage =
            Damage { path: path.to_owned(), moved_to: None, reason: reason.to_owned() };
        let to = self.name_aside(path);
        if let Err(error) = self.rename_into_place(path, &to) {
            damage.reason = format!("{reason} (and it could not be moved: {error})");
            return damage;
        }
        self.note_aside(path, &to, reason);
        damage.moved_to = Some(to);
        damage
    }

    /// Sets aside the holder that the file at `path` refers to, if it is damaged: with it goes whatever shares
    /// it, each when it is asked for.
    pub(crate) fn set_bad_holder_aside(&self, path: &Path) {
        if path.starts_with(self.join(BODIES)) {
            // A holder refers to none. One that does is no holder, and would lead to itself.
            return;
        }
        let Ok(Some((first, _))) = beginning(&*self.disk, path) else { return };
        if first.refers.is_none() {
            return;
        }
        let held = holder(&*self.disk, &self.path, first.digest, &first.place);
        if let Ok(Content::Bad(reason)) = held {
            let path = path_of(name_of(first.digest, first.place.owner()));
            let damage = self.move_aside(&self.join(path), reason);
            self.fail(Error::damaged(damage));
        }
    }

    /// A name in `damaged/` that nothing has.
    pub(crate) fn name_aside(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut start = name.len().saturating_sub(MAX_NAME);
        while !name.is_char_boundary(start) {
            start += 1;
        }
        let name = name.get(start..).unwrap_or_default();
        self.join(DAMAGED).join(format!("{}-{name}", self.stamp().as_microsecond()))
    }

    /// Says beside what has the name `to` now where it was, and why it is no longer.
    #[expect(
        clippy::unnecessary_debug_formatting,
        reason = "quoted: a path may hold control bytes"
    )]
    pub(crate) fn note_aside(&self, path: &Path, to: &Path, reason: &str) {
        // Without the note the file is as well out of the way.
        if let Ok(file) = self.disk.create(&note_of(to)) {
            let _ = file.write_all_at(format!("{path:?}\n{reason}\n").as_bytes(), 0);
        }
    }
}

/// The note beside a file.
pub(crate) fn note_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}{NOTE}"))
}

/// When what has this name was set aside, in microseconds since 1970. `None`: it is none of ours.
pub(crate) fn time_of(name: &str) -> Option<i64> {
    let (time, _) = name.split_once('-')?;
    time.parse().ok().filter(|_| time.bytes().all(|byte| byte.is_ascii_digit()))
}
