//! The state of the link, which the mode auto follows.
//!
//! ```text
//! Dialer, Upstream ── which origins answer ─────────┐
//! kernel ── interfaces and routes, by netlink ──────┤
//! probe ── the URL of [link], or requested hosts ───┴─ watch_link ── LinkJudge ── ModeSwitch
//! ```
//!
//! [`watch_link`] is the only task that judges. It opens connections only for probes, and only
//! while [`ModeSetting::Auto`] is chosen. In every mode it also listens to the kernel, for
//! [`Link::class`]. Listening sends nothing to the network.

pub mod judge;
pub mod kernel;
mod routes;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};
use wwwoffle_config::Config;

use crate::base::clock;
use crate::base::mode::{Mode, ModeSetting};
use crate::base::observer::Observer;
use crate::net::context::NetContext;
use crate::net::upstream::{Origin, OriginReport};
use judge::{LinkJudge, LinkReason, Observation, Portal, ProbeResult, Terms};
use kernel::{Changes, Connectivity, TOGETHER};

/// The maximum number of waiting reports about origins. Further reports are dropped.
const MAX_REPORTS: usize = 256;

/// The cost of data on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkClass {
    /// No known cost.
    Usual,
    /// The default route uses one of `[link] metered-interfaces`.
    Metered,
}

/// The known state of the link.
#[derive(Debug)]
pub struct Link {
    judgement: ArcSwap<Judgement>,
    standing: ArcSwap<Connectivity>,
    reports: Mutex<Option<mpsc::Receiver<OriginReport>>>,
    news: Notify,
    /// Notified when [`Link::connectivity`] changes.
    pub(crate) observer: Observer<Connectivity>,
    begun: watch::Sender<bool>,
}

/// The last judgement.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The reason for the judgement.
    pub reason: LinkReason,
    /// The time of this judgement.
    pub since: SystemTime,
    /// The time when the last probe ended.
    pub probed: Option<SystemTime>,
}

impl Judgement {
    /// The captive portal that answers, if any.
    #[must_use]
    pub fn portal(&self) -> Option<&Portal> {
        match &self.reason {
            LinkReason::Portal(portal) => Some(portal),
            _ => None,
        }
    }
}

impl Link {
    /// A link without observations, and the channel for reports about origins.
    #[must_use]
    pub fn new() -> (Self, mpsc::Sender<OriginReport>) {
        let (tell, reports) = mpsc::channel(MAX_REPORTS);
        let judgement =
            Judgement { reason: LinkReason::Unknown, since: clock::now(), probed: None };
        let link = Self {
            judgement: ArcSwap::from_pointee(judgement),
            standing: ArcSwap::from_pointee(Connectivity::Unknown),
            reports: Mutex::new(Some(reports)),
            news: Notify::new(),
            observer: Observer::default(),
            begun: watch::Sender::new(false),
        };
        (link, tell)
    }

    /// The last judgement.
    #[must_use]
    pub fn judgement(&self) -> Arc<Judgement> {
        self.judgement.load_full()
    }

    /// The kernel's view of the routes, in every mode.
    #[must_use]
    pub fn connectivity(&self) -> Arc<Connectivity> {
        self.standing.load_full()
    }

    /// The cost of data on the current default route.
    #[must_use]
    pub fn class(&self, config: &Config) -> LinkClass {
        match &**self.standing.load() {
            Connectivity::Up { interface }
                if config.link.metered_interfaces.contains(interface) =>
            {
                LinkClass::Metered
            }
            _ => LinkClass::Usual,
        }
    }

    /// Makes [`watch_link`] read the configuration again.
    pub fn wake(&self) {
        self.news.notify_one();
    }

    /// Waits until the kernel was queried for the first time and the result is in force.
    pub async fn has_begun(&self) {
        let mut begun = self.begun.subscribe();
        // `self` owns the sender, so the channel is open.
        let _begun = begun.wait_for(|begun| *begun).await;
    }
}

