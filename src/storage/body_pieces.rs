//! Reads a stored body, decoded.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_http::caching::coding::{CodingTerms, Delivery};
use wwwoffle_http::decoding::{Decoder, Output};
use wwwoffle_spool::{Body as StoredBody, Entry, Error};

use super::body::{self, Body};
use super::decoded;
use super::store::{Store, StoredCopy};
use crate::net::upstream::BoxError;

/// Number of bytes that are read, or decoded, at once by [`read_pieces`].
const PIECE: usize = 64 * 1024;

/// The reason why a body cannot be read to its end.
#[derive(Debug)]
pub(crate) enum PieceError {
    /// The file cannot be read.
    Spool(Error),
    /// The body does not have its declared content coding, or ends too early.
    Coding,
}

/// Decodes the body of `entry`, whose head contains `status` and `fields`, and gives its pieces to
/// `take`, until `take` returns false. Pieces may be empty. Blocks.
///
/// # Errors
///
/// [`PieceError`], and the errors of `take`.
pub(crate) fn read_pieces<E: From<PieceError>>(
    entry: &Entry,
    status: StatusCode,
    fields: &HeaderMap,
    mut take: impl FnMut(&[u8]) -> Result<bool, E>,
) -> Result<(), E> {
    let undone = match CodingTerms::of_a_reader().deliver(status, fields) {
        Delivery::Decoded { undone, .. } => undone,
        _ => Vec::new(),
    };
    let (mut decoder, mut made) = (Decoder::new(&undone), vec![0; PIECE]);
    let mut decode = |mut piece: &[u8], is_last: bool| -> Result<bool, E> {
        loop {
            let length = match decoder.decode(&mut piece, is_last, &mut made) {
                Ok(Output::Bytes(length)) => length,
                Ok(Output::Busy) => 0,
                Ok(Output::Hungry | Output::End) => return Ok(true),
                Err(_) => return Err(PieceError::Coding.into()),
            };
            if !take(made.get(..length).unwrap_or_default())? {
                return Ok(false);
            }
        }
    };
    match entry.body() {
        StoredBody::Whole(whole) => {
            for piece in whole.chunks(PIECE) {
                if !decode(piece, false)? {
                    return Ok(());
                }
            }
        }
        StoredBody::File(file) => {
            let (mut buffer, mut offset) = (vec![0; PIECE], 0_u64);
            loop {
                let read = file.read_at(offset, &mut buffer).map_err(PieceError::Spool)?;
                let piece = buffer.get(..read).unwrap_or_default();
                if piece.is_empty() {
                    break;
                }
                if !decode(piece, false)? {
                    return Ok(());
                }
                offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            }
        }
    }
    decode(&[], true).map(drop)
}

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
