//! The catalogue: a table of PostgreSQL with a row for each entry of all nodes.

mod hosts;
mod schema;
mod tls;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config as ClientConfig};
use tracing::info;
use wwwoffle_config::{CatalogueDatabase, TierRole};
use wwwoffle_spool::{Entry, Key, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use self::hosts::KnownHosts;
use super::breaker::Breaker;
use super::error::{TierError, quoted};
use super::settings::{EngineKeys, TierSettings};
use crate::base::clock;
use crate::net::context::NetContext;
use crate::net::upstream::{Origin, Reach, Scheme};
use crate::storage::store::timestamp;
use wwwoffle_http::head;

/// The time for a connection with its login and the check of the schema.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The time for a call that nobody waits for.
const CALL_WITHIN: Duration = Duration::from_secs(10);

/// The time for a lookup while a client waits.
const LOOKUP_WITHIN: Duration = Duration::from_millis(100);

/// The largest number of variants of a URL that are considered.
const MAX_ROWS: i64 = 8;

/// The largest difference between the clocks of this node and the catalogue, in seconds.
const MAX_SKEW: i64 = 300;

/// The settings of each connection. The limit of a statement also frees the locks of a lost node.
const OPTIONS: &str = "-c statement_timeout=10s -c lock_timeout=5s -c search_path=wwwoffle";

const NEWEST: &str = "SELECT key, variant, stored FROM entries WHERE key = ANY($1)";

const FIND: &str = "SELECT varies, stored, object, object_size FROM entries WHERE key = $1 ORDER BY stored DESC LIMIT $2";

/// A newer row never loses to an older one. A time in the future counts as now, so that a wrong
/// clock cannot keep later entries out.
const ADD: &str = "\
WITH new AS (SELECT LEAST($5::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS stored),
named AS (INSERT INTO hosts (host) VALUES ($13) ON CONFLICT (host) DO NOTHING),
old AS (SELECT object FROM entries WHERE key = $1 AND variant = $2),
done AS (
  INSERT INTO entries AS e (key, variant, url, varies, stored, status, media, title, size, object, object_size, node)
  SELECT $1, $2, $3, $4, new.stored, $6, $7, $8, $9, $10, $11, $12 FROM new
  ON CONFLICT (key, variant) DO UPDATE SET stored = excluded.stored, status = excluded.status,
    media = excluded.media, title = excluded.title, size = excluded.size, object = excluded.object,
    object_size = excluded.object_size, node = excluded.node
  WHERE e.stored < excluded.stored RETURNING 1)
INSERT INTO replaced (object, key, variant) SELECT object, $1, $2 FROM old
WHERE object <> $10 AND EXISTS (SELECT FROM done) ON CONFLICT DO NOTHING";

/// Claims replaced objects: another node claims them again only after the same time.
const CLAIM: &str = "\
UPDATE replaced SET since = clock_timestamp() WHERE object IN (
  SELECT object FROM replaced AS r
  WHERE since < clock_timestamp() - $1::bigint * interval '1 s' AND NOT EXISTS (
    SELECT FROM entries AS e WHERE e.key = r.key AND e.variant = r.variant AND e.object = r.object)
  ORDER BY since LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING object";

const FORGET: &str = "DELETE FROM replaced WHERE object = ANY($1)";

/// The key of a row: that of the place, and the digest of the variant text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowKey {
    key: [u8; 32],
    variant: [u8; 32],
}

impl RowKey {
    pub(super) fn of(place: &Place) -> Self {
        let variant = Sha256::digest(place.variant_text()).into();
        Self { key: *place.key().as_bytes(), variant }
    }
}

/// A row to add.
#[derive(Debug)]
pub(super) struct Row {
    key: RowKey,
    url: String,
    host: String,
    varies: String,
    /// In microseconds since 1970.
    stored: i64,
    status: i16,
    media: String,
    title: Option<String>,
    /// The length of the body.
    size: i64,
    object: [u8; 32],
    object_size: i64,
    node: String,
}

impl Row {
    pub(super) fn of(
        entry: &Entry,
        object: [u8; 32],
        object_size: u64,
        node: &str,
        title: Option<String>,
    ) -> Self {
        let fields =
            head::read_response(entry.head()).map(|(_, fields)| fields).unwrap_or_default();
        let media = fields.get(hyper::header::CONTENT_TYPE);
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let number = |length: u64| i64::try_from(length).unwrap_or(i64::MAX);
        // PostgreSQL stores no NUL.
        let text = |text: &str| text.replace('\0', "");
        Self {
            key: RowKey::of(entry.place()),
            url: entry.url().to_owned(),
            host: host_of(entry.url()),
            varies: text(entry.place().variant_text()),
            stored: entry.stored().as_microsecond(),
            status: i16::try_from(entry.status()).unwrap_or_default(),
            media: text(media.split(';').next().unwrap_or_default().trim()).to_ascii_lowercase(),
            title: title.map(|title| text(&title)),
            size: number(entry.body_len()),
            object,
            object_size: number(object_size),
            node: node.to_owned(),
        }
    }
}

