//! Site icons from the spool, as `data:` URLs, because our own pages load nothing.

use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::CONTENT_ENCODING;
use wwwoffle_index::{Index, Viewer};
use wwwoffle_spool::{Body, Entry, Lookup, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::base::owner::{Owner, Places};
use crate::storage::lists::found::ListSource;
use wwwoffle_http::head;

/// Maximum size of an icon, in bytes.
const LONGEST: u64 = 4_096;

/// Maximum number of references of a page that are checked for its icon.
const MOST_LOOKED_AT: usize = 8;

/// A finder of icons: the viewer of the icons, and the stores to search.
pub(in crate::site) struct IconFinder<'a> {
    spool: &'a Spool,
    index: &'a Index,
    viewer: &'a Viewer,
    owner: &'a Owner,
    local: &'a LocalHost,
    /// The time after which no icon is looked up.
    until: Option<Instant>,
}

impl<'a> IconFinder<'a> {
    /// A finder in the stores of `source`, for its viewer, who is `owner`.
    pub(in crate::site) fn new(
        source: &ListSource<'a>,
        owner: &'a Owner,
        local: &'a LocalHost,
    ) -> Self {
        let ListSource { spool, index, viewer, .. } = *source;
        Self { spool, index, viewer, owner, local, until: None }
    }

    /// Looks up no icon after a time.
    pub(in crate::site) fn until(self, time: Instant) -> Self {
        Self { until: Some(time), ..self }
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// Returns the icon of a page as a `data:` URL: `/favicon.ico` of its host, or else an icon to
    /// which the page refers. `None` if no such icon is stored.
    pub(in crate::site) fn of(&self, url: &str) -> Option<String> {
        let url = CanonicalUrl::parse(url, self.local).ok().filter(|url| !url.is_local())?;
        let usual = format!("{}://{}/favicon.ico", url.protocol(), url.host_port());
        let places = Places::of_url(&url, self.owner);
        self.at_url(&usual).or_else(|| self.named_by(&places))
    }

    fn at_url(&self, url: &str) -> Option<String> {
        let url = CanonicalUrl::parse(url, self.local).ok()?;
        let places = Places::of_url(&url, self.owner);
        self.at(&places.own).or_else(|| self.at(&places.public))
    }

    /// Returns the first usable icon to which the page refers. Only references whose URLs contain
    /// `icon` are checked.
    fn named_by(&self, page: &Places) -> Option<String> {
        let of = |place: &Place| {
            let found = if self.is_late() {
                Ok(Vec::new())
            } else {
                self.index.references(self.viewer, place)
            };
            found.unwrap_or_default()
        };
        let found = of(&page.own).into_iter().chain(of(&page.public));
        let is_icon = |url: &str| url.to_ascii_lowercase().contains("icon");
        found
            .filter(|item| item.content.body_len <= LONGEST && is_icon(item.place.url()))
            .take(MOST_LOOKED_AT)
            .find_map(|item| self.at(&item.place))
    }

    fn at(&self, place: &Place) -> Option<String> {
        if self.is_late() {
            return None;
        }
        match self.spool.entry(place) {
            Ok(Lookup::Found(entry)) => data_url(&body(&entry)?),
            // A damaged or unreadable entry counts as missing.
            Ok(Lookup::Missing | Lookup::SetAside(_)) | Err(_) => None,
        }
    }
}

/// Returns the body of a response with status 200, without a content coding. `None` for other
/// responses, and if the body is longer than [`LONGEST`] or damaged.
fn body(entry: &Entry) -> Option<Vec<u8>> {
    let (status, fields) = head::read_response(entry.head()).ok()?;
    let is_plain = status.as_u16() == 200 && !fields.contains_key(CONTENT_ENCODING);
    let len = Some(entry.body_len()).filter(|len| is_plain && *len <= LONGEST)?;
    match entry.body() {
        Body::Whole(whole) => Some(whole.to_vec()),
        Body::File(file) => {
            let mut bytes = vec![0; usize::try_from(len).ok()?];
            let mut done = 0;
            while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
                match file.read_at(u64::try_from(done).ok()?, rest).ok()? {
                    0 => return None,
                    read => done += read,
                }
            }
            let mut verifier = file.verifier();
            verifier.update(&bytes);
            verifier.finish().then_some(bytes)
        }
    }
}

/// Returns an image as a `data:` URL; `None` if it is not a raster image, because SVG can contain
/// scripts. The type follows from the bytes, not from `Content-Type`.
fn data_url(bytes: &[u8]) -> Option<String> {
    let kind = match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "png",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "gif",
        [0xff, 0xd8, 0xff, ..] => "jpeg",
        [0, 0, 1, 0, ..] => "x-icon",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "webp",
        _ => return None,
    };
    Some(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::data_url;

    #[test]
    fn the_type_of_an_icon_follows_from_its_bytes() {
        for (bytes, want) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some("data:image/png;base64,iVBORw0KGgpyZXN0")),
            (b"GIF89a", Some("data:image/gif;base64,R0lGODlh")),
            (b"GIF88a", None),
            (b"\xff\xd8\xff\xe0", Some("data:image/jpeg;base64,/9j/4A==")),
            (b"\0\0\x01\0\x01\0", Some("data:image/x-icon;base64,AAABAAEA")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("data:image/webp;base64,UklGRgAAAABXRUJQVlA4IA==")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'><script>", None),
            (b"<html>\x89PNG\r\n\x1a\n", None),
            (b"\xef\xbb\xbf<svg>", None),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"BM", None),
            (b"", None),
        ] {
            assert_eq!(data_url(bytes).as_deref(), want, "{bytes:?}");
        }
    }
}
