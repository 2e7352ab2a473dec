//! Exports to a folder of plain files that any program can open, with a page that lists them.
//!
//! ```text
//! FOLDER/index.html                  the list of files by URL
//! FOLDER/www.example.org/a/b.html    a file per response, decoded if possible
//! ```
//!
//! URLs come from the network, so file names are built only from allowed characters. A file cannot
//! be outside the folder, be hidden, or have the name of a device. Links in pages are not changed.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};
use wwwoffle_spool::{Entry, Reader};

use super::index::media_type;
use super::warc::time;
use super::{ExportReport, Places, for_each_entry};
use crate::error::{Error, Result};
use crate::import::EntryBody;
use crate::pending::{PendingFile, PendingFolder};
use crate::types;

/// The longest path component in bytes; file systems allow 255.
const MAX_PART: usize = 120;

/// The maximum number of nested folders. The names of deeper folders are joined into one.
const MAX_DEPTH: usize = 20;

/// Names that some systems reserve for devices, without the digits that may follow.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// A function that writes the body of an entry, decoded from its content codings.
pub type DecodeBody<'a> = &'a dyn Fn(&Entry, &mut dyn Write) -> io::Result<()>;

/// Writes a folder. The folder gets its final name when it is complete. Only successful responses
/// become files. Older versions get distinct names.
///
/// # Errors
///
/// If the path exists, the spool cannot be read, or the folder cannot be written.
pub fn to_folder(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    decoded: DecodeBody<'_>,
    versions: bool,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", path, error);
    if path.symlink_metadata().is_ok() {
        return Err(fail(io::ErrorKind::AlreadyExists.into()));
    }
    let folder = PendingFolder::begin(path).map_err(fail)?;
    let index = folder.path().join("index.html");
    let mut list = io::BufWriter::new(PendingFile::begin(&index).map_err(fail)?);
    list.write_all(HEAD.as_bytes()).map_err(fail)?;
    let (mut names, mut found) = (Names::default(), ExportReport::default());
    let mut written = ExportReport::default();
    for_each_entry((reader, versions), places, &mut found, &mut |entry| {
        if !(200..300).contains(&entry.status()) {
            return Ok(());
        }
        let parts = names.of(entry.url(), &media_type(entry.head()));
        let mut file = folder.path().to_owned();
        for (depth, part) in (1..).zip(&parts) {
            file.push(part);
            if depth < parts.len() {
                make_dir(&file).map_err(fail)?;
            }
        }
        write_body(entry, &file, decoded).map_err(fail)?;
        written.entries += 1;
        written.bytes += entry.body_len();
        list.write_all(row(entry, &parts).as_bytes()).map_err(fail)
    })?;
    written.left_out = found.left_out;
    list.write_all(b"</table>\n").map_err(fail)?;
    let list = list.into_inner().map_err(|error| fail(error.into_error()))?;
    list.finish().map_err(fail)?;
    folder.finish(path).map_err(fail)?;
    Ok(written)
}

/// Writes the body of an entry to a file: decoded, or as stored if it cannot be decoded.
fn write_body(entry: &Entry, file: &Path, decoded: DecodeBody<'_>) -> io::Result<()> {
    let mut out = ErrorRecorder { out: PendingFile::begin(file)?, failed: None };
    let done = decoded(entry, &mut out);
    let ErrorRecorder { out, failed } = out;
    match (done, failed) {
        (Ok(()), _) => return out.finish(),
        (Err(_), Some(failed)) => return Err(failed),
        (Err(_), None) => drop(out),
    }
    let mut out = PendingFile::begin(file)?;
    io::copy(&mut EntryBody::of(entry), &mut out)?;
    out.finish()
}

/// A writer that records its error. The decoder reports a write error like a damaged body; with the
/// record they can be told apart.
struct ErrorRecorder {
    out: PendingFile,
    failed: Option<io::Error>,
}

impl Write for ErrorRecorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const HEAD: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Pages saved by wwwoffle</title>\n\
    <table>\n<tr><th>URL<th>received<th>bytes<th>type\n";

