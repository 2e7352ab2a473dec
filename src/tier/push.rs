//! Pushes entries: the object first, then its row. A crash between the two leaves an object without
//! a row, which was announced, and the entry is offered again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, FuturesUnordered, StreamExt};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tracing::{debug, warn};
use wwwoffle_config::Config;
use wwwoffle_index::Describe;
use wwwoffle_spool::{Entry, Place};
use wwwoffle_url::LocalHost;

use super::Tier;
use super::catalogue::{EntryText, NewestTimes, Row, RowKey, RowOutcome};
use super::error::TierError;
use super::object::ObjectFrame;
use super::outbox::{PushResult, UnpushedPlace};
use super::prepare::{PrepareResult, PreparedObject, PreparedPlace, prepare};
use super::upload::{self, Upload};
use super::{shared, walk};
use crate::base::blocking::blocking;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::storage::lists::describe::Pages;
use crate::storage::lists::document::DocumentConverter;
use crate::storage::store::timestamp;

/// The number of places that are compared with the catalogue in one query, and of removals that are
/// reported at once.
const BATCH: usize = 64;

/// The longest title in the catalogue, in characters.
const MAX_TITLE: usize = 500;

/// The longest text whose words can be searched, in characters: PostgreSQL reads at most 1 MiB.
const MAX_WORDS: usize = 64 << 10;

/// The number of objects that are sent at once.
const AT_ONCE: usize = 8;

/// The time after which an object is announced again before it is sent. It is far below the time for
/// which an unused object stays, also for a slow line.
const ANNOUNCED_FOR: Duration = Duration::from_secs(60 * 60);

/// The number of places of a walk that wait for the outbox.
const FOUND: usize = 256;

/// The interval at which a walk looks for room in the outbox.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The interval at which the rules, the recorded removals and the class of the link are looked at.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// The shortest pause after a batch that was not pushed completely, also if the spool failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

impl Tier {
    /// Pushes entries until the daemon stops.
    pub(super) async fn push_until_stop(self: Arc<Self>) {
        tokio::select! {
            () = self.net.base.tasks.stopping() => {}
            () = self.push_for_ever() => {}
        }
    }

    /// Records that nothing is left to push, if so. Call this after the last entry was stored;
    /// `is_quiet` says whether that is certain.
    pub async fn stop(&self, is_quiet: bool) {
        let Some(compared) = self.compared().filter(|_| is_quiet && self.writes()) else { return };
        let store = &self.storage.store;
        let is_complete = self.outbox.is_complete() && compared == self.rules(&compared.catalogue);
        let recorded = store.run(move |spool| {
            if is_complete && spool.shared_removals(1)?.is_empty() {
                spool.set_pushed(&compared.to_text())?;
            }
            Ok(())
        });
        if let Err(error) = recorded.await {
            debug!(error = error_chain(&error), "the next start offers all entries again");
        }
    }

    /// What entries are compared with under the configuration in force.
    fn rules(&self, catalogue: &str) -> ComparedWith {
        let config = self.net.base.config();
        let rules = format!(
            "{} {} {} {:?} {:?} {:?} {:?} {:?} {}",
            shared::RULES,
            self.settings.place,
            config.tier.share.to_identity(),
            config.tier.share_proxied,
            config.tier.max_body,
            config.tier.expire,
            config.local_net,
            config.dont_cache,
            config.caching.no_store.to_identity(),
        );
        let rules = hex::encode(Sha256::digest(rules));
        ComparedWith { catalogue: catalogue.to_owned(), rules }
    }

    /// Starts to offer all entries of the spool, unless they were compared with this catalogue
    /// under these rules and nothing was left out since.
    fn compare_if_needed(self: &Arc<Self>, catalogue: &str) {
        if self.outbox.is_scanning() {
            return;
        }
        let now = self.rules(catalogue);
        let is_same = match self.set_compared(now.clone()) {
            Some(before) => before == now,
            // Without reports of changes, each start compares.
            None => self.is_told() && self.storage.store.spool().pushed() == Some(&*now.to_text()),
        };
        if self.outbox.take_over() || !is_same {
            self.start_walk();
        }
    }

