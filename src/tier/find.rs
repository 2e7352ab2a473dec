//! Finds an entry in the tier after a local miss, and stores it in the spool.
//!
//! The object is written to the spool as it arrives, and becomes an entry only if the digest of all
//! its bytes is the one in its row. Clients that ask for the same entry wait for the same pull.
//! Online, a client soon asks the origin instead, and a pull without clients ends. In the other modes
//! it goes on without them, and a long body is sent to them as it arrives: all but its last piece,
//! which follows when the digest was verified. So a wrong body never looks complete.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};
use wwwoffle_config::SizeLimit;
use wwwoffle_http::caching::freshness::ExchangeTimes;
use wwwoffle_http::head;
use wwwoffle_spool::{Entry, NewEntry, Place, Spool};
use wwwoffle_url::CanonicalUrl;

use super::Tier;
use super::catalogue::{FoundRow, MAX_SKEW, RowKey};
use super::error::TierError;
use super::incoming::{DIGEST, IncomingObject, MISSING, PullError, TIME};
use super::shared;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::net::upstream::Failure;
use crate::storage::feed::{ArrivingResponse, BodyEnd, Feed};
use crate::storage::store::timestamp;

/// The time for which a client waits. Then it is answered without the tier.
const FIND_WITHIN: Duration = Duration::from_secs(10);

/// The time for which a client waits online. Then the origin is asked.
const ONLINE_WITHIN: Duration = Duration::from_secs(3);

/// The time until the first byte for which a client waits online.
const FIRST_BYTE_WITHIN: Duration = Duration::from_millis(500);

/// The time for which a pull waits for others to end.
const TURN_WITHIN: Duration = Duration::from_secs(1);

/// The time for the first byte of an object.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// The time for a whole object.
const PULL_WITHIN: Duration = Duration::from_secs(10 * 60);

/// The time for which a wrong object is not read again.
const WRONG_FOR: Duration = Duration::from_secs(10 * 60);

/// The time for which an object is not read again that the spool could not store.
const UNSTORED_FOR: Duration = Duration::from_secs(10);

/// The largest number of wrong objects in memory.
const MAX_WRONG: usize = 1_000;

/// The length in bytes from which a body is sent as it arrives.
const STREAMED_FROM: u64 = 256 << 10;

/// A running pull.
#[derive(Debug)]
struct Pull {
    state: watch::Sender<PullState>,
    /// The response, if its body is sent as it arrives.
    live: OnceLock<LiveResponse>,
}

/// A response whose body arrives.
#[derive(Debug)]
struct LiveResponse {
    status: StatusCode,
    fields: HeaderMap,
    times: ExchangeTimes,
    length: u64,
    feed: Arc<Feed>,
}

/// A pull that somebody waits for.
#[derive(Debug)]
pub(super) struct JoinedPull {
    pull: Arc<Pull>,
    state: watch::Receiver<PullState>,
}

impl JoinedPull {
    /// Waits for the end. Returns whether the spool has the entry now.
    pub(super) async fn ended(mut self) -> bool {
        let ended = self.state.wait_for(|state| matches!(state, PullState::Ended { .. })).await;
        ended.is_ok_and(|state| *state == PullState::Ended { stored: true })
    }

    /// Waits until the body can be sent as it arrives. `None` if it is short, or cannot be read.
    async fn streamed(&mut self) -> Option<ArrivingResponse> {
        let is_late =
            |state: &PullState| matches!(state, PullState::Streamed | PullState::Ended { .. });
        let _ended = self.state.wait_for(is_late).await;
        let live = self.pull.live.get()?;
        Some(ArrivingResponse {
            status: live.status,
            fields: live.fields.clone(),
            times: live.times,
            length: live.length,
            body: live.feed.read()?,
        })
    }
}

/// What the tier has for a request.
#[derive(Debug)]
pub enum TierFind {
    /// Nothing.
    Nothing,
    /// The spool has an entry now.
    Stored,
    /// A response that is stored while it arrives.
    Arriving(Box<ArrivingResponse>),
}

impl TierFind {
    fn of(is_stored: bool) -> Self {
        if is_stored { Self::Stored } else { Self::Nothing }
    }
}

/// What a request needs of an entry in the tier.
#[derive(Clone, Copy, Debug)]
pub struct TierDemand {
    /// Whether the spool has other variants of the page, which can serve in place of the right one.
    pub others: Others,
    /// Whether the client can use the beginning of the body before its end. Offline only.
    pub may_stream: bool,
}

