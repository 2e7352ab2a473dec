//! The archive tier: an object store and a catalogue that several nodes share.
//!
//! ```text
//! spool ── outbox ── push ─┬─ objects    one file per entry, under the digest of its bytes
//!                          └─ catalogue  one row per entry: key, time, digest, node
//! local miss ── find ──────┬─ catalogue  one query, at most 100 ms
//!                          └─ objects    verified, then stored in the spool
//! queue ────── requests ───── catalogue  what an offline node wants, another one fetches
//! ```
//!
//! The spool stays the first level: an entry is complete there before it is pushed, and a request
//! is answered from there after its entry was pulled. If an engine does not answer, the node works
//! alone and logs this once (`tier::breaker`).
//!
//! Only entries for everyone leave the node (`tier::shared`). Nothing here runs without `[tier]`.

mod breaker;
mod catalogue;
mod check;
mod counts;
mod error;
mod find;
mod incoming;
mod object;
mod objects;
mod outbox;
mod permission;
mod prepare;
mod push;
mod requests;
mod search;
mod settings;
mod shared;
mod upkeep;
mod upload;
mod walk;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tracing::{info, warn};
use wwwoffle_api::TierStatus;
use wwwoffle_config::{Config, TierOptions, TierRole};
use wwwoffle_spool::{ChangeListener, RemovalRule, Spool};

use self::breaker::Breaker;
use self::catalogue::CatalogueClient;
pub use self::catalogue::{TierHostsQuery, TierQuery};
use self::counts::PushCounts;
use self::error::TierError;
use self::find::Pulls;
pub use self::find::{Others, TierDemand, TierFind};
use self::objects::ObjectStore;
use self::outbox::PushOutbox;
use self::permission::EnginePermission;
use self::push::ComparedWith;
use self::requests::RefusedRequests;
pub use self::requests::{AnswerPull, AnswerResult, QueueRole, RequestAnswer, TakenRequest};
use self::search::MAX_SEARCHES;
pub use self::settings::SettingsFault;
use self::settings::TierSettings;
use self::upload::UploadPace;
use crate::base::error_chain::error_chain;
use crate::base::tier_secrets::TierSecrets;
use crate::net::context::NetContext;
use crate::storage::context::StorageContext;

/// The largest number of entries that are pulled at once.
const MAX_PULLS: usize = 16;

/// The removals that are recorded for the tier. `config` returns the configuration in force.
#[must_use]
pub fn removal_rule(
    options: &TierOptions,
    config: impl Fn() -> Arc<Config> + Send + Sync + 'static,
) -> RemovalRule {
    // A node that only reads cannot report them.
    let is_reported = options.objects.parts().is_some() && options.role == TierRole::ReadWrite;
    if !is_reported {
        return RemovalRule::default();
    }
    RemovalRule::from_rule(move |entry| shared::is_removal_shared(&config(), entry))
}

/// This node's part in the tier.
pub struct Tier {
    net: Arc<NetContext>,
    storage: Arc<StorageContext>,
    settings: TierSettings,
    permission: EnginePermission,
    catalogue: CatalogueClient,
    objects: ObjectStore,
    outbox: Arc<PushOutbox>,
    pushed: PushCounts,
    state: PushState,
    pulls: Pulls,
    queue: QueuePart,
    turns: TierTurns,
}

/// The numbers of calls at once.
#[derive(Debug)]
struct TierTurns {
    pulling: Semaphore,
    searching: Semaphore,
}

/// This node's part in the shared queue.
#[derive(Debug)]
struct QueuePart {
    /// The name of this node among the others: that of its spool, which no other one has.
    node_id: String,
    refused: RefusedRequests,
}

