//! Removes objects that no row names: those of replaced and removed entries, and those whose row
//! never followed.
//!
//! A reader may have found a row just before it was replaced. So an object stays for
//! [`UNUSED_FOR`], and only then is it removed. One node at a time does this, under a lock of the
//! catalogue. Whoever pushes an object announces it again first, and waits for the row that this
//! transaction has locked. So no object is removed while a row for it is on its way.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tracing::{debug, info, warn};
use wwwoffle_config::AgeLimit;

use super::Tier;
use super::catalogue::{digest, fault};
use super::error::TierError;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::storage::store::timestamp;

/// The interval at which unused objects are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);

/// The interval at which is asked whether the engines may be used.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// The time for which an unused object stays, in seconds.
const UNUSED_FOR: i64 = 24 * 60 * 60;

/// The number of objects that are removed in one transaction.
const AT_ONCE: i64 = 20;

/// The number of entries that expire in one statement.
const EXPIRED_AT_ONCE: i64 = 1_000;

/// The time for which a request is kept, in seconds.
const WANTED_FOR: i64 = 30 * 24 * 60 * 60;

/// The time for which a removal keeps older entries out, in seconds.
const REMOVED_FOR: i64 = 400 * 24 * 60 * 60;

/// The advisory lock of upkeep: \"wwwoffle\" in ASCII, and one more.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(x'777777'::integer, x'6f66666d'::integer)";

/// Objects that have a row need no removal: their row was added, but they were announced again.
const FORGET_USED: &str = "\
DELETE FROM unused AS u WHERE u.since < clock_timestamp() - $1::bigint * interval '1 s' AND EXISTS (
  SELECT FROM entries AS e WHERE e.object = u.object)";

const CHOOSE: &str = "\
SELECT u.object FROM unused AS u WHERE u.since < clock_timestamp() - $1::bigint * interval '1 s'
ORDER BY u.since LIMIT $2 FOR UPDATE";

/// Removes the oldest entries up to a time. Their objects are removed later.
const EXPIRE: &str = "\
WITH old AS (
  DELETE FROM entries WHERE (key, variant) IN (
    SELECT key, variant FROM entries WHERE stored < $1 ORDER BY stored LIMIT $2)
  AND stored < $1 RETURNING object, key, variant)
INSERT INTO unused (object, key, variant)
SELECT DISTINCT ON (object) object, key, variant FROM old
ON CONFLICT (object) DO UPDATE SET since = clock_timestamp()";

/// A node that still waits gives its request away again.
const FORGET_REQUESTS: &str = "\
WITH old AS (
  DELETE FROM requests WHERE added < clock_timestamp() - $1::bigint * interval '1 s' RETURNING key)
DELETE FROM waiting AS w USING old AS o WHERE w.key = o.key";

const FORGET: &str = "DELETE FROM unused WHERE object = ANY($1)";

const FORGET_REMOVED: &str = "\
DELETE FROM removed WHERE key IN (SELECT key FROM removed
  WHERE at < ((extract(epoch FROM clock_timestamp()) - $1::bigint) * 1000000)::bigint LIMIT $2)";

/// An object that the store does not remove is tried again when its time has passed again.
const POSTPONE: &str = "UPDATE unused SET since = clock_timestamp() WHERE object = ANY($1)";

impl Tier {
    /// Removes unused objects until the daemon stops.
    pub(super) async fn maintain_until_stop(self: Arc<Self>) {
        tokio::select! {
            () = self.net.base.tasks.stopping() => {}
            () = self.maintain() => {}
        }
    }

