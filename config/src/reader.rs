//! The text of a configuration becomes a [`Config`], or all of its faults.

use crate::{
    error::{Collected, Faults},
    schema::Config,
    source::Source,
    text::Texts,
};
use std::{path::Path, sync::Arc};

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
        let mut collected = Collected::default();
        let texts = Texts::read(text, &file, &mut collected)?;
        let mut source = Source::new(texts.as_slice(), collected);
        source.refuse_unknown();
        let config = Self::take(&mut source);
        source.refuse_open(&config);
        source.collected.or(&file, config)
    }
}
