//! Finds an entry in the tier after a local miss, and stores it in the spool.
//!
//! The object is written to the spool as it arrives, and becomes an entry only if the digest of all
//! its bytes is the one in its row. Clients that ask for the same URL wait for the same pull.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Frame;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};
use wwwoffle_spool::{Place, Writer};
use wwwoffle_url::CanonicalUrl;

use super::Tier;
use super::catalogue::FoundRow;
use super::error::TierError;
use super::object::{MAX_START, ObjectStart};
use super::shared;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::AnswerBody;
use crate::storage::store::{Store, timestamp};

/// The time for the first byte of an object. Then the client is answered without the tier.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// The time for the next bytes of an object.
const NEXT_WITHIN: Duration = Duration::from_secs(5);

/// A running pull: whether it has ended, and then whether it stored an entry.
#[derive(Debug)]
pub(super) struct Pull(watch::Sender<Option<bool>>);

/// The reason why an object is not used.
enum PullError {
    /// An engine failed.
    Engine(TierError),
    /// The object is wrong: it is never served.
    Wrong(&'static str),
}

impl From<TierError> for PullError {
    fn from(error: TierError) -> Self {
        Self::Engine(error)
    }
}

impl From<wwwoffle_spool::Error> for PullError {
    fn from(error: wwwoffle_spool::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl Tier {
    /// Looks the URL up in the tier, and stores its entries in the spool. Returns whether there is
    /// an entry now. Dropping the future does not end a pull.
    pub async fn find(self: &Arc<Self>, place: &Place) -> bool {
        let Some(url) = shared::url_of(place) else { return false };
        if !shared::is_shared_url(&self.net.base.config(), &url) {
            return false;
        }
        if !self.objects.breaker().is_closed(Instant::now()) || self.is_there(place).await {
            return false;
        }
        let rows = self.catalogue.find(&place.key(), url.host()).await;
        if rows.is_empty() {
            return false;
        }
        let pull = self.pull(place, url, rows);
        let mut ended = pull.0.subscribe();
        // Cannot fail: `pull` has the sender.
        let stored = ended.wait_for(Option::is_some).await.map(|stored| *stored);
        stored.is_ok_and(|stored| stored == Some(true))
    }

    /// Whether the spool has an entry already, which this request must not use.
    async fn is_there(&self, place: &Place) -> bool {
        let place = place.clone();
        self.storage.store.run(move |spool| spool.is_there(&place)).await.unwrap_or(true)
    }

    /// Joins or starts a pull.
    fn pull(self: &Arc<Self>, place: &Place, url: CanonicalUrl, rows: Vec<FoundRow>) -> Arc<Pull> {
        let mut pulls = self.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pull) = pulls.get(&place.key()) {
            return Arc::clone(pull);
        }
        let pull = Arc::new(Pull(watch::Sender::new(None)));
        pulls.insert(place.key(), Arc::clone(&pull));
        let guard = PullGuard { tier: Arc::clone(self), place: place.clone(), stored: false };
        self.net.base.tasks.spawn(guard.run(url, rows));
        pull
    }

    /// Pulls the entries of these rows. Returns whether one was stored.
    async fn pull_rows(&self, place: &Place, url: &CanonicalUrl, rows: Vec<FoundRow>) -> bool {
        // Never closed.
        let _turn = self.pulling.acquire().await;
        let mut stored = false;
        for row in rows {
            match self.pull_row(place, &row).await {
                Ok(()) => {
                    self.objects.breaker().succeeded();
                    self.pushed.add_pulled();
                    debug!(%url, object = hex::encode(row.object), "found in the archive tier");
                    stored = true;
                }
                Err(PullError::Wrong(reason)) => {
                    let object = self.objects.name(&row.object);
                    warn!(%url, object, "an object of the archive tier is not used: {reason}");
                }
                Err(PullError::Engine(TierError::Spool(error))) => {
                    warn!(error = error_chain(&error), %url, "an entry of the archive tier cannot be stored");
                    break;
                }
                Err(PullError::Engine(error)) => {
                    self.objects.breaker().failed(&error);
                    break;
                }
            }
        }
        stored
    }

    async fn pull_row(&self, place: &Place, row: &FoundRow) -> Result<(), PullError> {
        let body = timeout(ANSWER_WITHIN, self.objects.get(&row.object)).await;
        let Some(body) = body.map_err(|_| TierError::Timeout)?? else {
            return Err(PullError::Wrong("it is missing in the object store"));
        };
        let mut object = IncomingObject { body, hasher: Sha256::new(), arrived: 0, row };
        let (start, rest) = object.start(place).await?;
        let store = &self.storage.store;
        let place = place.clone().with_variant(&start.variant);
        let stored = start.stored.min(timestamp(clock::now()));
        let (mut writer, _tail) =
            store.begin(&place, start.new, None, Some(start.body_len)).await?;
        writer.collect_rest();
        writer.set_stored(stored, None);
        let writer = object.copy(store, writer, rest, start.body_len).await?;
        // Another request may have stored a newer entry by now; then this one is not needed.
        store.run(move |_| writer.finish_over(None).map(drop)).await?;
        Ok(())
    }
}

/// An object on its way in.
struct IncomingObject<'a> {
    body: AnswerBody,
    hasher: Sha256,
    arrived: u64,
    row: &'a FoundRow,
}

impl IncomingObject<'_> {
    /// The next bytes. `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, PullError> {
        loop {
            let frame = timeout(NEXT_WITHIN, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| TierError::Timeout)? else { return Ok(None) };
            let frame = frame.map_err(|failure| TierError::of_failure(&failure))?;
            let Ok(data) = Frame::into_data(frame) else { continue };
            self.hasher.update(&data);
            self.arrived += u64::try_from(data.len()).unwrap_or(u64::MAX);
            if self.arrived > self.row.object_size {
                return Err(PullError::Wrong("it is longer than its row says"));
            }
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// Reads up to the body. Returns the first bytes of what follows.
    async fn start(&mut self, place: &Place) -> Result<(ObjectStart, Bytes), PullError> {
        let mut bytes = Vec::new();
        let start = loop {
            if let Some(start) = ObjectStart::parse(&bytes).map_err(PullError::Wrong)? {
                break start;
            }
            if bytes.len() > MAX_START {
                return Err(PullError::Wrong("its heads are too long"));
            }
            let Some(data) = self.next().await? else {
                return Err(PullError::Wrong("it is cut short"));
            };
            bytes.extend_from_slice(&data);
        };
        if start.url != place.url() || start.variant != self.row.varies {
            return Err(PullError::Wrong("it is the entry of another URL"));
        }
        let rest = Bytes::from(bytes).slice(start.offset..);
        Ok((start, rest))
    }

    /// Writes the body, and verifies the whole object.
    async fn copy(
        mut self,
        store: &Store,
        mut writer: Writer,
        mut data: Bytes,
        body_len: u64,
    ) -> Result<Writer, PullError> {
        let mut left = body_len;
        loop {
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(data.len());
            if take > 0 {
                left -= u64::try_from(take).unwrap_or(left);
                let stretch = vec![data.slice(..take)];
                writer = match store.write(writer, Writer::write, stretch).await {
                    Ok((writer, _)) => writer,
                    Err((error, _)) => return Err(error.into()),
                };
            }
            match self.next().await? {
                Some(next) => data = next,
                None => break,
            }
        }
        let digest: [u8; 32] = self.hasher.finalize().into();
        if left > 0 || digest != self.row.object {
            return Err(PullError::Wrong("its bytes do not match its digest"));
        }
        Ok(writer)
    }
}

/// Ends a pull for all who wait for it, also if its task panics.
struct PullGuard {
    tier: Arc<Tier>,
    place: Place,
    stored: bool,
}

impl PullGuard {
    async fn run(mut self, url: CanonicalUrl, rows: Vec<FoundRow>) {
        let tier = Arc::clone(&self.tier);
        self.stored = tier.pull_rows(&self.place, &url, rows).await;
    }
}

impl Drop for PullGuard {
    fn drop(&mut self) {
        let mut pulls = self.tier.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pull) = pulls.remove(&self.place.key()) {
            pull.0.send_replace(Some(self.stored));
        }
    }
}