/// A row that was found.
#[derive(Clone, Debug)]
pub(super) struct FoundRow {
    pub(super) varies: String,
    pub(super) object: [u8; 32],
    pub(super) object_size: u64,
}

/// The host of a URL, as the catalogue lists it.
fn host_of(url: &str) -> String {
    let url = CanonicalUrl::parse(url, &LocalHost::default());
    url.map(|url| url.host().to_owned()).unwrap_or_default()
}

/// The connection to the catalogue.
pub(super) struct CatalogueClient {
    net: Arc<NetContext>,
    database: CatalogueDatabase,
    origin: Origin,
    client_config: ClientConfig,
    role: TierRole,
    client: ArcSwapOption<Client>,
    connected: Notify,
    hosts: KnownHosts,
    breaker: Arc<Breaker>,
}

impl CatalogueClient {
    pub(super) fn new(
        net: Arc<NetContext>,
        settings: &TierSettings,
        keys: &EngineKeys,
        breaker: Arc<Breaker>,
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
        Self {
            net,
            database,
            origin,
            client_config,
            role: settings.role,
            client: ArcSwapOption::empty(),
            connected: Notify::new(),
            hosts: KnownHosts::default(),
            breaker,
        }
    }

    pub(super) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.load().as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Waits until there is a connection. Dropping the future has no effect.
    pub(super) async fn wait_until_connected(&self) {
        loop {
            let connected = self.connected.notified();
            if self.is_connected() {
                return;
            }
            connected.await;
        }
    }

    /// Connects, and connects again whenever the connection ends, until the daemon stops.
    pub(super) async fn keep_connected(&self) {
        tokio::select! {
            // The connection ends with its last user.
            () = self.net.base.tasks.stopping() => self.client.store(None),
            () = self.connect_for_ever() => {}
        }
    }

    async fn connect_for_ever(&self) {
        loop {
            let connected = timeout(CONNECT_WITHIN, self.connect()).await;
            match connected.unwrap_or(Err(TierError::Timeout)) {
                Ok(ended) => {
                    self.breaker.succeeded();
                    self.connected.notify_waiters();
                    let reason = tokio::select! {
                        () = ended.notified() => {
                            TierError::Unreachable("the connection ended".to_owned())
                        }
                        () = self.net.upstream.dialer().wait_until_shut(&self.origin) => {
                            TierError::Offline
                        }
                    };
                    // The connection ends with its last user.
                    self.client.store(None);
                    self.breaker.failed(&reason);
                }
                Err(error) => self.breaker.failed(&error),
            }
            self.breaker.wait_until_closed().await;
        }
    }

    /// Connects and checks the schema. Returns a signal for the end of the connection.
    async fn connect(&self) -> Result<Arc<Notify>, TierError> {
        let upstream = &self.net.upstream;
        let stream = upstream.dialer().dial(&self.origin).await;
        let stream = stream.map_err(|failure| TierError::of_failure(&failure))?;
        let tls = tls::DatabaseConnector::new(&self.origin, upstream.tls_config(&self.origin));
        let connected = self.client_config.connect_raw(stream, tls).await;
        let (client, connection) = connected.map_err(|error| fault(&error))?;
        let ended = Arc::new(Notify::new());
        let signal = Arc::clone(&ended);
        self.net.base.tasks.spawn(async move {
            // The error reaches each call that waits for an answer.
            let _ended = connection.await;
            signal.notify_one();
        });
        self.check_clock(&client).await?;
        schema::prepare(&client, self.role).await?;
        self.hosts.load(&client).await?;
        info!(database = %self.database, "connected to the catalogue of the archive tier");
        self.client.store(Some(Arc::new(client)));
        Ok(ended)
    }

    async fn check_clock(&self, client: &Client) -> Result<(), TierError> {
        let row = client
            .query_one("SELECT extract(epoch FROM clock_timestamp())::bigint", &[])
            .await
            .map_err(|error| fault(&error))?;
        let ahead = timestamp(clock::now()).as_second() - row.get::<_, i64>(0);
        if ahead.abs() > MAX_SKEW {
            let word = if ahead > 0 { "ahead of" } else { "behind" };
            return Err(TierError::Clock(ahead.abs(), word));
        }
        Ok(())
    }

    fn client(&self) -> Result<Arc<Client>, TierError> {
        let client = self.client.load_full().filter(|client| !client.is_closed());
        client.ok_or_else(|| TierError::Unreachable("there is no connection".to_owned()))
    }

    /// Waits for a call that no client waits for, and records its result.
    async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, TierError> {
        let done = timeout(CALL_WITHIN, call).await;
        let done = done.map_or(Err(TierError::Timeout), |done| done.map_err(|error| fault(&error)));
        match &done {
            Ok(_) | Err(TierError::Refused(_)) => self.breaker.succeeded(),
            Err(error) => self.breaker.failed(error),
        }
        done
    }

