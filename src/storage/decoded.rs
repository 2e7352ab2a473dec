//! Bodies whose content coding is removed as they are read.
//!
//! A body is decoded a piece at a time. A slow reader slows the decoding down, and a reader that
//! leaves ends it. Other tasks run between two pieces. A damaged or truncated body ends with an
//! error and never looks complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, Bytes};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::HeaderMap;
use hyper::body::{Body as _, Frame};
use tokio::task::yield_now;
use wwwoffle_http::caching::coding::Delivery;
use wwwoffle_http::decoding::{Decoder, Output};

use super::body::Body;
use crate::net::upstream::BoxError;

/// Bytes decoded at once: less than a tenth of a millisecond for each coding.
const PIECE: usize = 64 * 1024;

/// Decodes `body` as `delivery` requires. `used` is set to the number of coded bytes that were
/// decoded so far. Dropping the returned body stops the decoding.
pub fn body(delivery: Delivery, body: Body, used: Arc<AtomicU64>) -> Body {
    let Delivery::Decoded { undone, .. } = &delivery else { return body };
    if body.is_end_stream() {
        return body;
    }
    let decoder = Decoder::new(undone);
    let (input, has_ended, trailers) = (Bytes::new(), false, None);
    let decoding = Decoding { body, decoder, delivery, used, input, has_ended, trailers };
    let frames = stream::unfold(Some(decoding), |decoding| async move {
        match decoding?.next().await {
            Ok(next) => next.map(|(frame, decoding)| (Ok(frame), decoding)),
            Err(error) => Some((Err(error), None)),
        }
    });
    // A caller may poll once more after the end.
    StreamBody::new(frames.fuse()).boxed_unsync()
}

/// A body being decoded.
struct Decoding {
    body: Body,
    decoder: Decoder,
    delivery: Delivery,
    /// The number of bytes of the coded body used so far.
    used: Arc<AtomicU64>,
    /// Received input that is not decoded yet.
    input: Bytes,
    has_ended: bool,
    trailers: Option<HeaderMap>,
}

impl Decoding {
    /// Returns the next frame, and the state for the frame after it. `None` at the end.
    async fn next(mut self) -> Result<Option<(Frame<Bytes>, Option<Self>)>, BoxError> {
        let mut output = vec![0; PIECE];
        loop {
            let mut rest = self.input.as_ref();
            let made = self.decoder.decode(&mut rest, self.has_ended, &mut output)?;
            let taken = self.input.len().saturating_sub(rest.len());
            self.input.advance(taken);
            match made {
                Output::Bytes(length) => {
                    self.used.store(self.decoder.bytes_read(), Ordering::Relaxed);
                    output.truncate(length);
                    yield_now().await;
                    return Ok(Some((Frame::data(Bytes::from(output)), Some(self))));
                }
                Output::Busy => yield_now().await,
                Output::Hungry => self.receive().await?,
                Output::End => {
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
