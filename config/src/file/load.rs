//! Reads the configuration that is in force.

use super::{ConfigFile, ConfigText};
use crate::{
    disk::{
        MAX_CONFIG,
        lookup::Lookup,
        read,
        watch::{Watch, watching},
    },
    error::{Fault, Faults, Kind},
    schema::Config,
};
use std::path::{Path, PathBuf};

impl Config {
    /// Reads the configuration in `file`.
    ///
    /// # Errors
    ///
    /// All that is wrong with it: see [`Config::parse`]. A file that is missing, too large, not a
    /// regular file or not UTF-8 has that one fault.
    pub fn load(file: &Path) -> Result<Self, Faults> {
        let text = read(file, MAX_CONFIG)
            .map_err(|error| Fault::new(&file.into(), None, Kind::File(error)))?;
        Self::parse(&text, file)
    }

    /// Reads the configuration that `lookup` finds, and says where that was.
    ///
    /// # Errors
    ///
    /// As [`Config::load`]. A file that nobody named and that is not there is no fault; one that is
    /// there and cannot be read is, since it was written to be used.
    pub fn find(lookup: &Lookup) -> Result<(Self, Option<PathBuf>), Faults> {
        let candidates = match lookup {
            Lookup::Named(file) => return Ok((Self::load(file)?, Some(file.clone()))),
            Lookup::FirstOf(candidates) => candidates,
        };
        for file in candidates {
            match read(file, MAX_CONFIG) {
                Ok(text) => return Ok((Self::parse(&text, file)?, Some(file.clone()))),
                Err(error) if error.is_absent() => {}
                Err(error) => {
                    return Err(Fault::new(&file.as_path().into(), None, Kind::File(error)).into());
                }
            }
        }
        Ok((Self::default(), None))
    }
}

/// A configuration as it was read.
#[derive(Debug)]
pub struct LoadedConfig {
    /// Its file, which need not be there.
    pub file: ConfigFile,
    /// The text.
    pub text: ConfigText,
    /// What it says.
    pub config: Config,
}

/// Reads the configuration that `lookup` finds, and says which files have a say in it, also when
/// they are faulty.
///
/// # Errors
///
/// As [`Config::find`].
pub fn load(lookup: &Lookup) -> (Result<LoadedConfig, Faults>, Watch) {
    let places = match lookup {
        Lookup::Named(path) => std::slice::from_ref(path),
        Lookup::FirstOf(paths) => paths,
    };
    watching(places, || {
        let file = ConfigFile::of(lookup);
        let path = file.path().to_owned();
        let text = file.text().map_err(|error| {
            Faults::from(Fault::new(&path.as_path().into(), None, Kind::File(error)))
        })?;
        let config = Config::parse(&text.text, &path)?;
        Ok(LoadedConfig { file, text, config })
    })
}
