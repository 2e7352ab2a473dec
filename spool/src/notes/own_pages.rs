//! Templates and texts of the user's own, in `html/`. They are read and never written.

use std::fmt;
use std::path::Path;

use crate::durability::Root;
use crate::error::{Error, Result, is_missing};
use crate::fs::{Disk, Opened};

/// The directory they are in.
pub(crate) const DIRECTORY: &str = "html";

/// Files that are read.
const MOST_FILES: usize = 256;

/// Bytes of the longest file that is read.
const LONGEST: u64 = 1 << 20;

/// Endings of the names of what is read: templates, styles, and texts in other languages.
const ENDINGS: [&str; 3] = [".html", ".css", ".toml"];

/// A file in `html/` that is not read.
#[derive(Debug)]
pub struct NotRead {
    name: String,
    why: String,
}

/// What lies in `html/`.
#[derive(Debug, Default)]
pub struct OwnPages {
    /// The name and the text of each file, by name.
    pub pages: Vec<(String, String)>,
    /// What cannot be read.
    pub not_read: Vec<NotRead>,
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {DIRECTORY}/ is not read: {}", self.name, self.why)
    }
}

impl std::error::Error for NotRead {}

/// Reads the directory. An unreadable file is reported in its place.
pub(crate) fn read_all(root: &Root) -> Result<OwnPages> {
    let directory = root.join(DIRECTORY);
    let names = match root.disk.read_dir(&directory) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => return Ok(OwnPages::default()),
        Err(error) => return Err(Error::disk("read", &directory, error)),
    };
    let OwnPages { mut pages, mut not_read } = OwnPages::default();
    for name in names {
        let name = name.map_err(|error| Error::disk("read", &directory, error))?;
        let Some(name) = name.to_str().filter(|name| is_one(name)) else { continue };
        let path = directory.join(name);
        let read = if pages.len() == MOST_FILES {
            Err("there are too many".to_owned())
        } else {
            // One that cannot be read takes none of the others away.
            read(&*root.disk, &path).unwrap_or_else(|error| Err(error.to_string()))
        };
        match read {
            Ok(text) => pages.push((name.to_owned(), text)),
            Err(why) => not_read.push(NotRead { name: name.to_owned(), why }),
        }
    }
    pages.sort_unstable();
    Ok(OwnPages { pages, not_read })
}

/// Whether a name is that of a page, and not of what an editor leaves beside it.
fn is_one(name: &str) -> bool {
    !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn read(disk: &dyn Disk, path: &Path) -> std::io::Result<std::result::Result<String, String>> {
    let not = |why: &str| Ok(Err(why.to_owned()));
    let (file, length) = match disk.open(path)? {
        Opened::File(_, length) if length > LONGEST => return not("it is longer than 1 MiB"),
        Opened::File(file, length) => (file, length),
        Opened::NotAFile => return not("it is no plain file"),
    };
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut have = 0;
    while let Some(rest) = bytes.get_mut(have..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, u64::try_from(have).unwrap_or(u64::MAX))? {
            0 => break,
            count => have += count,
        }
    }
    bytes.truncate(have);
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()))
}
