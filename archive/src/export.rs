//! Exports entries to archives in common formats.

mod folder;
mod index;
mod saved;
mod single;
pub(crate) mod wacz;
mod warc;

use std::io::{self, BufReader, Write};
use std::path::Path;

use jiff::Timestamp;
use wwwoffle_spool::{Entry, Place, Reader};

pub use self::folder::{FolderForm, FolderOptions, to_folder};
pub use self::single::{SinglePage, SinglePageReport, to_single_page};
pub(crate) use self::wacz::WaczWriter;
pub(crate) use self::warc::WarcWriter;
use crate::error::{Error, Result};
use crate::import::EntryBody;
use crate::pending::PendingFile;

/// The number of bytes of a body that are read at once.
const PIECE: usize = 64 << 10;

/// The places to export, as returned by a list, an index or a search.
pub type Places<'a> = &'a mut dyn Iterator<Item = wwwoffle_spool::Result<Place>>;

/// A function that writes the body of an entry, decoded from its content codings.
pub type DecodeBody = fn(&Entry, &mut dyn Write) -> io::Result<()>;

/// A function that returns the title of a page, if known.
pub type Titles<'a> = &'a dyn Fn(&Entry) -> Option<String>;

/// The options of an export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The program name for the archive, such as `wwwoffle/0.1.0`.
    pub software: String,
    /// The time of the export.
    pub now: Timestamp,
    /// Whether older versions are included.
    pub versions: bool,
    /// The definition of the exported collection, which a WACZ contains.
    pub collection: Option<String>,
}

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// The number of responses in the archive.
    pub entries: u64,
    /// The total length of their bodies, in bytes.
    pub bytes: u64,
    /// The number of entries that were skipped because they were damaged or had been removed.
    pub left_out: u64,
}

/// Writes WARC with one gzip member per record.
///
/// # Errors
///
/// If the spool cannot be read or `out` cannot be written.
pub fn to_warc(
    reader: &Reader,
    places: Places<'_>,
    out: &mut dyn Write,
    options: &ExportOptions,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", Path::new("the archive"), error);
    let mut warcs = WarcWriter::begin(out, options).map_err(fail)?;
    let mut exported = ExportReport::default();
    for_each_entry((reader, options.versions), places, &mut exported, &mut |entry| {
        warcs.add(entry).map(|_| ()).map_err(fail)
    })?;
    Ok(exported)
}

/// Writes one response and its request as WARC. `heads` are the heads of the response and of the
/// request to write. The caller must have removed the fields that the recipient may not see.
///
/// # Errors
///
/// If `out` cannot be written or the body cannot be read.
pub fn to_warc_one(
    entry: &Entry,
    heads: (&[u8], &[u8]),
    out: &mut dyn Write,
    options: &ExportOptions,
) -> Result<()> {
    let fail = |error| Error::disk("write", Path::new("the record"), error);
    let mut warcs = WarcWriter::begin(out, options).map_err(fail)?;
    warcs.add_with(entry, heads).map(|_| ()).map_err(fail)
}

/// Writes WARC to a file. The file gets its final name when it is complete.
///
/// # Errors
///
/// If the spool cannot be read or the file cannot be written.
pub fn to_warc_file(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    options: &ExportOptions,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", path, error);
    let mut out = io::BufWriter::new(PendingFile::begin(path).map_err(fail)?);
    let exported = to_warc(reader, places, &mut out, options)?;
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.finish().map_err(fail)?;
    Ok(exported)
}

/// Writes a WACZ 1.1.1: the WARC, an index, the list of pages, and the digests of these files. The
/// index is built in memory, with about 300 bytes per response.
///
/// # Errors
///
/// If the spool cannot be read or the file cannot be written.
pub fn to_wacz(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    options: &ExportOptions,
    titles: Titles<'_>,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", path, error);
    let mut wacz = WaczWriter::begin(PendingFile::begin(path).map_err(fail)?);
    let mut exported = ExportReport::default();
    let mut warc = wacz.warc(options).map_err(fail)?;
    for_each_entry((reader, options.versions), places, &mut exported, &mut |entry| {
        warc.add(entry, titles).map_err(fail)
    })?;
    let index_data = warc.finish().map_err(fail)?;
    wacz.finish(index_data, options).map_err(fail)?.finish().map_err(fail)?;
    Ok(exported)
}

/// Calls `take` for every entry whose body is intact. If older versions are requested, also calls
/// `take` for these, the newest first.
pub(crate) fn for_each_entry(
    (reader, versions): (&Reader, bool),
    places: Places<'_>,
    exported: &mut ExportReport,
    take: &mut dyn FnMut(&Entry) -> Result<()>,
) -> Result<()> {
    let mut export_found = |found: Option<Entry>| -> Result<()> {
        match found.filter(is_sound) {
            Some(entry) => {
                take(&entry)?;
                exported.entries += 1;
                exported.bytes += entry.body_len();
            }
            None => exported.left_out += 1,
        }
        Ok(())
    };
    for place in places {
        let place = place?;
        let found = reader.entries(&place)?.found;
        export_found(found.into_iter().find(|entry| *entry.place() == place))?;
        let older = if versions { reader.versions(&place)? } else { Vec::new() };
        for version in older {
            export_found(reader.version(&place, version.stored)?.found())?;
        }
    }
    Ok(())
}

/// Reads a body to its end and verifies it. Damage must be found now, because it could not be
/// reported after the export of the body has begun.
fn is_sound(entry: &Entry) -> bool {
    let mut body = BufReader::with_capacity(PIECE, EntryBody::of(entry));
    io::copy(&mut body, &mut io::sink()).is_ok()
}
