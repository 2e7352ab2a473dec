//! Pushes entries: the object first, then its row. A crash between the two leaves an object without
//! a row, and the entry is offered again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};
use wwwoffle_config::{Config, SizeLimit};
use wwwoffle_spool::{Entry, Place};

use super::Tier;
use super::catalogue::{Row, RowKey};
use super::error::TierError;
use super::object::ObjectFrame;
use super::objects::Upload;
use super::{shared, walk};
use crate::base::blocking::blocking;
use crate::base::error_chain::error_chain;
use crate::net::upstream::{BoxError, RequestBody};

/// The number of places that are compared with the catalogue in one query.
const BATCH: usize = 64;

/// The number of objects that are sent at once.
const AT_ONCE: usize = 4;

/// The number of bytes of a body that are read at once.
const PIECE: usize = 128 << 10;

/// The number of places of a walk that wait for the outbox.
const FOUND: usize = 256;

/// The interval at which a walk looks for room in the outbox.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The key of the state that says whether everything is pushed.
const STATE: &str = "tier-pushed";

/// The value of [`STATE`] while something may wait.
const NOT_ALL: &str = "no";

/// The counts since the start, and the pace of sending.
#[derive(Debug, Default)]
pub(super) struct PushCounts {
    pushed: AtomicU64,
    skipped: AtomicU64,
    pulled: AtomicU64,
    /// When the next piece may be sent, if `rate` limits them.
    next: Mutex<Option<Instant>>,
}

impl PushCounts {
    pub(super) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::Relaxed)
    }

    pub(super) fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    pub(super) fn pulled(&self) -> u64 {
        self.pulled.load(Ordering::Relaxed)
    }

    pub(super) fn add_pulled(&self) {
        self.pulled.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until a piece of this length may be sent. The pieces of all objects take turns.
    async fn pace(&self, config: &Config, length: usize) {
        let SizeLimit::At(rate) = config.tier.rate else { return };
        let takes = Duration::from_micros(
            u64::try_from(length).unwrap_or(u64::MAX).saturating_mul(1_000_000)
                / rate.bytes().max(1),
        );
        let mut next = self.next.lock().await;
        let begin = next.unwrap_or_else(Instant::now).max(Instant::now());
        *next = Some(begin + takes);
        drop(next);
        sleep_until(begin).await;
    }
}

impl Tier {
    /// Prepares pushing, before the first request is served: from now on a crash makes the next
    /// start compare all entries. Returns whether this start has to.
    pub(super) async fn begin_pushing(&self) -> bool {
        let store = &self.storage.store;
        let was = store.remembered(STATE).await.ok().flatten();
        if let Err(error) = store.remember(STATE, NOT_ALL.to_owned()).await {
            warn!(error = error_chain(&error), "the state of the archive tier cannot be stored");
        }
        was.as_deref() != Some(&*self.identity())
    }

    /// Pushes entries until the daemon stops. `compares` says whether all entries of the spool are
    /// compared with the catalogue first.
    pub(super) async fn push_until_stop(self: Arc<Self>, compares: bool) {
        if compares {
            self.start_walk();
        }
        tokio::select! {
            () = self.net.base.tasks.stopping() => {}
            () = self.push_for_ever() => {}
        }
    }

    /// Records that nothing is left to push, if so. Call this after the last entry was stored.
    pub async fn stop(&self) {
        if self.writes() && self.outbox.is_empty() && !self.outbox.is_scanning() {
            let stored = self.storage.store.remember(STATE, self.identity()).await;
            if let Err(error) = stored {
                debug!(error = error_chain(&error), "the next start offers all entries again");
            }
        }
    }

    /// The tier for which [`STATE`] holds.
    fn identity(&self) -> String {
        let text = format!("{} {}", self.settings.database, self.settings.place);
        hex::encode(Sha256::digest(text))
    }

