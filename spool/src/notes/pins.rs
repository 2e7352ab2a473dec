//! The pinned URLs: the file `pins`, one URL in each line.
//!
//! ```text
//! wwwoffle-pins 1
//! http://www.example.org/
//! ```
//!
//! A URL pins every entry with this URL, whatever its owner. An unreadable file is not set aside,
//! unlike other files: while the pins are unknown, nothing may be purged.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use crate::durability::Root;
use crate::entry::warc::Reason;
use crate::error::{Error, Result};
use crate::fs::Disk;
use crate::fs::parallel::lock;
use crate::fs::whole::read_whole;

pub(crate) const FILE: &str = "pins";
const FIRST_LINE: &str = "wwwoffle-pins 1";

/// The largest number of pins.
pub const MAX_PINS: usize = 20_000;

/// The longest file, in bytes.
pub(crate) const MAX_FILE: usize = 16 << 20;

/// The lock that is held while the pins change. Its value counts their changes.
#[derive(Debug, Default)]
pub(crate) struct PinLock(Mutex<u64>);

/// The pins as last read, for a caller that needs them often.
#[derive(Debug, Default)]
pub(crate) struct PinCache {
    /// The number of changes of the pins when they were read. `None`: not read yet.
    changes: Option<u64>,
    pins: BTreeSet<String>,
}

impl PinLock {
    /// Pins or unpins URLs, durably, with one write of the file. Returns false if nothing had to
    /// change.
    pub(crate) fn set(&self, root: &Root, urls: &[String], is_pinned: bool) -> Result<bool> {
        let is_line = |url: &str| !url.is_empty() && !url.contains(['\n', '\r']);
        if let Some(url) = urls.iter().find(|url| !is_line(url.as_str())) {
            return Err(Error::invalid("the URL", "is not one line", url.as_bytes()));
        }
        let mut count = lock(&self.0);
        let mut pins = read(&*root.disk, &root.path)?;
        let mut changed = false;
        for url in urls {
            changed |= if is_pinned { pins.insert(url.clone()) } else { pins.remove(url) };
        }
        if !changed {
            return Ok(false);
        }
        Error::check_length("the list of pins", pins.len(), MAX_PINS)?;
        let mut text = format!("{FIRST_LINE}\n");
        for url in &pins {
            text.push_str(url);
            text.push('\n');
        }
        Error::check_length("the file of pins", text.len(), MAX_FILE)?;
        *count += 1;
        root.replace_file(&root.join(FILE), text.as_bytes())?;
        Ok(true)
    }

    /// Calls `act` unless the URL is pinned; false if it is. The pins cannot change during the
    /// call. They are read into `seen` if they changed since the last call.
    pub(crate) fn unless_pinned(
        &self,
        root: &Root,
        seen: &mut PinCache,
        url: &str,
        act: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let changes = lock(&self.0);
        if seen.changes != Some(*changes) {
            seen.pins = read(&*root.disk, &root.path)?;
            seen.changes = Some(*changes);
        }
        if seen.pins.contains(url) { Ok(false) } else { act() }
    }
}

pub(crate) fn read(disk: &dyn Disk, root: &Path) -> Result<BTreeSet<String>> {
    let path = root.join(FILE);
    let Some(bytes) = read_whole(disk, &path, MAX_FILE)? else { return Ok(BTreeSet::new()) };
    let bytes = bytes.map_err(|_| foreign(b""))?;
    parse(&bytes).ok_or_else(|| foreign(bytes.get(..40).unwrap_or(&bytes)))
}

/// Parses the file. Each line needs a line end, so a truncated line is not read as another URL.
fn parse(bytes: &[u8]) -> Option<BTreeSet<String>> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let mut lines = text.split('\n');
    if lines.next()? != FIRST_LINE {
        return None;
    }
    lines.map(|line| Some(line.to_owned()).filter(|line| !line.is_empty())).collect()
}

/// Checks that a file is a valid file of pins.
pub(crate) fn reason(text: &[u8]) -> std::result::Result<(), Reason> {
    parse(text).map(drop).ok_or("it is not a list of pins")
}

fn foreign(bytes: &[u8]) -> Error {
    Error::invalid(
        "the file pins",
        "is damaged (correct it, or delete it to remove all pins)",
        bytes,
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn malformed_pin_file_is_refused_entirely() {
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
