//! The body of an answer on its way to a client that does not take its coding.
//!
//! It is decoded as it is sent, a piece at a time: a client that is slow or leaves slows the work or
//! ends it. Between two pieces other tasks go on. A body that is damaged, or ends too early, breaks
//! off; it never looks whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::Response;
use tokio::time::{Instant, timeout_at};

use super::ask::Ask;
use super::audience::Audience;
use super::body::Body;
use crate::storage::decoded;
use wwwoffle_http::caching::coding::Delivery;
use wwwoffle_http::decoding::{Fault, MAX_RATIO};

/// What is made of each byte by a body that is nothing to wonder at: it is sent as it is made.
const USUAL_RATIO: u64 = MAX_RATIO / 5;

/// How long the beginning of a body is waited for that somebody else is getting already.
const JOINED_WITHIN: Duration = Duration::from_secs(1);

/// How much of a stored body is decoded before the head of its answer is sent, in bytes: a damaged page
/// gets a page that says so.
const CHECKED_AHEAD: u64 = 1024 * 1024;

/// How much of a body that expands beyond that is made before the head of its answer is sent, in bytes,
/// so that a bomb is told as what it is, and not broken off in the middle.
const MAX_AHEAD: u64 = 4 * 1024 * 1024;

/// How much of a coded body was used for what was made of it, in bytes. It stands among the extensions of
/// an answer whose beginning is here, for [`look_ahead`].
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    count: Arc<AtomicU64>,
    /// How long its beginning is waited for, where it may not be here yet.
    patience: Option<Duration>,
    /// Who asks, and for what.
    asked: Option<Arc<(Audience, String)>>,
}

/// A body whose fault shows before anything of its answer was sent.
#[derive(Debug)]
pub(super) struct Undecodable {
    pub(super) fault: Fault,
    /// Who asks.
    pub(super) audience: Audience,
    /// For what.
    pub(super) url: String,
}

impl Undecodable {
    /// Whether another copy may be better: this one is damaged or cut short.
    pub(super) fn is_damaged(&self) -> bool {
        matches!(self.fault, Fault::Damaged(_) | Fault::Truncated(_))
    }
}

/// The body that a client gets of `body`. Dropped, it ends the work.
pub(crate) fn body(delivery: Delivery, body: Body) -> Body {
    told(delivery, body, Taken::default())
}

/// Gives a body to an answer that is kept whole.
pub(super) fn put(response: &mut Response<Body>, ask: &Ask, delivery: Delivery, body: Body) {
    put_told(response, ask, delivery, body, None);
}

/// Gives a body to an answer that somebody else has been getting for some time.
pub(super) fn put_joined(response: &mut Response<Body>, ask: &Ask, delivery: Delivery, body: Body) {
    put_told(response, ask, delivery, body, Some(JOINED_WITHIN));
}

fn put_told(
    response: &mut Response<Body>,
    ask: &Ask,
    delivery: Delivery,
    body: Body,
    patience: Option<Duration>,
) {
    let mut taken = Taken { patience, ..Taken::default() };
    if delivery.is_decoded() {
        let asked = (ask.audience, ask.resource.url.as_str().to_owned());
        taken.asked = Some(Arc::new(asked));
        response.extensions_mut().insert(taken.clone());
    }
    *response.body_mut() = told(delivery, body, taken);
}

/// Whether [`look_ahead`] has something to look at.
pub(super) fn is_put(response: &Response<Body>) -> bool {
    response.extensions().get::<Taken>().is_some()
}

/// Decodes the beginning of an answer that [`put`] or [`put_joined`] has given a body, before its head is
/// sent: [`CHECKED_AHEAD`] bytes of a stored body, one piece of a body that is still coming, and more for
/// as long as it expands as no page does. Dropping the future drops the answer.
///
/// # Errors
///
/// The fault that shows meanwhile: nothing was sent yet.
pub(super) async fn look_ahead(
    mut response: Response<Body>,
) -> Result<Response<Body>, Undecodable> {
    let Some(taken) = response.extensions_mut().remove::<Taken>() else { return Ok(response) };
    let until = taken.patience.map(|patience| Instant::now() + patience);
    let (parts, mut body) = response.into_parts();
    let (mut ahead, mut made) = (Vec::new(), 0_u64);
    loop {
        let next = match until {
            None => body.frame().await,
            // Nothing is lost when the time is over: what was begun goes on with the next call.
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
    let frames = stream::iter(ahead).chain(BodyStream::new(body));
    Ok(Response::from_parts(parts, StreamBody::new(frames).boxed_unsync()))
}

fn told(delivery: Delivery, body: Body, taken: Taken) -> Body {
    decoded::body(delivery, body, taken.count)
}
