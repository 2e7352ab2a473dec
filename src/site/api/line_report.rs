//! Reports fetch progress line by line while the client reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};
use wwwoffle_spool::Spool;

use super::push_line;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::site::context::SiteContext;
use wwwoffle_api::Event;

/// Interval between progress reports, and between looks for changes that no event reported.
pub(in crate::site) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The event receivers of a report, and its unsent events.
#[derive(Debug)]
pub(in crate::site) struct EventInbox {
    pub(in crate::site) context: Arc<SiteContext>,
    events: broadcast::Receiver<Event>,
    mode: watch::Receiver<Mode>,
    look: Interval,
    /// Events to be sent next.
    pub(in crate::site) ready: VecDeque<Event>,
    ended: bool,
}

/// An occurrence that a report handles.
pub(in crate::site) enum ReportTrigger {
    /// An event of one URL.
    Event(Event),
    /// Time for the next look.
    Look,
    /// A change of the mode, lost events, or a stop of the daemon.
    Other,
}

/// A report, sent line by line.
pub(in crate::site) trait LineReport: Send + 'static {
    /// Returns the receivers and unsent events.
    fn inbox(&mut self) -> &mut EventInbox;

    /// Does the next step, or waits for an event. Called when no event is ready to be sent.
    fn advance(&mut self) -> impl Future<Output = ()> + Send;
}

/// Returns the report as a body, one line for each event. Dropping the body ends the report and has
/// no other effect.
pub(in crate::site) fn body(what: impl LineReport) -> Body {
    let frames = stream::unfold(what, |mut what| async move {
        let lines = lines(&mut what).await?;
        Some((Ok::<_, BoxError>(Frame::data(lines)), what))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Returns the next lines; `None` after the last one, or when the daemon stops.
async fn lines(what: &mut impl LineReport) -> Option<Bytes> {
    while what.inbox().ready.is_empty() {
        if what.inbox().ended || what.inbox().context.base.tasks.is_stopping() {
            return None;
        }
        what.advance().await;
    }
    let mut lines = Vec::new();
    for event in what.inbox().ready.drain(..) {
        push_line(&mut lines, &event);
    }
    Some(lines.into())
}

impl EventInbox {
    /// Subscribes to the events of the fetcher. Must be called before requests are queued, so that
    /// no event is lost.
    pub(in crate::site) fn new(context: &Arc<SiteContext>) -> Self {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            events: context.fetch.fetcher.events(),
            mode: context.base.mode.watch(),
            context: Arc::clone(context),
            look,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// Waits for the next event, the next look, or another [`ReportTrigger`].
    pub(in crate::site) async fn wait_for_event(&mut self) -> ReportTrigger {
        tokio::select! {
            () = self.context.base.tasks.stopping() => ReportTrigger::Other,
            // The daemon owns the mode switch, so this channel never closes.
            _changed = self.mode.changed() => ReportTrigger::Other,
            // If events were lost, the next look at the queue makes up for them. The fetcher never
            // ends, so this channel never closes.
            event = self.events.recv() => event.map_or(ReportTrigger::Other, ReportTrigger::Event),
            _now = self.look.tick() => ReportTrigger::Look,
        }
    }

    /// Returns an event that has already arrived; `None` if there is none, or if events were lost.
    pub(in crate::site) fn event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Whether the mode allows fetching.
    pub(in crate::site) fn may_dial(&mut self) -> bool {
        self.mode.borrow_and_update().may_dial()
    }

    /// Flushes the spool, so that the reported entries can be read; `false` on failure.
    pub(in crate::site) async fn flush(&self) -> bool {
        let flushed = self.context.storage.store.run(Spool::flush).await;
        if let Err(error) = &flushed {
            tracing::error!(error = error_chain(error), "fetched pages are not stored");
        }
        flushed.is_ok()
    }

    /// Sends the last event and ends the report.
    pub(in crate::site) fn end(&mut self, last: Event) {
        self.ready.push_back(last);
        self.ended = true;
    }
}
