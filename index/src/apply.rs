//! Changing what the index says: each function a part of a transaction of the one writer.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use wwwoffle_spool::{Key, Place, Summary, Timestamp};

use crate::class::{Class, essence};
use crate::describe::{Description, MAX_REFERENCES};
use crate::error::Result;
use crate::facts::Facts;
use crate::fold;
use crate::item::Words;
use crate::name::{HostName, split};

/// As many types are told apart; the others count as none.
const MAX_TYPES: i64 = 1_000;

/// An entry that was found in the spool.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) summary: Summary,
    pub(crate) versions: usize,
    /// When it was used last, if somebody knows.
    pub(crate) used: Option<Timestamp>,
}

/// What the index has under a key.
struct Known {
    id: i64,
    variant: Vec<u8>,
    stored: i64,
    digest: [u8; 32],
    file: i64,
    used: i64,
    text: i64,
}

/// Makes what the index says of a key what was found there.
pub(crate) fn set_key(connection: &Connection, place: &Place, found: &[Found]) -> Result<()> {
    let (scheme, host, _) = split(place.url());
    let mut known = known(connection, &place.key())?;
    if found.is_empty() && known.is_empty() {
        return Ok(());
    }
    let host = host_number(connection, scheme, host)?;
    for found in found {
        let variant = variant_name(&found.summary.place);
        match known.iter().position(|known| known.variant == variant) {
            Some(at) => change(connection, host, &known.swap_remove(at), found)?,
            None => insert(connection, host, found)?,
        }
    }
    for gone in known {
        remove(connection, gone.id)?;
    }
    Ok(())
}