/// How far a pull is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PullState {
    /// Other pulls have to end first.
    Queued,
    /// The store has not answered yet.
    Waiting,
    /// Bytes arrive.
    Arriving,
    /// Bytes arrive, and clients may read along.
    Streamed,
    /// It has ended. `stored` says whether the spool has the entry now.
    Ended { stored: bool },
}

/// The pulls under way, and the objects that are not worth one.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    running: Mutex<HashMap<RowKey, Arc<Pull>>>,
    /// When each of them may be read again.
    wrong: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Pulls {
    fn is_wrong(&self, object: &[u8; 32]) -> bool {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.get(object).is_some_and(|until| *until > Instant::now())
    }

    fn add_wrong(&self, object: [u8; 32], time: Duration) {
        let (mut wrong, now) =
            (self.wrong.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        wrong.retain(|_, until| *until > now);
        if wrong.len() < MAX_WRONG {
            wrong.insert(object, now + time);
        }
    }
}

/// Whether the spool has other variants of a page, which can serve in place of the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// The spool has another variant.
    InSpool,
    /// The spool has none.
    Missing,
}

impl Tier {
    /// Looks the URL up in the tier, and stores the entry that fits `request` in the spool.
    /// Dropping the future ends a pull only online.
    pub async fn find(
        self: &Arc<Self>,
        place: &Place,
        request: &HeaderMap,
        demand: TierDemand,
    ) -> TierFind {
        let Some(url) = shared::url_of(place) else { return TierFind::Nothing };
        let may_ask = self.permission.is_granted()
            && !self.storage.store.spool().is_read_only()
            && !self.permission.is_metered()
            && shared::is_shared_url(&self.net.base.config(), &url)
            && self.catalogue.is_connected();
        let is_online = self.net.base.mode.now() == Mode::Online;
        let limit = if is_online { ONLINE_WITHIN } else { FIND_WITHIN };
        if !may_ask {
            return TierFind::Nothing;
        }
        let looked = self.find_now(place, url, request, (demand, is_online));
        timeout(limit, looked).await.unwrap_or(TierFind::Nothing)
    }

    async fn find_now(
        self: &Arc<Self>,
        place: &Place,
        url: CanonicalUrl,
        request: &HeaderMap,
        (demand, is_online): (TierDemand, bool),
    ) -> TierFind {
        let rows = self.catalogue.find(&place.key(), url.host()).await;
        let Some(row) = self.choose(rows, request, demand.others) else {
            return TierFind::Nothing;
        };
        if let Some(found) = self.known_here(place, &row).await {
            return found;
        }
        let Some(mut pull) = self.pull(place, url, row, is_online) else {
            return TierFind::Nothing;
        };
        if is_online {
            let is_early =
                |state: &PullState| matches!(state, PullState::Queued | PullState::Waiting);
            let begun = pull.state.wait_for(|state| !is_early(state));
            if timeout(FIRST_BYTE_WITHIN, begun).await.is_err() {
                if *pull.state.borrow() == PullState::Waiting {
                    // The store is too slow while there is an origin.
                    self.objects.breaker().failed(&TierError::Timeout);
                }
                return TierFind::Nothing;
            }
        } else if demand.may_stream
            && let Some(response) = pull.streamed().await
        {
            return TierFind::Arriving(Box::new(response));
        }
        TierFind::of(pull.ended().await)
    }

    /// What the spool already says about a row: it may have the same variant, perhaps stored a moment
    /// ago, or a person may have removed the entry, which the tier may not know yet.
    async fn known_here(&self, place: &Place, row: &FoundRow) -> Option<TierFind> {
        let (place, varies, stored) = (place.clone(), row.varies.clone(), row.stored);
        let looked = self.storage.store.run(move |spool| {
            let found = spool.entries(&place)?.found;
            if found.iter().any(|entry| entry.place().variant_text() == varies) {
                return Ok(Some(TierFind::Stored));
            }
            Ok(is_removed(spool, &place, stored)?.then_some(TierFind::Nothing))
        });
        looked.await.unwrap_or(Some(TierFind::Nothing))
    }

