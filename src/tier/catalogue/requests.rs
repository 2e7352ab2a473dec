//! The queue that all nodes share: the tables `requests` and `waiting`.

use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use wwwoffle_spool::Key;

use super::{CatalogueClient, FIND, FoundRow, MAX_ROWS, digest};
use crate::tier::error::TierError;

/// The number of failures after which no node takes a request any more.
const MAX_ATTEMPTS: i32 = 3;

/// The pause after the first failure of a request, in seconds. Each further one is longer by this.
const AFTER_FAILURE: f64 = 600.0;

/// The largest number of answers that are read at once.
const MAX_ANSWERS: i64 = 256;

/// The channel on which changes are announced.
pub(super) const LISTEN: &str = "LISTEN wwwoffle_requests";

/// A later wish for the same key replaces the earlier one. The rows are sorted, so that two nodes
/// lock them in the same order.
const POST: &str = "\
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bigint[])
    AS w (key, url, fields, class, queued) ORDER BY key),
posted AS (
  INSERT INTO requests AS r (key, url, fields, class, queued)
    SELECT w.key, w.url, w.fields, w.class, w.queued FROM wanted AS w ORDER BY w.key
  ON CONFLICT (key) DO UPDATE SET queued = excluded.queued, fields = excluded.fields,
    class = excluded.class, added = clock_timestamp(), attempts = 0, error = NULL, answered = NULL,
    lease = CASE WHEN r.answered IS NULL THEN r.lease ELSE '-infinity' END
  WHERE r.queued < excluded.queued)
INSERT INTO waiting (key, node) SELECT w.key, $6 FROM wanted AS w ORDER BY w.key
ON CONFLICT DO NOTHING";

const NOTIFY: &str = "NOTIFY wwwoffle_requests";

const STORED: &str = "SELECT key, max(stored) FROM entries WHERE key = ANY($1) GROUP BY key";

const ANSWERS: &str = "\
SELECT r.key, r.answered, r.error FROM waiting AS w JOIN requests AS r USING (key)
WHERE w.node = $1 AND (r.answered IS NOT NULL OR r.error IS NOT NULL)
ORDER BY r.answered IS NULL, r.key LIMIT $2";

const WITHDRAW: &str = "\
WITH gone AS (DELETE FROM waiting WHERE node = $1 AND key = ANY($2))
DELETE FROM requests AS r WHERE r.key = ANY($2)
AND NOT EXISTS (SELECT FROM waiting AS w WHERE w.key = r.key AND w.node <> $1)";

const WITHDRAW_ALL: &str = "\
WITH gone AS (DELETE FROM waiting WHERE node = $1 RETURNING key)
DELETE FROM requests AS r USING gone AS g WHERE r.key = g.key
AND NOT EXISTS (SELECT FROM waiting AS w WHERE w.key = r.key AND w.node <> $1)";

const REOPEN: &str = "\
UPDATE requests SET answered = NULL, lease = '-infinity', node = NULL
WHERE key = $1 AND answered IS NOT NULL";

const TAKE: &str = "\
WITH next AS MATERIALIZED (
  SELECT key FROM requests WHERE answered IS NULL AND lease < clock_timestamp() AND attempts < $4
  AND key <> ALL($5)
  ORDER BY lease, added LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE requests AS r
SET node = $1, lease = clock_timestamp() + $2::double precision * interval '1 s'
FROM next AS n WHERE r.key = n.key
RETURNING r.key, r.url, r.fields, r.class, r.queued";

const RENEW: &str = "\
UPDATE requests SET lease = clock_timestamp() + $3::double precision * interval '1 s'
WHERE key = ANY($2) AND node = $1 AND answered IS NULL RETURNING key";

const CONFIRM: &str = "\
UPDATE requests AS r SET answered = r.queued, error = NULL WHERE r.key = $2 AND r.node = $1
AND r.answered IS NULL AND EXISTS (SELECT FROM entries AS e WHERE e.key = r.key)";

const GIVE_BACK: &str = "\
UPDATE requests SET node = NULL,
  lease = clock_timestamp() + CASE WHEN $3::text IS NULL THEN interval '0'
  ELSE (attempts + 1) * $4::double precision * interval '1 s' END,
  attempts = attempts + CASE WHEN $3::text IS NULL THEN 0 ELSE 1 END, error = coalesce($3, error)
