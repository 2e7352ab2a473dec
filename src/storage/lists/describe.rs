//! Describes stored pages for the index: title, text and references.
//!
//! The work is bounded: at most `MAX_BODY` bytes of a body are read, and text and parser have the
//! limits of [`crate::storage::versions::text`] and [`wwwoffle_html::references`].
//!
//! The text of documents, such as PDF files, is extracted by the programs of the configuration
//! ([`super::document`]).

use hyper::header::{CONTENT_LANGUAGE, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{HeaderMap, StatusCode};
use wwwoffle_index::{ContentClass, Describe, Description, MAX_REFERENCES, Reference, essence};
use wwwoffle_spool::Entry;
use wwwoffle_url::{BrowserUrl, CanonicalUrl, LocalHost};

use super::document::DocumentConverter;
use crate::storage::body_pieces::{PieceError, read_pieces};
use crate::storage::versions::text;
use wwwoffle_html::references::{BodyKind, Finder, HEAD, Viewport};
use wwwoffle_http::head;

/// Maximum number of decoded bytes that are read of a body.
const MAX_BODY: usize = 4 << 20;

/// Number of bytes of a body that are searched for references at once.
const PIECE: usize = 64 * 1024;

/// The number of bytes at the beginning of a page that are searched for its language.
const LANGUAGE_WITHIN: usize = 4 << 10;

/// The reader of stored pages for the index.
#[derive(Debug)]
pub struct Pages {
    /// The host names of this proxy, which a page may link to.
    pub local: LocalHost,
    /// The converter of documents.
    pub documents: DocumentConverter,
}

impl Describe for Pages {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        let (status, fields) = head::read_response(entry.head()).ok()?;
        let mut description = Description::default();
        self.redirect(entry.url(), status, &fields, &mut description);
        let media_type = essence(fields.get(CONTENT_TYPE).map(HeaderValue::as_bytes));
        if ContentClass::of(&media_type) == ContentClass::Document {
            let text = self.documents.text(&media_type, entry, status, &fields);
            description.text = text.unwrap_or_default();
            return Some(description);
        }
        let body = decoded(entry, status, &fields);
        let Some(Decoded { body, is_whole }) = body else {
            return Some(description).filter(|description| !description.references.is_empty());
        };
        description.is_cut = !is_whole;
        let content_type = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        self.refer(entry.url(), content_type, &body, &mut description);
        if matches!(ContentClass::of(&media_type), ContentClass::Style | ContentClass::Script) {
            // Readers do not see the text of styles and scripts.
            return Some(description);
        }
        let text = text::extract(content_type, entry.url(), &body)?;
        description.title = text.title;
        for line in text.lines {
            description.text.push_str(&line);
            description.text.push('\n');
        }
        description.language = language(&fields, &body);
        Some(description)
    }
}

impl Pages {
    /// Adds the target of a redirect as a sub-resource of the entry.
    fn redirect(
        &self,
        url: &str,
        status: StatusCode,
        fields: &HeaderMap,
        description: &mut Description,
    ) {
        let location = fields.get(LOCATION).filter(|_| status.is_redirection());
        let Some(location) = location.and_then(|value| value.to_str().ok()) else { return };
        let base = BrowserUrl::parse(url, None).ok();
        let target = BrowserUrl::parse(location, base.as_ref()).ok();
        let target = target.and_then(|url| CanonicalUrl::parse(url.as_str(), &self.local).ok());
        let key = target.map(|url| url.without_credentials().key());
        description.references.extend(key.map(|key| Reference {
            key,
            is_part: true,
            is_spare: false,
        }));
    }

