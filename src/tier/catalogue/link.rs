//! One connection to the catalogue, made again whenever it ends.
//!
//! A node has two of them: lookups must not wait behind the rows that are pushed.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use socket2::{SockRef, TcpKeepalive};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config as ClientConfig};
use tracing::info;
use wwwoffle_config::{CatalogueDatabase, TierRole};

use super::hosts::KnownHosts;
use super::requests::LISTEN;
use super::{fault, schema, tls};
use crate::base::clock;
use crate::net::context::NetContext;
use crate::net::upstream::{Origin, Reach, Scheme};
use crate::storage::store::timestamp;
use crate::tier::breaker::Breaker;
use crate::tier::error::TierError;
use crate::tier::permission::EnginePermission;
use crate::tier::settings::{EngineKeys, TierSettings};

/// The time for a connection with its login and the check of the schema. A migration has no limit.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// The time for a call that nobody waits for.
const CALL_WITHIN: Duration = Duration::from_secs(10);

/// The time after which unacknowledged data end the connection (RFC 5482).
const UNACKNOWLEDGED_FOR: Duration = Duration::from_secs(15);

/// The time without traffic after which a lost peer is looked for: a migration sends nothing.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// The interval at which the clocks are compared.
const CLOCK_EVERY: Duration = Duration::from_secs(10);

/// The largest difference between the clocks of this node and the catalogue, in seconds.
pub(in crate::tier) const MAX_SKEW: i64 = 60;

/// The settings of each connection. The limits also free the locks of a lost node.
const OPTIONS: &str = "-c statement_timeout=10s -c lock_timeout=5s \
                       -c idle_in_transaction_session_timeout=5min -c search_path=wwwoffle \
                       -c tcp_keepalives_idle=60 -c tcp_keepalives_interval=10 \
                       -c tcp_keepalives_count=3";

/// The recipe for connections to the catalogue.
pub(super) struct CataloguePlan {
    net: Arc<NetContext>,
    permission: EnginePermission,
    database: CatalogueDatabase,
    origin: Origin,
    client_config: ClientConfig,
    role: TierRole,
    /// Notified when the shared queue has changed.
    pub(super) requests: Arc<Notify>,
}

/// A new connection.
pub(super) struct NewClient {
    pub(super) client: Client,
    /// The identity of the catalogue.
    pub(super) identity: String,
    ended: Arc<Notify>,
}

impl CataloguePlan {
    pub(super) fn new(
        net: Arc<NetContext>,
        permission: EnginePermission,
        settings: &TierSettings,
        keys: &EngineKeys,
    ) -> Self {
        let database = settings.database.clone();
        let mut client_config = ClientConfig::new();
        client_config
            .user(database.user.as_str())
            .dbname(database.name.as_str())
            .application_name(format!("wwwoffle {}", settings.node))
            .options(OPTIONS)
            .ssl_mode(tls::mode(&database));
        if let Some(password) = &keys.password {
            client_config.password(password);
        }
        // The dialer knows nothing of the protocol inside.
        let (scheme, host, port) = (Scheme::Https, database.host.clone(), database.port);
        let origin = Origin { scheme, host, port, via: None, reach: Reach::All };
        let (role, requests) = (settings.role, Arc::default());
        Self { net, permission, database, origin, client_config, role, requests }
    }

    /// Connects and checks clock and schema. Dropping the future abandons the attempt.
    pub(super) async fn connect(&self) -> Result<NewClient, TierError> {
        let connected = timeout(CONNECT_WITHIN, self.connect_now()).await;
        let (client, identity, ended) = connected.unwrap_or(Err(TierError::Timeout))?;
        let identity = match identity {
            Some(identity) => identity,
            None => schema::create(&client).await?,
        };
        Ok(NewClient { client, identity, ended })
    }