    /// Starts to offer all entries of the spool.
    fn start_walk(self: &Arc<Self>) {
        self.outbox.set_scanning(true);
        let (found, places) = mpsc::channel(FOUND);
        let (tier, store) = (Arc::clone(self), self.storage.store.clone());
        self.net.base.tasks.spawn(async move {
            let walk = store.run(move |spool| walk::find_all(spool, &found));
            let (walked, ()) = tokio::join!(walk, tier.offer_all(places));
            match walked {
                Ok(()) if !tier.net.base.tasks.is_stopping() => tier.outbox.set_scanning(false),
                // It stays unfinished, so that the next start walks again.
                Ok(()) => {}
                Err(error) => warn!(
                    error = error_chain(&error),
                    "the entries for the archive tier cannot be listed; the next start tries again"
                ),
            }
        });
    }

    /// Moves the places of a walk into the outbox, while few changes wait there.
    async fn offer_all(&self, mut places: mpsc::Receiver<Place>) {
        // The walk ends when the daemon stops, because this task then drops its receiver.
        while let Some(place) = places.recv().await {
            if self.net.base.tasks.is_stopping() {
                return;
            }
            while !self.outbox.has_room() && !self.net.base.tasks.is_stopping() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            self.outbox.add(place);
        }
    }

    async fn push_for_ever(self: &Arc<Self>) {
        loop {
            self.outbox.wait().await;
            self.catalogue.wait_until_connected().await;
            self.catalogue.breaker().wait_until_closed().await;
            self.objects.breaker().wait_until_closed().await;
            let batch = self.outbox.take(BATCH);
            let left = match self.push_batch(&batch).await {
                Ok(()) => Vec::new(),
                Err(_) => batch,
            };
            self.outbox.done(left);
            if !self.outbox.is_scanning() && self.outbox.take_over() {
                self.start_walk();
            }
        }
    }

    /// Pushes the entries of these places that the catalogue lacks.
    async fn push_batch(&self, places: &[Place]) -> Result<(), TierError> {
        let config = self.net.base.config();
        let mut offered = Vec::new();
        for place in places {
            let copies = self.storage.store.entries(place).await;
            let copies = copies.inspect_err(|error| {
                warn!(error = error_chain(error), url = place.url(), "an entry cannot be read");
            });
            let entries = copies.unwrap_or_default().into_iter().map(|copy| copy.entry);
            offered.extend(entries.filter(|entry| shared::is_shared_entry(&config, entry)));
        }
        if offered.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = places.iter().map(Place::key).collect();
        let known: HashMap<RowKey, i64> = self.catalogue.newest(&keys).await?;
        offered.retain(|entry| {
            let newest = known.get(&RowKey::of(entry.place()));
            newest.is_none_or(|newest| *newest < entry.stored().as_microsecond())
        });
        let mut running = FuturesUnordered::new();
        for entry in &offered {
            if running.len() >= AT_ONCE {
                // After a failure of an engine, the rest of the batch waits again.
                running.next().await.transpose()?;
            }
            running.push(self.push(&config, entry));
        }
        running.try_collect::<()>().await
    }

    async fn push(&self, config: &Arc<Config>, entry: &Entry) -> Result<(), TierError> {
        let Some((frame, digest)) = prepare(entry).await else {
            self.pushed.skipped.fetch_add(1, Ordering::Relaxed);
            debug!(
                url = entry.url(),
                "an entry is not added to the archive tier: it is damaged or invalid"
            );
            return Ok(());
        };
        let length = frame.len();
        match self.put(config, entry, &frame, &digest).await {
            Ok(()) => self.objects.breaker().succeeded(),
            Err(error @ TierError::Refused(_)) => return self.skip(entry, &error),
            Err(error) => {
                self.objects.breaker().failed(&error);
                return Err(error);
            }
        }
        let row = Row::of(entry, digest, length, &self.settings.node, self.title(entry).await);
        match self.catalogue.add(&row).await {
            Ok(()) => {}
            Err(error @ TierError::Refused(_)) => return self.skip(entry, &error),
            Err(error) => return Err(error),
        }
        self.pushed.pushed.fetch_add(1, Ordering::Relaxed);
        debug!(url = entry.url(), object = hex::encode(digest), "added to the archive tier");
        Ok(())
    }

    /// Sends an object, and once more if the store had just closed the connection.
    async fn put(
        &self,
        config: &Arc<Config>,
        entry: &Entry,
        frame: &ObjectFrame,
        digest: &[u8; 32],
    ) -> Result<(), TierError> {
        let upload =
            || Upload { length: frame.len(), body: self.upload_body(config, entry, frame) };
        match self.objects.put(digest, upload()).await {
            Err(TierError::Unreachable(_)) => self.objects.put(digest, upload()).await,
            done => done,
        }
    }

