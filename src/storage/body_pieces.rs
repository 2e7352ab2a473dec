//! Reads a stored body, decoded.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use wwwoffle_http::caching::coding::CodingTerms;

use super::body::{self, Body};
use super::decoded;
use super::store::{Store, StoredCopy};
use crate::net::upstream::BoxError;

/// A stored body in decoded pieces.
pub(crate) struct BodyPieces(Body);

impl BodyPieces {
    /// The body of `copy`, from its beginning.
    pub(crate) fn of(store: &Store, copy: &Arc<StoredCopy>) -> Self {
        let delivery = CodingTerms::of_a_reader().deliver(copy.status, &copy.fields);
        Self(decoded::body(delivery, body::stored(store, copy, None), Arc::default()))
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the body is damaged, does not have the declared content coding, or cannot be read from
    /// the disk.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, BoxError> {
        while let Some(frame) = self.0.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        // A caller may call again after the end, but a finished body must not be polled.
        self.0 = body::empty();
        Ok(None)
    }
}

/// The decoded beginning of a stored body: at least `length` bytes, or all of it.
///
/// # Errors
///
/// If the body is damaged, does not have the declared content coding, or cannot be read from the
/// disk.
pub(crate) async fn read_beginning(
    store: &Store,
    copy: &Arc<StoredCopy>,
    length: usize,
) -> Result<Vec<u8>, BoxError> {
    let (mut pieces, mut head) = (BodyPieces::of(store, copy), Vec::new());
    while head.len() < length
        && let Some(piece) = pieces.next().await?
    {
        head.extend_from_slice(&piece);
    }
    Ok(head)
}
