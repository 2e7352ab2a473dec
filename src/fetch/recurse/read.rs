//! Reads the references of a stored response.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, LINK, REFRESH};
use wwwoffle_url::{BrowserError, BrowserUrl};

use crate::net::upstream::BoxError;
use crate::storage::body_pieces::BodyPieces;
use crate::storage::store::{Store, StoredCopy};
use wwwoffle_html::references::{BodyKind, Finder, HEAD, References, Viewport};

/// The reason why a stored response cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The URL is invalid for browsers.
    #[error("its URL cannot be read")]
    Url(#[from] BrowserError),
    /// The body is damaged, or does not have the declared content coding.
    #[error("its body cannot be read")]
    Body(#[source] BoxError),
}

/// The references of a stored response.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The references of the response.
    pub(crate) found: References,
    /// The reason why the rest of the body could not be read. `None` if all of it was read.
    pub(crate) broken_off: Option<Unread>,
}

/// Reads the references of a stored response. `None` if its type has none.
///
/// The body is read once, piece by piece. Dropping the future stops the reading.
///
/// # Errors
///
/// [`Unread::Url`] if the URL is invalid for browsers.
pub(crate) async fn read(
    store: &Store,
    copy: &Arc<StoredCopy>,
    want: &Viewport,
) -> Result<Option<Contents>, Unread> {
    let mut pieces = BodyPieces::of(store, copy);
    let mut reading = ReferenceReader::new(copy.entry.url(), &copy.fields, want);
    let mut broken_off = None;
    while !reading.is_done() {
        match pieces.next().await {
            Ok(Some(piece)) => reading.write(&piece)?,
            Ok(None) => break,
            Err(error) => {
                broken_off = Some(Unread::Body(error));
                break;
            }
        }
    }
    let found = reading.finish()?;
    // A damaged body does not matter if its type has no references.
    Ok(found.map(|found| Contents { found, broken_off }))
}

/// A reader of the references in a body. It takes the decoded body piece by piece.
pub(in crate::fetch) struct ReferenceReader<'a> {
    url: &'a str,
    fields: &'a HeaderMap,
    want: &'a Viewport,
    stage: ReadStage,
}

enum ReadStage {
    /// The beginning of the body, until enough has arrived to detect its type.
    Beginning(Vec<u8>),
    Body(Box<Finder>),
    /// Bodies of this type have no references.
    Nothing,
}

impl<'a> ReferenceReader<'a> {
    /// Creates a reader for the response to `url` with these fields.
    pub(in crate::fetch) fn new(url: &'a str, fields: &'a HeaderMap, want: &'a Viewport) -> Self {
        let stage = ReadStage::Beginning(Vec::new());
        Self { url, fields, want, stage }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// If the URL is invalid for browsers.
    pub(in crate::fetch) fn write(&mut self, piece: &[u8]) -> Result<(), BrowserError> {
        match &mut self.stage {
            ReadStage::Beginning(head) => {
                head.extend_from_slice(piece);
                if head.len() >= HEAD { self.begin() } else { Ok(()) }
            }
            ReadStage::Body(finder) => {
                finder.write(piece);
                Ok(())
            }
            ReadStage::Nothing => Ok(()),
        }
    }

    fn begin(&mut self) -> Result<(), BrowserError> {
        let ReadStage::Beginning(head) = &mut self.stage else { return Ok(()) };
        let head = std::mem::take(head);
        self.stage = ReadStage::Nothing;
        let content_type = content_type(self.fields);
        let kind = BodyKind::of(content_type, self.url, &head);
        if kind != BodyKind::None {
            let base = BrowserUrl::parse(self.url, None)?;
            let mut finder = Finder::new(kind, &base, content_type, self.want);
            if matches!(kind, BodyKind::Html | BodyKind::Xhtml) {
                let of = |name| self.fields.get_all(name).iter().filter_map(|it| it.to_str().ok());
                of(LINK).for_each(|link| finder.link_field(link));
                of(REFRESH).for_each(|refresh| finder.refresh_field(refresh));
            }
            finder.write(&head);
            self.stage = ReadStage::Body(Box::new(finder));
        }
        Ok(())
    }

    /// Whether the rest of the body can be skipped.
    pub(in crate::fetch) fn is_done(&self) -> bool {
        match &self.stage {
            ReadStage::Beginning(_) => false,
            ReadStage::Body(finder) => finder.is_done(),
            ReadStage::Nothing => true,
        }
    }

    /// The references; `None` if the type has none.
    ///
    /// # Errors
    ///
    /// If the URL is invalid for browsers.
    pub(in crate::fetch) fn finish(mut self) -> Result<Option<References>, BrowserError> {
        self.begin()?;
        Ok(match self.stage {
            ReadStage::Body(finder) => Some(finder.finish()),
            ReadStage::Beginning(_) | ReadStage::Nothing => None,
        })
    }
}

fn content_type(fields: &HeaderMap) -> Option<&str> {
    fields.get(CONTENT_TYPE)?.to_str().ok()
}