    /// Starts to offer all entries of the spool.
    fn start_walk(self: &Arc<Self>) {
        self.outbox.begin_scan();
        let (found, places) = mpsc::channel(FOUND);
        let (tier, store) = (Arc::clone(self), self.storage.store.clone());
        self.net.base.tasks.spawn(async move {
            let walk = store.run(move |spool| walk::find_all(spool, &found));
            let (walked, ()) = tokio::join!(walk, tier.offer_all(places));
            if let Err(error) = &walked {
                let error = error_chain(error);
                warn!(error, "the entries for the archive tier cannot be listed");
            }
            // An incomplete one is repeated at the next start.
            let is_complete = walked.unwrap_or(false) && !tier.net.base.tasks.is_stopping();
            tier.outbox.end_scan(is_complete);
        });
    }

    /// Moves the places of a walk into the outbox, while few changes wait there.
    async fn offer_all(&self, mut places: mpsc::Receiver<Place>) {
        // The walk ends when the daemon stops, because this task then drops its receiver.
        while let Some(place) = places.recv().await {
            while !self.outbox.has_room() && !self.net.base.tasks.is_stopping() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            if self.net.base.tasks.is_stopping() {
                return;
            }
            self.outbox.add(place);
        }
    }

    async fn push_for_ever(self: &Arc<Self>) {
        loop {
            let catalogue = self.catalogue.wait_until_ready().await;
            // An error of SQL leaves the connection open.
            self.catalogue.wait_out().await;
            self.compare_if_needed(&catalogue);
            if let Err(error) = self.push_removals().await {
                debug!(
                    error = error_chain(&error),
                    "removals are reported to the archive tier later"
                );
            }
            // Either may be the reason to look again.
            let _elapsed = tokio::time::timeout(LOOK_AROUND, self.outbox.wait()).await;
            if !self.permission.is_granted() || self.permission.is_metered() {
                tokio::time::sleep(LOOK_AROUND).await;
                continue;
            }
            self.catalogue.wait_out().await;
            self.objects.breaker().wait_until_admitted().await;
            let batch = self.outbox.take(BATCH);
            let results = self.push_batch(batch).await;
            let is_done = results.iter().all(|(_, result)| *result == PushResult::Done);
            if is_done && !results.is_empty() {
                self.catalogue.succeeded();
            }
            for place in self.outbox.done(results) {
                self.pushed.add_skipped();
                warn!(
                    url = place.url(),
                    "an entry cannot be added to the archive tier; the next start tries again"
                );
            }
            if !is_done {
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }

    /// Reports the entries that a person has removed.
    async fn push_removals(&self) -> Result<(), TierError> {
        let store = &self.storage.store;
        loop {
            let removals = store.run(|spool| spool.shared_removals(BATCH)).await?;
            let mut refused = 0_usize;
            for removal in &removals {
                match self.catalogue.remove(removal).await {
                    Ok(()) => self.catalogue.succeeded(),
                    Err(error @ (TierError::Refused(_) | TierError::Engine(_))) => {
                        // It stays recorded; the others go on.
                        refused += 1;
                        debug!(key = %removal.key, error = error_chain(&error), "not removed");
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                let removal = *removal;
                store.run(move |spool| spool.forget_shared_removal(&removal)).await?;
                debug!(key = %removal.key, "removed from the archive tier");
            }
            if removals.len() < BATCH || refused > 0 {
                return Ok(());
            }
        }
    }

    /// Pushes the entries of these places that the catalogue lacks.
    async fn push_batch(&self, batch: Vec<UnpushedPlace>) -> Vec<(UnpushedPlace, PushResult)> {
        let config = self.net.base.config();
        let now = timestamp(clock::now());
        let mut results = Vec::with_capacity(batch.len());
        let mut offered = Vec::new();
        for waiting in batch {
            match self.storage.store.entries(&waiting.place).await {
                Ok(copies) => {
                    let mut entries: Vec<_> = copies.into_iter().map(|copy| copy.entry).collect();
                    entries.retain(|entry| self.is_offered(&config, entry, now));
                    offered.push((waiting, entries));
                }
                Err(error) => {
                    let (error, url) = (error_chain(&error), waiting.place.url());
                    warn!(error, url, "an entry for the archive tier cannot be read");
                    results.push((waiting, PushResult::Failed));
                }
            }
        }
        let rows: Vec<RowKey> = offered
            .iter()
            .flat_map(|(_, entries)| entries.iter().map(|entry| RowKey::of(entry.place())))
            .collect();
        let known = match rows.as_slice() {
            [] => Ok(NewestTimes::default()),
            rows => self.newest(rows).await,
        };
        let Ok(known) = known else {
            results.extend(offered.into_iter().map(|(waiting, _)| (waiting, PushResult::Later)));
            return results;
        };
        for (waiting, entries) in &mut offered {
            entries.retain(|entry| {
                let stored = entry.stored().as_microsecond();
                known.lacks(&waiting.place.key(), &RowKey::of(entry.place()), stored)
            });
        }
        let prepared =
            offered.into_iter().map(|(waiting, entries)| self.prepare_all(waiting, entries));
        let mut places = Vec::new();
        for prepared in stream::iter(prepared).buffered(AT_ONCE).collect::<Vec<_>>().await {
            match prepared {
                Ok(place) => places.push(place),
                Err(waiting) => results.push((waiting, PushResult::Failed)),
            }
        }
        results.extend(self.push_places(&config, places).await);
        results
    }

    /// What the catalogue has in place of these rows. The times of this node must be right.
    async fn newest(&self, rows: &[RowKey]) -> Result<NewestTimes, TierError> {
        self.catalogue.check_clock().await?;
        self.catalogue.newest(rows).await
    }

    /// Reads the entries of a place once, to name their objects.
    async fn prepare_all(
        &self,
        waiting: UnpushedPlace,
        entries: Vec<Entry>,
    ) -> Result<PreparedPlace, UnpushedPlace> {
        let mut objects = Vec::with_capacity(entries.len());
        for entry in entries {
            match prepare(entry).await {
                Ok(PrepareResult::Object(object)) => objects.push(*object),
                Ok(PrepareResult::Unusable) => {
                    self.pushed.add_skipped();
                    let url = waiting.place.url();
                    debug!(
                        url,
                        "an entry is not added to the archive tier: it is damaged or invalid"
                    );
                }
                Err(error) => {
                    let (error, url) = (error_chain(&error), waiting.place.url());
                    debug!(error, url, "an entry is added later");
                    return Err(waiting);
                }
            }
        }
        Ok(PreparedPlace { waiting, objects })
    }

    /// Announces all objects, and then pushes them.
    async fn push_places(
        &self,
        config: &Arc<Config>,
        places: Vec<PreparedPlace>,
    ) -> Vec<(UnpushedPlace, PushResult)> {
        let announced: Vec<_> = places
            .iter()
            .flat_map(|place| place.objects.iter().map(PreparedObject::unused))
            .collect();
        let may_push = announced.is_empty()
            || !self.objects.breaker().is_pausing()
                && self.catalogue.announce(&announced).await.is_ok();
        let since = Instant::now();
        let mut results = Vec::with_capacity(places.len());
        let (mut running, mut is_stopped) = (FuturesUnordered::new(), !may_push);
        for place in places {
            if running.len() >= AT_ONCE
                && let Some((waiting, result)) = running.next().await
            {
                is_stopped |= result == PushResult::Failed;
                results.push((waiting, result));
            }
            if is_stopped && !place.objects.is_empty() {
                // After a failure, the rest of the batch waits for the pause.
                results.push((place.waiting, PushResult::Later));
            } else {
                running.push(self.push_place(config, place, since));
            }
        }
        results.extend(running.collect::<Vec<_>>().await);
        results
    }

    /// Whether an entry may leave the node. Of the others, only those are counted that are not
    /// meant to stay.
    fn is_offered(&self, config: &Config, entry: &Entry, now: Timestamp) -> bool {
        match shared::check_entry(config, entry, now) {
            Ok(()) => true,
            Err(reason) => {
                debug!(url = entry.url(), ?reason, "an entry stays out of the archive tier");
                if matches!(reason, shared::ShareRefusal::Future | shared::ShareRefusal::Head) {
                    self.pushed.add_skipped();
                }
                if reason == shared::ShareRefusal::Future {
                    self.outbox.leave_out();
                }
                false
            }
        }
    }

    /// Pushes the entries of one place, whose objects were announced at `since`.
    async fn push_place(
        &self,
        config: &Arc<Config>,
        place: PreparedPlace,
        since: Instant,
    ) -> (UnpushedPlace, PushResult) {
        let PreparedPlace { waiting, objects } = place;
        for object in &objects {
            let entry = &object.entry;
            match self.push(config, object, since).await {
                Ok(()) => {}
                // The engine would refuse it again.
                Err(error @ TierError::Refused(_)) => {
                    self.pushed.add_skipped();
                    let error = error_chain(&error);
                    warn!(error, url = entry.url(), "an entry is not added to the archive tier");
                }
                Err(error) => {
                    debug!(
                        error = error_chain(&error),
                        url = entry.url(),
                        "an entry is added later"
                    );
                    return (waiting, PushResult::Failed);
                }
            }
        }
        (waiting, PushResult::Done)
    }

    async fn push(
        &self,
        config: &Arc<Config>,
        pushed: &PreparedObject,
        since: Instant,
    ) -> Result<(), TierError> {
        let PreparedObject { entry, frame, object } = pushed;
        if self.objects.breaker().is_pausing() {
            return Err(TierError::Unreachable("the object store is left alone".to_owned()));
        }
        if since.elapsed() > ANNOUNCED_FOR {
            self.catalogue.announce(&[pushed.unused()]).await?;
        }
        match self.put(config, entry, frame, object).await {
            Ok(()) => self.objects.breaker().succeeded(),
            Err(error @ TierError::Refused(_)) => return Err(error),
            Err(error) => {
                self.objects.breaker().failed(&error);
                return Err(error);
            }
        }
        let text = self.text(entry).await;
        let title = text.as_ref().map(|text| text.title.clone()).filter(|title| !title.is_empty());
        let row = Row::of(entry, *object, frame.len(), &self.settings.node, title);
        match self.catalogue.add(&row, text.as_ref()).await? {
            RowOutcome::Added => {
                self.pushed.add_pushed();
                debug!(
                    url = entry.url(),
                    object = hex::encode(object),
                    "added to the archive tier"
                );
            }
            RowOutcome::NotNeeded => {}
            RowOutcome::Future => {
                self.outbox.leave_out();
                self.pushed.add_skipped();
            }
        }
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
        let upload = || Upload {
            length: frame.len(),
            body: upload::body(&self.net.base.tasks, &self.state.pace, config, entry, frame),
        };
        match self.objects.put(digest, upload()).await {
            Err(TierError::Unreachable(_)) => self.objects.put(digest, upload()).await,
            done => done,
        }
    }

    /// The words of an entry. `None` if it has none.
    async fn text(&self, entry: &Entry) -> Option<EntryText> {
        let entry = entry.clone();
        // References are not needed, so it does not matter which hosts are ours.
        let pages = Pages { local: LocalHost::default(), documents: DocumentConverter::default() };
        let read = blocking(move || pages.describe(&entry)).await?;
        let title = words(&read.title.unwrap_or_default(), MAX_TITLE);
        let text = words(&read.text, MAX_WORDS);
        let has_words = !title.is_empty() || !text.is_empty();
        has_words.then_some(EntryText { title, text, language: read.language })
    }
}

/// The beginning of a text, without control characters but line ends.
fn words(text: &str, most: usize) -> String {
    let plain = text.chars().filter(|one| !one.is_control() || *one == '\n');
    plain.take(most).collect::<String>().trim().to_owned()
}

/// What the entries of the spool were compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComparedWith {
    /// The identity of the catalogue.
    catalogue: String,
    /// The digest of the rules that say what is shared.
    rules: String,
}

impl ComparedWith {
    fn to_text(&self) -> String {
        format!("{} {}\n", self.catalogue, self.rules)
    }
}
