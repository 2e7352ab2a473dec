//! Checks the catalogue and the object store against each other, a part at a time.
//!
//! One node at a time does this, under a lock of the catalogue. The table `checks` has the position
//! of each direction, so another node continues where one has stopped. A row whose object is
//! missing, or has another length, is listed in the table `missing`, and stays: a store that is
//! empty by mistake must not empty the catalogue. The next node that compares its entries with the
//! catalogue adds such an object again. An object without a row is listed in `unused`, so that
//! upkeep removes it a day later; but not if most objects lack a row, because then the catalogue is
//! a new or another one.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tracing::{info, warn};

use super::Tier;
use super::catalogue::{digest, fault};
use super::error::TierError;

/// The number of rows, and of objects, that are checked at once.
const CHECKED: i64 = 2_000;

/// The pause after the object of each row.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of checks: \"wwwoffle\" in ASCII, and two more. It ends with the connection.
const LOCK: &str = "SELECT pg_try_advisory_lock(x'777777'::integer, x'6f66666e'::integer)";

const POSITION: &str = "SELECT position FROM checks WHERE direction = $1";

const SET_POSITION: &str = "\
INSERT INTO checks (direction, position) VALUES ($1, $2)
ON CONFLICT (direction) DO UPDATE SET position = excluded.position, at = clock_timestamp()";

const ROWS: &str = "\
SELECT object, object_size, url, encode(key, 'hex') || encode(variant, 'hex')
FROM entries WHERE (key, variant) > (decode(left($1, 64), 'hex'), decode(right($1, 64), 'hex'))
ORDER BY key, variant LIMIT $2";

const MISSING: &str = "INSERT INTO missing (object, url) VALUES ($1, $2) ON CONFLICT DO NOTHING";

const FOUND: &str = "DELETE FROM missing WHERE object = $1";

/// Objects whose rows are gone are not missing any more.
const FORGET: &str = "\
DELETE FROM missing AS m
WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.object = m.object)";

/// The number of objects that neither a row nor the list of unused objects names.
const LACKING: &str = "\
SELECT count(*) FROM unnest($1::bytea[]) AS o
WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.object = o)
AND NOT EXISTS (SELECT FROM unused AS u WHERE u.object = o)";

const WITHOUT_ROW: &str = "\
INSERT INTO unused (object, key, variant)
SELECT o, ''::bytea, ''::bytea FROM unnest($1::bytea[]) AS o
WHERE NOT EXISTS (SELECT FROM entries AS e WHERE e.object = o) ON CONFLICT DO NOTHING";

/// The position before all rows.
const NO_ROW: &str = "\
0000000000000000000000000000000000000000000000000000000000000000\
0000000000000000000000000000000000000000000000000000000000000000";

/// A row may have been added while its object was being listed.
const WITH_ROW: &str = "\
DELETE FROM unused AS u USING entries AS e
WHERE u.object = ANY($1) AND u.key = ''::bytea AND e.object = u.object";

impl Tier {
    /// Checks the next rows and objects, unless another node does it now.
    pub(super) async fn check_some(&self) -> Result<(), TierError> {
        let client = self.catalogue.connect().await?;
        let is_ours = client.query_one(LOCK, &[]).await.map_err(|error| fault(&error))?;
        if !is_ours.get::<_, bool>(0) {
            return Ok(());
        }
        execute(&client, FORGET, &[]).await?;
        let rows = self.check_rows(&client).await;
        self.check_objects(&client).await?;
        rows
    }

    /// Looks for the objects of rows.
    async fn check_rows(&self, client: &Client) -> Result<(), TierError> {
        let from = position(client, "rows").await?;
        let is_position = from.len() == NO_ROW.len() && from.bytes().all(|b| b.is_ascii_hexdigit());
        let from = if is_position { &*from } else { NO_ROW };
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&from, Type::TEXT), (&CHECKED, Type::INT8)];
        let rows = client.query_typed(ROWS, &values).await.map_err(|error| fault(&error))?;
        let mut missing = 0;
        for row in &rows {
            let (object, size, url): (&[u8], i64, &str) = (row.get(0), row.get(1), row.get(2));
            let Some(name) = digest(object) else { continue };
            let found = self.objects.size(&name).await?;
            if found.is_some_and(|found| i64::try_from(found) == Ok(size)) {
                execute(client, FOUND, &[(&object, Type::BYTEA)]).await?;
            } else {
                let added =
                    execute(client, MISSING, &[(&object, Type::BYTEA), (&url, Type::TEXT)]).await?;
                if added > 0 {
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
        if missing > 0 {
            info!(checked = rows.len(), missing, "rows of the archive tier were checked");
        }
        Ok(())
    }

    /// Looks for the rows of objects.
    async fn check_objects(&self, client: &Client) -> Result<(), TierError> {
        let from = position(client, "objects").await?;
        let (objects, next) = self.objects.list_after(&from, CHECKED).await?;
        let named: Vec<&[u8]> = objects.iter().map(<[u8; 32]>::as_slice).collect();
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&named, Type::BYTEA_ARRAY)];
        let lacking = client.query_typed(LACKING, &values).await.map_err(|error| fault(&error))?;
        let lacking = lacking.first().map_or(0, |row| row.get::<_, i64>(0));
        if usize::try_from(lacking).unwrap_or_default() * 2 > objects.len() {
            // The objects may belong to another catalogue, or to one that was restored.
            warn!(
                lacking,
                listed = objects.len(),
                "the catalogue of the archive tier lacks the rows of most objects; they stay"
            );
            return set_position(client, "objects", &next).await;
        }
        let listed = execute(client, WITHOUT_ROW, &values).await?;
        let unused = listed.saturating_sub(execute(client, WITH_ROW, &values).await?);
        if unused > 0 {
            info!(unused, "objects without a row in the archive tier will be removed in a day");
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
