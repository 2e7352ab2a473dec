//! Earlier versions of the configuration.
//!
//! ```text
//! wwwoffle.conf                                      the file, or the target of the link
//! wwwoffle.conf.versions/                            locked while the file is changed
//!     000007-20261120T140512Z.conf                   an earlier text, and the time it was replaced
//!     new                                            the text being written
//! ```
//!
//! The directory is beside the file, because every account that may replace the file can also
//! create files beside it. So versions can be stored even where only `/etc` is writable. Only the
//! owner of the versions can access them, because a configuration can contain passwords. If the
//! administrator changes the configuration of a service, all files still belong to the user of the
//! service.
#![expect(clippy::disallowed_methods, reason = "this is the part that keeps the versions")]

use super::{ChangeError, disk};
use crate::disk::{MAX_CONFIG, read};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// The user ID of the administrator, the only user that may change the owner of a file.
const ROOT: u32 = 0;

/// The number of earlier versions that are stored.
pub const VERSIONS: usize = 10;

/// The longest wait for another writer. A writer needs the lock for a few syncs.
const LOCK_WITHIN: Duration = Duration::from_secs(10);

/// The interval between two attempts to get the lock.
const LOCK_POLL: Duration = Duration::from_millis(5);

/// The suffix that turns the name of the file into the directory of its versions.
const DIRECTORY: &str = ".versions";

/// The name of the text being written, in that directory.
pub(super) const NEW: &str = "new";

/// The format of the date in the name of a version.
const DATE: &str = "%Y%m%dT%H%M%SZ";

/// An earlier text of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierConfig {
    /// The number that identifies the version; later versions have higher numbers.
    pub number: u64,
    /// The time at which this version was replaced, to the second.
    pub until: SystemTime,
    file: PathBuf,
}

impl EarlierConfig {
    /// The whole text.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unreadable`], for example if the version was removed because newer ones were
    /// stored.
    pub fn text(&self) -> Result<String, ChangeError> {
        read(&self.file, MAX_CONFIG).map_err(|error| ChangeError::Unreadable {
            file: self.file.clone(),
            error: error.to_string(),
        })
    }

    /// Parses the name of a file in the directory. `None` if it is not a version.
    fn of(file: PathBuf) -> Option<Self> {
        let (number, date) = file.file_name()?.to_str()?.strip_suffix(".conf")?.split_once('-')?;
        let until = DateTime::strptime(DATE, date).ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Self { number: number.parse().ok()?, until: until.timestamp().into(), file })
    }
}

/// The directory with the versions of the file at `real`.
pub(super) fn directory(real: &Path) -> PathBuf {
    let mut path = real.as_os_str().to_owned();
    path.push(DIRECTORY);
    path.into()
}

/// Waits for other writers, and excludes them until the result is dropped. The system also releases
/// the lock if the process crashes.
pub(super) fn lock(real: &Path, directory: &Path) -> Result<fs::File, ChangeError> {
    let is_new = match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(disk("made", directory)(error)),
    };
    let opened = fs::File::open(directory).map_err(disk("opened", directory))?;
    ensure_owner(real, directory, &opened, is_new).map_err(disk("used", directory))?;
    let begun = Instant::now();
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(opened),
            Err(fs::TryLockError::WouldBlock) if begun.elapsed() < LOCK_WITHIN => {
                thread::sleep(LOCK_POLL);
            }
            Err(fs::TryLockError::WouldBlock) => return Err(ChangeError::Locked(real.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(disk("locked", directory)(error)),
        }
    }
}

/// Ensures that the owner of the directory is an account that may replace the configuration. Any
/// other account that can create a directory or a link beside the file could redirect our texts, or
/// present its own texts as ours.
fn ensure_owner(real: &Path, directory: &Path, opened: &fs::File, is_new: bool) -> io::Result<()> {
    let (seen, about) = (fs::symlink_metadata(directory)?, opened.metadata()?);
    if !seen.is_dir() || (seen.dev(), seen.ino()) != (about.dev(), about.ino()) {
        return Err(io::Error::other("it is not a directory; it may be a link"));
    }
    let above = fs::metadata(real.parent().unwrap_or(Path::new("/")))?;
    if is_new {
        // If the administrator creates the directory, it gets the owner of the directory above, who
        // usually edits the file.
        if about.uid() == ROOT && about.uid() != above.uid() {
            fchown(opened, Some(above.uid()), Some(above.gid()))?;
        }
        return Ok(());
    }
    let file = fs::metadata(real).ok().map(|file| file.uid());
    if about.uid() != above.uid() && file != Some(about.uid()) {
        return Err(io::Error::other(
            "its owner is neither that of its parent directory nor that of the configuration file",
        ));
    }
    if about.mode() & 0o077 != 0 {
        opened.set_permissions(fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The versions in the directory, oldest first.
pub(super) fn list(directory: &Path) -> Result<Vec<EarlierConfig>, ChangeError> {
    let list = match fs::read_dir(directory) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(disk("read", directory)(error)),
    };
    let mut found = Vec::new();
    for file in list {
        let file = file.map_err(disk("read", directory))?;
        found.extend(EarlierConfig::of(file.path()));
    }
    found.sort_by_key(|version| version.number);
    Ok(found)
}

/// Stores a text as the latest version, and removes the oldest versions beyond [`VERSIONS`].
pub(super) fn save(directory: &Path, text: &str, now: SystemTime) -> Result<(), ChangeError> {
    let kept = list(directory)?;
    let number = kept.last().map_or(1, |last| last.number.saturating_add(1));
    let date = Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH).strftime(DATE);
    let version = directory.join(format!("{number:06}-{date}.conf"));
    let new = directory.join(NEW);
    create(&new, text).and_then(|file| file.sync_all()).map_err(disk("written", &new))?;
    rename(&new, &version)?;
    for old in kept.iter().rev().skip(VERSIONS - 1) {
        fs::remove_file(&old.file).map_err(disk("removed", &old.file))?;
    }
    Ok(())
}

/// Creates a file with `text`, accessible only to its owner. If root creates the file, it gets the
/// owner of the directory. A file left behind by an earlier writer is removed.
pub(super) fn create(path: &Path, text: &str) -> io::Result<fs::File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let above = fs::metadata(path.parent().unwrap_or(Path::new("/")))?;
    if file.metadata()?.uid() == ROOT && above.uid() != ROOT {
        fchown(&file, Some(above.uid()), Some(above.gid()))?;
    }
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Renames a file durably, so that the new name survives a power cut.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), ChangeError> {
    fs::rename(from, to).map_err(disk("replaced", to))?;
    let directory = to.parent().unwrap_or(Path::new("/"));
    let synced = fs::File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(disk("synced", directory))
}
