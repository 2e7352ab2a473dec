//! The catalogue: a table of PostgreSQL with a row for each entry of all nodes.

mod hosts;
mod link;
mod requests;
mod row;
mod schema;
mod search;
mod tls;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use wwwoffle_config::TierRole;
use wwwoffle_spool::{Key, SharedRemoval};

use self::hosts::KnownHosts;
pub(super) use self::link::MAX_SKEW;
use self::link::{CatalogueLink, CataloguePlan, NewClient};
pub(super) use self::requests::{AnswerRow, RequestRow};
pub(super) use self::row::{FoundRow, Row, RowKey, UnusedObject};
pub(super) use self::search::{EntryText, MARKS, TierHit, TierHost};
pub use self::search::{TierHostsQuery, TierQuery};
use super::breaker::Breaker;
use super::error::{TierError, quoted};
use super::permission::EnginePermission;
use super::settings::{EngineKeys, TierSettings};
use crate::net::context::NetContext;

/// The time for a lookup while a client waits.
const LOOKUP_WITHIN: Duration = Duration::from_millis(100);

/// The largest number of variants of a URL that are considered.
const MAX_ROWS: i64 = 8;

/// A key may have many variants of other nodes, so only the wanted ones are read. A row without its
/// object counts as missing, so that the object is added again.
const NEWEST: &str = "\
SELECT e.key, e.variant, e.stored FROM unnest($1, $2) AS wanted (key, variant)
JOIN entries AS e ON e.key = wanted.key AND e.variant = wanted.variant
WHERE NOT EXISTS (SELECT FROM missing AS m WHERE m.object = e.object)
UNION ALL SELECT key, NULL, at FROM removed WHERE key = ANY($1)";

const FIND: &str = "SELECT left(varies, 8192), stored, object, object_size FROM entries WHERE key = $1 ORDER BY stored DESC LIMIT $2";

const ANNOUNCE: &str = "\
INSERT INTO unused (object, key, variant)
SELECT DISTINCT ON (object) object, key, variant FROM unnest($1, $2, $3) AS o (object, key, variant)
ORDER BY object ON CONFLICT (object) DO UPDATE SET since = clock_timestamp()";

pub(super) const ADD_MISSING: &str = "\
INSERT INTO missing (object, url, is_wrong) VALUES ($1, $2, $3)
ON CONFLICT (object) DO UPDATE SET is_wrong = true WHERE excluded.is_wrong";

/// An entry and its words are added at once. The title counts more than the text.
const ADD: &str = "\
WITH added AS MATERIALIZED (
  SELECT add_entry($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS outcome),
read AS (
  INSERT INTO texts (key, variant, language, beginning, words)
  SELECT $1, $2, $14::text::regconfig, left($16, 1000),
    setweight(to_tsvector($14::text::regconfig, $15), 'A')
    || setweight(to_tsvector($14::text::regconfig, $16), 'D')
  FROM added WHERE outcome = 'added' AND $14 IS NOT NULL
  ON CONFLICT (key, variant) DO UPDATE SET language = excluded.language,
    beginning = excluded.beginning, words = excluded.words),
repaired AS (DELETE FROM missing WHERE object = $10),
unread AS (
  DELETE FROM texts AS t USING added AS a
  WHERE a.outcome = 'added' AND $14 IS NULL AND t.key = $1 AND t.variant = $2)
SELECT outcome FROM added";

/// The times of what the catalogue has.
#[derive(Debug, Default)]
pub(super) struct NewestTimes {
    entries: HashMap<RowKey, i64>,
    removed: HashMap<Key, i64>,
}

impl NewestTimes {
    /// Whether the catalogue has no entry that is as new, and none was removed later.
    pub(super) fn lacks(&self, key: &Key, row: &RowKey, stored: i64) -> bool {
        let is_older = |time: Option<&i64>| time.is_none_or(|time| *time < stored);
        is_older(self.entries.get(row)) && is_older(self.removed.get(key))
    }
}

/// What became of an entry that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOutcome {
    /// The catalogue has it now.
    Added,
    /// The catalogue had it, or has a newer one, or it was removed since it was stored.
    NotNeeded,
    /// Its time is in the future.
    Future,
}

