//! Changes to the configuration file. Its earlier versions are in `versions`.
//!
//! # Invariants
//!
//! 1. At every moment, even after a crash, the file is a complete text: the old one, or the new
//!    one, which has no faults.
//! 2. One writer at a time reads, changes and replaces the file, so that no other edit is lost.
//! 3. The replaced text is first stored as a version on the disk.

mod load;
mod reach;
mod versions;

pub use load::{LoadedConfig, load};
pub use reach::ChangeScope;
pub use versions::{EarlierConfig, VERSIONS};

use crate::{
    disk::{
        FileError, MAX_CONFIG,
        lookup::{ConfigLookup, SYSTEM_FILE},
        read,
        watch::watch_reads,
    },
    edit::{self, Edit, EditError, EditResult, OptionChange, changes},
    error::Faults,
    schema::Config,
};
use reach::{drops_protected, find_protected_change};
use sha2::{Digest, Sha256};
use std::{
    fmt, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::SystemTime,
};
use versions::NEW;

/// The identity of a configuration text: its SHA-256. Displayed in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextStamp([u8; 32]);

/// The error for a text that is not a [`TextStamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a stamp of 64 hex digits")]
pub struct ParseStampError;

impl TextStamp {
    /// The stamp of `text`. A missing file counts as an empty text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl fmt::Display for TextStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TextStamp {
    type Err = ParseStampError;

    fn from_str(text: &str) -> Result<Self, ParseStampError> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseStampError);
        }
        for (number, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * number..2 * number + 2).ok_or(ParseStampError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ParseStampError)?;
        }
        Ok(Self(bytes))
    }
}

/// The configuration file, which may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    path: PathBuf,
    /// Whether the file may be missing. If it is missing, the first edit creates it.
    may_be_made: bool,
    /// The options that changes may touch.
    reach: ChangeScope,
    /// The configuration whose protected options are compared if the file is faulty.
    in_force: Option<Arc<Config>>,
}

/// The text of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    /// The whole text; empty without a file.
    pub text: String,
    /// The identity of the text.
    pub stamp: TextStamp,
    /// Whether the file exists.
    pub exists: bool,
}

/// A completed change.
#[derive(Debug)]
pub struct AppliedChange {
    /// The new text.
    pub text: ConfigText,
    /// The parsed new text.
    pub config: Config,
    /// The result of the edit. `None` if the whole text was replaced or restored.
    pub edited: Option<EditResult>,
    /// The options with a new value or new rules.
    pub options: Vec<OptionChange>,
    /// Whether the new text differs from the replaced one.
    pub is_new: bool,
}

