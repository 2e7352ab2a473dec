//! The names of all files of a folder, and the files that references lead to.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    BoundedBuffer, DocumentShape, MAX_EMBEDDED, MAX_REDIRECTS, SVG, data_url, reference_key,
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
                let parts = names.of(entry.url(), &saved_type(entry), form);
                map.add_file(entry, &parts);
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
    /// For an SVG image: its place. Pages embed it.
    svg: Option<Place>,
    /// Of several responses to one URL, a personal one is preferred, then the newest.
    rank: (bool, Timestamp),
    /// The relative URL of the file.
    link: String,
}

impl FolderMap {
    fn add_file(&mut self, entry: &Entry, parts: &[String]) {
        let Some(key) = reference_key(entry.url()) else { return };
        let rank = (entry.place().owner().is_some(), entry.received());
        if self.files.get(&key).is_none_or(|known| known.rank < rank) {
            let is_svg = DocumentShape::of(&saved_type(entry)) == DocumentShape::Svg;
            let svg = is_svg.then(|| entry.place().clone());
            self.files.insert(key, SavedFile { svg, rank, link: relative_url(parts) });
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
pub(super) const MAX_SVG: usize = 32 << 20;

/// The addresses in a file of the folder.
#[derive(Debug)]
pub(super) struct FolderAddresses {
    pub(super) reader: Reader,
    pub(super) decode: DecodeBody,
    pub(super) map: Arc<FolderMap>,
    /// The number of folders around the file.
    pub(super) depth: usize,
    /// The bytes of SVG images that the file may still embed.
    pub(super) room: AtomicUsize,
}

impl SavedAddresses for FolderAddresses {
    fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String> {
        let file = self.map.file_of(url.as_str())?;
        if let Some(place) = file.svg.as_ref().filter(|_| of == ReferenceUse::Part) {
            return self.embedded(place);
        }
        Some(format!("{}{}", "../".repeat(self.depth), file.link))
    }
}

impl FolderAddresses {
    /// An SVG image as a `data:` URL.
    fn embedded(&self, place: &Place) -> Option<String> {
        let found = self.reader.entries(place).ok()?.found;
        let entry = found.into_iter().find(|entry| entry.place() == place)?;
        let most = self.room.load(Ordering::Relaxed).min(MAX_EMBEDDED);
        let mut body = BoundedBuffer::new(most);
        (self.decode)(&entry, &mut body).ok()?;
        let data = data_url(SVG, &body.bytes);
        let take = |room: usize| room.checked_sub(data.len());
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok().then_some(data)
    }
}

/// The URL of a file, relative to the folder. Names have no character that a URL escapes but `%`.
pub(super) fn relative_url(parts: &[String]) -> String {
    parts.iter().map(|part| part.replace('%', "%25")).collect::<Vec<_>>().join("/")
}
