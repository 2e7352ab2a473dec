//! Some bytes of what is kept on their way to a client: read from where they are, compared with their
//! checksums, and never held whole.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::task::spawn_blocking;
use tracing::warn;
use wwwoffle_spool::{Error, Verified};

use super::part::Part;
use crate::caching::range::{Span, Stretch};
use crate::error_chain::error_chain;
use crate::proxy::body::Body;
use crate::proxy::download::BodyError;
use crate::store::{Kept, Store};
use crate::upstream::BoxError;

/// How much one read brings, in bytes.
const READ_SIZE: u64 = 128 * 1024;

/// What the bytes are of.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// An answer that is kept whole.
    Whole(Arc<Kept>),
    /// Parts of one.
    Part(Arc<Part>),
}

impl Source {
    fn verified(&self) -> Verified {
        match self {
            Source::Whole(kept) => kept.entry.verified(),
            Source::Part(part) => part.partial.verified(),
        }
    }

    /// What is damaged is not found again.
    async fn set_aside(self, store: &Store) {
        match self {
            Source::Whole(kept) => store.set_aside(kept).await,
            Source::Part(part) => {
                let place = part.partial.place().clone();
                match store.run(move |spool| spool.mend_partial(&place)).await {
                    Ok(damaged) => {
                        for damage in damaged {
                            warn!(%damage, "a part of a page was set aside");
                        }
                    }
                    Err(error) => {
                        warn!(error = error_chain(&error), "damaged parts cannot be set aside");
                    }
                }
            }
        }
    }
}

/// The body that is made of `stretches`.
pub(super) fn body(store: &Store, source: Source, stretches: Vec<Stretch>) -> Body {
    let verified = source.verified();
    let reading = Reading { store: store.clone(), source, verified, left: stretches.into() };
    let frames = stream::unfold(Some(reading), |reading| async move {
        reading?.next().await.map_or_else(
            |error| Some((Err(BoxError::from(error)), None)),
            |next| next.map(|(bytes, reading)| (Ok(Frame::data(bytes)), Some(reading))),
        )
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body being read.
struct Reading {
    store: Store,
    source: Source,
    verified: Verified,
    /// What has not been sent.
    left: VecDeque<Stretch>,
}

impl Reading {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, BodyError> {
        let span = match self.left.pop_front() {
            None => return Ok(None),
            Some(Stretch::Text(text)) => return Ok(Some((text, self))),
            Some(Stretch::Content(span)) => span,
        };
        let mut verified = self.verified;
        let read = spawn_blocking(move || {
            let read = read_from(&mut verified, span);
            (read, verified)
        });
        let read = read.await.unwrap_or_else(|panicked| {
            std::panic::resume_unwind(panicked.into_panic());
        });
        self.verified = read.1;
        match read.0 {
            // It was there when the head was sent.
            Ok(None) => Err(BodyError::Disk(Arc::new(ErrorKind::UnexpectedEof.into()))),
            Ok(Some(bytes)) => {
                let end = span.start().saturating_add(length(&bytes));
                if let Some(rest) = Span::new(end, span.end()) {
                    self.left.push_front(Stretch::Content(rest));
                }
                Ok(Some((bytes, self)))
            }
            Err(error) if error.is_damaged() => {
                self.source.set_aside(&self.store).await;
                Err(BodyError::Damaged)
            }
            Err(error) => Err(BodyError::Disk(Arc::new(std::io::Error::other(error)))),
        }
    }
}

fn read_from(verified: &mut Verified, span: Span) -> Result<Option<Bytes>, Error> {
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
