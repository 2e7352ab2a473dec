//! Where something of the configuration was written.

use std::{fmt, path::Path, sync::Arc};

/// Where something was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) file: Arc<Path>,
    pub(crate) line: usize,
}

impl Location {
    /// The configuration, or a list that it names.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line in it, counted from 1.
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
