//! Exports one page as a single HTML file that contains its sub-resources as `data:` URLs.
//!
//! The sub-resources are read from the spool as the page refers to them, so no index is needed.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use wwwoffle_html::rewrite::{ReferenceUse, SavedAddresses};
use wwwoffle_http::head::read_response;
use wwwoffle_http::redirect::location;
use wwwoffle_spool::{Entry, Place, Reader};
use wwwoffle_url::{BrowserUrl, CanonicalUrl, LocalHost};

use super::DecodeBody;
use super::saved::{
    BoundedWriter, DocumentShape, DocumentWriter, MAX_EMBEDDED, MAX_REDIRECTS, data_url,
    reference_key, saved_type,
};
use crate::error::{Error, Result};
use crate::pending::PendingFile;

/// The most bytes of `data:` URLs in a file, also those in frames and style sheets.
const MAX_FILE: usize = 100 << 20;

/// The most bytes of `data:` URLs that are kept in memory, in case the page uses them again.
const MAX_KEPT: usize = 32 << 20;

/// The most bytes of sub-resources that are decoded for a file, also of those that do not fit.
const MAX_DECODED: usize = 4 * MAX_FILE;

/// The maximum nesting of frames and imported style sheets.
const MAX_DEPTH: usize = 4;

/// The policy of the page: it loads nothing and runs no script.
const POLICY: &str = "default-src data: 'unsafe-inline'; script-src 'none'; base-uri 'none'";

/// A page to export.
#[derive(Debug)]
pub struct SinglePage<'a> {
    /// The page.
    pub entry: &'a Entry,
    /// The owner whose personal sub-resources are used too. `None` uses only those of everyone.
    pub owner: Option<String>,
    /// Decodes bodies.
    pub decode: DecodeBody,
}

/// The result of the export of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinglePageReport {
    /// The number of sub-resources in the file.
    pub embedded: u64,
    /// The number of sub-resources that are not stored.
    pub missing: u64,
    /// The number of sub-resources that are too large or damaged, or too deep in frames.
    pub left_out: u64,
}

/// Writes a page to a file, which gets its final name when it is complete. Returns `None` if the
/// entry is not a page.
///
/// # Errors
///
/// If the body cannot be decoded or the file cannot be written.
pub fn to_single_page(
    reader: &Reader,
    page: SinglePage<'_>,
    path: &Path,
) -> Result<Option<SinglePageReport>> {
    if DocumentShape::of(&saved_type(page.entry)) != DocumentShape::Page {
        return Ok(None);
    }
    let fail = |error| Error::disk("write", path, error);
    let parts = Arc::new(EmbeddedParts {
        reader: reader.clone(),
        owner: page.owner.unwrap_or_default(),
        decode: page.decode,
        state: Mutex::new(PartsState {
            room: MAX_FILE,
            decodable: MAX_DECODED,
            ..PartsState::default()
        }),
    });
    let addresses = Arc::new(PartAddresses::of(&parts, page.entry, 0));
    let out = io::BufWriter::new(PendingFile::begin(path).map_err(fail)?);
    let mut document = DocumentWriter::new(page.entry, addresses, POLICY, out).map_err(fail)?;
    (page.decode)(page.entry, &mut document).map_err(fail)?;
    let out = document.finish().map_err(fail)?;
    let out = out.into_inner().map_err(|error| fail(error.into_error()))?;
    out.finish().map_err(fail)?;
    let state = parts.state.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Some(state.report))
}

/// The sub-resources of a page.
struct EmbeddedParts {
    reader: Reader,
    /// Empty for everyone.
    owner: String,
    decode: DecodeBody,
    state: Mutex<PartsState>,
}

#[derive(Default)]
struct PartsState {
    /// The bytes of `data:` URLs that the file may still get.
    room: usize,
    /// The bytes that may still be decoded.
    decodable: usize,
    /// The `data:` URLs by the URL of the sub-resource. `None` if it cannot be embedded. What a frame
    /// or a style sheet contains depends on its depth, so for these the depth is a part of the key.
    known: HashMap<(String, Option<usize>), Option<String>>,
    /// The total length of the `data:` URLs in `known`.
    kept: usize,
    report: SinglePageReport,
}

impl EmbeddedParts {
    /// The sub-resource as a `data:` URL.
    fn data_url(self: &Arc<Self>, url: &BrowserUrl, depth: usize) -> Option<String> {
        let key = reference_key(url.as_str())?;
        let known = self.with(|state| {
            let at = |level| state.known.get(&(key.clone(), level));
            at(None).or_else(|| at(Some(depth))).cloned()
        });
        if let Some(known) = known {
            let data = known?;
            let fits = self.with(|state| {
                let fits = state.take_room(data.len());
                state.report.left_out += u64::from(!fits);
                fits
            });
            return fits.then_some(data);
        }
        let part = self.embed(&key, depth);
        self.with(|state| {
            let data = part.data.filter(|data| state.take_room(data.len()));
            if part.is_stored {
                match data {
                    Some(_) => state.report.embedded += 1,
                    None => state.report.left_out += 1,
                }
            } else {
                state.report.missing += 1;
            }
            state.remember((key, part.is_read.then_some(depth)), data.as_ref());
            data
        })
    }

