//! Loads the configuration in force.

use super::{ConfigFile, ConfigText};
use crate::{
    disk::{
        FileError, MAX_CONFIG,
        lookup::ConfigLookup,
        read,
        watch::{WatchedFiles, watch_reads},
    },
    error::{Fault, Faults},
    schema::Config,
};
use std::path::{Path, PathBuf};

impl Config {
    /// Loads the configuration in `file`.
    ///
    /// # Errors
    ///
    /// All faults of the configuration: see [`Config::parse`]. If `file` is missing, too large, not
    /// a regular file or not UTF-8, this is the only fault.
    pub fn load(file: &Path) -> Result<Self, Faults> {
        let text = read(file, MAX_CONFIG).map_err(|error| Fault::of_file(file, error))?;
        Self::parse(&text, file)
    }

    /// Loads the configuration that `lookup` finds, and returns its path. Without a file, returns
    /// the defaults and `None`.
    ///
    /// # Errors
    ///
    /// The faults that [`Config::load`] returns. A missing file is a fault only if it was named
    /// explicitly. An existing file that cannot be read is always a fault.
    pub fn find(lookup: &ConfigLookup) -> Result<(Self, Option<PathBuf>), Faults> {
        let candidates = match lookup {
            ConfigLookup::Named(file) => return Ok((Self::load(file)?, Some(file.clone()))),
            ConfigLookup::FirstOf(candidates) => candidates,
        };
        for file in candidates {
            match read(file, MAX_CONFIG) {
                Ok(text) => return Ok((Self::parse(&text, file)?, Some(file.clone()))),
                Err(FileError::Absent) => {}
                Err(error) => return Err(Fault::of_file(file, error).into()),
            }
        }
        Ok((Self::default(), None))
    }
}

/// A loaded configuration.
#[derive(Debug)]
pub struct LoadedConfig {
    /// The file, which may not exist.
    pub file: ConfigFile,
    /// The text.
    pub text: ConfigText,
    /// The parsed text.
    pub config: Config,
}

/// Loads the configuration that `lookup` finds. Also returns all files that influence the
/// configuration, even if it is faulty.
///
/// # Errors
///
/// As [`Config::find`].
pub fn load(lookup: &ConfigLookup) -> (Result<LoadedConfig, Faults>, WatchedFiles) {
    let places = match lookup {
        ConfigLookup::Named(path) => std::slice::from_ref(path),
        ConfigLookup::FirstOf(paths) => paths,
    };
    watch_reads(places, || {
        let file = ConfigFile::of(lookup);
        let path = file.path().to_owned();
        let text = file.text().map_err(|error| Faults::from(Fault::of_file(&path, error)))?;
        let config = Config::parse(&text.text, &path)?;
        Ok(LoadedConfig { file, text, config })
    })
}
