//! Streams ranges of a stored copy to a client. The ranges are read from the disk piece by piece,
//! and their checksums are verified.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use wwwoffle_spool::{Error, VerifiedReader};

use crate::base::blocking::blocking;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::storage::body::BodyError;
use crate::storage::store::{Store, StoredCopy};
use wwwoffle_http::caching::range::{BodyPiece, Span};

/// Bytes per read.
const READ_SIZE: u64 = 128 * 1024;

/// A body made of `stretches` of a stored copy.
pub(super) fn body(store: &Store, copy: &Arc<StoredCopy>, stretches: Vec<BodyPiece>) -> Body {
    let verified = match &copy.part {
        Some(part) => part.partial.verified(),
        None => copy.entry.verified(),
    };
    let (store, copy) = (store.clone(), Arc::clone(copy));
    let reading = RangeReader { store, copy, verified, left: stretches.into() };
    let frames = stream::unfold(Some(reading), |reading| async move {
        reading?.next().await.map_or_else(
            |error| Some((Err(BoxError::from(error)), None)),
            |next| next.map(|(bytes, reading)| (Ok(Frame::data(bytes)), Some(reading))),
        )
    });
    StreamBody::new(frames).boxed_unsync()
}

struct RangeReader {
    store: Store,
    copy: Arc<StoredCopy>,
    verified: VerifiedReader,
    /// The pieces that have not been sent.
    left: VecDeque<BodyPiece>,
}

impl RangeReader {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, BodyError> {
        let span = match self.left.pop_front() {
            None => return Ok(None),
            Some(BodyPiece::Text(text)) => return Ok(Some((text, self))),
            Some(BodyPiece::Content(span)) => span,
        };
        let mut verified = self.verified;
        let (read, verified) = blocking(move || {
            let read = read_from(&mut verified, span);
            (read, verified)
        })
        .await;
        self.verified = verified;
        match read {
            // The head of the response declared these bytes, so the end of the file is an error.
            Ok(None) => Err(BodyError::Disk(Arc::new(ErrorKind::UnexpectedEof.into()))),
            Ok(Some(bytes)) => {
                let end = span.start().saturating_add(length(&bytes));
                if let Some(rest) = Span::new(end, span.end()) {
                    self.left.push_front(BodyPiece::Content(rest));
                }
                Ok(Some((bytes, self)))
            }
            Err(error) if error.is_damaged() => {
                // A damaged copy is moved away, so that no lookup finds it again.
                match &self.copy.part {
                    Some(part) => self.store.repair_partial(part.partial.place()).await,
                    None => self.store.set_aside(self.copy).await,
                }
                Err(BodyError::Damaged)
            }
            Err(error) => Err(BodyError::Disk(Arc::new(std::io::Error::other(error)))),
        }
    }
}

fn read_from(verified: &mut VerifiedReader, span: Span) -> Result<Option<Bytes>, Error> {
    let size = usize::try_from(span.len().min(READ_SIZE)).unwrap_or(usize::MAX);
    let mut buffer = vec![0; size];
    let read = verified.read_at(span.start(), &mut buffer)?;
    if read == 0 {
        return Ok(None);
    }
    buffer.truncate(read);
    Ok(Some(buffer.into()))
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
