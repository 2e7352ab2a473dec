//! The schema of the catalogue. Migrations go forward only.
//!
//! All tables are in the schema `wwwoffle` of the database. `meta` has one row with the version.
//! A node that may write creates or migrates the schema under a lock. A node with an older program
//! leaves the catalogue alone.

use tokio_postgres::Client;
use tracing::info;
use wwwoffle_config::TierRole;

use super::fault;
use crate::tier::error::TierError;

/// The migrations. The version of the schema is the number of those that were applied. Never change
/// one that was released; add another.
const MIGRATIONS: &[&str] = &["\
CREATE TABLE wwwoffle.meta (version integer NOT NULL);
INSERT INTO wwwoffle.meta VALUES (0);
CREATE TABLE wwwoffle.entries (
  key bytea NOT NULL CHECK (octet_length(key) = 32),
  variant bytea NOT NULL CHECK (octet_length(variant) = 32),
  url text NOT NULL,
  varies text NOT NULL,
  stored bigint NOT NULL,
  status smallint NOT NULL,
  media text NOT NULL,
  title text,
  size bigint NOT NULL,
  object bytea NOT NULL CHECK (octet_length(object) = 32),
  object_size bigint NOT NULL,
  node text NOT NULL,
  PRIMARY KEY (key, variant));
CREATE TABLE wwwoffle.hosts (
  host text PRIMARY KEY,
  added timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX hosts_added ON wwwoffle.hosts (added);
CREATE TABLE wwwoffle.replaced (
  object bytea PRIMARY KEY,
  key bytea NOT NULL,
  variant bytea NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX replaced_since ON wwwoffle.replaced (since);
"];

/// The number of the advisory lock of migrations: \"wwwoffle\" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'777777'::integer, x'6f66666c'::integer)";

/// Checks the schema, and creates or migrates it if `role` permits.
pub(super) async fn prepare(client: &Client, role: TierRole) -> Result<(), TierError> {
    let version = version(client).await?;
    let known = MIGRATIONS.len();
    match version {
        Some(version) if version == known => Ok(()),
        Some(version) if version > known => Err(TierError::Schema(format!(
            "the catalogue has version {version} of the schema, and this program knows only \
             {known}; update wwwoffle on this node"
        ))),
        _ if role == TierRole::ReadOnly => Err(TierError::Schema(
            "the catalogue has no schema of this version yet, and this node only reads; start a \
             node that may write"
                .to_owned(),
        )),
        _ => migrate(client).await,
    }
}

/// The version of the schema. `None` if there is none.
async fn version(client: &Client) -> Result<Option<usize>, TierError> {
    let found = client
        .query_one(
            "SELECT to_regnamespace('wwwoffle') IS NOT NULL, to_regclass('wwwoffle.meta') IS NOT NULL",
            &[],
        )
        .await
        .map_err(|error| fault(&error))?;
    let (has_schema, has_meta): (bool, bool) = (found.get(0), found.get(1));
    if !has_meta {
        let is_foreign = has_schema && has_tables(client).await?;
        return if is_foreign { Err(foreign()) } else { Ok(None) };
    }
    let version = client.query_one("SELECT version FROM wwwoffle.meta", &[]).await;
    let version: i32 = version.map_err(|_| foreign())?.try_get(0).map_err(|_| foreign())?;
    usize::try_from(version).map(Some).map_err(|_| foreign())
}

async fn has_tables(client: &Client) -> Result<bool, TierError> {
    let query = "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'wwwoffle')";
    let found = client.query_one(query, &[]).await.map_err(|error| fault(&error))?;
    Ok(found.get(0))
}

fn foreign() -> TierError {
    TierError::Schema(
        "the schema \"wwwoffle\" in the database belongs to another program; use another database"
            .to_owned(),
    )
}

/// Applies the missing migrations in one transaction.
async fn migrate(client: &Client) -> Result<(), TierError> {
    let done = migrate_locked(client).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    client.batch_execute(end).await.map_err(|error| fault(&error))?;
    done
}

async fn migrate_locked(client: &Client) -> Result<(), TierError> {
    client
        .batch_execute(&format!("BEGIN; {LOCK}; CREATE SCHEMA IF NOT EXISTS wwwoffle"))
        .await
        .map_err(|error| fault(&error))?;
    // Another node may have migrated while this one waited.
    let from = version(client).await?.unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(from) {
        client.batch_execute(migration).await.map_err(|error| fault(&error))?;
    }
    let known = MIGRATIONS.len();
    if from < known {
        let record = format!("UPDATE wwwoffle.meta SET version = {known}");
        client.batch_execute(&record).await.map_err(|error| fault(&error))?;
        info!(from, to = known, "the schema of the archive tier was migrated");
    }
    Ok(())
}
