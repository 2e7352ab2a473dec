//! ZIP files: reads those of other programs, and writes uncompressed ones.

pub(crate) mod read;
pub(crate) mod write;