    /// The entry of this variant in the spool, if it was stored before a row.
    async fn older_entry(
        &self,
        place: &Place,
        stored: i64,
    ) -> Result<Option<Entry>, wwwoffle_spool::Error> {
        let copies = self.storage.store.entries(place).await?;
        let mut entries = copies.into_iter().map(|copy| copy.entry);
        Ok(entries.find(|entry| {
            entry.place().variant_text() == place.variant_text()
                && entry.stored().as_microsecond() < stored
        }))
    }

    /// Whether a person has removed the entry of this row, and the tier may not know that yet.
    pub(super) async fn is_removed(&self, place: &Place, row: &FoundRow) -> bool {
        let (place, stored) = (place.clone(), row.stored);
        let looked = self.storage.store.run(move |spool| is_removed(spool, &place, stored));
        looked.await.unwrap_or(true)
    }

    /// The entry that the request selects. If the spool has no other variant, it may be the newest
    /// one of the canonical spelling.
    pub(super) fn choose(
        &self,
        rows: Vec<FoundRow>,
        request: &HeaderMap,
        others: Others,
    ) -> Option<FoundRow> {
        let latest = timestamp(clock::now()).as_microsecond() + MAX_SKEW * 1_000_000;
        let config = self.net.base.config();
        let limit = |limit: &SizeLimit| match limit {
            SizeLimit::At(most) => most.bytes(),
            SizeLimit::None => u64::MAX,
        };
        let most = limit(&config.options.max_body).min(limit(&config.tier.max_body));
        let mut rows = rows;
        rows.retain(|row| {
            row.stored <= latest
                && row.object_size <= most
                && !row.varies.starts_with(':')
                && !self.pulls.is_wrong(&row.object)
        });
        let fits = rows.iter().position(|row| row.is_selected_by(request));
        match others {
            Others::InSpool => rows.into_iter().nth(fits?),
            Others::Missing => rows.into_iter().nth(fits.unwrap_or(0)),
        }
    }

    /// Joins or starts a pull. `None` if the store is left alone. If it `may_end_early`, it ends when
    /// nobody waits for it.
    pub(super) fn pull(
        self: &Arc<Self>,
        place: &Place,
        url: CanonicalUrl,
        row: FoundRow,
        may_end_early: bool,
    ) -> Option<JoinedPull> {
        let place = place.clone().with_variant(&row.varies);
        let key = RowKey::of(&place);
        let mut running = self.pulls.running.lock().unwrap_or_else(PoisonError::into_inner);
        let join =
            |pull: &Arc<Pull>| JoinedPull { state: pull.state.subscribe(), pull: Arc::clone(pull) };
        if let Some(pull) = running.get(&key) {
            return Some(join(pull));
        }
        if !self.objects.breaker().admit() {
            return None;
        }
        let state = watch::Sender::new(PullState::Queued);
        let pull = Arc::new(Pull { state, live: OnceLock::new() });
        let joined = join(&pull);
        running.insert(key, Arc::clone(&pull));
        let guard = PullGuard { tier: Arc::clone(self), key, pull, stored: false };
        self.net.base.tasks.spawn(guard.run(place, url, row, may_end_early));
        Some(joined)
    }

    /// Pulls the entry of a row. Returns whether it was stored.
    async fn pull_one(
        self: &Arc<Self>,
        place: &Place,
        url: &CanonicalUrl,
        row: &FoundRow,
        pull: &Pull,
    ) -> bool {
        // Never closed.
        let Ok(_turn) = timeout(TURN_WITHIN, self.turns.pulling.acquire()).await else {
            return false;
        };
        pull.state.send_replace(PullState::Waiting);
        let pulled = timeout(PULL_WITHIN, self.pull_row(place, row, pull)).await;
        match pulled.unwrap_or(Err(PullError::Engine(TierError::Timeout))) {
            Ok(()) => {
                self.objects.breaker().succeeded();
                self.pushed.add_pulled();
                debug!(%url, object = hex::encode(row.object), "found in the archive tier");
                return true;
            }
            Err(PullError::Wrong(reason)) => {
                // The store itself has answered.
                self.objects.breaker().succeeded();
                self.pulls.add_wrong(row.object, WRONG_FOR);
                let object = self.objects.name(&row.object);
                warn!(%url, object, "an object of the archive tier is not used: {reason}");
                if self.writes() && (reason == MISSING || reason == DIGEST) {
                    // Nobody waits for the report.
                    let (tier, object, url) = (Arc::clone(self), row.object, url.clone());
                    self.net.base.tasks.spawn(async move {
                        let is_wrong = reason == DIGEST;
                        tier.catalogue.report_missing(&object, url.as_str(), is_wrong).await;
                    });
                }
            }
            Err(PullError::Engine(TierError::Spool(error))) => {
                self.pulls.add_wrong(row.object, UNSTORED_FOR);
                self.objects.breaker().succeeded();
                warn!(error = error_chain(&error), %url, "an entry of the archive tier cannot be stored");
            }
            Err(PullError::Engine(error)) => self.objects.breaker().failed(&error),
        }
        false
    }