    /// Connects. Returns no identity if the schema must be created or migrated first.
    async fn connect_now(&self) -> Result<(Client, Option<String>, Arc<Notify>), TierError> {
        let upstream = &self.net.upstream;
        let stream = upstream.dialer().dial(&self.origin).await;
        let stream = stream.map_err(|failure| TierError::of_failure(&failure))?;
        let socket = SockRef::from(&stream);
        socket
            .set_tcp_user_timeout(Some(UNACKNOWLEDGED_FOR))
            .and_then(|()| socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENT_FOR)))
            .map_err(|error| TierError::Unreachable(error.to_string()))?;
        let tls = tls::DatabaseConnector::new(&self.origin, upstream.tls_config(&self.origin));
        let connected = self.client_config.connect_raw(stream, tls).await;
        let (client, mut connection) = connected.map_err(|error| fault(&error))?;
        let ended = Arc::new(Notify::new());
        let (signal, requests) = (Arc::clone(&ended), Arc::clone(&self.requests));
        self.net.base.tasks.spawn(async move {
            // An error reaches each call that waits for an answer.
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if matches!(message, AsyncMessage::Notification(_)) {
                    requests.notify_one();
                }
            }
            signal.notify_one();
        });
        check_clock(&client).await?;
        let identity = schema::check(&client, self.role).await?;
        Ok((client, identity, ended))
    }
}

async fn check_clock(client: &Client) -> Result<(), TierError> {
    let query = "SELECT extract(epoch FROM clock_timestamp())::bigint";
    let row = client.query_one(query, &[]).await.map_err(|error| fault(&error))?;
    let ahead = timestamp(clock::now()).as_second() - row.get::<_, i64>(0);
    if ahead.abs() > MAX_SKEW {
        let word = if ahead > 0 { "ahead of" } else { "behind" };
        return Err(TierError::Clock(ahead.abs(), word));
    }
    Ok(())
}

/// A client of the catalogue, with the identity of the catalogue.
pub(super) struct OpenLink {
    pub(super) client: Client,
    identity: String,
}

/// A connection that is made again whenever it ends.
pub(super) struct CatalogueLink {
    plan: Arc<CataloguePlan>,
    /// The hosts that have entries, if the connection is for lookups.
    hosts: Option<Arc<KnownHosts>>,
    open: ArcSwapOption<OpenLink>,
    connected: Notify,
    given_up: Notify,
    breaker: Arc<Breaker>,
}

impl CatalogueLink {
    pub(super) fn new(
        plan: Arc<CataloguePlan>,
        hosts: Option<Arc<KnownHosts>>,
        breaker: Arc<Breaker>,
    ) -> Self {
        let (connected, given_up) = (Notify::new(), Notify::new());
        Self { plan, hosts, open: ArcSwapOption::empty(), connected, given_up, breaker }
    }

    pub(super) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    fn open(&self) -> Option<Arc<OpenLink>> {
        self.open.load_full().filter(|open| !open.client.is_closed())
    }

    pub(super) fn is_connected(&self) -> bool {
        self.open().is_some()
    }

    /// Waits until there is a connection. Returns the identity of the catalogue. Dropping the
    /// future has no effect.
    pub(super) async fn wait_until_connected(&self) -> String {
        loop {
            let connected = self.connected.notified();
            if let Some(open) = self.open() {
                return open.identity.clone();
            }
            connected.await;
        }
    }

    /// Connects, and connects again whenever the connection ends, until the daemon stops.
    pub(super) async fn keep_connected(&self) {
        tokio::select! {
            // The connection ends with its last user.
            () = self.plan.net.base.tasks.stopping() => self.open.store(None),
            () = self.connect_for_ever() => {}
        }
    }

