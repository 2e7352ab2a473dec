//! Determines the kind and the identity of an archive.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{Key, Timestamp};
use wwwoffle_url::LocalHost;

use crate::classic::{self, Classic};
use crate::error::{Error, ItemFault, Result};
use crate::expand;
use crate::files::{self, FileReader, SourceFile};
use crate::har::Har;
use crate::httrack::{self, Httrack};
use crate::item::Source;
use crate::mirror::{self, Mirror};
use crate::refusal::{DiskFailed, ReadFault, classify_error};
use crate::salvage::SalvagedWacz;
use crate::wacz::Wacz;
use crate::warc::Warc;

/// The number of bytes at each end of a file that identify it.
const SAMPLE: u64 = 64 << 10;

/// The number of decompressed bytes at the beginning of a file that determine its kind.
const BEGINNING: u64 = 1 << 10;

/// The supported kinds of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    /// WARC 1.0 or 1.1, plain or compressed.
    Warc,
    /// WARC files in a ZIP.
    Wacz,
    /// A file saved by a browser's developer tools.
    Har,
    /// A spool of WWWOFFLE 2.9.
    Classic,
    /// A mirror made by HTTrack.
    Httrack,
    /// A folder with a directory for each host, as wget creates it.
    Mirror,
}

/// An opened archive.
pub(crate) struct Archive {
    pub(crate) kind: ArchiveKind,
    pub(crate) source: Box<dyn Source>,
    /// The identity of the archive. `None` for a folder, because any of its files may change.
    pub(crate) identity: Option<String>,
    /// The length of the archive in bytes; 0 for a folder. It determines how many bytes of earlier
    /// bodies the archive may refer to. A folder contains no such references.
    pub(crate) length: u64,
}

/// Opens a file or folder as an archive.
pub(crate) fn open(path: &Path, scheme: &str, local: &LocalHost) -> Result<Archive> {
    let disk = |error| Error::disk("read", path, error);
    // The given path may be a link. Links below it are not followed.
    let path: PathBuf = path.canonicalize().map_err(disk)?;
    let path = path.as_path();
    if files::is_directory(path) {
        return folder(path, scheme, local);
    }
    let found = files::open(path).map_err(disk)?;
    let found = found.ok_or_else(|| Error::unknown(path, "it is neither a file nor a folder"))?;
    let identity = Some(identity(&found).map_err(|error| inside(path, error))?);
    let file = &found.reader;
    let kind = read_kind(file).map_err(|error| inside(path, error))?;
    let source: Box<dyn Source> = match kind {
        Some(ArchiveKind::Wacz) => match Wacz::open(file, path, local) {
            Ok(wacz) => Box::new(wacz),
            Err(error) => Box::new(SalvagedWacz::open(file, path, local)?.ok_or(error)?),
        },
        Some(ArchiveKind::Har) => {
            let input = expand::open(file).map_err(|error| inside(path, error))?;
            Box::new(Har::open(input, path, local))
        }
        Some(ArchiveKind::Warc) => Box::new(Warc::open(file, path, local)?),
        _ => return Err(Error::unknown(path, "its format is unknown")),
    };
    Ok(Archive { kind: kind.unwrap_or(ArchiveKind::Warc), source, identity, length: file.len() })
}

fn folder(path: &Path, scheme: &str, local: &LocalHost) -> Result<Archive> {
    let (kind, source): (_, Box<dyn Source>) = if httrack::is_mirror(path) {
        (ArchiveKind::Httrack, Box::new(Httrack::open(path, local)?))
    } else if classic::is_spool(path) {
        (ArchiveKind::Classic, Box::new(Classic::open(path, local)))
    } else if mirror::is_mirror(path) {
        (ArchiveKind::Mirror, Box::new(Mirror::open(path, scheme, local)?))
    } else {
        let why =
            "it is a folder, but neither a spool of WWWOFFLE 2.9 nor a mirror of HTTrack or wget";
        return Err(Error::unknown(path, why));
    };
    Ok(Archive { kind, source, identity: None, length: 0 })
}

fn inside(path: &Path, error: io::Error) -> Error {
    ItemFault::of_read(path, error).into_unknown(path)
}

/// Determines the kind of a file from its beginning, decompressed if necessary. `None` if the kind
/// is unknown.
fn read_kind(file: &FileReader) -> io::Result<Option<ArchiveKind>> {
    let begin = file.part(0, 4).small(4)?.unwrap_or_default();
    if begin == b"PK\x03\x04" {
        return Ok(Some(ArchiveKind::Wacz));
    }
    let mut beginning = Vec::new();
    let mut input = expand::open(file)?.take(BEGINNING);
    // If a small archive ends in the middle, its beginning is imported. `read_to_end` keeps what was
    // read before an error.
    match input.read_to_end(&mut beginning).map_err(classify_error) {
        Err(ReadFault::Archive(_)) if !beginning.is_empty() => {}
        Err(ReadFault::Archive(reason)) => return Err(reason.into()),
        Err(ReadFault::Disk(error)) => return Err(io::Error::other(DiskFailed(error))),
        Ok(_) => {}
    }
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&beginning).trim_ascii_start();
    Ok(match text.first() {
        Some(b'{') => Some(ArchiveKind::Har),
        Some(_) if text.starts_with(b"WARC/") => Some(ArchiveKind::Warc),
        _ => None,
    })
}

/// Length, modification time, and digest of the beginning and end of a file.
fn identity(found: &SourceFile) -> io::Result<String> {
    let file = &found.reader;
    let mut hasher = Sha256::new();
    for start in [0, file.len().saturating_sub(SAMPLE)] {
        hasher.update(file.part(start, SAMPLE).small(SAMPLE)?.unwrap_or_default());
    }
    let modified = found.modified.map_or(0, Timestamp::as_microsecond);
    Ok(format!("{} {modified} {}", file.len(), hex::encode(hasher.finalize())))
}

/// The key under which the progress of an import is recorded: a digest of the archive's identity
/// and of the options that affect the result.
pub(crate) fn key(identity: &str, options: &str) -> Key {
    Key::from_bytes(Sha256::digest(format!("{identity}\n{options}")).into())
}