    async fn maintain(&self) {
        loop {
            self.catalogue.wait_until_ready().await;
            if !self.may_maintain() {
                tokio::time::sleep(ASK_EVERY).await;
                continue;
            }
            if let Err(error) = self.remove_unused().await {
                debug!(error = error_chain(&error), "unused objects are removed later");
            }
            if let Err(error) = self.check_some().await {
                debug!(error = error_chain(&error), "the archive tier is checked later");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether the engines may be used for work that can wait.
    pub(super) fn may_maintain(&self) -> bool {
        self.permission.is_granted() && !self.permission.is_metered()
    }

    async fn remove_unused(&self) -> Result<(), TierError> {
        let client = self.catalogue.connect().await?;
        self.expire(&client).await?;
        let (mut removed, mut refused) = (0_usize, 0_usize);
        loop {
            run(&client, "BEGIN").await?;
            // A connection that ends with the transaction open rolls it back.
            let done = self.remove_some(&client).await?;
            run(&client, "COMMIT").await?;
            if done.removed + done.refused == 0 {
                break;
            }
            removed += done.removed;
            refused += done.refused;
        }
        if removed > 0 {
            info!(removed, "removed unused objects from the archive tier");
        }
        if refused > 0 {
            warn!(refused, "the object store does not remove some unused objects");
        }
        Ok(())
    }

    /// Removes the entries that are older than `expire`, and old requests.
    async fn expire(&self, client: &Client) -> Result<(), TierError> {
        let age: [(&(dyn ToSql + Sync), Type); 1] = [(&WANTED_FOR, Type::INT8)];
        client.execute_typed(FORGET_REQUESTS, &age).await.map_err(|error| fault(&error))?;
        let AgeLimit::At(age) = self.net.base.config().tier.expire else { return Ok(()) };
        let age = i64::try_from(age.as_duration().as_micros()).unwrap_or(i64::MAX);
        let before = timestamp(clock::now()).as_microsecond().saturating_sub(age);
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&before, Type::INT8), (&EXPIRED_AT_ONCE, Type::INT8)];
        let mut expired = 0;
        loop {
            let done = client.execute_typed(EXPIRE, &values).await;
            let done = done.map_err(|error| fault(&error))?;
            expired += done;
            if i64::try_from(done).is_ok_and(|done| done < EXPIRED_AT_ONCE) {
                break;
            }
        }
        if expired > 0 {
            info!(expired, "removed expired entries from the archive tier");
        }
        Ok(())
    }

    /// Removes some unused objects. Does nothing if another node does it.
    async fn remove_some(&self, client: &Client) -> Result<RemovedObjects, TierError> {
        let is_ours = client.query_one(LOCK, &[]).await.map_err(|error| fault(&error))?;
        if !is_ours.get::<_, bool>(0) {
            return Ok(RemovedObjects::default());
        }
        let age: [(&(dyn ToSql + Sync), Type); 1] = [(&UNUSED_FOR, Type::INT8)];
        let age_of_removal: [(&(dyn ToSql + Sync), Type); 2] =
            [(&REMOVED_FOR, Type::INT8), (&EXPIRED_AT_ONCE, Type::INT8)];
        let forgotten = client.execute_typed(FORGET_REMOVED, &age_of_removal).await;
        forgotten.map_err(|error| fault(&error))?;
        client.execute_typed(FORGET_USED, &age).await.map_err(|error| fault(&error))?;
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&UNUSED_FOR, Type::INT8), (&AT_ONCE, Type::INT8)];
        let rows = client.query_typed(CHOOSE, &values).await.map_err(|error| fault(&error))?;
        let (mut removed, mut refused) = (Vec::new(), Vec::new());
        for object in rows.iter().filter_map(|row| digest(row.get(0))) {
            match self.objects.delete(&object).await {
                Ok(()) => removed.push(object),
                Err(error) if error.is_of_link() => return Err(error),
                Err(error) => {
                    let object_name = self.objects.name(&object);
                    debug!(object_name, error = error_chain(&error), "an object is not removed");
                    refused.push(object);
                }
            }
        }
        for (statement, objects) in [(FORGET, &removed), (POSTPONE, &refused)] {
            let named: Vec<&[u8]> = objects.iter().map(<[u8; 32]>::as_slice).collect();
            let values: [(&(dyn ToSql + Sync), Type); 1] = [(&named, Type::BYTEA_ARRAY)];
            client.execute_typed(statement, &values).await.map_err(|error| fault(&error))?;
        }
        Ok(RemovedObjects { removed: removed.len(), refused: refused.len() })
    }
}

/// The numbers of unused objects that were removed, and that the store did not remove.
#[derive(Clone, Copy, Debug, Default)]
struct RemovedObjects {
    removed: usize,
    refused: usize,
}

async fn run(client: &Client, statement: &str) -> Result<(), TierError> {
    client.batch_execute(statement).await.map_err(|error| fault(&error))
}
