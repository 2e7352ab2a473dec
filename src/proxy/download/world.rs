//! The context of a download in tests: a scripted origin, a spool, and a disk that can fail.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::{HeaderMap, Request};
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_spool::{Durability, Options, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::begin::run_download;
use super::faulty::Faulty;
use super::run::{DownloadContext, OriginClient, Patience};
use super::unread::UnreadLimits;
use super::{Allowance, Download, DownloadEnd, DownloadJob, Downloads, JoinOutcome, LeavingRules};
use crate::base::mode::{Mode, ModeSwitch};
use crate::base::owner::{Owner, Places};
use crate::base::tasks::Tasks;
use crate::net::upstream::{Origin, Scheme};
use crate::proxy::choose::Revalidation;
use crate::proxy::keep::StorageRules;
use crate::storage::feed::FeedReader;
use crate::storage::store::Store;
use wwwoffle_http::caching::vary::VaryRules;

/// Maximum number of consecutive attempts without progress.
pub(super) const ATTEMPTS: usize = 3;

/// The pause before the first attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// The context of downloads of one page; `asks` is the origin.
pub(super) struct DownloadTestBed<A> {
    pub(super) asks: A,
    pub(super) store: Store,
    pub(super) downloads: Downloads,
    pub(super) mode: ModeSwitch,
    pub(super) disk: Arc<Faulty>,
    pub(super) places: Arc<Places>,
    tasks: Tasks,
    leaving: LeavingRules,
    _root: tempfile::TempDir,
}

impl<A: OriginClient + Send + 'static> DownloadTestBed<A> {
    pub(super) fn new(asks: A, leaving: LeavingRules) -> Arc<Self> {
        let root = tempfile::tempdir().unwrap();
        let disk = Arc::new(Faulty::default());
        let options = Options { durability: Durability::None, ..Options::default() };
        let (spool, _) = Spool::open_with(disk.clone(), &root.path().join("s"), &options).unwrap();
        let mut url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let places = Arc::new(Places::of(&mut url, &HeaderMap::new(), &Owner::Local));
        Arc::new(Self {
            asks,
            store: Store::new(spool),
            // The clients of the model join every running download, even a stalled one.
            downloads: Downloads { join_within: Duration::MAX, ..Downloads::default() },
            mode: ModeSwitch::new(Mode::Online),
            disk,
            places,
            tasks: Tasks::new(),
            leaving,
            _root: root,
        })
    }

    /// Joins or registers a download of the page.
    pub(super) fn ask(&self) -> JoinOutcome {
        let (fields, now) = (HeaderMap::new(), SystemTime::UNIX_EPOCH);
        self.downloads.join(&self.places, &fields, Vec::new(), now, false)
    }

    /// Adds a client, and returns its reader.
    pub(super) fn join(self: &Arc<Self>) -> FeedReader {
        match self.ask() {
            JoinOutcome::Running(download) => download.feed().read().unwrap(),
            JoinOutcome::New(download) => self.begin(&download),
        }
    }

    /// Runs a new download in a task of its own, and returns a reader of its body.
    pub(super) fn begin(self: &Arc<Self>, download: &Arc<Download>) -> FeedReader {
        let reader = download.feed().read().unwrap();
        let (world, download) = (Arc::clone(self), Arc::clone(download));
        self.tasks.spawn(Box::pin(async move {
            let _ended = world.run_download(download, Revalidation::default()).await;
        }));
        reader
    }

    /// Runs a download with a revalidation, and returns its outcome.
    pub(super) async fn run_download(
        &self,
        download: Arc<Download>,
        about: Revalidation,
    ) -> DownloadEnd {
        let never = Duration::MAX;
        let unread = UnreadLimits { size: u64::MAX, time: never, still: never, slow: never };
        let patience = Patience { attempts: ATTEMPTS, pause: PAUSE, most: u64::MAX, unread };
        let Self { asks, store, downloads, mode, tasks, .. } = self;
        let local = &LocalHost::default();
        let ground = DownloadContext { asks, store, local, downloads, mode, tasks, patience };
        let url = CanonicalUrl::parse(self.places.public.url(), local).unwrap();
        let config = Config::default();
        let job = DownloadJob {
            places: Arc::clone(&self.places),
            origin: Origin::here(Scheme::Http, "h.example", 80),
            head: Request::new(()),
            body: None,
            stored_status: None,
            storage_rules: StorageRules::of(&config, &UrlParts::of(&url), &HeaderMap::new()),
            vary_rules: VaryRules::default(),
            get_places: None,
            revalidation: about,
            allowance: Allowance::default(),
            leaving_rules: self.leaving,
            interim: None,
        };
        let (watch, outcome) = Box::pin(run_download(&ground, job, download)).await;
        // All clients have their response now, and a repeated request must not get the same
        // response.
        let is_joined = |found: &Arc<Download>| Arc::ptr_eq(found, &watch.download);
        assert!(!downloads.list().iter().any(is_joined), "it can be joined still: {outcome:?}");
        drop(watch.download.take());
        watch.download.end(outcome.clone());
        outcome
    }
}
