//! Parses the text of a configuration into a [`Config`], or into all of its faults.

mod access;
mod explain;
pub(crate) mod nearest;
mod unknown;

use crate::{
    error::{Fault, FaultCollector, FaultKind, Faults},
    former::is_former,
    schema::{Config, SECTIONS},
    source::{ValueSource, text::ParsedTexts},
};
use std::{path::Path, sync::Arc};
use unknown::{refuse_open, refuse_unknown};

impl Default for Config {
    /// The configuration without a file: all options have their defaults.
    fn default() -> Self {
        Self::take(&mut ValueSource::empty())
    }
}

impl Config {
    /// Parses the text of a configuration. `file` is the path at which the text is or will be
    /// stored. Faults mention this path, and the files of lists and sections are found relative to
    /// its directory.
    ///
    /// # Errors
    ///
    /// All faults of the text and of the files it names. A text that is not TOML has one fault,
    /// because the rest of the text cannot be interpreted.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Faults> {
        let file: Arc<Path> = file.into();
        let mut collected = FaultCollector::default();
        let texts = ParsedTexts::read(text, &file, SECTIONS, &mut collected).map_err(|fault| {
            if is_former(text) {
                return Fault::new(&file, None, FaultKind::Former { file: Arc::clone(&file) });
            }
            fault
        })?;
        let mut source = ValueSource::new(texts.as_slice(), collected);
        refuse_unknown(&mut source);
        let config = Self::take(&mut source);
        refuse_open(&mut source, &config);
        source.collected.or(&file, config)
    }
}