    async fn connect_for_ever(&self) {
        let permission = &self.plan.permission;
        loop {
            permission.wait_until_granted().await;
            match self.connect().await {
                Ok(ended) => {
                    self.breaker.connected();
                    self.connected.notify_waiters();
                    let reason = tokio::select! {
                        () = ended.notified() => {
                            Some(TierError::Unreachable("the connection ended".to_owned()))
                        }
                        () = self.given_up.notified() => None,
                        error = self.watch_clock() => Some(error),
                        () = permission.wait_until_withdrawn() => None,
                    };
                    // The connection ends with its last user.
                    self.open.store(None);
                    if let Some(reason) = reason {
                        self.breaker.failed(&reason);
                    }
                }
                Err(error) => self.breaker.failed(&error),
            }
            tokio::select! {
                () = self.breaker.wait_until_admitted() => {}
                () = permission.changed() => self.breaker.end_pause(),
            }
        }
    }

    /// Connects. Returns a signal for the end of the connection.
    async fn connect(&self) -> Result<Arc<Notify>, TierError> {
        let NewClient { client, identity, ended } = self.plan.connect().await?;
        if let Some(hosts) = &self.hosts {
            let loaded = timeout(CALL_WITHIN, hosts.load(&client, &identity)).await;
            loaded.unwrap_or(Err(TierError::Timeout))?;
            info!(database = %self.plan.database, "connected to the catalogue of the archive tier");
        } else {
            // A pooler may not pass notifications on. Then the shared queue is only polled.
            let listening = timeout(CALL_WITHIN, client.batch_execute(LISTEN)).await;
            listening.unwrap_or(Ok(())).map_err(|error| fault(&error))?;
            self.plan.requests.notify_one();
        }
        self.open.store(Some(Arc::new(OpenLink { client, identity })));
        Ok(ended)
    }

    /// Compares the clocks from time to time. Ends with an error if they differ too much, or the
    /// catalogue does not answer.
    async fn watch_clock(&self) -> TierError {
        loop {
            sleep(CLOCK_EVERY).await;
            if let Err(error) = self.check_clock().await {
                return error;
            }
        }
    }

    /// Compares the clocks of this node and the catalogue.
    ///
    /// # Errors
    ///
    /// If they differ too much, or the catalogue does not answer.
    pub(super) async fn check_clock(&self) -> Result<(), TierError> {
        let open = self.client()?;
        timeout(CALL_WITHIN, check_clock(&open.client)).await.unwrap_or(Err(TierError::Timeout))
    }

    /// Gives the connection up, because it does not answer, or must not be used.
    pub(super) fn give_up(&self) {
        self.open.store(None);
        self.given_up.notify_waiters();
    }

    /// The open connection.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn client(&self) -> Result<Arc<OpenLink>, TierError> {
        self.open().ok_or_else(|| TierError::Unreachable("there is no connection".to_owned()))
    }

    /// Waits for a call that no client waits for, and records its failure. The caller records
    /// success when all of its work is done: reading may be possible where writing is not.
    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, TierError> {
        self.call_beside(&self.breaker, call).await
    }

    /// Like [`Self::call`], for calls with a breaker of their own.
    pub(super) async fn call_beside<T>(
        &self,
        breaker: &Breaker,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, TierError> {
        let done = timeout(CALL_WITHIN, call).await;
        let done = done.map_or(Err(TierError::Timeout), |done| done.map_err(|error| fault(&error)));
        match &done {
            Ok(_) | Err(TierError::Refused(_)) => {}
            Err(error) => {
                breaker.failed(error);
                // A newer program may have migrated the schema: only a new connection tells.
                if matches!(error, TierError::Timeout | TierError::Schema(_)) {
                    self.give_up();
                }
            }
        }
        done
    }

    /// Waits for a lookup for at most `limit`, and records its result. `None` without an answer,
    /// also while the catalogue is left alone.
    pub(super) async fn look_up<T>(
        &self,
        limit: Duration,
        lookup: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Option<T> {
        if !self.breaker.admit() {
            return None;
        }
        match timeout(limit, lookup).await {
            Ok(Ok(found)) => {
                self.breaker.succeeded();
                Some(found)
            }
            Ok(Err(error)) => {
                self.breaker.failed(&fault(&error));
                None
            }
            Err(_) => {
                if self.breaker.missed() {
                    self.give_up();
                }
                None
            }
        }
    }
}
