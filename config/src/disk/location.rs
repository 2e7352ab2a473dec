//! The location of a part of the configuration.

use std::{fmt, path::Path, sync::Arc};

/// A file and a line of the configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) file: Arc<Path>,
    pub(crate) line: usize,
}

impl Location {
    /// The configuration file, or another file that it names.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line in the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