/// The catalogue.
pub(super) struct CatalogueClient {
    plan: Arc<CataloguePlan>,
    lookups: CatalogueLink,
    /// The connection for everything that no client waits for.
    pushes: CatalogueLink,
    /// For the calls of the shared queue, over the same connection as pushes.
    queue: Breaker,
    hosts: Arc<KnownHosts>,
}

impl CatalogueClient {
    pub(super) fn new(
        net: Arc<NetContext>,
        permission: EnginePermission,
        settings: &TierSettings,
        keys: &EngineKeys,
    ) -> Self {
        let plan = Arc::new(CataloguePlan::new(net, permission, settings, keys));
        let hosts = Arc::<KnownHosts>::default();
        let breaker = Arc::new(Breaker::new("catalogue"));
        let beside = Arc::new(Breaker::beside(&breaker));
        let queue = Breaker::beside(&breaker);
        let lookups = CatalogueLink::new(Arc::clone(&plan), Some(Arc::clone(&hosts)), breaker);
        let pushes = CatalogueLink::new(Arc::clone(&plan), None, beside);
        Self { plan, lookups, pushes, queue, hosts }
    }

    /// The reason why it is left alone, if it is.
    pub(super) fn fault(&self) -> Option<String> {
        let others = [self.pushes.breaker(), &self.queue];
        let fault = self.lookups.breaker().fault();
        fault.or_else(|| others.into_iter().find_map(Breaker::fault))
    }

    pub(super) fn is_connected(&self) -> bool {
        self.lookups.is_connected()
    }

    /// Keeps the connections until the daemon stops. `role` says whether this node pushes.
    pub(super) async fn keep_connected(&self, role: TierRole) {
        let pushes = async {
            if role == TierRole::ReadWrite {
                self.pushes.keep_connected().await;
            }
        };
        tokio::join!(self.lookups.keep_connected(), pushes);
    }

    /// Waits until entries can be pushed. Returns the identity of the catalogue.
    pub(super) async fn wait_until_ready(&self) -> String {
        self.pushes.wait_until_connected().await
    }

    /// Waits until no pause of the calls is left. Dropping the future has no effect.
    pub(super) async fn wait_out(&self) {
        self.pushes.breaker().wait_out().await;
    }

    /// Records that all calls of a batch succeeded.
    pub(super) fn succeeded(&self) {
        self.pushes.breaker().succeeded();
    }

    /// Compares the clocks before entries are compared by their times. If they differ too much, no
    /// connection is kept.
    ///
    /// # Errors
    ///
    /// If they differ too much, or the catalogue does not answer.
    pub(super) async fn check_clock(&self) -> Result<(), TierError> {
        let checked = self.pushes.check_clock().await;
        let links = match &checked {
            Err(TierError::Clock(..)) => &[&self.pushes, &self.lookups][..],
            Err(TierError::Timeout) => &[&self.pushes],
            _ => &[],
        };
        for link in links {
            if let Err(error) = &checked
                && link.is_connected()
            {
                link.give_up();
                link.breaker().failed(error);
            }
        }
        checked
    }

