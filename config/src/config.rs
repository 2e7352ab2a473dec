//! The text of a configuration becomes a [`Config`], or all of its faults.

mod access;
mod explain;
pub(crate) mod nearest;
mod unknown;

use crate::{
    error::{Fault, FaultCollector, Faults, Kind},
    former::is_former,
    schema::{Config, SECTIONS},
    source::{Source, text::Texts},
};
use std::{path::Path, sync::Arc};
use unknown::{refuse_open, refuse_unknown};

impl Default for Config {
    /// What holds without any file.
    fn default() -> Self {
        Self::take(&mut Source::empty())
    }
}

impl Config {
    /// Reads the text of a configuration. `file` is where it lies or will lie: it is named in faults,
    /// and lists and sections in files of their own are found relative to its directory.
    ///
    /// # Errors
    ///
    /// All that is wrong with the text, and with the files it names. Text that is not TOML has one
    /// fault, since what follows the first such place cannot be told apart.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Faults> {
        let file: Arc<Path> = file.into();
        let mut collected = FaultCollector::default();
        let texts = Texts::read(text, &file, SECTIONS, &mut collected).map_err(|fault| {
            if is_former(text) {
                return Fault::new(&file, None, Kind::Former { file: Arc::clone(&file) });
            }
            fault
        })?;
        let mut source = Source::new(texts.as_slice(), collected);
        refuse_unknown(&mut source);
        let config = Self::take(&mut source);
        refuse_open(&mut source, &config);
        source.collected.or(&file, config)
    }
}
