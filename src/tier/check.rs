//! Checks the catalogue and the object store against each other, a part at a time.
//!
//! One node at a time does this, with a lease in the catalogue. The table `checks` has the position
//! of each direction, so another node continues where one has stopped. A row whose object is
//! missing, or has another length, is listed in the table `missing`, and stays: a store that is
//! empty by mistake must not empty the catalogue. The next node that compares its entries with the
//! catalogue adds such an object again. An object that nothing names is listed in `strays`, and stays
//! too: the catalogue may be an older one that was restored, and the object the only copy.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tracing::{debug, warn};

use super::Tier;
use super::catalogue::{ADD_MISSING, digest, fault};
use super::error::TierError;
use crate::base::error_chain::error_chain;

/// The number of rows, and of objects, that are checked at once.
const CHECKED: i64 = 2_000;

/// The number of missing objects that are named in the log of one check.
const NAMED: usize = 5;

/// The pause after the object of each row.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the lease of checks, for much longer than one takes. A node that starts again has its own.
const LEASE: &str = "\
INSERT INTO leases AS l (work, node, until)
VALUES ('check', $1, clock_timestamp() + interval '30 min')
ON CONFLICT (work) DO UPDATE SET node = excluded.node, until = excluded.until
WHERE l.node = excluded.node OR l.until < clock_timestamp()";

const END_LEASE: &str = "DELETE FROM leases WHERE work = 'check' AND node = $1";

const POSITION: &str = "SELECT position FROM checks WHERE direction = $1";

const SET_POSITION: &str = "\
INSERT INTO checks (direction, position) VALUES ($1, $2)
ON CONFLICT (direction) DO UPDATE SET position = excluded.position, at = clock_timestamp()";

const ROWS: &str = "\
SELECT object, object_size, url, encode(key, 'hex') || encode(variant, 'hex')
FROM entries WHERE (key, variant) > (decode(left($1, 64), 'hex'), decode(right($1, 64), 'hex'))
ORDER BY key, variant LIMIT $2";

/// A length says nothing about an object that a reader has found to be wrong.
const FOUND: &str = "DELETE FROM missing WHERE object = $1 AND NOT is_wrong";

/// Objects whose rows are gone are not missing any more.
const FORGET_MISSING: &str = "\
DELETE FROM missing AS m WHERE object IN (SELECT object FROM missing ORDER BY random() LIMIT $1)
AND NOT EXISTS (SELECT FROM entries AS e WHERE e.object = m.object)";

const ADD_STRAYS: &str = "\
INSERT INTO strays (object) SELECT o FROM unnest($1::bytea[]) AS o
WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.object = o)
AND NOT EXISTS (SELECT FROM unused AS u WHERE u.object = o) ON CONFLICT DO NOTHING";

/// Objects that have a row now, or that an administrator has released, are no strays.
const FORGET_STRAYS: &str = "\
DELETE FROM strays AS s WHERE object IN (SELECT object FROM strays ORDER BY random() LIMIT $1)
AND (EXISTS (SELECT FROM entries AS e WHERE e.object = s.object)
  OR EXISTS (SELECT FROM unused AS u WHERE u.object = s.object))";

/// The position before all rows.
const NO_ROW: &str = "\
0000000000000000000000000000000000000000000000000000000000000000\
0000000000000000000000000000000000000000000000000000000000000000";

impl Tier {
    /// Checks the next rows and objects, unless another node does it now.
    pub(super) async fn check_some(&self) -> Result<(), TierError> {
        let client = self.catalogue.connect().await?;
        let node: [(&(dyn ToSql + Sync), Type); 1] = [(&self.queue.node_id, Type::TEXT)];
        if execute(&client, LEASE, &node).await? == 0 {
            debug!("another node checks the archive tier now");
            return Ok(());
        }
        let checked = self.check_both(&client).await;
        execute(&client, END_LEASE, &node).await?;
        checked
    }