WHERE key = $2 AND node = $1 AND answered IS NULL";

/// A request as the catalogue has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tier) struct RequestRow {
    pub(in crate::tier) key: [u8; 32],
    pub(in crate::tier) url: String,
    /// Field lines that select the response.
    pub(in crate::tier) fields: String,
    /// The type of a sub-resource.
    pub(in crate::tier) class: Option<String>,
    /// In microseconds since 1970.
    pub(in crate::tier) queued: i64,
}

/// What became of a request of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tier) struct AnswerRow {
    pub(in crate::tier) key: [u8; 32],
    /// Whether the catalogue has the response. If not, `error` says why the last attempt failed.
    pub(in crate::tier) is_answered: bool,
    pub(in crate::tier) error: Option<String>,
}

impl CatalogueClient {
    /// Waits until the shared queue may have changed. A change may be missed, so also look without
    /// one from time to time. Dropping the future has no effect.
    pub(in crate::tier) async fn requests_changed(&self) {
        self.plan.requests.notified().await;
    }

    /// Waits until the shared queue can be used: there is a connection, and no pause is left.
    /// Dropping the future has no effect.
    pub(in crate::tier) async fn wait_for_queue(&self) {
        self.pushes.wait_until_connected().await;
        self.queue.wait_out().await;
    }

