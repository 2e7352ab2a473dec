//! The bodies that we send: from the spool, from a download, or directly from an origin.

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};

use crate::net::upstream::{AnswerBody, BoxError};
pub use crate::storage::body::{Body, RangeOf, WholeBody, empty, from_bytes, range, stored};
use crate::storage::feed::FeedReader;

/// A body that is being downloaded.
#[must_use]
pub fn download(reader: FeedReader) -> Body {
    let frames = stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((frame.map_err(BoxError::from), reader))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body that is forwarded and not stored.
#[must_use]
pub fn unstored(body: AnswerBody) -> Body {
    body.map_err(BoxError::from).boxed_unsync()
}