/// The reason why the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The file does not contain the expected text, because another program has changed the file.
    #[error(
        "the configuration was changed by another program: check its present text, and try again"
    )]
    Conflict {
        /// The present text.
        current: String,
        /// The intended new text; `None` if it can no longer be computed.
        wanted: Option<String>,
    },
    /// The edit does not fit the text.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The new text is faulty.
    #[error("the change would make the configuration faulty, so it was not saved:\n{0}")]
    Faults(Faults),
    /// The change touches a protected option or a protected file: see
    /// [`Protection`](crate::schema::Protection).
    #[error(
        "{0} can be changed only with the control password, which `wwwoffle passwd` sets, or on this \
         machine with `wwwoffle config`"
    )]
    Beyond(String),
    /// There is no version with this number. `None` if no version differs from the present text.
    #[error("there is no {}", version(*.0))]
    NoVersion(Option<u64>),
    /// Another writer has held the lock for too long.
    #[error("{} is being changed by another program: try again", .0.display())]
    Locked(PathBuf),
    /// The file cannot be read.
    #[error("{}: {error}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: String,
    },
    /// The file system reported an error.
    #[error("{} cannot be {what}", .path.display())]
    Disk {
        /// The failed operation, as a participle.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

fn version(number: Option<u64>) -> String {
    number.map_or_else(|| "version before this one".into(), |number| format!("version {number}"))
}

/// Turns an I/O error into a [`ChangeError`].
fn disk(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ChangeError {
    let path = path.to_owned();
    move |source| ChangeError::Disk { what, path, source }
}

impl ConfigFile {
    /// The file that `lookup` finds. If it finds no file, the first edit creates one, unless the
    /// file was named explicitly.
    #[must_use]
    pub fn of(lookup: &ConfigLookup) -> Self {
        let (path, may_be_made) = match lookup {
            ConfigLookup::Named(path) => (path.clone(), false),
            ConfigLookup::FirstOf(candidates) => {
                let there = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
                let path = candidates.iter().find(there).or_else(|| candidates.first());
                (path.cloned().unwrap_or_default(), true)
            }
        };
        Self { path, may_be_made, reach: ChangeScope::Whole, in_force: None }
    }

    /// Limits changes to the options of `reach`. If the file is faulty, the protected options of
    /// the new text are compared with those of `in_force`.
    #[must_use]
    pub fn limit_to(self, reach: ChangeScope, in_force: Arc<Config>) -> Self {
        Self { reach, in_force: Some(in_force), ..self }
    }

    /// The path of the file, which may not exist yet.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the present text.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unreadable`].
    pub fn read(&self) -> Result<ConfigText, ChangeError> {
        self.text().map_err(|error| self.unreadable(&error))
    }

    fn text(&self) -> Result<ConfigText, FileError> {
        let (text, exists) = match read(&self.path, MAX_CONFIG) {
            Ok(text) => (text, true),
            Err(FileError::Absent) if self.may_be_made => (String::new(), false),
            Err(error) => return Err(error),
        };
        Ok(ConfigText { stamp: TextStamp::of(&text), text, exists })
    }

    fn unreadable(&self, error: &FileError) -> ChangeError {
        ChangeError::Unreadable { file: self.path.clone(), error: error.to_string() }
    }

    /// Edits the file. If `expected` is given, only a file with that text is edited.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]. The file is then unchanged, unless only the sync of its directory failed.
    pub fn edit(
        &self,
        edit: &Edit,
        expected: Option<TextStamp>,
        now: SystemTime,
    ) -> Result<AppliedChange, ChangeError> {
        self.change(expected, now, |current| {
            let edited = edit::apply(current, edit)?;
            Ok((edited.text.clone(), Some(edited)))
        })
    }

    /// Replaces the whole text, if the present text is the one that `expected` identifies.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]. The file is then unchanged, unless only the sync of its directory failed.
    pub fn replace(
        &self,
        expected: TextStamp,
        text: &str,
        now: SystemTime,
    ) -> Result<AppliedChange, ChangeError> {
        self.change(Some(expected), now, |_| Ok((text.to_owned(), None)))
    }

    /// Restores the version `number`, or the latest version that differs from the present text. The
    /// replaced text becomes a version too, so a second undo reverses the first.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]. The file is then unchanged, unless only the sync of its directory failed.
    pub fn undo(
        &self,
        number: Option<u64>,
        expected: Option<TextStamp>,
        now: SystemTime,
    ) -> Result<AppliedChange, ChangeError> {
        self.change(expected, now, |current| {
            for version in self.versions()?.iter().rev() {
                let is_meant = number.is_none_or(|number| version.number == number);
                if !is_meant {
                    continue;
                }
                let text = version.text()?;
                if number.is_some() || text != current {
                    return Ok((text, None));
                }
            }
            Err(ChangeError::NoVersion(number))
        })
    }

    /// The earlier versions, oldest first, at most [`VERSIONS`](VERSIONS). Empty if there are none.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Disk`] if the directory of the versions cannot be read.
    pub fn versions(&self) -> Result<Vec<EarlierConfig>, ChangeError> {
        match fs::canonicalize(&self.path) {
            Ok(real) => versions::list(&versions::directory(&real)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(disk("found", &self.path)(error)),
        }
    }

    /// Reads the text, passes it to `make`, and replaces the text by the result, while other
    /// writers are locked out.
    fn change(
        &self,
        expected: Option<TextStamp>,
        now: SystemTime,
        make: impl FnOnce(&str) -> Result<(String, Option<EditResult>), ChangeError>,
    ) -> Result<AppliedChange, ChangeError> {
        let real = self.real()?;
        let directory = versions::directory(&real);
        let _locked = versions::lock(&real, &directory)?;
        let old = self.read()?;
        let outcome = make(&old.text);
        if expected.is_some_and(|expected| expected != old.stamp) {
            let wanted = outcome.ok().map(|(text, _)| text);
            return Err(ChangeError::Conflict { current: old.text, wanted });
        }
        let (text, edited) = outcome?;
        if u64::try_from(text.len()).is_ok_and(|length| length > MAX_CONFIG) {
            return Err(self.unreadable(&FileError::TooLarge { limit: MAX_CONFIG }));
        }
        let (config, files) = watch_reads(&[], || Config::parse(&text, &self.path));
        if self.reach == ChangeScope::Guarded {
            let (was, known) = watch_reads(&[], || Config::parse(&old.text, &self.path));
            if was.is_err() && edited.is_none() && drops_protected(&old.text, &text) {
                return Err(ChangeError::Beyond("a faulty configuration".to_owned()));
            }
            let was = was.as_ref().ok().or(self.in_force.as_deref());
            if let Some(what) = find_protected_change((was, &known), (config.as_ref().ok(), &files))
            {
                return Err(ChangeError::Beyond(what));
            }
            // Messages about these faults would quote lines of the other file.
            if let Err(faults) = &config
                && faults.as_slice().iter().any(|fault| fault.file() != self.path)
            {
                return Err(ChangeError::Beyond("a file that the configuration names".to_owned()));
            }
        }
        let config = config.map_err(ChangeError::Faults)?;
        let new = ConfigText { stamp: TextStamp::of(&text), text, exists: true };
        if new.text == old.text && old.exists {
            return Ok(AppliedChange {
                text: new,
                config,
                edited,
                options: Vec::new(),
                is_new: false,
            });
        }
        versions::save(&directory, &old.text, now)?;
        let written = write(&real, &directory, &new.text, old.exists)?;
        // An editor does not take the lock. It may have saved the file while our text was being
        // written.
        let still = self.read()?;
        if still.stamp != old.stamp {
            return Err(ChangeError::Conflict { current: still.text, wanted: Some(new.text) });
        }
        versions::rename(&written, &real)?;
        let options = changes(&old.text, &new.text);
        Ok(AppliedChange { text: new, config, edited, options, is_new: true })
    }

    /// The real path of the file, with links resolved. The directory of a missing file is created
    /// if needed.
    fn real(&self) -> Result<PathBuf, ChangeError> {
        match fs::canonicalize(&self.path) {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(disk("found", &self.path)(error));
            }
            Err(error) if !self.may_be_made => {
                return Err(self.unreadable(&FileError::reading(error)));
            }
            Err(_) => {}
        }
        // A dangling link must not be replaced by a file.
        if let Ok(target) = fs::read_link(&self.path) {
            let error = io::Error::new(
                io::ErrorKind::NotFound,
                format!("it is a link to {}, which does not exist", target.display()),
            );
            return Err(disk("found", &self.path)(error));
        }
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(disk("made", &self.path)(io::ErrorKind::InvalidFilename.into()));
        };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(disk("made", parent))?;
        let parent = fs::canonicalize(parent).map_err(disk("found", parent))?;
        Ok(parent.join(name))
    }
}

/// Writes the new text to a temporary file, with the owner and permissions of the present file. If
/// there is none, only its owner can read the new file, except at [`SYSTEM_FILE`].
fn write(real: &Path, directory: &Path, text: &str, exists: bool) -> Result<PathBuf, ChangeError> {
    let path = directory.join(NEW);
    let file = versions::create(&path, text).map_err(disk("written", &path))?;
    let mode = if exists {
        let old = fs::metadata(real).map_err(disk("read", real))?;
        let own = file.metadata().map_err(disk("read", &path))?;
        if (old.uid(), old.gid()) != (own.uid(), own.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))
                .map_err(disk("given to its owner", &path))?;
        }
        old.permissions()
    } else if real == Path::new(SYSTEM_FILE) {
        fs::Permissions::from_mode(0o644)
    } else {
        fs::Permissions::from_mode(0o600)
    };
    file.set_permissions(mode).and_then(|()| file.sync_all()).map_err(disk("written", &path))?;
    Ok(path)
}