    /// Executes a statement on the connection that no client waits for. Returns the number of rows.
    async fn change(
        &self,
        statement: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<u64, TierError> {
        let open = self.pushes.client()?;
        let call = open.client.execute_typed(statement, values);
        let done = self.pushes.call_beside(&self.queue, call).await?;
        self.queue.succeeded();
        Ok(done)
    }

    async fn query(
        &self,
        statement: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<tokio_postgres::Row>, TierError> {
        let open = self.pushes.client()?;
        let call = open.client.query_typed(statement, values);
        let rows = self.pushes.call_beside(&self.queue, call).await?;
        self.queue.succeeded();
        Ok(rows)
    }

    /// Adds requests of `node`, and announces them.
    pub(in crate::tier) async fn post(
        &self,
        node: &str,
        requests: &[RequestRow],
    ) -> Result<(), TierError> {
        let keys: Vec<&[u8]> = requests.iter().map(|one| one.key.as_slice()).collect();
        let urls: Vec<&str> = requests.iter().map(|one| one.url.as_str()).collect();
        let fields: Vec<&str> = requests.iter().map(|one| one.fields.as_str()).collect();
        let classes: Vec<Option<&str>> = requests.iter().map(|one| one.class.as_deref()).collect();
        let queued: Vec<i64> = requests.iter().map(|one| one.queued).collect();
        let values: [(&(dyn ToSql + Sync), Type); 6] = [
            (&keys, Type::BYTEA_ARRAY),
            (&urls, Type::TEXT_ARRAY),
            (&fields, Type::TEXT_ARRAY),
            (&classes, Type::TEXT_ARRAY),
            (&queued, Type::INT8_ARRAY),
            (&node, Type::TEXT),
        ];
        self.change(POST, &values).await?;
        self.change(NOTIFY, &[]).await.map(drop)
    }

    /// When the newest entries of these keys were stored, in microseconds since 1970.
    pub(in crate::tier) async fn stored(
        &self,
        keys: &[Key],
    ) -> Result<Vec<([u8; 32], i64)>, TierError> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
        let rows = self.query(STORED, &[(&keys, Type::BYTEA_ARRAY)]).await?;
        Ok(rows.iter().filter_map(|row| Some((digest(row.get(0))?, row.get(1)))).collect())
    }

    /// The requests of `node` that were answered, or whose last attempt failed.
    pub(in crate::tier) async fn answers(&self, node: &str) -> Result<Vec<AnswerRow>, TierError> {
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&node, Type::TEXT), (&MAX_ANSWERS, Type::INT8)];
        let rows = self.query(ANSWERS, &values).await?;
        let read = |row: &tokio_postgres::Row| {
            let is_answered = row.get::<_, Option<i64>>(1).is_some();
            Some(AnswerRow { key: digest(row.get(0))?, is_answered, error: row.try_get(2).ok()? })
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// The rows of a key, the newest first, for a request that no client waits for.
    pub(in crate::tier) async fn rows_of(&self, key: &Key) -> Result<Vec<FoundRow>, TierError> {
        let key = key.as_bytes().as_slice();
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&key, Type::BYTEA), (&MAX_ROWS, Type::INT8)];
        let rows = self.query(FIND, &values).await?;
        Ok(rows.iter().filter_map(FoundRow::read).collect())
    }

    /// Records that `node` does not wait any more. A request for which no node waits is removed.
    pub(in crate::tier) async fn withdraw(
        &self,
        node: &str,
        keys: &[Key],
    ) -> Result<(), TierError> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&node, Type::TEXT), (&keys, Type::BYTEA_ARRAY)];
        self.change(WITHDRAW, &values).await.map(drop)
    }

    /// Records that `node` waits for nothing.
    pub(in crate::tier) async fn withdraw_all(&self, node: &str) -> Result<(), TierError> {
        self.change(WITHDRAW_ALL, &[(&node, Type::TEXT)]).await.map(drop)
    }

    /// Makes an answered request wait again: its entry was removed since.
    pub(in crate::tier) async fn reopen(&self, key: &Key) -> Result<(), TierError> {
        let key = key.as_bytes().as_slice();
        self.change(REOPEN, &[(&key, Type::BYTEA)]).await?;
        self.change(NOTIFY, &[]).await.map(drop)
    }

    /// Takes at most `most` requests for `node`, which has them until the lease ends, but none of
    /// the keys in `except`.
    pub(in crate::tier) async fn take(
        &self,
        node: &str,
        lease: Duration,
        (most, except): (usize, &[Key]),
    ) -> Result<Vec<RequestRow>, TierError> {
        let (lease, most) = (lease.as_secs_f64(), i64::try_from(most).unwrap_or(i64::MAX));
        let except: Vec<&[u8]> = except.iter().map(|key| key.as_bytes().as_slice()).collect();
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&node, Type::TEXT),
            (&lease, Type::FLOAT8),
            (&most, Type::INT8),
            (&MAX_ATTEMPTS, Type::INT4),
            (&except, Type::BYTEA_ARRAY),
        ];
        let rows = self.query(TAKE, &values).await?;
        let read = |row: &tokio_postgres::Row| {
            let (key, url) = (digest(row.get(0))?, row.try_get(1).ok()?);
            let (fields, class) = (row.try_get(2).ok()?, row.try_get(3).ok()?);
            Some(RequestRow { key, url, fields, class, queued: row.get(4) })
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Renews the leases of `node`. Returns the keys that it still has: the others were answered,
    /// withdrawn, or taken by another node.
    pub(in crate::tier) async fn renew(
        &self,
        node: &str,
        keys: &[Key],
        lease: Duration,
    ) -> Result<Vec<Key>, TierError> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
        let lease = lease.as_secs_f64();
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&node, Type::TEXT), (&keys, Type::BYTEA_ARRAY), (&lease, Type::FLOAT8)];
        let rows = self.query(RENEW, &values).await?;
        Ok(rows.iter().filter_map(|row| digest(row.get(0)).map(Key::from_bytes)).collect())
    }

    /// Answers a request with the entry that the catalogue has: the origin has confirmed it.
    /// Returns false if it has none.
    pub(in crate::tier) async fn confirm(&self, node: &str, key: &Key) -> Result<bool, TierError> {
        let key = key.as_bytes().as_slice();
        let confirmed = self.change(CONFIRM, &[(&node, Type::TEXT), (&key, Type::BYTEA)]).await?;
        if confirmed > 0 {
            self.change(NOTIFY, &[]).await?;
        }
        Ok(confirmed > 0)
    }

    /// Lets other nodes take a request: at once, or after a pause if `error` says why it failed.
    pub(in crate::tier) async fn give_back(
        &self,
        node: &str,
        key: &Key,
        error: Option<&str>,
    ) -> Result<(), TierError> {
        let key = key.as_bytes().as_slice();
        let values: [(&(dyn ToSql + Sync), Type); 4] = [
            (&node, Type::TEXT),
            (&key, Type::BYTEA),
            (&error, Type::TEXT),
            (&AFTER_FAILURE, Type::FLOAT8),
        ];
        self.change(GIVE_BACK, &values).await?;
        self.change(NOTIFY, &[]).await.map(drop)
    }
}
