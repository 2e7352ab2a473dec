//! How the fetching goes, for whoever looks on: `GET /api/events`, a stream of Server-Sent Events (HTML
//! Living Standard, §9.2).
//!
//! Each message tells how things are, and not what has changed; it is made when there is room for it. So a
//! reader that is slow misses steps and nothing else, and nobody waits for it.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Response, StatusCode};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::runs;
use crate::api::{ProgressStep, RunStep, Whole};
use crate::fetch::gauge::Gauge;
use crate::net::upstream::BoxError;
use crate::proxy::body::{self, Body};
use crate::site::caller::Caller;
use crate::site::status;

/// The type of such a stream.
const EVENTS: &str = "text/event-stream";

/// How often something is told at most.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When nothing has happened for so long, that is told: who has left is noticed by it.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// How long a stream lasts. Whoever reads it comes again by itself, and is asked for a password again.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How many downloads are told of at once.
const MAX_DOWNLOADS: usize = 100;

/// How long a reader waits before it comes again, in milliseconds, and that first.
const BEGINNING: &[u8] = b"retry: 2000\n\n";

/// A message that says nothing.
const ALIVE: &[u8] = b":\n\n";

/// Begins to tell `caller`; of a HEAD the head alone.
pub(super) fn answer(caller: &Caller, method: &Method) -> Response<Body> {
    let told = if method == Method::HEAD { body::empty() } else { body_for(caller.clone()) };
    caller.other(StatusCode::OK, Some(EVENTS), told)
}

/// Dropping the body ends the telling, and nothing else.
fn body_for(caller: Caller) -> Body {
    let frames = stream::unfold(Telling::new(caller), |mut telling| async move {
        let message = telling.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(message)), telling))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Tells one reader.
struct Telling {
    caller: Caller,
    look: Interval,
    begun: Instant,
    has_begun: bool,
    /// What was told last, and when anything was.
    told: Option<ProgressStep>,
    said: Instant,
    /// Of each fetch along links how fast it comes.
    runs: HashMap<String, Gauge>,
}

impl Telling {
    fn new(caller: Caller) -> Self {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let now = Instant::now();
        let runs = HashMap::new();
        Self { caller, look, begun: now, has_begun: false, told: None, said: now, runs }
    }

    /// The next message; `None` when there will be none.
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
            let step = self.step();
            if self.told.as_ref() != Some(&step) {
                let message = message(&step)?;
                (self.told, self.said) = (Some(step), Instant::now());
                return Some(message);
            }
            if self.said.elapsed() >= ALIVE_EVERY {
                self.said = Instant::now();
                return Some(Bytes::from_static(ALIVE));
            }
        }
    }

    /// How things are now, as far as the caller may see them.
    fn step(&mut self) -> ProgressStep {
        let context = &self.caller.context;
        let (queue, may_dial) = (status::counts(context), context.base.mode.now().may_dial());
        let mut downloads = status::downloads(&self.caller);
        let surplus = downloads.len().saturating_sub(MAX_DOWNLOADS);
        downloads.truncate(MAX_DOWNLOADS);
        ProgressStep {
            mode: context.base.mode.now(),
            queue,
            whole: context
                .fetch
                .fetcher
                .whole(queue.waiting.saturating_add(queue.active), may_dial),
            downloads,
            more: u64::try_from(surplus).unwrap_or(u64::MAX),
            runs: self.runs(may_dial),
        }
    }

    fn runs(&mut self, moves: bool) -> Vec<RunStep> {
        let all = runs::all(&self.caller).runs;
        let under_way: Vec<_> = all.into_iter().filter(|run| run.ended.is_none()).collect();
        self.runs.retain(|id, _| under_way.iter().any(|run| run.id == *id));
        let now = Instant::now();
        let step = |run: crate::api::runs::RunItem| {
            let gauge = self.runs.entry(run.id.clone()).or_default();
            let whole = gauge.measure(Whole::of_run(&run), moves, now);
            RunStep { id: run.id, start: run.start, whole }
        };
        under_way.into_iter().map(step).collect()
    }
}

fn message(step: &ProgressStep) -> Option<Bytes> {
    match serde_json::to_string(step) {
        Ok(text) => Some(format!("event: progress\ndata: {text}\n\n").into()),
        Err(error) => {
            tracing::error!(%error, "a step cannot be told");
            None
        }
    }
}
