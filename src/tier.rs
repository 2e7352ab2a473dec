//! The archive tier: an object store and a catalogue that several nodes share.
//!
//! ```text
//! spool ── outbox ── push ─┬─ objects    one file per entry, under the digest of its bytes
//!                          └─ catalogue  one row per entry: key, time, digest, node
//! local miss ── find ──────┬─ catalogue  one query, at most 100 ms
//!                          └─ objects    verified, then stored in the spool
//! ```
//!
//! The spool stays the first level: an entry is complete there before it is pushed, and a request
//! is answered from there after its entry was pulled. If an engine does not answer, the node works
//! alone and logs this once (`tier::breaker`).
//!
//! Only entries for everyone leave the node (`tier::shared`). Nothing here runs without `[tier]`.

mod breaker;
mod catalogue;
mod error;
mod find;
mod object;
mod objects;
mod outbox;
mod push;
mod settings;
mod shared;
mod upkeep;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tracing::info;
use wwwoffle_api::TierStatus;
use wwwoffle_config::TierRole;
use wwwoffle_spool::{ChangeListener, Key};

use self::breaker::Breaker;
use self::catalogue::CatalogueClient;
use self::find::Pull;
use self::objects::ObjectStore;
use self::outbox::PushOutbox;
use self::push::PushCounts;
pub use self::settings::SettingsFault;
use self::settings::TierSettings;
use crate::base::tier_secrets::TierSecrets;
use crate::net::context::NetContext;
use crate::storage::context::StorageContext;

/// The largest number of entries that are pulled at once.
const MAX_PULLS: usize = 16;

/// This node's part in the tier.
pub struct Tier {
    net: Arc<NetContext>,
    storage: Arc<StorageContext>,
    settings: TierSettings,
    catalogue: CatalogueClient,
    objects: ObjectStore,
    outbox: Arc<PushOutbox>,
    pushed: Arc<PushCounts>,
    pulls: Mutex<HashMap<Key, Arc<Pull>>>,
    pulling: Semaphore,
}

impl fmt::Debug for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tier({:?})", self.settings)
    }
}

impl Tier {
    /// This node's part in the configured tier. `None` without a configured one. Starts nothing.
    ///
    /// # Errors
    ///
    /// If the configuration is incomplete, or the credentials are missing or unreadable.
    pub fn new(
        net: &Arc<NetContext>,
        storage: &Arc<StorageContext>,
        secrets: TierSecrets,
    ) -> Result<Option<Arc<Self>>, SettingsFault> {
        let config = net.base.config();
        let Some((settings, keys)) = TierSettings::of(&config.tier, secrets)? else {
            return Ok(None);
        };
        let engines = [Breaker::new("catalogue"), Breaker::new("object store")].map(Arc::new);
        let [for_catalogue, for_objects] = engines;
        let catalogue = CatalogueClient::new(Arc::clone(net), &settings, &keys, for_catalogue);
        let objects = ObjectStore::new(Arc::clone(net), &settings, keys, for_objects)?;
        let outbox = Arc::new(PushOutbox::default());
        Ok(Some(Arc::new(Self {
            net: Arc::clone(net),
            storage: Arc::clone(storage),
            settings,
            catalogue,
            objects,
            outbox,
            pushed: Arc::default(),
            pulls: Mutex::default(),
            pulling: Semaphore::new(MAX_PULLS),
        })))
    }

    /// Starts the tasks: one keeps the connection to the catalogue, and one pushes entries if this
    /// node may write.
    ///
    /// Call this before the first request is served, so that a crash loses no entry.
    pub async fn start(self: &Arc<Self>) {
        let tasks = &self.net.base.tasks;
        info!(
            catalogue = %self.settings.database, objects = self.settings.place, node = self.settings.node,
            "this node belongs to an archive tier"
        );
        let tier = Arc::clone(self);
        tasks.spawn(async move { tier.catalogue.keep_connected().await });
        if self.writes() {
            let listener: Arc<dyn ChangeListener> = Arc::<PushOutbox>::clone(&self.outbox);
            // Without reports of changes, all entries are compared at each start.
            let is_told = self.storage.store.spool().watch(listener);
            let compares = self.begin_pushing().await || !is_told;
            let tier = Arc::clone(self);
            tasks.spawn(async move { tier.push_until_stop(compares).await });
            let tier = Arc::clone(self);
            tasks.spawn(async move { tier.maintain_until_stop().await });
        }
    }

    fn writes(&self) -> bool {
        self.settings.role == TierRole::ReadWrite && !self.storage.store.spool().is_read_only()
    }

    /// The state of the tier, for people.
    #[must_use]
    pub fn status(&self) -> TierStatus {
        let fault = self.catalogue.breaker().fault().or_else(|| self.objects.breaker().fault());
        TierStatus {
            node: self.settings.node.clone(),
            writes: self.writes(),
            connected: self.catalogue.is_connected(),
            fault,
            backlog: self.outbox.backlog(),
            since: self.outbox.since().and_then(|since| Timestamp::try_from(since).ok()),
            scanning: self.outbox.is_scanning(),
            pushed: self.pushed.pushed(),
            skipped: self.pushed.skipped(),
            pulled: self.pushed.pulled(),
        }
    }
}
