//! How far imports are: `imports/<key>`, a text each, in a form that is their caller's affair.

use std::path::PathBuf;

use wwwoffle_url::Key;

use crate::Spool;
use crate::error::{Error, Result, is_missing};
use crate::fs::Opened;
use crate::read::read_exactly;
use crate::store::Store;

/// The directory of the texts.
pub(crate) const IMPORTS: &str = "imports";

/// The longest text about an import, in bytes.
pub const MAX_IMPORT: usize = 64 << 10;

impl Spool {
    /// The text about an import that did not come to its end; `None` for none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn import(&self, key: Key) -> Result<Option<String>> {
        read(&self.0.store, key)
    }

    /// Writes the text about an import, durably, in place of the one before.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] above [`MAX_IMPORT`] bytes; or when the disk fails or is full.
    pub fn set_import(&self, key: Key, text: &str) -> Result<()> {
        write(&self.0.store, key, text)
    }

    /// Removes the text about an import; false when there was none.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn remove_import(&self, key: Key) -> Result<bool> {
        remove(&self.0.store, key)
    }
}

/// The text about an import; `None` for none, or for one that was no text and was set aside.
fn read(store: &Store, key: Key) -> Result<Option<String>> {
    let path = path(store, key);
    let bytes = match store.disk.open(&path) {
        Ok(Opened::File(file, _)) => read_exactly(&*file, MAX_IMPORT + 1, 0)
            .map_err(|error| Error::disk("read", &path, error))?,
        Ok(Opened::NotAFile) => Vec::new(),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(Error::disk("open", &path, error)),
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_IMPORT && !text.is_empty() => Ok(Some(text)),
        _ => {
            store.move_aside(&path, "it is no text about an import");
            Ok(None)
        }
    }
}

/// Writes the text about an import, durably.
fn write(store: &Store, key: Key, text: &str) -> Result<()> {
    Error::unless_fits("the text about the import", text.len(), MAX_IMPORT)?;
    store.replace_file(&path(store, key), text.as_bytes())
}

/// Removes the text about an import; false when there was none.
fn remove(store: &Store, key: Key) -> Result<bool> {
    store.remove_file(&path(store, key))
}

fn path(store: &Store, key: Key) -> PathBuf {
    store.root.join(IMPORTS).join(key.to_string())
}
