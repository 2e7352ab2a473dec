//! Gathers the available bytes of a body, without waiting for more.

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::HeaderMap;

use crate::net::upstream::{AnswerBody, Failure};
use crate::storage::body::length;

/// Maximum bytes gathered for one write. Available bytes are never held back to wait for more.
const STRETCH: usize = 128 * 1024;

/// The gathered bytes, and perhaps the end of the body.
pub(super) struct GatheredBytes {
    pub(super) stretch: Vec<Bytes>,
    pub(super) end: Option<Result<Option<HeaderMap>, Failure>>,
}

/// Waits for bytes, then takes all that are available, up to [`STRETCH`].
pub(super) async fn gather(body: &mut AnswerBody) -> GatheredBytes {
    let mut gathered = GatheredBytes { stretch: Vec::new(), end: None };
    let mut size = 0;
    let mut next = body.frame().await;
    loop {
        match next {
            None => gathered.end = Some(Ok(None)),
            Some(Err(failure)) => gathered.end = Some(Err(failure)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    size += data.len();
                    gathered.stretch.push(data);
                }
                Err(frame) => gathered.end = Some(Ok(frame.into_trailers().ok())),
            },
        }
        if gathered.end.is_some() || size >= STRETCH {
            return gathered;
        }
        match body.frame().now_or_never() {
            Some(more) => next = more,
            None => return gathered,
        }
    }
}

/// The total number of bytes.
pub(super) fn size_of(stretch: &[Bytes]) -> u64 {
    stretch.iter().map(length).sum()
}
