//! Renaming and removing files, and syncing their names.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::durability::Root;
use crate::error::{Error, Result, is_missing};
use crate::fs::parallel::lock;
use crate::fs::whole::open_if_any;
use crate::fs::{OpenedFile, parallel, parent};

/// The largest number of directories remembered as synced. If there are more, all are forgotten.
const MAX_SYNCED: usize = 8_192;

/// The number of files from which writing the whole file system makes their syncs faster. Each sync
/// then finds its file written, and costs a third.
const WRITE_OUT_FROM: usize = 16;

/// The shortest pause after a slow write of the whole file system, and the pause as a multiple of
/// its duration. It is slow because other programs have written much.
const MIN_PAUSE: Duration = Duration::from_secs(60);
const PAUSES: u32 = 20;

/// The duration from which such a write is slow.
const SLOW: Duration = Duration::from_millis(500);

impl Root {
    /// Renames the file `from` to `to`, and creates the missing directories above `to`. If the file
    /// is an entry, the caller holds `commit`, so that no other thread removes one of these
    /// directories in between.
    pub(crate) fn rename_into_place(&self, from: &Path, to: &Path) -> Result<()> {
        match self.disk.rename(from, to) {
            Err(error) if is_missing(&error) => {}
            done => return done.map_err(|error| Error::disk("write", to, error)),
        }
        let above: Vec<&Path> =
            to.ancestors().skip(1).take_while(|path| *path != self.path).collect();
        for directory in above.into_iter().rev() {
            self.make_dir(directory)?;
        }
        self.disk.rename(from, to).map_err(|error| Error::disk("write", to, error))
    }

    pub(crate) fn make_dir(&self, directory: &Path) -> Result<()> {
        match self.disk.create_dir(directory) {
            Ok(()) => {
                lock(&self.synced).remove(directory);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::disk("make the directory", directory, error)),
        }
    }

    /// Waits until the changed names in these directories, and the names of the directories
    /// themselves, are durable.
    pub(crate) fn sync_names(&self, directories: &[&Path]) -> Result<()> {
        let mut above: Vec<&Path> = Vec::new();
        {
            let known = lock(&self.synced);
            for directory in directories {
                let upward = directory.ancestors().take_while(|path| path.starts_with(&self.path));
                // The directories above a directory in `known` need no sync: the names of that
                // directory and of the directories above it are durable. Each of `directories`
                // itself is synced again, because a name in it has changed.
                above.push(directory);
                above.extend(
                    upward.take_while(|path| !known.contains(*path)).filter_map(Path::parent),
                );
            }
        }
        above.retain(|path| path.starts_with(&self.path));
        above.sort_unstable();
        above.dedup();
        let mut failed = None;
        let threads = self.disk.waits_at_once();
        for done in parallel::for_each(&above, threads, |directory| self.sync_dir(directory)) {
            match done {
                // Another program has deleted the directory and everything in it.
                Err(error) if error.is_missing() => {}
                done => failed = failed.or(done.err()),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let mut known = lock(&self.synced);
        if known.len() > MAX_SYNCED {
            known.clear();
        }
        let all = directories.iter().flat_map(|path| path.ancestors());
        known.extend(all.filter(|path| path.starts_with(&self.path)).map(Path::to_owned));
        Ok(())
    }

    /// Writes the whole file system at once if this many files are to be synced next, so that their
    /// syncs are faster. Nothing depends on the result.
    pub(crate) fn write_out(&self, files: usize) {
        let is_paused = lock(&self.next_write_out).is_some_and(|next| Instant::now() < next);
        if files < WRITE_OUT_FROM || is_paused || !self.is_synced() {
            return;
        }
        let begin = Instant::now();
        let _each_file_is_synced_afterwards = self.disk.sync_all(&self.path);
        let took = begin.elapsed();
        if took >= SLOW {
            *lock(&self.next_write_out) = Some(begin + took + MIN_PAUSE.max(took * PAUSES));
        }
    }

    /// Waits until the changed name `path` is durable, if the spool syncs files.
    pub(crate) fn sync_name(&self, path: &Path) -> Result<()> {
        if self.is_synced() { self.sync_names(&[parent(path)]) } else { Ok(()) }
    }

    pub(crate) fn sync_dir(&self, directory: &Path) -> Result<()> {
        self.disk.sync_dir(directory).map_err(|error| Error::disk("write", directory, error))
    }

    /// Removes a file. Returns false if it was missing.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<bool> {
        match self.disk.remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(Error::disk("remove", path, error)),
        }
    }

    /// Whether `path` is a plain file.
    pub(crate) fn is_file(&self, path: &Path) -> Result<bool> {
        Ok(matches!(open_if_any(&*self.disk, path)?, Some(OpenedFile::File(..))))
    }

    pub(crate) fn is_directory(&self, path: &Path) -> Result<bool> {
        match self.disk.read_dir(path) {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(Error::disk("read", path, error)),
        }
    }
}
