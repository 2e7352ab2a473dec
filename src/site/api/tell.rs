//! Telling line by line how fetching goes, for as long as somebody reads.

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
use crate::api::Event;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::net::upstream::BoxError;
use crate::proxy::body::Body;
use crate::site::context::SiteContext;

/// How often progress is told, and looked for what no event told.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Who hears of the fetching, and what they have to tell next.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) context: Arc<SiteContext>,
    events: broadcast::Receiver<Event>,
    mode: watch::Receiver<Mode>,
    look: Interval,
    /// What is told next.
    pub(super) ready: VecDeque<Event>,
    ended: bool,
}

/// What has happened.
pub(super) enum News {
    /// Of one URL.
    Event(Event),
    /// It is time to look for oneself.
    Look,
    /// Nothing that is known here: the mode is another, events were missed, or the daemon stops.
    Other,
}

/// What is told line by line.
pub(super) trait Tell: Send + 'static {
    /// With whom it hears and tells.
    fn teller(&mut self) -> &mut Teller;

    /// Does what comes next, or waits for news; nothing is ready to be told then.
    fn go_on(&mut self) -> impl Future<Output = ()> + Send;
}

/// The lines of `what`. Dropping the body ends the telling, and nothing else.
pub(super) fn body(what: impl Tell) -> Body {
    let frames = stream::unfold(what, |mut what| async move {
        let lines = lines(&mut what).await?;
        Some((Ok::<_, BoxError>(Frame::data(lines)), what))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The next lines; `None` after the last, or when the daemon stops.
async fn lines(what: &mut impl Tell) -> Option<Bytes> {
    while what.teller().ready.is_empty() {
        if what.teller().ended || what.teller().context.base.tasks.is_stopping() {
            return None;
        }
        what.go_on().await;
    }
    let mut lines = Vec::new();
    for event in what.teller().ready.drain(..) {
        push_line(&mut lines, &event);
    }
    Some(lines.into())
}

impl Teller {
    /// To be made before anything is put on the queue, so that nothing is missed.
    pub(super) fn new(context: &Arc<SiteContext>) -> Self {
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

    /// Waits for news.
    pub(super) async fn news(&mut self) -> News {
        tokio::select! {
            () = self.context.base.tasks.stopping() => News::Other,
            // The switch is in the daemon, so the mode never ends.
            _changed = self.mode.changed() => News::Other,
            // What was missed is learned by looking. The fetcher itself never ends.
            event = self.events.recv() => event.map_or(News::Other, News::Event),
            _now = self.look.tick() => News::Look,
        }
    }

    /// An event that has come already.
    pub(super) fn event(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Whether the mode lets anything be fetched.
    pub(super) fn may_dial(&mut self) -> bool {
        self.mode.borrow_and_update().may_dial()
    }

    /// What was told to be in the spool is there for whoever looks now; `false` when it cannot be.
    pub(super) async fn flush(&self) -> bool {
        let flushed = self.context.storage.store.run(Spool::flush).await;
        if let Err(error) = &flushed {
            tracing::error!(error = error_chain(error), "fetched pages are not kept");
        }
        flushed.is_ok()
    }

    /// Tells this, and then no more.
    pub(super) fn end(&mut self, last: Event) {
        self.ready.push_back(last);
        self.ended = true;
    }
}