    /// What the catalogue has in place of these rows, and the removals of their keys.
    pub(super) async fn newest(&self, rows: &[RowKey]) -> Result<NewestTimes, TierError> {
        let open = self.pushes.client()?;
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.key.as_slice()).collect();
        let variants: Vec<&[u8]> = rows.iter().map(|row| row.variant.as_slice()).collect();
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&keys, Type::BYTEA_ARRAY), (&variants, Type::BYTEA_ARRAY)];
        let rows = self.pushes.call(open.client.query_typed(NEWEST, &values)).await?;
        let mut times = NewestTimes::default();
        for row in rows {
            let (Some(key), variant, time) =
                (digest(row.get(0)), row.get::<_, Option<&[u8]>>(1), row.get(2))
            else {
                continue;
            };
            match variant.map(digest) {
                None => drop(times.removed.insert(Key::from_bytes(key), time)),
                Some(Some(variant)) => drop(times.entries.insert(RowKey { key, variant }, time)),
                Some(None) => {}
            }
        }
        Ok(times)
    }

    /// Announces objects before they are written. If no row follows, they are removed later.
    pub(super) async fn announce(&self, objects: &[UnusedObject]) -> Result<(), TierError> {
        let open = self.pushes.client()?;
        let column = |value: fn(&UnusedObject) -> &[u8]| -> Vec<&[u8]> {
            objects.iter().map(value).collect()
        };
        let names = column(|object| object.object.as_slice());
        let keys = column(|object| object.row.key.as_slice());
        let variants = column(|object| object.row.variant.as_slice());
        let values: [(&(dyn ToSql + Sync), Type); 3] = [
            (&names, Type::BYTEA_ARRAY),
            (&keys, Type::BYTEA_ARRAY),
            (&variants, Type::BYTEA_ARRAY),
        ];
        self.pushes.call(open.client.execute_typed(ANNOUNCE, &values)).await.map(drop)
    }

    /// Adds a row with its words, unless the catalogue has a newer one.
    pub(super) async fn add(
        &self,
        row: &Row,
        text: Option<&EntryText>,
    ) -> Result<RowOutcome, TierError> {
        let open = self.pushes.client()?;
        let language = text.map(|text| search::configuration(text.language.as_deref()));
        let (title, words) = (text.map(|text| &text.title), text.map(|text| &text.text));
        let mut values = row.values().to_vec();
        values.push((&language, Type::TEXT));
        values.push((&title, Type::TEXT));
        values.push((&words, Type::TEXT));
        let rows = self.pushes.call(open.client.query_typed(ADD, &values)).await?;
        let outcome = rows.first().and_then(|row| row.try_get::<_, String>(0).ok());
        Ok(match outcome.as_deref() {
            Some("added") => RowOutcome::Added,
            Some("future") => RowOutcome::Future,
            _ => RowOutcome::NotNeeded,
        })
    }

    /// Removes the entries of a key that were stored until its removal.
    pub(super) async fn remove(&self, removal: &SharedRemoval) -> Result<(), TierError> {
        let open = self.pushes.client()?;
        let (key, at) = (removal.key.as_bytes().as_slice(), removal.at.as_microsecond());
        let values: [(&(dyn ToSql + Sync), Type); 2] = [(&key, Type::BYTEA), (&at, Type::INT8)];
        let query = "SELECT remove_entries($1, $2)";
        self.pushes.call(open.client.query_typed(query, &values)).await.map(drop)
    }

    /// The rows of a key, the newest first. Empty if the catalogue has none, or does not answer
    /// within [`LOOKUP_WITHIN`].
    pub(super) async fn find(&self, key: &Key, host: &str) -> Vec<FoundRow> {
        let Ok(open) = self.lookups.client() else { return Vec::new() };
        let client = &open.client;
        let is_known = self.hosts.has(host);
        // An answer from memory says nothing about the catalogue.
        if !is_known && !self.hosts.is_due() {
            return Vec::new();
        }
        let rows = self.lookups.look_up(LOOKUP_WITHIN, async {
            if !is_known && !self.hosts.refresh_for(client, host).await? {
                return Ok(Vec::new());
            }
            let key = key.as_bytes().as_slice();
            client.query_typed(FIND, &[(&key, Type::BYTEA), (&MAX_ROWS, Type::INT8)]).await
        });
        let rows = rows.await.unwrap_or_default();
        rows.iter().filter_map(FoundRow::read).collect()
    }

    /// Records that an object is missing or wrong, so that a node that has its entry adds it again.
    pub(super) async fn report_missing(&self, object: &[u8; 32], url: &str, is_wrong: bool) {
        let Ok(open) = self.pushes.client() else { return };
        let object = object.as_slice();
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&object, Type::BYTEA), (&url, Type::TEXT), (&is_wrong, Type::BOOL)];
        // Whoever finds it next tries again.
        let _reported = self.pushes.call(open.client.execute_typed(ADD_MISSING, &values)).await;
    }

    /// Makes a connection for one piece of upkeep. It ends when the result is dropped.
    pub(super) async fn connect(&self) -> Result<tokio_postgres::Client, TierError> {
        let NewClient { client, .. } = self.plan.connect().await?;
        Ok(client)
    }
}

pub(super) fn digest(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}

/// Sorts an error of PostgreSQL by its remedy.
pub(super) fn fault(error: &tokio_postgres::Error) -> TierError {
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
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_FUNCTION => {
            TierError::Schema(format!(
                "the schema \"wwwoffle\" in the database is damaged or foreign: {text}"
            ))
        }
        _ => TierError::Engine(text),
    }
}