fn known(connection: &Connection, key: &Key) -> Result<Vec<Known>> {
    let mut find = connection.prepare_cached(
        "SELECT id, variant, stored, digest, file, used, text FROM entries WHERE key = ?1",
    )?;
    let rows = find.query_map([key.as_bytes()], |row| {
        Ok(Known {
            id: row.get(0)?,
            variant: row.get(1)?,
            stored: row.get(2)?,
            digest: row.get(3)?,
            file: row.get(4)?,
            used: row.get(5)?,
            text: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What tells an entry from the others of its key; nothing for one that varies with nothing.
pub(crate) fn variant_name(place: &Place) -> Vec<u8> {
    match place.variant_text() {
        "" => Vec::new(),
        text => Sha256::digest(text).to_vec(),
    }
}

/// The values of an entry that a look at its file tells.
struct Values {
    owner: i64,
    kind: i64,
    class: Class,
    facts: Facts,
    body: i64,
    file: i64,
    sum: i64,
}

fn values(connection: &Connection, host: i64, summary: &Summary) -> Result<Values> {
    let place = &summary.place;
    let (kind, class) = type_number(connection, &essence(summary.content_type.as_deref()))?;
    let owner = place.owner().map_or(Ok(0), |name| owner_number(connection, name))?;
    let (scheme, ..) = split(place.url());
    Ok(Values {
        owner,
        kind,
        class,
        facts: Facts::new(host, scheme, summary.status, class, owner != 0),
        body: narrow(summary.body_len),
        file: narrow(summary.file_len),
        sum: first_of(&summary.digest),
    })
}

/// Adds an entry.
fn insert(connection: &Connection, host: i64, found: &Found) -> Result<()> {
    let owner = insert_uncounted(connection, host, found)?;
    count(connection, host, owner, 1, narrow(found.summary.file_len))
}

/// The same where all are counted when they are there. Returns the number of its owner.
pub(crate) fn insert_uncounted(connection: &Connection, host: i64, found: &Found) -> Result<i64> {
    let Found { summary, versions, used } = found;
    let (place, values) = (&summary.place, values(connection, host, summary)?);
    let (_, _, path) = split(place.url());
    let used = used.unwrap_or(summary.stored).max(summary.stored);
    let mut add = connection.prepare_cached(
        "INSERT INTO entries (key, variant, vary, plain, host, path, owner, type, status, body, file, \
         digest, sum, answered, stored, checked, used, versions, text, facts) VALUES (?1, ?2, ?3, ?4, \
         ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?;
    add.execute(params![
        place.key().as_bytes(),
        variant_name(place),
        place.variant_text(),
        place.follows_from_url(),
        host,
        path,
        values.owner,
        values.kind,
        summary.status,
        values.body,
        values.file,
        summary.digest,
        values.sum,
        summary.when.as_microsecond(),
        summary.stored.as_microsecond(),
        summary.checked.as_microsecond(),
        used.as_microsecond(),
        i64::try_from(*versions).unwrap_or(i64::MAX),
        words_of(values.class).number(),
        values.facts.0,
    ])?;
    Ok(values.owner)
}

fn change(connection: &Connection, host: i64, known: &Known, found: &Found) -> Result<()> {
    let Found { summary, versions, used } = found;
    let values = values(connection, host, summary)?;
    let is_same = known.stored == summary.stored.as_microsecond() && known.digest == summary.digest;
    let used = used.unwrap_or(summary.stored).max(summary.stored).as_microsecond().max(known.used);
    let words = if is_same { known.text } else { words_of(values.class).number() };
    if !is_same {
        forget_words(connection, known.id)?;
    }
    let mut set = connection.prepare_cached(
        "UPDATE entries SET type = ?2, status = ?3, body = ?4, file = ?5, digest = ?6, sum = ?7, \
         answered = ?8, stored = ?9, checked = ?10, used = ?11, versions = ?12, text = ?13, facts = ?14, \
         title = iif(?15, title, NULL), language = iif(?15, language, NULL) WHERE id = ?1",
    )?;
    set.execute(params![
        known.id,
        values.kind,
        summary.status,
        values.body,
        values.file,
        summary.digest,
        values.sum,
        summary.when.as_microsecond(),
        summary.stored.as_microsecond(),
        summary.checked.as_microsecond(),
        used,
        i64::try_from(*versions).unwrap_or(i64::MAX),
        words,
        values.facts.0,
        is_same,
    ])?;
    count(connection, host, values.owner, 0, values.file - known.file)
}

fn words_of(class: Class) -> Words {
    if class.has_words() { Words::NotYet } else { Words::None }
}

/// Removes an entry, and all that is known of it.
pub(crate) fn remove(connection: &Connection, id: i64) -> Result<()> {
    let mut find =
        connection.prepare_cached("SELECT host, owner, file FROM entries WHERE id = ?1")?;
    let found = find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)));
    let Some((host, owner, file)) = found.optional()? else { return Ok(()) };
    forget_words(connection, id)?;
    connection.prepare_cached("DELETE FROM entries WHERE id = ?1")?.execute([id])?;
    count(connection, host, owner, -1, -file)
}

/// Adds to what is counted of a host; a host of which nothing is left goes.
fn count(connection: &Connection, host: i64, owner: i64, entries: i64, bytes: i64) -> Result<()> {
    if (entries, bytes) == (0, 0) {
        return Ok(());
    }
    let mut add = connection.prepare_cached(
        "INSERT INTO counts VALUES (?1, ?2, ?3, ?4) ON CONFLICT (host, owner) DO UPDATE SET \
         entries = entries + excluded.entries, bytes = bytes + excluded.bytes",
    )?;
    add.execute((host, owner, entries, bytes))?;
    if entries < 0 {
        let gone = connection
            .prepare_cached("DELETE FROM counts WHERE host = ?1 AND owner = ?2 AND entries <= 0")?
            .execute((host, owner))?;
        if gone > 0 {
            connection
                .prepare_cached(
                    "DELETE FROM hosts WHERE id = ?1 \
                     AND NOT EXISTS (SELECT 1 FROM counts WHERE host = ?1)",
                )?
                .execute([host])?;
        }
    }
    Ok(())
}

/// Forgets a host of which nothing is left.
pub(crate) fn drop_host(connection: &Connection, host: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM counts WHERE host = ?1")?.execute([host])?;
    connection.prepare_cached("DELETE FROM hosts WHERE id = ?1")?.execute([host])?;
    Ok(())
}

/// Counts all hosts anew.
pub(crate) fn count_all(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "DELETE FROM counts; INSERT INTO counts \
         SELECT host, owner, count(*), sum(file) FROM entries GROUP BY host, owner",
    )?;
    Ok(())
}

/// Says what an entry says, and to what it refers. `None`: nothing that can be read.
pub(crate) fn describe(
    connection: &Connection,
    id: i64,
    description: Option<&Description>,
) -> Result<()> {
    forget_words(connection, id)?;
    let words = if description.is_some() { Words::Indexed } else { Words::None };
    let title = description.and_then(|told| told.title.as_deref());
    let language = description.and_then(|told| told.language.as_deref());
    connection
        .prepare_cached("UPDATE entries SET title = ?2, language = ?3, text = ?4 WHERE id = ?1")?
        .execute((id, title, language, words.number()))?;
    let Some(description) = description else { return Ok(()) };
    connection
        .prepare_cached("INSERT INTO words (rowid, title, body) VALUES (?1, ?2, ?3)")?
        .execute((id, fold::text(title.unwrap_or_default()), fold::text(&description.text)))?;
    refer(connection, id, description)
}

fn refer(connection: &Connection, id: i64, description: &Description) -> Result<()> {
    let mut targets = Vec::new();
    for reference in description.references.iter().take(MAX_REFERENCES) {
        let target = first_of(reference.key.as_bytes());
        let added = connection
            .prepare_cached("INSERT OR IGNORE INTO refs VALUES (?1, ?2, ?3)")?
            .execute((target, id, reference.is_part))?;
        if added > 0 {
            targets.extend_from_slice(&target.to_le_bytes());
        }
    }
    if !targets.is_empty() {
        connection
            .prepare_cached("INSERT OR REPLACE INTO referring VALUES (?1, ?2)")?
            .execute((id, targets))?;
    }
    Ok(())
}

fn forget_words(connection: &Connection, id: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([id])?;
    let targets: Option<Vec<u8>> = connection
        .prepare_cached("SELECT targets FROM referring WHERE source = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let Some(targets) = targets else { return Ok(()) };
    for target in targets.as_chunks().0 {
        connection
            .prepare_cached("DELETE FROM refs WHERE target = ?1 AND source = ?2")?
            .execute((i64::from_le_bytes(*target), id))?;
    }
    connection.prepare_cached("DELETE FROM referring WHERE source = ?1")?.execute([id])?;
    Ok(())
}

/// Says that what has a key was used then.
pub(crate) fn used(connection: &Connection, key: &Key, time: Timestamp) -> Result<()> {
    connection
        .prepare_cached("UPDATE entries SET used = ?2 WHERE key = ?1 AND used < ?2")?
        .execute((key.as_bytes(), time.as_microsecond()))?;
    Ok(())
}

/// The number of a host, which is added if it is new.
pub(crate) fn host_number(connection: &Connection, scheme: &str, name: &str) -> Result<i64> {
    let mut find =
        connection.prepare_cached("SELECT id FROM hosts WHERE name = ?1 AND scheme = ?2")?;
    if let Some(id) = find.query_row((name, scheme), |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let HostName { labels, site } = HostName::of(name);
    let mut add = connection
        .prepare_cached("INSERT INTO hosts (scheme, name, labels, site) VALUES (?1, ?2, ?3, ?4)")?;
    Ok(add.insert((scheme, name, labels, site))?)
}

fn owner_number(connection: &Connection, name: &str) -> Result<i64> {
    let mut find = connection.prepare_cached("SELECT id FROM owners WHERE name = ?1")?;
    if let Some(id) = find.query_row([name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let mut add = connection.prepare_cached("INSERT INTO owners (name) VALUES (?1)")?;
    Ok(add.insert([name])?)
}

fn type_number(connection: &Connection, name: &str) -> Result<(i64, Class)> {
    let mut find = connection.prepare_cached("SELECT id FROM types WHERE name = ?1")?;
    if let Some(id) = find.query_row([name], |row| row.get(0)).optional()? {
        return Ok((id, Class::of(name)));
    }
    let last: Option<i64> =
        connection.query_row("SELECT max(id) FROM types", [], |row| row.get(0))?;
    if last.unwrap_or_default() >= MAX_TYPES && !name.is_empty() {
        return type_number(connection, "");
    }
    let mut add = connection.prepare_cached("INSERT INTO types (name) VALUES (?1)")?;
    Ok((add.insert([name])?, Class::of(name)))
}

/// The first eight bytes of a hash, as a number.
pub(crate) fn first_of(hash: &[u8; 32]) -> i64 {
    hash.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

/// The database has numbers of 63 bits and a sign.
pub(crate) fn narrow(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
