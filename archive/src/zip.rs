//! ZIP files: reads files of other programs, and writes files without compression.

pub(crate) mod read;
pub(crate) mod write;
