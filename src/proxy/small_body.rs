//! Reads small request bodies whole, within a time limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use super::body::Body;
use super::reply;
use crate::net::upstream::ClientBody;

/// The reason why the body of a request was not read.
pub(super) enum BodyReadError {
    /// The connection broke.
    Broken,
    /// The client was too slow.
    Stalled,
}

impl BodyReadError {
    /// The response to the client.
    pub(super) fn response(&self) -> Response<Body> {
        match self {
            Self::Broken => reply::plain(400, "the body of the request ended early"),
            Self::Stalled => reply::plain(408, "timed out waiting for the body of the request"),
        }
    }
}

/// Minimum average speed of a small body, in bytes per second. Every link on which TCP works is
/// faster. Without this limit, a client that sends a byte now and then would hold its connection
/// for months.
const SLOWEST_BODY: u64 = 16;

/// The time to wait for the next piece of a body of unknown length before the body is streamed. A
/// client may wait for a reaction of the origin before it sends more.
const NEXT_PIECE: Duration = Duration::from_secs(1);

/// A body of unknown length.
pub(super) enum SmallBody {
    /// The body is small.
    Whole(Bytes),
    /// The body is larger than the limit, or arrives too slowly. It must be streamed.
    Started(ClientBody),
}

/// Reads a body of unknown length whole, if it has at most `limit` bytes, each piece arrives within
/// [`NEXT_PIECE`] and the whole body within ten times [`NEXT_PIECE`]. Otherwise returns what has
/// arrived, with the rest unread.
pub(super) async fn read_if_small(
    mut rest: Incoming,
    limit: u64,
) -> Result<SmallBody, BodyReadError> {
    let mut start = BytesMut::new();
    let until = Instant::now() + NEXT_PIECE * 10;
    while u64::try_from(start.len()).is_ok_and(|length| length <= limit) {
        match timeout_at((Instant::now() + NEXT_PIECE).min(until), rest.frame()).await {
            Ok(None) => return Ok(SmallBody::Whole(start.freeze())),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    start.extend_from_slice(&data);
                }
            }
            Ok(Some(Err(_))) => return Err(BodyReadError::Broken),
            Err(_) => break,
        }
    }
    Ok(SmallBody::Started(ClientBody { start: start.freeze(), rest }))
}

/// Reads a body whose length is known to be small. `patience` is the time limit for each piece; the
/// limit for the whole body also depends on its length.
pub(super) async fn read_whole(
    mut body: Incoming,
    patience: Duration,
) -> Result<Bytes, BodyReadError> {
    let mut whole = BytesMut::new();
    let length = body.size_hint().upper().unwrap_or(0);
    let until = Instant::now() + patience + Duration::from_secs(length.div_ceil(SLOWEST_BODY));
    loop {
        let next = Instant::now() + patience;
        match timeout_at(next.min(until), body.frame()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    whole.extend_from_slice(&data);
                }
            }
            Ok(Some(Err(_))) => return Err(BodyReadError::Broken),
            Err(_) => return Err(BodyReadError::Stalled),
        }
    }
}