fn make_dir(path: &Path) -> io::Result<()> {
    match SYSTEM_DISK.create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn row(entry: &Entry, parts: &[String]) -> String {
    let link: PathBuf = parts.iter().map(|part| part.replace('%', "%25")).collect();
    let (link, url) = (escaped(&link.to_string_lossy()), escaped(entry.url()));
    let (time, kind) = (time(entry.received()), escaped(&media_type(entry.head())));
    format!("<tr><td><a href=\"{link}\">{url}</a><td>{time}<td>{}<td>{kind}\n", entry.body_len())
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// The names in use. They are compared without case, for file systems that ignore case.
#[derive(Debug)]
struct Names {
    files: HashSet<String>,
    folders: HashSet<String>,
}

impl Default for Names {
    fn default() -> Self {
        Self { files: HashSet::from(["index.html".to_owned()]), folders: HashSet::new() }
    }
}

impl Names {
    /// Returns the folders for a URL, and a file name that is not in use there.
    fn of(&mut self, url: &str, kind: &str) -> Vec<String> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (path, arguments) = rest.split_once('?').unwrap_or((rest, ""));
        let (folders, name) = path.rsplit_once('/').unwrap_or((path, ""));
        let mut parts: Vec<String> = folders.split('/').map(safe).collect();
        let name = if name.is_empty() { "index" } else { name };
        let mut name = match arguments {
            "" => safe(name),
            arguments => safe(&format!("{name}@{arguments}")),
        };
        if parts.len() > MAX_DEPTH {
            let deep = parts.split_off(MAX_DEPTH).join("/");
            parts.push(short(&deep));
        }
        let is_told = types::of(&name, b"") == kind;
        if let Some(end) = types::end_of(kind).filter(|_| !is_told) {
            name = format!("{name}.{end}");
        }
        let mut folder = String::new();
        for part in &mut parts {
            while self.files.contains(&format!("{folder}{part}").to_lowercase()) {
                part.push('~');
            }
            folder = format!("{folder}{part}/");
            self.folders.insert(folder.trim_end_matches('/').to_lowercase());
        }
        parts.push(self.free(&folder, &name));
        parts
    }

    /// Returns a name that is not in use in the folder.
    fn free(&mut self, folder: &str, name: &str) -> String {
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let dot = if end.is_empty() { "" } else { "." };
        let mut free = name.to_owned();
        for number in 2_u32.. {
            let whole = format!("{folder}{free}").to_lowercase();
            if !self.folders.contains(&whole) && self.files.insert(whole) {
                break;
            }
            free = format!("{stem}~{number}{dot}{end}");
        }
        free
    }
}

/// Converts a path component of a URL to a plain name.
fn safe(part: &str) -> String {
    let mut name = String::new();
    for (index, byte) in part.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_~+,=@".contains(&byte);
        let is_dot = byte == b'.' && index > 0 && index + 1 < part.len();
        if is_plain || is_dot {
            name.push(char::from(byte));
        } else {
            name = format!("{name}%{}", hex::encode([byte]));
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let stem = stem.trim_end_matches(|character: char| character.is_ascii_digit());
    if DEVICES.contains(&stem) {
        name = format!("_{name}");
    }
    if name.len() > MAX_PART { short(&name) } else { name }
}

/// The beginning of a long name, with a digest that keeps it unique.
fn short(name: &str) -> String {
    let begin: String = name.chars().filter(|one| *one != '/').take(MAX_PART - 33).collect();
    let digest = hex::encode(Sha256::digest(name));
    format!("{begin}~{}", digest.get(..32).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use super::*;

    #[test]
    fn urls_become_names() {
        let mut names = Names::default();
        for (url, kind, want) in [
            ("http://a.example/", "text/html", "a.example/index.html"),
            ("http://a.example/b/", "text/html", "a.example/b/index.html"),
            ("http://a.example/b", "text/html", "a.example/b.html"),
            ("http://a.example/c.png", "image/png", "a.example/c.png"),
            ("http://a.example/c.png?x=1&y", "image/png", "a.example/c.png@x=1%26y.png"),
            ("http://a.example/n%2520x?q=a%26b", "text/html", "a.example/n%252520x@q=a%2526b.html"),
            ("http://a.example/n%2520x", "text/html", "a.example/n%252520x.html"),
            ("http://a.example/C.PNG", "image/png", "a.example/C~2.PNG"),
            ("http://a.example/c.png/d", "text/plain", "a.example/c.png~/d.txt"),
            ("http://a.example/odd", "application/odd", "a.example/odd"),
            ("http://a.example/odd/x", "application/odd", "a.example/odd~/x"),
            ("http://a.example:8080/con", "text/css", "a.example%3a8080/_con.css"),
            ("http://a.example/../../etc", "unk", "a.example/%2e%2e/%2e%2e/etc"),
            ("http://a.example/.htaccess", "unk", "a.example/%2ehtaccess"),
            ("http://a.example//x%00y", "unk", "a.example/%/x%2500y"),
            ("http://index.html/x", "unk", "index.html~/x"),
        ] {
            assert_eq!(names.of(url, kind).join("/"), want, "{url}");
        }
    }

    #[test]
    fn export_names_are_safe_and_unique() {
        let (mut names, mut given) = (Names::default(), HashSet::new());
        let long = "x".repeat(5_000);
        let deep = "a/".repeat(3_000);
        for part in ["..", ".", "", "/", "\\", "a\nb", "%2e%2e", "é", "CON", &long, &deep] {
            for url in [format!("http://{part}/{part}"), format!("http://h/{part}?{part}")] {
                for _ in 0..2 {
                    let parts = names.of(&url, "text/html");
                    let path: PathBuf = parts.iter().collect();
                    let plain = |one: Component<'_>| matches!(one, Component::Normal(_));
                    assert!(path.components().all(plain), "{path:?}");
                    assert_eq!(path.components().count(), parts.len(), "{path:?}");
                    assert!(parts.iter().all(|part| part.len() < 200 && !part.starts_with('.')));
                    assert!(parts.len() <= MAX_DEPTH + 2);
                    assert!(given.insert(path.to_string_lossy().to_lowercase()), "{path:?}");
                }
            }
        }
    }
}
