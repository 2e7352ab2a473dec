//! Exports to a folder of plain files that any program can open, with a page that lists them.
//!
//! ```text
//! FOLDER/index.html                  the list of pages and of other files
//! FOLDER/www.example.org/a/b.html    a file per response, decoded if possible
//! ```
//!
//! In a folder to browse ([`FolderForm::Browsable`]) the links of pages lead to the other files, and
//! scripts are removed. The names of all files are known before the first page is written.

mod listing;
mod names;
mod plan;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use wwwoffle_html::rewrite::SavedAddresses;
use wwwoffle_spool::fs::{Disk, SYSTEM_DISK};
use wwwoffle_spool::{Entry, Reader};

use self::listing::FolderListing;
use self::plan::{FolderAddresses, FolderPlan};
use super::saved::{DocumentShape, DocumentWriter, SVG, saved_type};
use super::{DecodeBody, ExportReport, Places, Titles, for_each_entry};
use crate::error::{Error, Result};
use crate::import::EntryBody;
use crate::pending::{PendingFile, PendingFolder};

/// The policy of a saved page: it loads files only, and runs no script.
const POLICY: &str =
    "default-src 'self' file: data: 'unsafe-inline'; script-src 'none'; base-uri 'none'";

/// The form of the files in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderForm {
    /// Pages are rewritten so that they can be browsed from the folder.
    Browsable,
    /// Bodies are unchanged.
    Unchanged,
}

/// The options of an export to a folder.
#[derive(Clone, Copy)]
pub struct FolderOptions<'a> {
    /// The form of the files.
    pub form: FolderForm,
    /// Decodes bodies.
    pub decode: DecodeBody,
    /// Finds the titles of pages, for the list.
    pub titles: Titles<'a>,
    /// Whether older versions are included. They get distinct names.
    pub versions: bool,
}

impl std::fmt::Debug for FolderOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { form, versions, .. } = self;
        f.debug_struct("FolderOptions")
            .field("form", form)
            .field("versions", versions)
            .finish_non_exhaustive()
    }
}

/// Writes a folder. The folder gets its final name when it is complete. Only successful responses
/// become files. Names and list are built in memory, with about 700 bytes for each response.
///
/// # Errors
///
/// If the path exists, the spool cannot be read, or the folder cannot be written.
pub fn to_folder(
    reader: &Reader,
    places: Places<'_>,
    path: &Path,
    options: &FolderOptions<'_>,
) -> Result<ExportReport> {
    let fail = |error| Error::disk("write", path, error);
    if path.symlink_metadata().is_ok() {
        return Err(fail(io::ErrorKind::AlreadyExists.into()));
    }
    let plan = FolderPlan::make((reader, options.versions), places, options.form)?;
    let folder = PendingFolder::begin(path).map_err(fail)?;
    let (mut listing, mut found) = (FolderListing::default(), ExportReport::default());
    let mut written = ExportReport::default();
    let mut planned = plan.places.iter().cloned().map(Ok);
    for_each_entry((reader, options.versions), &mut planned, &mut found, &mut |entry| {
        let Some(parts) = plan.file_of(entry) else { return Ok(()) };
        let mut file = folder.path().to_owned();
        for (depth, part) in (1..).zip(parts) {
            file.push(part);
            if depth < parts.len() {
                make_dir(&file).map_err(fail)?;
            }
        }
        let depth = parts.len().saturating_sub(1);
        let addresses = FolderAddresses {
            reader: reader.clone(),
            decode: options.decode,
            map: Arc::clone(&plan.map),
            depth,
            images: Mutex::default(),
        };
        if !write_body(entry, &file, options, Arc::new(addresses)).map_err(fail)? {
            written.left_out += 1;
            return Ok(());
        }
        written.entries += 1;
        written.bytes += entry.body_len();
        listing.add(entry, parts, options.titles);
        Ok(())
    })?;
    written.left_out += found.left_out + plan.damaged;
    let index = folder.path().join("index.html");
    let mut list = io::BufWriter::new(PendingFile::begin(&index).map_err(fail)?);
    listing.write(&mut list, options.form).map_err(fail)?;
    let list = list.into_inner().map_err(|error| fail(error.into_error()))?;
    list.finish().map_err(fail)?;
    folder.finish(path).map_err(fail)?;
    Ok(written)
}

/// Writes the body of an entry to a file: decoded, and rewritten if the folder is to be browsed. A
/// body that cannot be decoded is written as stored. Returns false if it is a document that cannot
/// be rewritten: it could have scripts.
fn write_body(
    entry: &Entry,
    file: &Path,
    options: &FolderOptions<'_>,
    addresses: Arc<dyn SavedAddresses>,
) -> io::Result<bool> {
    let mut out = ErrorRecorder { out: PendingFile::begin(file)?, failed: None };
    let shape = match options.form {
        FolderForm::Browsable => DocumentShape::of(&saved_type(entry)),
        FolderForm::Unchanged => DocumentShape::Other,
    };
    let done = match shape {
        DocumentShape::Page | DocumentShape::Sheet => {
            let document = DocumentWriter::new(entry, addresses, POLICY, &mut out);
            document.and_then(|mut document| {
                (options.decode)(entry, &mut document)?;
                document.finish().map(|_| ())
            })
        }
        DocumentShape::Svg => write_svg(entry, options.decode, &mut out),
        DocumentShape::Other => (options.decode)(entry, &mut out),
    };
    let ErrorRecorder { out, failed } = out;
    match (done, failed) {
        (_, Some(failed)) => return Err(failed),
        (Ok(()), None) => return out.finish().map(|()| true),
        (Err(_), None) => drop(out),
    }
    if shape != DocumentShape::Other {
        return Ok(false);
    }
    let mut out = PendingFile::begin(file)?;
    io::copy(&mut EntryBody::of(entry), &mut out)?;
    out.finish().map(|()| true)
}

/// Writes a page that shows an SVG image. Opened on its own, the image could run scripts.
fn write_svg(entry: &Entry, decode: DecodeBody, out: &mut dyn Write) -> io::Result<()> {
    let begin = format!(
        "<!doctype html><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <title>Image</title><img alt=\"\" src=\"data:{SVG};base64,"
    );
    out.write_all(begin.as_bytes())?;
    let mut encoder = EncoderWriter::new(&mut *out, &BASE64_STANDARD);
    decode(entry, &mut encoder)?;
    encoder.finish()?;
    drop(encoder);
    out.write_all(b"\">\n")
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

fn make_dir(path: &Path) -> io::Result<()> {
    match SYSTEM_DISK.create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}
