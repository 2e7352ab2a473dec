//! Fetch progress as a stream of Server-Sent Events: `GET /api/events` (HTML Living Standard,
//! §9.2).
//!
//! Each message holds the current state, not a change, and is created only when the reader can
//! accept it. So a slow reader misses only intermediate states, and delays no other task.

mod counts;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

pub(in crate::site) use self::counts::SharedCounts;
use crate::base::statistics::Outcome;
use crate::fetch::gauge::Gauge;
use crate::net::upstream::BoxError;
use crate::proxy::body::{self, Body};
use crate::proxy::reply;
use crate::site::caller::Caller;
use crate::site::fetches::call as runs;
use crate::site::{statistics, status};
use wwwoffle_api::{ProgressStep, RunStep, TotalProgress};

/// Content type of the stream.
const EVENTS: &str = "text/event-stream";

/// Minimum interval between messages.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Time without an event after which a comment is sent. Sending it detects a disconnected reader.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Maximum duration of a stream. The browser then reconnects automatically, so that the password of
/// the caller is checked again.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Maximum number of streams at the same time.
pub(in crate::site) const MAX_STREAMS: usize = 256;

/// Value of `Retry-After` if there are [`MAX_STREAMS`] streams, in seconds.
const BUSY_FOR: HeaderValue = HeaderValue::from_static("30");

/// Maximum number of downloads in a message.
const MAX_DOWNLOADS: usize = 100;

/// First line of the stream: the delay before reconnecting, in milliseconds.
const BEGINNING: &[u8] = b"retry: 2000\n\n";

/// A comment, which readers ignore.
const ALIVE: &[u8] = b":\n\n";

/// Starts a stream for `caller`. The response to HEAD has no body.
pub(in crate::site) fn answer(caller: &Caller, method: &Method) -> Response<Body> {
    if method == Method::HEAD {
        return caller.other(StatusCode::OK, Some(EVENTS), body::empty());
    }
    let Ok(turn) = Arc::clone(&caller.context.limits.streams).try_acquire_owned() else {
        let mut response = reply::plain(503, "too many event streams are open; try again later");
        response.headers_mut().insert(RETRY_AFTER, BUSY_FOR);
        return response;
    };
    caller.other(StatusCode::OK, Some(EVENTS), body_for(caller.clone(), turn))
}

/// Returns the body of the stream. Dropping the body ends the stream and has no other effect.
fn body_for(caller: Caller, turn: OwnedSemaphorePermit) -> Body {
    let frames = stream::unfold(EventStream::new(caller, turn), |mut telling| async move {
        let message = telling.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(message)), telling))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The stream of one reader.
struct EventStream {
    caller: Caller,
    look: Interval,
    begun: Instant,
    has_begun: bool,
    /// The state in the last message sent; `None` before the first one.
    last: Option<ProgressStep>,
    /// The time when a message or a comment was last sent.
    last_sent: Instant,
    /// The measured speed of the queue.
    whole: Gauge,
    /// The measured speed of each running recursive fetch, by its ID.
    runs: HashMap<String, Gauge>,
    /// The permit of this stream, one of [`MAX_STREAMS`].
    _turn: OwnedSemaphorePermit,
}

impl EventStream {
    fn new(caller: Caller, turn: OwnedSemaphorePermit) -> Self {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let now = Instant::now();
        Self {
            caller,
            look,
            begun: now,
            has_begun: false,
            last: None,
            last_sent: now,
            whole: Gauge::default(),
            runs: HashMap::new(),
            _turn: turn,
        }
    }

    /// Returns the next message. `None` ends the stream: the daemon stops, or [`LIFETIME`] has
    /// passed.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.has_begun, true) {
            return Some(Bytes::from_static(BEGINNING));
        }
        loop {
            let tasks = &self.caller.context.base.tasks;
            tokio::select! {
                () = tasks.stopping() => return None,
                _now = self.look.tick() => {}
            }
            if self.begun.elapsed() >= LIFETIME {
                return None;
            }
            let step = self.step().await?;
            if self.last.as_ref() != Some(&step) {
                let message = message(&step)?;
                (self.last, self.last_sent) = (Some(step), Instant::now());
                return Some(message);
            }
            if self.last_sent.elapsed() >= ALIVE_EVERY {
                self.last_sent = Instant::now();
                return Some(Bytes::from_static(ALIVE));
            }
        }
    }

    /// Returns the current state, with the requests, downloads and recursive fetches that the
    /// caller may see. `None` if the daemon stops.
    async fn step(&mut self) -> Option<ProgressStep> {
        let context = &self.caller.context;
        let viewer = (!self.caller.is_administrator()).then_some(&self.caller.owner);
        let queue = context.limits.counts.for_caller(&self.caller).await?;
        let may_dial = context.base.mode.now().may_dial();
        let left = queue.waiting.saturating_add(queue.active);
        let mut downloads = status::downloads(&self.caller);
        let surplus = downloads.len().saturating_sub(MAX_DOWNLOADS);
        downloads.truncate(MAX_DOWNLOADS);
        Some(ProgressStep {
            mode: context.base.mode.now(),
            queue,
            whole: context.fetch.fetcher.queue_progress(viewer, left, may_dial, &mut self.whole),
            stored: statistics::today(&self.caller).of(Outcome::Stored.as_str()),
            downloads,
            more: u64::try_from(surplus).unwrap_or(u64::MAX),
            runs: self.runs(may_dial),
        })
    }

    fn runs(&mut self, moves: bool) -> Vec<RunStep> {
        let all = runs::all(&self.caller).runs;
        let under_way: Vec<_> = all.into_iter().filter(|run| run.ended.is_none()).collect();
        self.runs.retain(|id, _| under_way.iter().any(|run| run.id == *id));
        let now = Instant::now();
        let step = |run: wwwoffle_api::runs::RunItem| {
            let gauge = self.runs.entry(run.id.clone()).or_default();
            let whole = gauge.measure(TotalProgress::of_run(&run), moves, now);
            RunStep { id: run.id, start: run.start, whole }
        };
        under_way.into_iter().map(step).collect()
    }
}

fn message(step: &ProgressStep) -> Option<Bytes> {
    match serde_json::to_string(step) {
        Ok(text) => Some(format!("event: progress\ndata: {text}\n\n").into()),
        Err(error) => {
            tracing::error!(%error, "cannot write an event");
            None
        }
    }
}
