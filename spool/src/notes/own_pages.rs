//! The user's templates and texts, in `html/`. The program reads them and never writes them.

use std::path::Path;

use crate::durability::Root;
use crate::error::Result;
use crate::fs::names::names_if_any;
use crate::fs::{Disk, OpenedFile, read_exactly};

/// The directory of the files.
pub(crate) const DIRECTORY: &str = "html";

/// The largest number of files that are read.
const MOST_FILES: usize = 256;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The endings of templates, styles, and texts in other languages.
const ENDINGS: [&str; 3] = [".html", ".css", ".po"];

/// A file in `html/` that was not read.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} in {DIRECTORY}/ is not read: {why}")]
pub struct UnreadPage {
    name: String,
    why: String,
}

/// The content of `html/`.
#[derive(Debug, Default)]
pub struct UserPages {
    /// The name and text of each file, ordered by name.
    pub pages: Vec<(String, String)>,
    /// The files that could not be read.
    pub not_read: Vec<UnreadPage>,
}

/// Reads the files in `html/`. An unreadable file is listed in [`UserPages::not_read`].
pub(crate) fn read_all(root: &Root) -> Result<UserPages> {
    let directory = root.join(DIRECTORY);
    let UserPages { mut pages, mut not_read } = UserPages::default();
    for name in names_if_any(&*root.disk, &directory)? {
        let name = name?;
        let Some(name) = name.to_str().filter(|name| is_one(name)) else { continue };
        let path = directory.join(name);
        let read = if pages.len() == MOST_FILES {
            Err("there are too many files".to_owned())
        } else {
            // If one file is unreadable, the others are still read.
            read(&*root.disk, &path).unwrap_or_else(|error| Err(error.to_string()))
        };
        match read {
            Ok(text) => pages.push((name.to_owned(), text)),
            Err(why) => not_read.push(UnreadPage { name: name.to_owned(), why }),
        }
    }
    pages.sort_unstable();
    Ok(UserPages { pages, not_read })
}

/// Whether the name is that of a template, style sheet or translation. Hidden files and the backups
/// of editors are not.
fn is_one(name: &str) -> bool {
    !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn read(disk: &dyn Disk, path: &Path) -> std::io::Result<std::result::Result<String, String>> {
    let not = |why: &str| Ok(Err(why.to_owned()));
    let (file, length) = match disk.open(path)? {
        OpenedFile::File(_, length) if length > LONGEST => return not("it is longer than 1 MiB"),
        OpenedFile::File(file, length) => (file, length),
        OpenedFile::NotAFile => return not("it is not a plain file"),
    };
    let bytes = read_exactly(&*file, usize::try_from(length).unwrap_or_default(), 0)?;
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()))
}
