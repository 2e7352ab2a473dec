//! ZIP files, as others make them, and without compression as we do.

pub(crate) mod read;
pub(crate) mod write;