    async fn check_both(&self, client: &Client) -> Result<(), TierError> {
        let most: [(&(dyn ToSql + Sync), Type); 1] = [(&CHECKED, Type::INT8)];
        execute(client, FORGET_MISSING, &most).await?;
        execute(client, FORGET_STRAYS, &most).await?;
        // First this, because it tells a bucket that does not exist from objects that are missing.
        self.check_objects(client).await?;
        self.check_rows(client).await
    }

    /// Looks for the objects of rows.
    async fn check_rows(&self, client: &Client) -> Result<(), TierError> {
        let from = position(client, "rows").await?;
        let is_position = from.len() == NO_ROW.len() && from.bytes().all(|b| b.is_ascii_hexdigit());
        let from = if is_position { &*from } else { NO_ROW };
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&from, Type::TEXT), (&CHECKED, Type::INT8)];
        let rows = client.query_typed(ROWS, &values).await.map_err(|error| fault(&error))?;
        let (mut missing, mut unclear) = (0, 0);
        for row in &rows {
            let (object, size, url): (&[u8], i64, &str) = (row.get(0), row.get(1), row.get(2));
            let Some(name) = digest(object) else { continue };
            let found = match self.objects.size(&name).await {
                Ok(found) => found,
                Err(error) if error.is_of_link() => return Err(error),
                // The store says nothing about this object. The others are looked at.
                Err(error) => {
                    unclear += 1;
                    debug!(url, error = error_chain(&error), "an object cannot be checked");
                    continue;
                }
            };
            if found.is_some_and(|found| i64::try_from(found) == Ok(size)) {
                execute(client, FOUND, &[(&object, Type::BYTEA)]).await?;
            } else {
                let values: [(&(dyn ToSql + Sync), Type); 3] =
                    [(&object, Type::BYTEA), (&url, Type::TEXT), (&false, Type::BOOL)];
                let added = execute(client, ADD_MISSING, &values).await?;
                if added > 0 && missing < NAMED {
                    let object = self.objects.name(&name);
                    warn!(
                        url,
                        object, "an object of the archive tier is missing, or has another length"
                    );
                }
                missing += 1;
            }
            tokio::time::sleep(PAUSE).await;
            if !self.may_maintain() {
                return Err(TierError::Offline);
            }
        }
        let is_end = i64::try_from(rows.len()).is_ok_and(|count| count < CHECKED);
        let next = rows.last().filter(|_| !is_end).map_or(String::new(), |row| row.get(3));
        set_position(client, "rows", &next).await?;
        if missing > 0 || unclear > 0 {
            warn!(
                checked = rows.len(),
                missing, unclear, "objects of the archive tier were checked"
            );
        }
        Ok(())
    }

    /// Looks for the rows of objects.
    async fn check_objects(&self, client: &Client) -> Result<(), TierError> {
        let from = position(client, "objects").await?;
        let (objects, next) = self.objects.list_after(&from, CHECKED).await?;
        let named: Vec<&[u8]> = objects.iter().map(<[u8; 32]>::as_slice).collect();
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&named, Type::BYTEA_ARRAY)];
        let strays = execute(client, ADD_STRAYS, &values).await?;
        if strays > 0 {
            warn!(
                strays,
                listed = objects.len(),
                "the catalogue of the archive tier has no rows for some objects; they stay"
            );
        }
        set_position(client, "objects", &next).await
    }
}

async fn position(client: &Client, direction: &str) -> Result<String, TierError> {
    let values: [(&(dyn ToSql + Sync), Type); 1] = [(&direction, Type::TEXT)];
    let row = client.query_typed(POSITION, &values).await.map_err(|error| fault(&error))?;
    Ok(row.first().map_or(String::new(), |row| row.get(0)))
}

async fn set_position(client: &Client, direction: &str, position: &str) -> Result<(), TierError> {
    execute(client, SET_POSITION, &[(&direction, Type::TEXT), (&position, Type::TEXT)]).await?;
    Ok(())
}

async fn execute(
    client: &Client,
    statement: &str,
    values: &[(&(dyn ToSql + Sync), Type)],
) -> Result<u64, TierError> {
    client.execute_typed(statement, values).await.map_err(|error| fault(&error))
}