    /// Leaves out an entry that an engine refuses, so that it does not keep the others waiting.
    #[expect(clippy::unnecessary_wraps, reason = "the result of the push")]
    fn skip(&self, entry: &Entry, error: &TierError) -> Result<(), TierError> {
        self.pushed.skipped.fetch_add(1, Ordering::Relaxed);
        let error = error_chain(error);
        warn!(error, url = entry.url(), "an entry is not added to the archive tier");
        Ok(())
    }

    /// The title of a page, if the index has read it.
    async fn title(&self, entry: &Entry) -> Option<String> {
        let (index, place) = (self.storage.index.clone(), entry.place().clone());
        let item = blocking(move || index.at(&place)).await;
        item.ok().flatten().and_then(|item| item.title)
    }

    /// The bytes of an object, read from the spool as they are sent.
    fn upload_body(&self, config: &Arc<Config>, entry: &Entry, frame: &ObjectFrame) -> RequestBody {
        let (entry, start, end) = (entry.clone(), frame.start.clone(), frame.end);
        let (send, receive) = mpsc::channel::<Result<Bytes, BoxError>>(2);
        self.net.base.tasks.spawn(async move {
            // Fails if the connection was closed; the failure is reported there.
            let _sent = send_pieces(&send, entry, start, end).await;
        });
        let (tier, config) = (Arc::clone(&self.pushed), Arc::clone(config));
        let pieces = stream::unfold((receive, tier, config), |(mut receive, tier, config)| async {
            let piece = receive.recv().await?;
            if let Ok(piece) = &piece {
                tier.pace(&config, piece.len()).await;
            }
            Some((piece.map(Frame::data), (receive, tier, config)))
        });
        StreamBody::new(pieces).boxed_unsync()
    }
}

async fn send_pieces(
    send: &mpsc::Sender<Result<Bytes, BoxError>>,
    entry: Entry,
    start: Vec<u8>,
    end: &'static [u8],
) -> Result<(), mpsc::error::SendError<Result<Bytes, BoxError>>> {
    send.send(Ok(Bytes::from(start))).await?;
    let (body_len, entry, mut offset) = (entry.body_len(), Arc::new(entry), 0);
    while offset < body_len {
        match read_piece(&entry, offset).await {
            Ok(piece) if !piece.is_empty() => {
                offset += u64::try_from(piece.len()).unwrap_or(u64::MAX);
                send.send(Ok(piece)).await?;
            }
            Ok(_) => return send.send(Err("the stored body is shorter".into())).await,
            Err(error) => return send.send(Err(error.into())).await,
        }
    }
    send.send(Ok(Bytes::from_static(end))).await
}

/// Reads a verified piece of the body.
async fn read_piece(entry: &Arc<Entry>, offset: u64) -> Result<Bytes, wwwoffle_spool::Error> {
    let entry = Arc::clone(entry);
    blocking(move || {
        let mut piece = vec![0; PIECE];
        let read = entry.verified().read_at(offset, &mut piece)?;
        piece.truncate(read);
        Ok(Bytes::from(piece))
    })
    .await
}

/// The frame of the object of an entry, and the digest of the whole object. `None` if the entry is
/// damaged or cannot be shared.
async fn prepare(entry: &Entry) -> Option<(ObjectFrame, [u8; 32])> {
    let entry = entry.clone();
    blocking(move || {
        let frame = ObjectFrame::of(&entry)?;
        let mut hasher = Sha256::new_with_prefix(&frame.start);
        let (mut reader, mut offset, mut piece) = (entry.verified(), 0, vec![0; PIECE]);
        while offset < frame.body_len {
            let read = reader.read_at(offset, &mut piece).ok().filter(|read| *read > 0)?;
            hasher.update(piece.get(..read)?);
            offset += u64::try_from(read).ok()?;
        }
        hasher.update(frame.end);
        let digest = hasher.finalize().into();
        Some((frame, digest))
    })
    .await
}
