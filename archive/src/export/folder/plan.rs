//! The names of all files of a folder, and the files that references lead to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use wwwoffle_html::rewrite::{ReferenceUse, SavedAddresses};
use wwwoffle_http::head::read_response;
use wwwoffle_http::redirect::location;
use wwwoffle_spool::{Entry, Place, Reader};
use wwwoffle_url::BrowserUrl;

use super::FolderForm;
use super::names::Names;
use crate::error::Result;
use crate::export::saved::{
    BoundedWriter, DocumentShape, MAX_EMBEDDED, MAX_REDIRECTS, SVG, data_url, reference_key,
    saved_type,
};
use crate::export::{DecodeBody, Places};

/// The files of a folder.
#[derive(Debug)]
pub(super) struct FolderPlan {
    pub(super) places: Vec<Place>,
    /// The path of each file, by the place and the time of storage of its entry.
    files: HashMap<(Place, Timestamp), Vec<String>>,
    pub(super) map: Arc<FolderMap>,
    /// The number of places without a readable entry.
    pub(super) damaged: u64,
}

impl FolderPlan {
    /// Reads the heads of all entries, and gives each successful response a file name.
    pub(super) fn make(
        (reader, versions): (&Reader, bool),
        places: Places<'_>,
        form: FolderForm,
    ) -> Result<Self> {
        let (mut names, mut map) = (Names::default(), FolderMap::default());
        let (mut found, mut files, mut damaged) = (Vec::new(), HashMap::new(), 0);
        for place in places {
            let place = place?;
            let current = reader.entries(&place)?.found.into_iter();
            let Some(entry) = current.into_iter().find(|entry| *entry.place() == place) else {
                damaged += 1;
                continue;
            };
            let mut add = |entry: &Entry, map: &mut FolderMap| {
                if !(200..300).contains(&entry.status()) {
                    return map.add_redirect(entry);
                }
                let kind = saved_type(entry);
                let parts = names.of(entry.url(), &kind, form);
                map.add_file(entry, &kind, &parts);
                files.insert((place.clone(), entry.stored()), parts);
            };
            add(&entry, &mut map);
            for version in if versions { reader.versions(&place)? } else { Vec::new() } {
                if let Some(version) = reader.version(&place, version.stored)?.found() {
                    // References lead to the newest version.
                    add(&version, &mut FolderMap::default());
                }
            }
            found.push(place);
        }
        Ok(Self { places: found, files, map: Arc::new(map), damaged })
    }

    /// The path of the file of an entry, as folders and a name. `None` for a response that gets no
    /// file.
    pub(super) fn file_of(&self, entry: &Entry) -> Option<&[String]> {
        self.files.get(&(entry.place().clone(), entry.stored())).map(Vec::as_slice)
    }
}

/// The files and redirects by URL ([`reference_key`]).
#[derive(Debug, Default)]
pub(super) struct FolderMap {
    files: HashMap<String, SavedFile>,
    redirects: HashMap<String, String>,
}

#[derive(Debug)]
struct SavedFile {
    shape: DocumentShape,
    /// For an SVG image: its place. Pages embed it.
    svg: Option<Place>,
    /// Of several responses to one URL, a personal one is preferred, then the newest.
    rank: (bool, Timestamp),
    /// The relative URL of the file.
    link: String,
}

impl FolderMap {
    fn add_file(&mut self, entry: &Entry, kind: &str, parts: &[String]) {
        let Some(key) = reference_key(entry.url()) else { return };
        let rank = (entry.place().owner().is_some(), entry.received());
        if self.files.get(&key).is_none_or(|known| known.rank < rank) {
            let shape = DocumentShape::of(kind);
            let svg = (shape == DocumentShape::Svg).then(|| entry.place().clone());
            self.files.insert(key, SavedFile { shape, svg, rank, link: relative_url(parts) });
        }
    }

    fn add_redirect(&mut self, entry: &Entry) {
        let Ok((status, fields)) = read_response(entry.head()) else { return };
        let to = location(entry.url(), status, &fields).and_then(|to| reference_key(&to));
        if let (Some(key), Some(to)) = (reference_key(entry.url()), to) {
            self.redirects.insert(key, to);
        }
    }

    /// The file that a URL leads to, also through redirects.
    fn file_of(&self, url: &str) -> Option<&SavedFile> {
        let mut key = reference_key(url)?;
        for _ in 0..=MAX_REDIRECTS {
            if let Some(file) = self.files.get(&key) {
                return Some(file);
            }
            key.clone_from(self.redirects.get(&key)?);
        }
        None
    }
}

/// The most bytes of SVG images in one page, as `data:` URLs.
const MAX_SVG: usize = 32 << 20;

/// The most bytes of SVG images that are decoded for one page, also of images that do not fit.
const MAX_SVG_DECODED: usize = 4 * MAX_SVG;

/// The addresses in a file of the folder.
#[derive(Debug)]
pub(super) struct FolderAddresses {
    pub(super) reader: Reader,
    pub(super) decode: DecodeBody,
    pub(super) map: Arc<FolderMap>,
    /// The number of folders around the file.
    pub(super) depth: usize,
    pub(super) images: Mutex<EmbeddedImages>,
}

/// The SVG images in a file.
#[derive(Debug)]
pub(super) struct EmbeddedImages {
    /// The bytes of SVG images that the file may still embed.
    room: usize,
    /// The bytes that may still be decoded.
    decodable: usize,
    /// The `data:` URLs by place. `None` if the image is not embedded.
    known: HashMap<Place, Option<String>>,
}

impl Default for EmbeddedImages {
    fn default() -> Self {
        Self { room: MAX_SVG, decodable: MAX_SVG_DECODED, known: HashMap::new() }
    }
}

impl SavedAddresses for FolderAddresses {
    fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String> {
        let file = self.map.file_of(url.as_str())?;
        let is_shown = matches!(of, ReferenceUse::Part | ReferenceUse::Document);
        if let Some(place) = file.svg.as_ref().filter(|_| is_shown) {
            return self.embedded(place);
        }
        // In quirks mode, browsers take a file of any type for a style sheet.
        if of == ReferenceUse::Sheet && file.shape != DocumentShape::Sheet {
            return None;
        }
        Some(format!("{}{}", "../".repeat(self.depth), file.link))
    }
}

impl FolderAddresses {
    /// An SVG image as a `data:` URL.
    fn embedded(&self, place: &Place) -> Option<String> {
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        let known = images.known.get(place).cloned();
        let data = known.unwrap_or_else(|| {
            let data = self.encoded(place, &mut images).filter(|data| data.len() <= images.room);
            images.known.insert(place.clone(), data.clone());
            data
        })?;
        images.room = images.room.checked_sub(data.len())?;
        Some(data)
    }

    fn encoded(&self, place: &Place, images: &mut EmbeddedImages) -> Option<String> {
        let most = images.room.min(MAX_EMBEDDED).min(images.decodable);
        if most == 0 {
            return None;
        }
        let found = self.reader.entries(place).ok()?.found;
        let entry = found.into_iter().find(|entry| entry.place() == place)?;
        let mut body = BoundedWriter::new(Vec::new(), most);
        let decoded = (self.decode)(&entry, &mut body);
        images.decodable -= body.written(most);
        decoded.ok()?;
        Some(data_url(SVG, &body.out))
    }
}

/// The URL of a file, relative to the folder. Names have no character that a URL escapes but `%`.
pub(super) fn relative_url(parts: &[String]) -> String {
    parts.iter().map(|part| part.replace('%', "%25")).collect::<Vec<_>>().join("/")
}
