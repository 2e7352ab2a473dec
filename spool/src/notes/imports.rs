//! The progress of imports: one text file for each import, `imports/<key>`. The caller defines the
//! form of the text.

use std::path::PathBuf;

use wwwoffle_url::Key;

use crate::durability::Root;
use crate::error::{Error, Result};
use crate::fs::whole::read_whole;

/// The directory of the texts.
pub(crate) const IMPORTS: &str = "imports";

/// The longest text about an import, in bytes.
pub const MAX_IMPORT: usize = 64 << 10;

/// Reads the progress of an import. `None` if the file is missing, or was invalid and set aside.
pub(crate) fn read(root: &Root, key: Key) -> Result<Option<String>> {
    let path = path(root, key);
    let Some(bytes) = read_whole(&*root.disk, &path, MAX_IMPORT)? else {
        return Ok(None);
    };
    match bytes.map(String::from_utf8) {
        Ok(Ok(text)) if !text.is_empty() => Ok(Some(text)),
        _ => {
            root.move_aside(&path, "it is not a text about an import");
            Ok(None)
        }
    }
}

/// Writes the progress of an import, durably.
pub(crate) fn write(root: &Root, key: Key, text: &str) -> Result<()> {
    Error::check_length("the text about the import", text.len(), MAX_IMPORT)?;
    root.replace_file(&path(root, key), text.as_bytes())
}

/// The path of the progress of an import.
pub(crate) fn path(root: &Root, key: Key) -> PathBuf {
    root.join(IMPORTS).join(key.to_string())
}
