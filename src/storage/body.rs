//! Response bodies that this program has: whole in memory, or read from the spool.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::HeaderMap;
use hyper::body::Frame;
use wwwoffle_spool::{Body as StoredBody, BodyFile, Partial, VerifiedReader, Verifier};

use super::buffers::{Buffer, Buffers};
use super::store::{Store, StoredCopy};
use crate::base::blocking::blocking;
use crate::net::upstream::{BoxError, Failure};

/// A response body on its way to a client.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A mark on a response whose whole body is these bytes.
#[derive(Clone, Debug)]
pub struct WholeBody(pub Bytes);

/// The reason why a body cannot be read further.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BodyError {
    /// The origin's body broke off.
    #[error("the response broke off")]
    Broken(#[source] Arc<Failure>),
    /// Written bytes cannot be read back.
    #[error("the spool cannot be read")]
    Disk(#[source] Arc<std::io::Error>),
    /// The stored bytes differ from the bytes that were written.
    #[error("the stored body is damaged")]
    Damaged,
}

/// The number of bytes of a stored body that are read at once.
const READ_SIZE: usize = 128 * 1024;

/// No body.
#[must_use]
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is completely in memory.
#[must_use]
pub fn from_bytes(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns the body of `copy`, followed by `trailers`.
///
/// A body read from the disk is checked against its digest on the way. Its last piece is held back
/// until the digest matches, so that a damaged body never looks complete to its receiver. A
/// verified body is not checked again while the hot set knows that its file is unchanged.
#[must_use]
pub fn stored(store: &Store, copy: &Arc<StoredCopy>, trailers: Option<HeaderMap>) -> Body {
    match copy.entry.body() {
        StoredBody::Whole(bytes) if trailers.is_none() => {
            from_bytes(Bytes::from_owner(bytes.clone()))
        }
        StoredBody::Whole(bytes) => {
            let data = Ok(Frame::data(Bytes::from_owner(bytes.clone())));
            let end = trailers.map(|trailers| Ok(Frame::trailers(trailers)));
            StreamBody::new(stream::iter(std::iter::once(data).chain(end))).boxed_unsync()
        }
        StoredBody::File(file) => {
            let reading = BodyReader {
                store: store.clone(),
                copy: Arc::clone(copy),
                file: file.clone(),
                verifier: (!file.is_verified()).then(|| file.verifier()),
                position: 0,
                buffers: Buffers::new(READ_SIZE),
                trailers,
            };
            let frames = stream::unfold(Some(reading), |reading| async move {
                reading?.next().await.map_or_else(
                    |error| Some((Err(BoxError::from(error)), None)),
                    |next| next.map(|(frame, reading)| (Ok(frame), Some(reading))),
                )
            });
            StreamBody::new(frames).boxed_unsync()
        }
    }
}

/// The source of a range.
#[derive(Clone, Debug)]
pub enum RangeOf {
    /// A complete entry.
    Kept(Arc<StoredCopy>),
    /// An incomplete entry whose segments contain the range.
    Partial(Arc<Partial>),
}

/// Returns a range of a stored body or segment. Every byte from the disk is verified before it is
/// sent. If the file is damaged, the body ends with an error and the file is moved to `damaged/`.
#[must_use]
pub fn range(store: &Store, of: RangeOf, range: Range<u64>) -> Body {
    if let RangeOf::Kept(copy) = &of
        && let StoredBody::Whole(bytes) = copy.entry.body()
    {
        let bytes = Bytes::from_owner(bytes.clone());
        let within = |offset| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (within(range.start), within(range.end));
        return from_bytes(bytes.slice(start.min(end)..end));
    }
    let from = match &of {
        RangeOf::Kept(copy) => copy.entry.verified(),
        RangeOf::Partial(partial) => partial.verified(),
    };
    let reading = RangeReading { store: store.clone(), of, from, range };
    let frames = stream::unfold(Some(reading), |reading| async move {
        reading?.next().await.map_or_else(
            |error| Some((Err(BoxError::from(error)), None)),
            |next| next.map(|(bytes, reading)| (Ok(Frame::data(bytes)), Some(reading))),
        )
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A range being read from the disk.
struct RangeReading {
    store: Store,
    of: RangeOf,
    from: VerifiedReader,
    /// The remaining range.
    range: Range<u64>,
}

impl RangeReading {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, BodyError> {
        if self.range.is_empty() {
            return Ok(None);
        }
        let (mut from, range) = (self.from, self.range.clone());
        let read = move || {
            let left = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let mut buffer = vec![0; left.min(READ_SIZE)];
            let read = from.read_at(range.start, &mut buffer);
            if let Ok(read) = &read {
                buffer.truncate(*read);
            }
            (from, read.map(|_| Bytes::from(buffer)))
        };
        let (from, bytes) = blocking(read).await;
        self.from = from;
        match bytes {
            Ok(bytes) if bytes.is_empty() => Err(BodyError::Damaged),
            Ok(bytes) => {
                self.range.start = self.range.start.saturating_add(length(&bytes));
                Ok(Some((bytes, self)))
            }
            Err(error) if error.is_damaged() => {
                match self.of {
                    RangeOf::Kept(copy) => self.store.set_aside(copy).await,
                    RangeOf::Partial(partial) => self.store.repair_partial(partial.place()).await,
                }
                Err(BodyError::Damaged)
            }
            Err(error) => Err(BodyError::Disk(Arc::new(std::io::Error::other(error)))),
        }
    }
}

/// A stored body being read from the disk.
struct BodyReader {
    store: Store,
    copy: Arc<StoredCopy>,
    file: BodyFile,
    /// The verifier of the body; `None` if the body was verified before.
    verifier: Option<Verifier>,
    position: u64,
    buffers: Buffers,
    trailers: Option<HeaderMap>,
}

impl BodyReader {
    async fn next(mut self) -> Result<Option<(Frame<Bytes>, Self)>, BodyError> {
        if self.position == self.file.len() {
            return Ok(self.trailers.take().map(|trailers| (Frame::trailers(trailers), self)));
        }
        let (mut buffer, position) = (self.buffers.take(), self.position);
        if self.verifier.is_none()
            && let Some(read) = self.file.read_cached(position, buffer.space())
        {
            return Ok(Some(self.with(buffer.filled(read))));
        }
        let (file, verifier) = (self.file.clone(), self.verifier.take());
        match blocking(move || read_piece(&file, position, buffer, verifier)).await {
            DiskPiece::Data(bytes, verifier) => {
                self.verifier = verifier;
                Ok(Some(self.with(bytes)))
            }
            DiskPiece::Damaged => {
                self.store.set_aside(self.copy).await;
                Err(BodyError::Damaged)
            }
            DiskPiece::Unreadable(error) => {
                Err(BodyError::Disk(Arc::new(std::io::Error::other(error))))
            }
        }
    }

    fn with(mut self, bytes: Bytes) -> (Frame<Bytes>, Self) {
        self.position = self.position.saturating_add(length(&bytes));
        (Frame::data(bytes), self)
    }
}

enum DiskPiece {
    /// The next bytes, and the verifier if further bytes must be verified.
    Data(Bytes, Option<Verifier>),
    Damaged,
    Unreadable(wwwoffle_spool::Error),
}

fn read_piece(
    file: &BodyFile,
    position: u64,
    mut buffer: Buffer,
    verifier: Option<Verifier>,
) -> DiskPiece {
    let bytes = match file.read_at(position, buffer.space()) {
        Ok(read) => buffer.filled(read),
        Err(error) if error.is_damaged() => return DiskPiece::Damaged,
        Err(error) => return DiskPiece::Unreadable(error),
    };
    let Some(mut verifier) = verifier else { return DiskPiece::Data(bytes, None) };
    verifier.update(&bytes);
    if position + length(&bytes) < file.len() {
        DiskPiece::Data(bytes, Some(verifier))
    } else if verifier.finish() {
        DiskPiece::Data(bytes, None)
    } else {
        DiskPiece::Damaged
    }
}

/// The number of bytes.
pub(crate) fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