    async fn pull_row(&self, place: &Place, row: &FoundRow, pull: &Pull) -> Result<(), PullError> {
        let body = timeout(ANSWER_WITHIN, self.objects.get(&row.object)).await;
        let Some(body) = body.map_err(|_| TierError::Timeout)?? else {
            return Err(PullError::Wrong(MISSING));
        };
        pull.state.send_replace(PullState::Arriving);
        let mut object = IncomingObject::new(body, row);
        let (start, rest) = object.start(place).await?;
        let store = &self.storage.store;
        let place = place.clone().with_variant(&start.variant);
        // The row says when it was stored, so that this node does not push it as a newer one.
        let stored = Timestamp::from_microsecond(row.stored).map_err(|_| PullError::Wrong(TIME))?;
        if stored != start.stored {
            return Err(PullError::Wrong(TIME));
        }
        let (response, times) = (head::read_response(&start.new.head), exchange(&start.new));
        let older = self.older_entry(&place, row.stored).await?;
        let (mut writer, tail) = store.begin(&place, start.new, None, Some(start.body_len)).await?;
        writer.set_stored(stored, None);
        let feed = Feed::new();
        if let Ok((status, fields)) = response
            && start.body_len >= STREAMED_FROM
            && !status.is_server_error()
        {
            feed.set_disk(Arc::new(tail));
            let (length, feed) = (start.body_len, Arc::clone(&feed));
            // A pull has one response.
            let _is_first = pull.live.set(LiveResponse { status, fields, times, length, feed });
            pull.state.send_replace(PullState::Streamed);
        } else {
            writer.collect_rest();
        }
        let (writer, last) = object.copy(store, writer, rest, (start.body_len, &feed)).await?;
        // Another request may have stored an entry by now, which is newer; then this one is not needed.
        store.run(move |_| writer.finish_over(older.as_ref()).map(drop)).await?;
        // Its time may be long ago. A purge would otherwise remove it by its age.
        self.storage.index.record_use(&place, timestamp(clock::now()));
        feed.written(last);
        feed.finish(BodyEnd::Whole(None));
        Ok(())
    }
}

fn exchange(new: &NewEntry) -> ExchangeTimes {
    ExchangeTimes { sent: new.asked.into(), received: new.when.into() }
}

/// Whether a person has removed an entry since it was stored, in microseconds since 1970.
fn is_removed(spool: &Spool, place: &Place, stored: i64) -> Result<bool, wwwoffle_spool::Error> {
    let removal = spool.shared_removal(place.key())?;
    Ok(removal.is_some_and(|removal| removal.at.as_microsecond() >= stored))
}

/// Ends a pull for all who wait for it, also if its task panics.
struct PullGuard {
    tier: Arc<Tier>,
    key: RowKey,
    pull: Arc<Pull>,
    stored: bool,
}

impl PullGuard {
    async fn run(mut self, place: Place, url: CanonicalUrl, row: FoundRow, may_end_early: bool) {
        let (tier, pull) = (Arc::clone(&self.tier), Arc::clone(&self.pull));
        self.stored = tokio::select! {
            stored = tier.pull_one(&place, &url, &row, &pull) => stored,
            // The origin answers the clients.
            () = pull.state.closed(), if may_end_early => false,
        };
    }
}

impl Drop for PullGuard {
    fn drop(&mut self) {
        let running = &self.tier.pulls.running;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.key);
        if let Some(live) = self.pull.live.get() {
            // Has no effect on a body that is complete.
            let failure = Failure::CutShort("the object of the archive tier is not usable".into());
            live.feed.finish(BodyEnd::Broken(Arc::new(failure)));
        }
        self.pull.state.send_replace(PullState::Ended { stored: self.stored });
    }
}
