//! The body of an answer on its way to a client that does not take its coding.
//!
//! It is decoded as it is sent, a piece at a time: a client that is slow or leaves slows the work or
//! ends it. Between two pieces other tasks go on. A body that is damaged, or ends too early, breaks
//! off; it never looks whole.

use bytes::{Buf, Bytes};
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::HeaderMap;
use hyper::body::{Body as _, Frame};
use tokio::task::yield_now;

use super::body::Body;
use crate::caching::coding::Delivery;
use crate::decoding::{Decoder, Made};
use crate::upstream::BoxError;

/// How much is decoded at once, in bytes: below a tenth of a millisecond for each coding.
const PIECE: usize = 64 * 1024;

/// The body that a client gets of `body`. Dropped, it ends the work.
pub(super) fn body(delivery: Delivery, body: Body) -> Body {
    let Delivery::Decoded { undone, .. } = &delivery else { return body };
    if body.is_end_stream() {
        return body;
    }
    let decoder = Decoder::new(undone);
    let decoding =
        Decoding { body, decoder, delivery, input: Bytes::new(), has_ended: false, trailers: None };
    let frames = stream::unfold(Some(decoding), |decoding| async move {
        match decoding?.next().await {
            Ok(next) => next.map(|(frame, decoding)| (Ok(frame), decoding)),
            Err(error) => Some((Err(error), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body being decoded.
struct Decoding {
    body: Body,
    decoder: Decoder,
    delivery: Delivery,
    /// What came and was not taken yet.
    input: Bytes,
    has_ended: bool,
    trailers: Option<HeaderMap>,
}

impl Decoding {
    /// The next frame, and what follows it.
    async fn next(mut self) -> Result<Option<(Frame<Bytes>, Option<Self>)>, BoxError> {
        let mut output = vec![0; PIECE];
        loop {
            let mut rest = self.input.as_ref();
            let made = self.decoder.decode(&mut rest, self.has_ended, &mut output)?;
            let taken = self.input.len().saturating_sub(rest.len());
            self.input.advance(taken);
            match made {
                Made::Bytes(length) => {
                    output.truncate(length);
                    yield_now().await;
                    return Ok(Some((Frame::data(Bytes::from(output)), Some(self))));
                }
                Made::Busy => yield_now().await,
                Made::Hungry => self.receive().await?,
                Made::End => {
                    let trailers = self.trailers.take().filter(|trailers| !trailers.is_empty());
                    return Ok(trailers.map(|trailers| (Frame::trailers(trailers), None)));
                }
            }
        }
    }

    /// Waits for more of the body, or its end.
    async fn receive(&mut self) -> Result<(), BoxError> {
        match self.body.frame().await {
            None => self.has_ended = true,
            Some(frame) => match frame?.into_data() {
                Ok(data) => self.input = data,
                Err(frame) => {
                    if let Ok(mut trailers) = frame.into_trailers() {
                        self.delivery.amend_trailers(&mut trailers);
                        self.trailers = Some(trailers);
                    }
                }
            },
        }
        Ok(())
    }
}