    /// Reads and encodes a sub-resource.
    fn embed(self: &Arc<Self>, key: &str, depth: usize) -> EmbeddedPart {
        let Some(entry) = self.find(key) else { return EmbeddedPart::default() };
        let kind = saved_type(&entry);
        let is_read =
            matches!(DocumentShape::of(&kind), DocumentShape::Page | DocumentShape::Sheet);
        let data = if is_read && depth >= MAX_DEPTH {
            None
        } else {
            self.encoded(&entry, &kind, is_read, depth)
        };
        EmbeddedPart { is_stored: true, is_read, data }
    }

    fn encoded(
        self: &Arc<Self>,
        entry: &Entry,
        kind: &str,
        is_read: bool,
        depth: usize,
    ) -> Option<String> {
        let (room, decodable) = self.with(|state| (state.room, state.decodable));
        if decodable == 0 {
            return None;
        }
        let most = if is_read { room } else { MAX_EMBEDDED.min(room) };
        let addresses = Arc::new(PartAddresses::of(self, entry, depth + 1));
        let buffer = BoundedWriter::new(Vec::new(), most);
        let document = DocumentWriter::new(entry, addresses, POLICY, buffer).ok()?;
        let mut document = BoundedWriter::new(document, decodable);
        let decoded = (self.decode)(entry, &mut document);
        let written = document.written(decodable);
        self.with(|state| state.decodable = state.decodable.saturating_sub(written));
        decoded.ok()?;
        let body = document.out.finish().ok()?.out;
        // XHTML became HTML.
        let is_page = DocumentShape::of(kind) == DocumentShape::Page;
        Some(data_url(if is_page { "text/html" } else { kind }, &body))
    }

    /// The stored response to a URL, also through redirects: a personal one before one of everyone,
    /// then the newest.
    fn find(&self, key: &str) -> Option<Entry> {
        let mut key = key.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let url = CanonicalUrl::parse(&key, &LocalHost::default()).ok()?;
            let entry = [self.owner.as_str(), ""].into_iter().find_map(|owner| {
                let found = self.reader.entries(&Place::of(&url).owned_by(owner)).ok()?.found;
                let found = found.into_iter().filter(|entry| (200..400).contains(&entry.status()));
                found.max_by_key(Entry::received)
            })?;
            if entry.status() < 300 {
                return Some(entry);
            }
            let (status, fields) = read_response(entry.head()).ok()?;
            key = reference_key(&location(entry.url(), status, &fields)?)?;
        }
        None
    }

    /// Calls `act` with the state. It must not call back.
    fn with<T>(&self, act: impl FnOnce(&mut PartsState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A sub-resource that was read for the first time, at its depth.
#[derive(Default)]
struct EmbeddedPart {
    is_stored: bool,
    /// Whether it is a page or a style sheet, with references of its own.
    is_read: bool,
    data: Option<String>,
}

impl PartsState {
    /// Takes the room for a `data:` URL. Returns false if it does not fit.
    fn take_room(&mut self, length: usize) -> bool {
        let room = self.room.checked_sub(length);
        self.room = room.unwrap_or(self.room);
        room.is_some()
    }

    /// Remembers a `data:` URL if memory permits, and in any case that there is none.
    fn remember(&mut self, key: (String, Option<usize>), data: Option<&String>) {
        let length = data.map_or(0, String::len);
        if self.kept.saturating_add(length) <= MAX_KEPT {
            self.kept += length;
            self.known.insert(key, data.cloned());
        }
    }
}

/// The addresses in the page, or in one of its frames or style sheets.
struct PartAddresses {
    parts: Arc<EmbeddedParts>,
    /// The URL of the document.
    document: Option<String>,
    depth: usize,
}

impl PartAddresses {
    fn of(parts: &Arc<EmbeddedParts>, entry: &Entry, depth: usize) -> Self {
        Self { parts: Arc::clone(parts), document: reference_key(entry.url()), depth }
    }
}

impl SavedAddresses for PartAddresses {
    fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String> {
        match of {
            ReferenceUse::Part | ReferenceUse::Sheet | ReferenceUse::Document => {
                self.parts.data_url(url, self.depth)
            }
            // A link within the document stays there.
            ReferenceUse::Link => {
                let is_here =
                    url.fragment().is_some() && reference_key(url.as_str()) == self.document;
                is_here.then(String::new)
            }
        }
    }
}
