//! The schema of the catalogue. Migrations go forward only.
//!
//! All tables are in the schema `wwwoffle` of the database. `meta` has one row with the version.
//! A node that may write creates or migrates the schema under a lock. A node with an older program
//! leaves the catalogue alone.
//!
//! ```text
//! entries   the newest entry of each place
//! removed   the keys that a person has removed: older entries stay out
//! hosts     the hosts that have entries
//! unused    objects without a row: announced before they are written, or replaced. Removed later
//! requests  what nodes without a connection want
//! waiting   the nodes that wait for the response to each of them
//! checks    how far the check of rows and objects is
//! missing   objects of rows that the store lacks
//! texts     the words of pages
//! strays    objects that nothing names
//! leases    which node does a part of the upkeep
//! ```

use tokio_postgres::Client;
use tracing::info;
use wwwoffle_config::TierRole;

use super::fault;
use crate::tier::error::TierError;

/// The migrations. The version of the schema is the number of those that were applied. Never change
/// one that was released; add another.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
];

/// The number of the advisory lock of migrations: \"wwwoffle\" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'777777'::integer, x'6f66666c'::integer)";

/// Whether there is the table `meta`, and any table.
const TABLES: &str = "\
SELECT coalesce(bool_or(tablename = 'meta'), false), count(*) > 0
FROM pg_tables WHERE schemaname = 'wwwoffle'";

/// Begins a migration. It may take longer than other statements.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0";

/// Checks the schema. Returns the identity of the catalogue; `None` if [`create`] must create or
/// migrate the schema first, which `role` permits.
pub(super) async fn check(client: &Client, role: TierRole) -> Result<Option<String>, TierError> {
    if is_current(version(client).await?)? {
        return identity(client).await.map(Some);
    }
    if role == TierRole::ReadOnly {
        return Err(TierError::Schema(
            "the catalogue has no schema of this version yet, and this node only reads; start a \
             node that may write"
                .to_owned(),
        ));
    }
    Ok(None)
}

/// Creates or migrates the schema. Returns the identity of the catalogue. This may take long.
pub(super) async fn create(client: &Client) -> Result<String, TierError> {
    migrate(client).await?;
    identity(client).await
}

/// Whether the schema has the version that this program knows.
///
/// # Errors
///
/// If it has a later version.
fn is_current(version: Option<usize>) -> Result<bool, TierError> {
    let known = MIGRATIONS.len();
    match version {
        Some(version) if version > known => Err(TierError::Schema(format!(
            "the catalogue has version {version} of the schema, and this program knows only \
             {known}; update wwwoffle on this node"
        ))),
        version => Ok(version == Some(known)),
    }
}

async fn identity(client: &Client) -> Result<String, TierError> {
    let row = client.query_one("SELECT id::text FROM wwwoffle.meta", &[]).await;
    row.and_then(|row| row.try_get(0)).map_err(|error| fault(&error))
}

/// The version of the schema. `None` if there is none.
async fn version(client: &Client) -> Result<Option<usize>, TierError> {
    // One statement sees the state at one time, although another node may be migrating.
    let tables = client.query_one(TABLES, &[]).await.map_err(|error| fault(&error))?;
    match (tables.get(0), tables.get(1)) {
        (true, _) => {}
        (false, true) => return Err(foreign()),
        (false, false) => return Ok(None),
    }
    let read = client.query_one("SELECT version FROM wwwoffle.meta", &[]).await;
    let version: i32 = read.map_err(|error| not_ours(&error))?.try_get(0).map_err(|_| foreign())?;
    usize::try_from(version).map(Some).map_err(|_| foreign())
}

async fn has(client: &Client, condition: &str) -> Result<bool, TierError> {
    let found = client.query_one(&format!("SELECT {condition}"), &[]).await;
    found.and_then(|row| row.try_get(0)).map_err(|error| fault(&error))
}

/// The reason why the version cannot be read. Only another table of this name is foreign: a right may
/// be missing, or the connection may have ended.
fn not_ours(error: &tokio_postgres::Error) -> TierError {
    match fault(error) {
        TierError::Schema(_) => foreign(),
        other => other,
    }
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
    run(client, BEGIN).await?;
    run(client, LOCK).await?;
    // Another node may have migrated while this one waited, perhaps further.
    let version = version(client).await?;
    if is_current(version)? {
        return Ok(());
    }
    // Creating a schema needs a right that the owner of an existing one may lack.
    if !has(client, "to_regnamespace('wwwoffle') IS NOT NULL").await? {
        run(client, "CREATE SCHEMA wwwoffle").await?;
    }
    let (from, known) = (version.unwrap_or_default(), MIGRATIONS.len());
    for migration in MIGRATIONS.iter().skip(from) {
        run(client, migration).await?;
    }
    run(client, &format!("UPDATE wwwoffle.meta SET version = {known}")).await?;
    info!(from, to = known, "the schema of the archive tier was migrated");
    Ok(())
}

async fn run(client: &Client, statement: &str) -> Result<(), TierError> {
    client.batch_execute(statement).await.map_err(|error| fault(&error))
}