    /// The times of the rows under these keys, in microseconds.
    pub(super) async fn newest(&self, keys: &[Key]) -> Result<HashMap<RowKey, i64>, TierError> {
        let client = self.client()?;
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
        let rows = self.call(client.query_typed(NEWEST, &[(&keys, Type::BYTEA_ARRAY)])).await?;
        let row = |row: &tokio_postgres::Row| {
            let key = RowKey { key: digest(row.get(0))?, variant: digest(row.get(1))? };
            Some((key, row.get(2)))
        };
        Ok(rows.iter().filter_map(row).collect())
    }

    /// Adds a row, unless the catalogue has a newer one.
    pub(super) async fn add(&self, row: &Row) -> Result<(), TierError> {
        let client = self.client()?;
        let (key, variant, object) =
            (row.key.key.as_slice(), row.key.variant.as_slice(), row.object.as_slice());
        let values: [(&(dyn ToSql + Sync), Type); 13] = [
            (&key, Type::BYTEA),
            (&variant, Type::BYTEA),
            (&row.url, Type::TEXT),
            (&row.varies, Type::TEXT),
            (&row.stored, Type::INT8),
            (&row.status, Type::INT2),
            (&row.media, Type::TEXT),
            (&row.title, Type::TEXT),
            (&row.size, Type::INT8),
            (&object, Type::BYTEA),
            (&row.object_size, Type::INT8),
            (&row.node, Type::TEXT),
            (&row.host, Type::TEXT),
        ];
        self.call(client.execute_typed(ADD, &values)).await.map(drop)
    }

    /// Claims up to `most` objects that were replaced more than `seconds` ago.
    pub(super) async fn claim_replaced(
        &self,
        seconds: i64,
        most: i64,
    ) -> Result<Vec<[u8; 32]>, TierError> {
        let client = self.client()?;
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&seconds, Type::INT8), (&most, Type::INT8)];
        let rows = self.call(client.query_typed(CLAIM, &values)).await?;
        Ok(rows.iter().filter_map(|row| digest(row.get(0))).collect())
    }

    /// Forgets replaced objects, because they were removed.
    pub(super) async fn forget_replaced(&self, objects: &[[u8; 32]]) -> Result<(), TierError> {
        let client = self.client()?;
        let objects: Vec<&[u8]> = objects.iter().map(<[u8; 32]>::as_slice).collect();
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&objects, Type::BYTEA_ARRAY)];
        self.call(client.execute_typed(FORGET, &values)).await.map(drop)
    }

    /// The rows of a key, the newest first. Empty if the catalogue has none, or does not answer
    /// within [`LOOKUP_WITHIN`].
    pub(super) async fn find(&self, key: &Key, host: &str) -> Vec<FoundRow> {
        if !self.breaker.is_closed(Instant::now()) {
            return Vec::new();
        }
        let Ok(client) = self.client() else { return Vec::new() };
        let lookup = async {
            if !self.hosts.may_have(&client, host).await? {
                return Ok(Vec::new());
            }
            let key = key.as_bytes().as_slice();
            client.query_typed(FIND, &[(&key, Type::BYTEA), (&MAX_ROWS, Type::INT8)]).await
        };
        let rows = match timeout(LOOKUP_WITHIN, lookup).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => {
                self.breaker.failed(&fault(&error));
                return Vec::new();
            }
            Err(_) => {
                self.breaker.missed();
                return Vec::new();
            }
        };
        self.breaker.succeeded();
        let row = |row: &tokio_postgres::Row| {
            let object_size = u64::try_from(row.get::<_, i64>(3)).ok()?;
            Some(FoundRow { varies: row.get(0), object: digest(row.get(2))?, object_size })
        };
        rows.iter().filter_map(row).collect()
    }
}

fn digest(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}

/// Sorts an error of PostgreSQL by its remedy.
fn fault(error: &tokio_postgres::Error) -> TierError {
    let Some(reported) = error.as_db_error() else {
        let source = std::error::Error::source(error);
        let reason =
            source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        return TierError::Unreachable(reason);
    };
    let text = quoted(reported.message());
    // Classes of the standard: data exception, integrity violation, and limits of the program.
    if ["22", "23", "54"].iter().any(|class| reported.code().code().starts_with(class)) {
        return TierError::Refused(text);
    }
    match *reported.code() {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            TierError::Credentials(text)
        }
        SqlState::INVALID_CATALOG_NAME => TierError::Missing(text),
        SqlState::INSUFFICIENT_PRIVILEGE => TierError::Credentials(text),
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN => TierError::Schema(format!(
            "the schema \"wwwoffle\" in the database is damaged or foreign: {text}"
        )),
        _ => TierError::Engine(text),
    }
}
