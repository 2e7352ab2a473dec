//! Decodes the body of a response for a client that does not accept its coding.
//!
//! The body is decoded piece by piece while it is sent. A slow client slows the decoding, and a
//! client that leaves ends it. Other tasks can run between two pieces. A damaged or truncated body
//! breaks off, so it never looks complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::{Method, Response};
use tokio::time::{Instant, timeout_at};

use super::ask::ProxyRequest;
use super::audience::Audience;
use super::body::{Body, empty};
use crate::storage::decoded;
use wwwoffle_http::caching::coding::Delivery;
use wwwoffle_http::decoding::{Fault, MAX_RATIO};

/// The expansion ratio up to which a body is sent without further checks.
const USUAL_RATIO: u64 = MAX_RATIO / 5;

/// The time to wait for the start of a body that another client is already downloading.
pub(super) const JOINED_WITHIN: Duration = Duration::from_secs(1);

/// Bytes of a stored body that are decoded before the head of the response is sent. If they are
/// damaged, the client gets an error page.
const CHECKED_AHEAD: u64 = 1024 * 1024;

/// Maximum bytes that are decoded before the head is sent, for a body that expands more than usual.
/// So a decompression bomb gets an error message instead of breaking off in the middle.
const MAX_AHEAD: u64 = 4 * 1024 * 1024;

/// The data for [`look_ahead`], with the number of encoded bytes consumed so far. As an extension,
/// it marks a response whose body is decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct ConsumedBytes {
    count: Arc<AtomicU64>,
    /// The time to wait for the start of the body of a running download. `None` for a stored body.
    patience: Option<Duration>,
    /// Whether the request is a HEAD, so the body is only checked.
    is_head: bool,
    /// The audience and the URL of the request. `None` if the body is not decoded.
    asked: Option<Arc<(Audience, String)>>,
}

/// A body whose fault was detected before the head of its response was sent.
#[derive(Debug)]
pub(super) struct Undecodable {
    pub(super) fault: Fault,
    /// The audience of the response.
    pub(super) audience: Audience,
    /// The requested URL.
    pub(super) url: String,
}

impl Undecodable {
    /// Whether another copy may be better, because the body is damaged or truncated.
    pub(super) fn is_damaged(&self) -> bool {
        matches!(self.fault, Fault::Damaged(_) | Fault::Truncated(_))
    }
}

/// The body for a client, decoded from `body` if necessary. Dropping the returned body ends the
/// work.
pub(crate) fn body(delivery: Delivery, body: Body) -> Body {
    decoded::body(delivery, body, Arc::default())
}

/// Gives a response a body whose start [`look_ahead`] may decode: a stored body, or with the
/// `patience` [`JOINED_WITHIN`] that of a download that other clients already read.
pub(super) fn put(
    response: &mut Response<Body>,
    ask: &ProxyRequest,
    delivery: Delivery,
    body: Body,
    patience: Option<Duration>,
) {
    let is_head = ask.head.method == Method::HEAD;
    let mut taken = ConsumedBytes { patience, is_head, ..ConsumedBytes::default() };
    if delivery.is_decoded() {
        let asked = (ask.head.audience, ask.resource.url.as_str().to_owned());
        taken.asked = Some(Arc::new(asked));
        response.extensions_mut().insert(taken.clone());
    }
    *response.body_mut() = decoded::body(delivery, body, taken.count);
}

/// Whether [`look_ahead`] has work to do.
pub(super) fn is_put(response: &Response<Body>) -> bool {
    response.extensions().get::<ConsumedBytes>().is_some()
}

/// Decodes the start of a response with a body from [`put`], before its head is sent. Decodes
/// [`CHECKED_AHEAD`] bytes of a stored body, or one piece of a body that is still being downloaded,
/// and more while the body expands more than usual. Dropping the future drops the response.
///
/// # Errors
///
/// A fault of the body that was detected before anything was sent.
pub(super) async fn look_ahead(
    mut response: Response<Body>,
) -> Result<Response<Body>, Undecodable> {
    let Some(taken) = response.extensions_mut().remove::<ConsumedBytes>() else {
        return Ok(response);
    };
    let until = taken.patience.map(|patience| Instant::now() + patience);
    let (parts, mut body) = response.into_parts();
    let (mut ahead, mut made) = (Vec::new(), 0_u64);
    loop {
        let next = match until {
            None => body.frame().await,
            // A timeout loses nothing: the next call continues the work.
            Some(until) => match timeout_at(until, body.frame()).await {
                Ok(next) => next,
                Err(_) => break,
            },
        };
        let Some(frame) = next else { break };
        match &frame {
            Ok(frame) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                made = made.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
            }
            Err(error) => {
                if let (Some(fault), Some(asked)) = (error.downcast_ref(), &taken.asked) {
                    let (audience, url) = asked.as_ref().clone();
                    return Err(Undecodable { fault: *fault, audience, url });
                }
            }
        }
        ahead.push(frame);
        let is_usual = made <= taken.count.load(Ordering::Relaxed).saturating_mul(USUAL_RATIO);
        let most = match until {
            None if is_usual => CHECKED_AHEAD,
            Some(_) if is_usual => 0,
            _ => MAX_AHEAD,
        };
        if made >= most {
            break;
        }
    }
    if taken.is_head {
        return Ok(Response::from_parts(parts, empty()));
    }
    let frames = stream::iter(ahead).chain(BodyStream::new(body));
    Ok(Response::from_parts(parts, StreamBody::new(frames).boxed_unsync()))
}
