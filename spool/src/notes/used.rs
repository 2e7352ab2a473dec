//! The times at which entries were last used: the file `used`, with one line for each entry.
//!
//! ```text
//! wwwoffle-used 1
//! 9f86d081884c7d65 1763644799
//! ```
//!
//! A line has the first 16 digits of the key, and the time in seconds since 1970. The access times
//! of the files are not used: setting an access time also alters the stamp by which caches
//! recognize a changed file, and most systems set it on every read. Invalid lines are skipped,
//! because the file only says how long ago a page was used.

use std::fmt::Write as _;

use jiff::Timestamp;
use wwwoffle_url::Key;

use crate::durability::Root;
use crate::error::{Error, Result};
use crate::fs::OpenedFile;
use crate::fs::size::wide;
use crate::fs::whole::open_if_any;

pub(crate) const FILE: &str = "used";
const FIRST_LINE: &str = "wwwoffle-used 1\n";

/// The length of a line in bytes.
const LINE: usize = 28;

/// The largest number of lines. Further lines are dropped.
pub const MAX_USED: usize = 2_000_000;

/// The number of lines read or written at once.
const AT_ONCE: usize = 4096;

/// The times at which entries were last used, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses(Vec<(u64, i64)>);

impl Uses {
    /// When the entry with this key was last used, to the second, if known.
    #[must_use]
    pub fn of(&self, key: &Key) -> Option<Timestamp> {
        let name = name(key);
        let at = self.0.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        self.0.get(at).and_then(|(_, second)| Timestamp::from_second(*second).ok())
    }
}

/// The first 16 digits of a key, as a number.
fn name(key: &Key) -> u64 {
    key.as_bytes().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// Reads the file. A missing or invalid file counts as empty.
pub(crate) fn read(root: &Root) -> Result<Uses> {
    let path = root.join(FILE);
    let Some(OpenedFile::File(file, _)) = open_if_any(&*root.disk, &path)? else {
        return Ok(Uses::default());
    };
    let fail = |error| Error::disk("read", &path, error);
    let mut first = [0; FIRST_LINE.len()];
    let (mut all, mut at) = (Vec::new(), wide(FIRST_LINE.len()));
    if file.read_at(&mut first, 0).map_err(fail)? != first.len() || first != FIRST_LINE.as_bytes() {
        return Ok(Uses::default());
    }
    let (mut buffer, mut held) = (vec![0; LINE * AT_ONCE], 0);
    while all.len() < MAX_USED {
        let rest = buffer.get_mut(held..).unwrap_or_default();
        let read = file.read_at(rest, at).map_err(fail)?;
        if read == 0 {
            break;
        }
        (at, held) = (at + wide(read), held + read);
        let whole = held - held % LINE;
        let lines = buffer.get(..whole).unwrap_or_default();
        all.extend(lines.chunks_exact(LINE).filter_map(parse));
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
    all.truncate(MAX_USED);
    all.sort_unstable();
    // Of two lines with the same key, the one with the later use counts.
    all.reverse();
    all.dedup_by_key(|(name, _)| *name);
    all.reverse();
    Ok(Uses(all))
}

fn parse(line: &[u8]) -> Option<(u64, i64)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (name, second) = line.split_once(' ')?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.len() != 16 || !is_plain(name) || !is_plain(second) {
        return None;
    }
    Some((u64::from_str_radix(name, 16).ok()?, second.parse().ok()?))
}

/// Replaces the file.
pub(crate) fn write(root: &Root, uses: &mut dyn Iterator<Item = (Key, Timestamp)>) -> Result<()> {
    root.put_file(&root.join(FILE), root.create_tmp()?, |file| {
        file.write_all_at(FIRST_LINE.as_bytes(), 0)?;
        let (mut at, mut lines) = (wide(FIRST_LINE.len()), String::new());
        let mut uses = uses.take(MAX_USED).peekable();
        while uses.peek().is_some() {
            lines.clear();
            for (key, time) in uses.by_ref().take(AT_ONCE) {
                // Ten digits are enough until the year 2286.
                let second = time.as_second().clamp(0, 9_999_999_999);
                // Writing to a string does not fail.
                let _written = writeln!(lines, "{:016x} {second:010}", name(&key));
            }
            file.write_all_at(lines.as_bytes(), at)?;
            at += wide(lines.len());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_use_lines_are_refused() {
        let line = b"9f86d081884c7d65 1763644799\n";
        assert_eq!(line.len(), LINE);
        assert_eq!(parse(line), Some((0x9f86_d081_884c_7d65, 1_763_644_799)));
        for bad in [
            &b"9f86d081884c7d65 1763644799 "[..],
            b"9f86d081884c7d6  1763644799\n",
            b"+f86d081884c7d65 1763644799\n",
            b"9f86d081884c7d65 -763644799\n",
            b"9f86d081884c7d65 176364479a\n",
            b"\xff\xfe86d081884c7d65 1763644799\n",
            b"",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
