//! What a person has said that it stays: the file `pins`, a URL to a line.
//!
//! ```text
//! wwwoffle-pins 1
//! http://www.example.org/
//! ```
//!
//! A URL holds for all that is kept of it, whoever's it is. Unlike other files, one that cannot be read is not
//! set aside: as long as nobody knows what is pinned nothing may be removed for its age.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened};
use crate::layout::wide;
use crate::read::read_exactly;
use crate::store::{Store, lock};
use crate::warc::Reason;
use crate::{Reader, Spool};

pub(crate) const FILE: &str = "pins";
const FIRST_LINE: &str = "wwwoffle-pins 1";

/// As many URLs can be pinned.
pub const MAX_PINS: usize = 20_000;

/// The longest file, in bytes.
pub(crate) const MAX_FILE: usize = 16 << 20;

impl Spool {
    /// The URLs that are pinned, canonical and without credentials.
    ///
    /// # Errors
    ///
    /// [`Error::is_invalid`] when the file is none of pins; or when the disk fails.
    pub fn pins(&self) -> Result<BTreeSet<String>> {
        read(&*self.0.store.disk, &self.0.store.root)
    }

    /// Pins a URL, durably, or unpins it; false when it was so already.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`] when too many are; [`Error::is_invalid`] for a text with a line end; those of
    /// [`Spool::pins`]; or when the disk fails or is full, and then nothing has changed.
    pub fn set_pinned(&self, url: &str, is_pinned: bool) -> Result<bool> {
        self.0.store.set_pinned(url, is_pinned)
    }
}

impl Reader {
    /// The URLs that are pinned, as [`Spool::pins`].
    ///
    /// # Errors
    ///
    /// Those of [`Spool::pins`].
    pub fn pins(&self) -> Result<BTreeSet<String>> {
        read(&*self.disk, &self.root)
    }
}

impl Store {
    fn set_pinned(&self, url: &str, is_pinned: bool) -> Result<bool> {
        if url.is_empty() || url.contains(['\n', '\r']) {
            return Err(Error::invalid("the URL", "is not one line", url.as_bytes()));
        }
        let mut count = lock(&self.pinning);
        let mut pins = read(&*self.disk, &self.root)?;
        let changed = if is_pinned { pins.insert(url.to_owned()) } else { pins.remove(url) };
        if !changed {
            return Ok(false);
        }
        Error::unless_fits("the list of pins", pins.len(), MAX_PINS)?;
        let mut text = format!("{FIRST_LINE}\n");
        for url in &pins {
            text.push_str(url);
            text.push('\n');
        }
        Error::unless_fits("the file of pins", text.len(), MAX_FILE)?;
        *count += 1;
        self.replace_file(&self.root.join(FILE), text.as_bytes())?;
        Ok(true)
    }
}

/// The pins as somebody sees them who looks at them often.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How often they had changed when they were read; `None`: they were not.
    changes: Option<u64>,
    pins: BTreeSet<String>,
}

impl Store {
    /// Does something unless the URL is pinned, which nobody can change meanwhile. `None`: it is.
    pub(super) fn unless_pinned<T>(
        &self,
        seen: &mut Seen,
        url: &str,
        act: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        let changes = lock(&self.pinning);
        if seen.changes != Some(*changes) {
            seen.pins = read(&*self.disk, &self.root)?;
            seen.changes = Some(*changes);
        }
        if seen.pins.contains(url) { Ok(None) } else { act().map(Some) }
    }
}

fn read(disk: &dyn Disk, root: &Path) -> Result<BTreeSet<String>> {
    let path = root.join(FILE);
    let (file, len) = match disk.open(&path) {
        Ok(Opened::File(file, len)) => (file, len),
        Ok(Opened::NotAFile) => return Err(foreign(b"")),
        Err(error) if is_missing(&error) => return Ok(BTreeSet::new()),
        Err(error) => return Err(Error::disk("open", &path, error)),
    };
    if len > wide(MAX_FILE) {
        return Err(foreign(b""));
    }
    let bytes = read_exactly(&*file, MAX_FILE, 0);
    let bytes = bytes.map_err(|error| Error::disk("read", &path, error))?;
    parse(&bytes).ok_or_else(|| foreign(bytes.get(..40).unwrap_or(&bytes)))
}

/// Each line with its end: one that was cut off is not read as another URL.
fn parse(bytes: &[u8]) -> Option<BTreeSet<String>> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let mut lines = text.split('\n');
    if lines.next()? != FIRST_LINE {
        return None;
    }
    lines.map(|line| Some(line.to_owned()).filter(|line| !line.is_empty())).collect()
}

/// Whether a file is one of pins.
pub(crate) fn reason(text: &[u8]) -> std::result::Result<(), Reason> {
    parse(text).map(drop).ok_or("it does not tell what is pinned")
}

fn foreign(bytes: &[u8]) -> Error {
    Error::invalid("the file pins", "does not tell what is pinned", bytes)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_file_tells_all_or_nothing() {
        let read =
            |text: &str| parse(text.as_bytes()).map(|pins| pins.into_iter().collect::<Vec<_>>());
        let urls = |urls: &[&str]| Some(urls.iter().map(|url| (*url).to_owned()).collect());
        assert_eq!(read("wwwoffle-pins 1\n"), urls(&[]));
        assert_eq!(
            read("wwwoffle-pins 1\nhttp://b/\nhttp://a/\n"),
            urls(&["http://a/", "http://b/"])
        );
        for text in [
            "",
            "\n",
            "wwwoffle-pins 1",
            "wwwoffle-pins 2\n",
            "wwwoffle-pins 1\nhttp://a/",
            "wwwoffle-pins 1\n\n",
            "http://a/\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(parse(b"wwwoffle-pins 1\n\xff\n"), None);
    }
}