/// How far this node is known to have pushed, and how fast it may.
#[derive(Debug, Default)]
struct PushState {
    pace: Arc<UploadPace>,
    /// What the entries of the spool were last compared with.
    compared: Mutex<Option<ComparedWith>>,
    /// Whether the spool reports its changes.
    is_told: AtomicBool,
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
        let Some((settings, keys)) = TierSettings::of(&config, secrets)? else {
            return Ok(None);
        };
        // A spool that cannot be written gives no requests away, so that it needs no name.
        let node_id = storage.store.spool().tier_node().unwrap_or_default();
        let breaker = Arc::new(Breaker::new("object store"));
        let objects = ObjectStore::new(Arc::clone(net), &settings, &keys, breaker)?;
        let hosts = [settings.database.host.clone(), objects.host().to_owned()];
        let permission = EnginePermission::new(Arc::clone(net), hosts);
        let catalogue = CatalogueClient::new(Arc::clone(net), permission.clone(), &settings, &keys);
        Ok(Some(Arc::new(Self {
            net: Arc::clone(net),
            storage: Arc::clone(storage),
            settings,
            permission,
            catalogue,
            objects,
            outbox: Arc::default(),
            pushed: PushCounts::default(),
            state: PushState::default(),
            pulls: Pulls::default(),
            queue: QueuePart { node_id, refused: RefusedRequests::default() },
            turns: TierTurns {
                pulling: Semaphore::new(MAX_PULLS),
                searching: Semaphore::new(MAX_SEARCHES),
            },
        })))
    }

    /// Starts the tasks: some keep the connections to the catalogue, and others push entries if
    /// this node may write.
    ///
    /// Call this before any task can store an entry: changes are reported from now on.
    pub async fn start(self: &Arc<Self>) {
        let tasks = &self.net.base.tasks;
        info!(
            catalogue = %self.settings.database, objects = self.settings.place, node = self.settings.node,
            "this node belongs to an archive tier"
        );
        if !self.writes()
            && let Err(error) = self.forget_removals().await
        {
            warn!(error = error_chain(&error), "removals for the archive tier cannot be forgotten");
        }
        let role = if self.writes() { TierRole::ReadWrite } else { TierRole::ReadOnly };
        let tier = Arc::clone(self);
        tasks.spawn(async move { tier.catalogue.keep_connected(role).await });
        if self.writes() {
            let listener: Arc<dyn ChangeListener> = Arc::<PushOutbox>::clone(&self.outbox);
            let is_told = self.storage.store.spool().watch(listener);
            self.state.is_told.store(is_told, Ordering::Relaxed);
            let tier = Arc::clone(self);
            tasks.spawn(async move { tier.push_until_stop().await });
            let tier = Arc::clone(self);
            tasks.spawn(async move { tier.maintain_until_stop().await });
        }
    }

    /// Forgets the removals of a time when this node wrote to the tier. It cannot report them.
    async fn forget_removals(&self) -> Result<(), wwwoffle_spool::Error> {
        if self.storage.store.spool().is_read_only() {
            return Ok(());
        }
        let forget = |spool: &Spool| {
            for removal in spool.shared_removals(usize::MAX)? {
                spool.forget_shared_removal(&removal)?;
            }
            Ok(())
        };
        self.storage.store.run(forget).await
    }

    fn writes(&self) -> bool {
        let can_write =
            !self.queue.node_id.is_empty() && !self.storage.store.spool().is_read_only();
        self.settings.role == TierRole::ReadWrite && can_write
    }

    /// Whether the spool reports its changes.
    fn is_told(&self) -> bool {
        self.state.is_told.load(Ordering::Relaxed)
    }

    fn compared(&self) -> Option<ComparedWith> {
        self.state.compared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets what the entries are compared with. Returns the value before.
    fn set_compared(&self, now: ComparedWith) -> Option<ComparedWith> {
        self.state.compared.lock().unwrap_or_else(PoisonError::into_inner).replace(now)
    }

    /// The state of the tier, for people.
    #[must_use]
    pub fn status(&self) -> TierStatus {
        let fault = self.catalogue.fault().or_else(|| self.objects.breaker().fault());
        let is_granted = self.permission.is_granted();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        TierStatus {
            node: self.settings.node.clone(),
            writes: self.writes(),
            connected: self.catalogue.is_connected(),
            fault: if is_granted { fault } else { Some(error_chain(&TierError::Offline)) },
            backlog: self.outbox.backlog(),
            since: self.outbox.since().and_then(|since| Timestamp::try_from(since).ok()),
            scanning: self.outbox.is_scanning(),
            pushed: self.pushed.pushed(),
            skipped: self.pushed.skipped(),
            pulled: self.pushed.pulled(),
            given: count(self.pushed.given()),
            taken: count(self.pushed.taken()),
        }
    }
}