/// The terms of judging from the configuration.
fn terms(config: &Config) -> Terms {
    let link = &config.link;
    Terms {
        has_url: link.probe_url.url().is_some(),
        failing_hosts: link.failing_hosts.get(),
        failing_within: link.failing_within,
        settle: link.settle,
        interval: link.probe_interval,
        longest: link.probe_longest_interval,
    }
}

/// The reports of the kernel.
struct Kernel {
    changes: Option<Changes>,
    is_watched: bool,
    /// Whether it was logged that the kernel cannot be watched.
    is_told: bool,
    /// After a change, the time at which it and all related changes are handled together. `None`
    /// without a change.
    changed: Option<Instant>,
}

impl Kernel {
    /// Starts or stops listening, as `watch-kernel` says. Returns whether the option has changed.
    fn follow(&mut self, config: &Config) -> bool {
        let wanted = config.link.watch_kernel;
        if std::mem::replace(&mut self.is_watched, wanted) == wanted {
            return false;
        }
        self.changes = None;
        if wanted {
            match Changes::listen() {
                Ok(changes) => self.changes = Some(changes),
                Err(error) => self.stop_listening(&error),
            }
        }
        true
    }

    fn stop_listening(&mut self, error: &std::io::Error) {
        self.changes = None;
        if !std::mem::replace(&mut self.is_told, true) {
            warn!(%error, "the kernel does not report links here; the mode auto relies on probes \
                and requests");
        }
    }

    async fn connectivity(&mut self) -> Connectivity {
        if self.changes.is_none() {
            return Connectivity::Unknown;
        }
        match kernel::read_connectivity().await {
            Ok(standing) => standing,
            Err(error) => {
                self.stop_listening(&error);
                Connectivity::Unknown
            }
        }
    }

    /// Waits for a change; forever if there is no source of changes. Dropping the future loses no
    /// change.
    async fn next(&mut self) {
        let by = match (self.changed, &self.changes) {
            (Some(by), _) => by,
            (None, None) => return std::future::pending().await,
            (None, Some(changes)) => {
                if let Err(error) = changes.next().await {
                    self.stop_listening(&error);
                }
                *self.changed.insert(Instant::now() + TOGETHER)
            }
        };
        sleep_until(by).await;
        self.changed = None;
    }
}

/// A probe of the link in progress.
pub type Probe = Pin<Box<dyn Future<Output = ProbeResult> + Send>>;

/// A function that begins a probe. If no URL to probe is configured, the probe connects to the
/// given hosts. The function comes from a higher layer, which can read URLs and the queue.
pub type Prober = Box<dyn Fn(Vec<Origin>) -> Probe + Send>;

/// The state of [`watch_link`].
struct LinkTask {
    context: Arc<NetContext>,
    prober: Prober,
    judge: Option<LinkJudge>,
    probe: Option<Probe>,
    /// The last published judgement.
    shown: Option<(bool, LinkReason)>,
}

/// Judges the link whenever the mode auto is chosen, until the daemon stops. Each daemon runs this
/// in one task.
pub async fn watch_link(context: Arc<NetContext>, prober: Prober) {
    let reports = context.link.reports.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut reports) = reports else { return };
    let mut chosen = context.base.mode.watch_choice();
    let mut kernel = Kernel { changes: None, is_watched: false, is_told: false, changed: None };
    let mut work =
        LinkTask { context: Arc::clone(&context), prober, judge: None, probe: None, shown: None };
    loop {
        let config = context.base.config();
        if kernel.follow(&config) {
            work.handle_kernel_report(kernel.connectivity().await);
        }
        let is_auto = *chosen.borrow_and_update() == ModeSetting::Auto;
        work.judge(is_auto, &config);
        context.link.begun.send_replace(true);
        let next = work.next();
        tokio::select! {
            () = context.base.tasks.stopping() => return,
            // The daemon owns the sender of the choice, so the channel stays open. Reports from
            // before the change are discarded.
            _changed = chosen.changed() => while reports.try_recv().is_ok() {},
            () = context.link.news.notified() => {}
            Some(report) = reports.recv() => work.record_origin_report(report),
            () = kernel.next() => {
                let standing = kernel.connectivity().await;
                work.handle_kernel_report(standing);
            }
            finding = work.found() => work.handle_probe(finding),
            () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
        }
    }
}

