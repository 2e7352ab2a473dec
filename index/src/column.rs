//! How the database columns represent keys, variants, digests, hosts and owners.

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};
use wwwoffle_spool::Place;

use crate::error::Result;

/// The digest that identifies a variant among the entries of a key; empty if the response does not
/// vary.
pub(crate) fn variant_name(place: &Place) -> Vec<u8> {
    match place.variant_text() {
        "" => Vec::new(),
        text => Sha256::digest(text).to_vec(),
    }
}

/// The first eight bytes of a hash, as a number.
pub(crate) fn first_of(hash: &[u8; 32]) -> i64 {
    hash.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

/// Converts an unsigned number to a signed integer of SQLite. A number that is too large becomes
/// the largest integer.
pub(crate) fn narrow(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The id of the host with this name and scheme. `None` if the index has no such host.
pub(crate) fn host_id(connection: &Connection, scheme: &str, name: &str) -> Result<Option<i64>> {
    let mut find =
        connection.prepare_cached("SELECT id FROM hosts WHERE name = ?1 AND scheme = ?2")?;
    Ok(find.query_row((name, scheme), |row| row.get(0)).optional()?)
}

/// The id of the owner with this name. `None` if the index has no such owner.
pub(crate) fn owner_id(connection: &Connection, name: &str) -> Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT id FROM owners WHERE name = ?1")?;
    Ok(find.query_row([name], |row| row.get(0)).optional()?)
}

/// The first `count` key prefixes of a list of references.
pub(crate) fn prefixes(targets: &[u8], count: i64) -> impl Iterator<Item = i64> {
    let count = usize::try_from(count).unwrap_or_default();
    targets.as_chunks().0.iter().take(count).map(|target| i64::from_le_bytes(*target))
}
