//! What is kept, into archives that others read.

mod folder;
mod index;
mod wacz;
mod warc;

use std::io::{self, Read as _, Write};
use std::path::Path;

use jiff::Timestamp;
use wwwoffle_spool::{Entry, Place, Reader};

pub use self::folder::{Decoded, to_folder};
use self::wacz::Wacz;
pub(crate) use self::warc::Warcs;
use crate::aside::Aside;
use crate::error::{Error, Result};
use crate::import::EntryBody;

/// Bytes of a body that are read at once.
const PIECE: usize = 64 << 10;

/// The places of what is to be exported, as a list, an index or a search gives them.
pub type Places<'a> = &'a mut dyn Iterator<Item = wwwoffle_spool::Result<Place>>;

/// Tells the title of a page.
pub type Titles<'a> = &'a dyn Fn(&Entry) -> Option<String>;

/// How an archive is made.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// What made it, as `wwwoffle/0.1.0`.
    pub software: String,
    /// When.
    pub now: Timestamp,
    /// The older versions of what is exported go along.
    pub versions: bool,
}

/// What an export has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Answers that are in the archive.
    pub entries: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// What was damaged, or gone when it was its turn.
    pub left_out: u64,
}

/// Writes WARC, a gzip member for each record.
///
/// # Errors
///
/// When the spool cannot be read, or `out` not be written.
pub fn to_warc(
    reader: &Reader,
    places: Places<'_>,
    out: &mut dyn Write,
    options: &ExportOptions,
) -> Result<Exported> {
    let fail = |error| Error::disk("write", Path::new("the archive"), error);
    let mut warcs = Warcs::begin(out, options).map_err(fail)?;
    let mut exported = Exported::default();
    each((reader, options.versions), places, &mut exported, &mut |entry| {
        warcs.add(entry).map(|_| ()).map_err(fail)
    })?;
    Ok(exported)
}

/// Writes one answer and its request as WARC, with these heads in place of their own: the caller says what of them is
/// for whom.
///
/// # Errors
///
/// When `out` cannot be written, or the body not be read.
pub fn to_warc_one(
    entry: &Entry,
    heads: (&[u8], &[u8]),
    out: &mut dyn Write,
    options: &ExportOptions,
) -> Result<()> {
    let fail = |error| Error::disk("write", Path::new("the record"), error);
    let mut warcs = Warcs::begin(out, options).map_err(fail)?;
    warcs.add_with(entry, heads).map(|_| ()).map_err(fail)
}

/// The same into a file, which has its name when it is whole.
///
/// # Errors
///
/// Those of [`to_warc`].
pub fn to_warc_file(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    let fail = |error| Error::disk("write", path, error);
    let mut out = io::BufWriter::new(Aside::begin(path).map_err(fail)?);
    let exported = to_warc(reader, places, &mut out, options)?;
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.finish().map_err(fail)?;
    Ok(exported)
}

/// Writes a WACZ 1.1.1: the WARC, an index of it, the list of its pages, and the digests of all that. The
/// index is in memory meanwhile, some 300 bytes for each answer.
///
/// # Errors
///
/// Those of [`to_warc`].
pub fn to_wacz(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    options: &ExportOptions,
    titles: Titles<'_>,
) -> Result<Exported> {
    let fail = |error| Error::disk("write", path, error);
    let mut wacz = Wacz::begin(Aside::begin(path).map_err(fail)?);
    let mut exported = Exported::default();
    let mut warc = wacz.warc(options).map_err(fail)?;
    each((reader, options.versions), places, &mut exported, &mut |entry| {
        warc.add(entry, titles).map_err(fail)
    })?;
    let told = warc.finish().map_err(fail)?;
    wacz.finish(told, options).map_err(fail)?.finish().map_err(fail)?;
    Ok(exported)
}

/// Hands each entry out that is sound to its last byte, and its older versions if they are asked for, the newest
/// of all first.
pub(crate) fn each(
    (reader, versions): (&Reader, bool),
    places: Places<'_>,
    exported: &mut Exported,
    take: &mut dyn FnMut(&Entry) -> Result<()>,
) -> Result<()> {
    let mut told = |found: Option<Entry>| -> Result<()> {
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
        told(found.into_iter().find(|entry| *entry.place() == place))?;
        let older = if versions { reader.versions(&place)? } else { Vec::new() };
        for version in older {
            told(reader.version(&place, version.stored)?.found())?;
        }
    }
    Ok(())
}

/// Reads a body to its end: an archive that is begun cannot be told of damage any more.
fn is_sound(entry: &Entry) -> bool {
    let (mut body, mut piece) = (EntryBody::of(entry), vec![0; PIECE]);
    loop {
        match body.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