    fn refer(
        &self,
        url: &str,
        content_type: Option<&str>,
        body: &[u8],
        description: &mut Description,
    ) {
        let kind = BodyKind::of(content_type, url, body.get(..HEAD).unwrap_or(body));
        let Ok(base) = BrowserUrl::parse(url, None) else { return };
        if kind == BodyKind::None {
            return;
        }
        let mut finder = Finder::new(kind, &base, content_type, &Viewport::default());
        for piece in body.chunks(PIECE) {
            finder.write(piece);
        }
        let found = finder.finish();
        description.is_cut |= found.is_cut();
        let mut links = found.links;
        // Sub-resources that a fetch would leave out are included, and marked as spare.
        links.retain(|link| link.left_out.is_none() || link.class.is_part());
        let parts = links.iter().filter(|link| link.left_out.is_none() && link.class.is_part());
        description.is_cut |= parts.count() > MAX_REFERENCES - description.references.len();
        // The index accepts a bounded number of links. Sub-resources come first, because a page
        // needs them most.
        links.sort_by_key(|link| (!link.class.is_part(), link.left_out.is_some()));
        let reference = |link: &wwwoffle_html::references::Link| {
            let url = CanonicalUrl::parse(&link.url, &self.local).ok()?.without_credentials();
            let (is_part, is_spare) = (link.class.is_part(), link.left_out.is_some());
            Some(Reference { key: url.key(), is_part, is_spare })
        };
        description.references.extend(links.iter().filter_map(reference));
        description.references.truncate(MAX_REFERENCES);
    }
}

/// The text of a stored response, for an excerpt. `None` if the response is not text, or cannot be
/// read.
#[must_use]
pub fn text_of(entry: &Entry) -> Option<String> {
    let (status, fields) = head::read_response(entry.head()).ok()?;
    let Decoded { body, .. } = decoded(entry, status, &fields)?;
    let content_type = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    Some(text::extract(content_type, entry.url(), &body)?.lines.join("\n"))
}

/// A body without its content codings.
struct Decoded {
    body: Vec<u8>,
    /// Whether the whole body was decoded.
    is_whole: bool,
}

/// The decoded beginning of a body; `None` if nothing can be read.
fn decoded(entry: &Entry, status: StatusCode, fields: &HeaderMap) -> Option<Decoded> {
    let mut body = Vec::new();
    let read: Result<(), PieceError> = read_pieces(entry, status, fields, |piece| {
        let room = MAX_BODY.saturating_sub(body.len());
        body.extend_from_slice(piece.get(..room).unwrap_or(piece));
        Ok(body.len() < MAX_BODY)
    });
    if matches!(read, Err(PieceError::Spool(_))) {
        return None;
    }
    let is_whole = body.len() < MAX_BODY && read.is_ok();
    Some(Decoded { body, is_whole }).filter(|decoded| !decoded.body.is_empty())
}

/// The language that the `<html>` tag of a page declares, or else the one that its origin declares,
/// if any.
fn language(fields: &HeaderMap, body: &[u8]) -> Option<String> {
    let begin = body.get(..LANGUAGE_WITHIN).unwrap_or(body);
    let begin = String::from_utf8_lossy(begin).to_ascii_lowercase();
    let of_page = begin.split_once("<html").and_then(|(_, rest)| {
        let tag = rest.split('>').next()?;
        let (_, value) = tag.split_once(" lang=")?;
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(['"', '\'', ' ', '/']).unwrap_or(value.len());
        value.get(..end).map(str::to_owned)
    });
    let of_origin = || {
        let field = fields.get(CONTENT_LANGUAGE)?.to_str().ok()?;
        // Several languages are ambiguous.
        Some(field.trim().to_owned()).filter(|field| !field.contains(','))
    };
    of_page.filter(|language| !language.is_empty()).or_else(of_origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_declares_its_language() {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_LANGUAGE, "fr".parse().unwrap());
        for (body, want) in [
            ("<!DOCTYPE html><html lang=\"en-GB\" class=x>", "en-gb"),
            ("<HTML class=x LANG='de'>", "de"),
            ("<html lang=pt/>", "pt"),
            ("<html><body lang=de>", "fr"),
            ("<html lang=\"\">", "fr"),
            ("", "fr"),
        ] {
            assert_eq!(language(&fields, body.as_bytes()).as_deref(), Some(want), "{body}");
        }
        assert_eq!(language(&HeaderMap::new(), b"<html>"), None);
    }
}
