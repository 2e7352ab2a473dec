//! Reading what a kept answer refers to.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use wwwoffle_url::BrowserUrl;

use crate::caching::coding::Terms;
use crate::links::{Finder, Found, HEAD, Kind, Want};
use crate::proxy::{body, recode};
use crate::store::{Kept, Store};
use crate::upstream::BoxError;

/// Why a kept answer cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// Its URL is none that browsers know.
    #[error("its URL cannot be read")]
    Url(#[from] wwwoffle_url::BrowserError),
    /// It is damaged, or in a coding that it only claims to have.
    #[error("its body cannot be read")]
    Body(#[source] BoxError),
}

/// What was read of a kept answer.
#[derive(Debug)]
pub(crate) struct Contents {
    /// What it refers to.
    pub(crate) found: Found,
    /// Why that may not be all: from there on it cannot be read.
    pub(crate) broken_off: Option<Unread>,
}

/// What a kept answer refers to, as far as it is of a kind that refers to anything.
///
/// The body is read once, a piece at a time; dropping this ends the reading.
///
/// # Errors
///
/// [`Unread`] when nothing of it can be read.
pub(crate) async fn read(
    store: &Store,
    kept: &Arc<Kept>,
    want: &Want,
) -> Result<Option<Contents>, Unread> {
    let url = kept.entry.url();
    let content_type = content_type(&kept.fields);
    let mut pieces = Pieces::of(store, kept);
    let head = pieces.beginning(HEAD).await?;
    let kind = Kind::of(content_type, url, &head);
    if kind == Kind::None {
        return Ok(None);
    }
    let base = BrowserUrl::parse(url, None)?;
    let mut finder = Finder::new(kind, &base, content_type, want);
    finder.write(&head);
    let mut broken_off = None;
    while !finder.is_done() {
        match pieces.next().await {
            Ok(Some(piece)) => finder.write(&piece),
            Ok(None) => break,
            Err(error) => {
                broken_off = Some(error);
                break;
            }
        }
    }
    Ok(Some(Contents { found: finder.finish(), broken_off }))
}

/// The beginning of a kept body, its coding undone: at least `length` bytes, or all there are.
///
/// # Errors
///
/// [`Unread`] when it cannot be read.
pub(crate) async fn beginning(
    store: &Store,
    kept: &Arc<Kept>,
    length: usize,
) -> Result<Vec<u8>, Unread> {
    Pieces::of(store, kept).beginning(length).await
}

fn content_type(fields: &HeaderMap) -> Option<&str> {
    fields.get(CONTENT_TYPE)?.to_str().ok()
}

/// A kept body in pieces, its coding undone.
struct Pieces(body::Body);

impl Pieces {
    fn of(store: &Store, kept: &Arc<Kept>) -> Self {
        let delivery = Terms::of_a_reader().deliver(kept.status, &kept.fields);
        Self(recode::body(delivery, body::kept(store, kept, None)))
    }

    async fn beginning(&mut self, length: usize) -> Result<Vec<u8>, Unread> {
        let mut head = Vec::new();
        while head.len() < length
            && let Some(piece) = self.next().await?
        {
            head.extend_from_slice(&piece);
        }
        Ok(head)
    }

    async fn next(&mut self) -> Result<Option<bytes::Bytes>, Unread> {
        while let Some(frame) = self.0.frame().await {
            if let Ok(data) = frame.map_err(Unread::Body)?.into_data() {
                return Ok(Some(data));
            }
        }
        // It may be asked once more, and a body may not.
        self.0 = body::empty();
        Ok(None)
    }
}