impl LinkTask {
    /// In the mode auto, creates the judge if it is missing, starts a probe if one is due, and
    /// publishes the judgement. In other modes, drops the judge and its probe.
    fn judge(&mut self, is_auto: bool, config: &Config) {
        if !is_auto {
            (self.judge, self.probe, self.shown) = (None, None, None);
            return;
        }
        let now = Instant::now();
        let standing = &self.context.link.standing;
        let judge = self.judge.get_or_insert_with(|| {
            let mut judge = LinkJudge::new(terms(config), now);
            judge.take(Observation::Kernel(Connectivity::clone(&standing.load())), now);
            judge
        });
        judge.set_terms(terms(config), now);
        if judge.pass(self.probe.is_none(), now) {
            self.probe = Some((self.prober)(judge.hosts()));
        }
        self.show();
    }

    fn next(&self) -> Option<Instant> {
        self.judge.as_ref().and_then(|judge| judge.next(self.probe.is_none()))
    }

    async fn found(&mut self) -> ProbeResult {
        match &mut self.probe {
            Some(probe) => probe.await,
            None => std::future::pending().await,
        }
    }

    fn handle_probe(&mut self, finding: ProbeResult) {
        self.probe = None;
        debug!(?finding, "the link was probed");
        self.context.link.judgement.rcu(|judgement| Judgement {
            probed: Some(clock::now()),
            ..Judgement::clone(judgement)
        });
        self.take(Observation::Probed(finding));
    }

    fn record_origin_report(&mut self, OriginReport { origin, answered }: OriginReport) {
        self.take(if answered {
            Observation::Reached(origin)
        } else {
            Observation::Failed(origin)
        });
    }

    fn handle_kernel_report(&mut self, standing: Connectivity) {
        let was = self.context.link.standing.swap(Arc::new(standing.clone()));
        if *was != standing {
            debug!(?standing, "the outward routes have changed");
            self.context.link.observer.notify(&standing);
        }
        self.take(Observation::Kernel(standing));
    }

    fn take(&mut self, news: Observation) {
        if let Some(judge) = &mut self.judge {
            judge.take(news, Instant::now());
        }
    }

    /// Publishes a new judgement and sets the mode by it.
    fn show(&mut self) {
        let Some(judge) = &self.judge else { return };
        let reason = judge.reason().clone();
        let Some(online) = judge.is_online() else {
            // Before the first judgement, the mode does not change.
            return self.publish_judgement(reason);
        };
        let now = (online, reason);
        if self.shown.as_ref() == Some(&now) {
            return;
        }
        let (_, reason) = self.shown.insert(now).clone();
        let mode = if online { Mode::Online } else { Mode::Offline };
        let portal = match &reason {
            LinkReason::Portal(portal) => portal.hosts.as_slice(),
            _ => &[],
        };
        // The reason is published first, so that it is known when the mode changes.
        self.publish_judgement(reason.clone());
        if let Some(was) = self.context.base.mode.apply_link_state(mode, portal) {
            if was == mode {
                debug!(%mode, %reason, "the link is unchanged");
            } else {
                info!(%mode, %was, %reason, "the link has changed the mode");
            }
        }
    }

    fn publish_judgement(&self, reason: LinkReason) {
        let link = &self.context.link;
        let judgement = link.judgement();
        if judgement.reason != reason {
            link.judgement.store(Arc::new(Judgement {
                reason,
                since: clock::now(),
                probed: judgement.probed,
            }));
        }
    }
}
