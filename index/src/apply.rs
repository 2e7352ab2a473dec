//! Changes to the index. Each function is a part of a transaction of the single writer.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use wwwoffle_spool::{Key, Place, Summary, Timestamp, WalkedEntry};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::class::{ContentClass, essence};
use crate::column::{first_of, host_id, narrow, owner_id, variant_name};
use crate::describe::{Description, MAX_REFERENCES, Reference};
use crate::error::Result;
use crate::facts::Facts;
use crate::fold;
use crate::item::WordState;
use crate::name::{HostName, split};

/// The maximum number of media types that are distinguished. Further types count as unknown.
const MAX_TYPES: i64 = 1_000;

/// The row of an entry in the index.
struct IndexedRow {
    id: i64,
    variant: Vec<u8>,
    stored: i64,
    digest: [u8; 32],
    file: i64,
    used: i64,
    text: i64,
    told: i64,
}

/// Makes the rows of a key equal to the entries found in the spool.
pub(crate) fn set_key(connection: &Connection, place: &Place, found: &[WalkedEntry]) -> Result<()> {
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

fn known(connection: &Connection, key: &Key) -> Result<Vec<IndexedRow>> {
    let mut find = connection.prepare_cached(
        "SELECT id, variant, stored, digest, file, used, text, told FROM entries WHERE key = ?1",
    )?;
    let rows = find.query_map([key.as_bytes()], |row| {
        Ok(IndexedRow {
            id: row.get(0)?,
            variant: row.get(1)?,
            stored: row.get(2)?,
            digest: row.get(3)?,
            file: row.get(4)?,
            used: row.get(5)?,
            text: row.get(6)?,
            told: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The columns that are derived from an entry's file. They are the first parameters of both INSERT
/// and UPDATE.
macro_rules! seen {
    () => {
        "type, status, body, file, disk, digest, sum, answered, stored, checked, used, versions, text, \
         told, facts"
    };
}

const INSERT: &str = concat!(
    "INSERT INTO entries (",
    seen!(),
    ", key, variant, vary, plain, host, path, owner, own) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, \
     ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)"
);

const CHANGE: &str = concat!(
    "UPDATE entries SET (",
    seen!(),
    ") = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15), \
     title = iif(?16, title, NULL), language = iif(?16, language, NULL) WHERE id = ?17"
);

/// Whether the words and the references of an entry are in the index.
#[derive(Clone, Copy)]
struct ReadState {
    words: WordState,
    is_told: bool,
}

impl ReadState {
    /// The state of a new entry.
    fn of(class: ContentClass, summary: &Summary) -> ReadState {
        let is_read = class.has_words() || can_need(class, summary.status);
        let words = if is_read { WordState::NotYet } else { WordState::None };
        ReadState { words, is_told: !is_read }
    }
}

/// Whether a response may need other resources: a page, a style sheet or script, or a redirect.
pub(crate) fn can_need(class: ContentClass, status: u16) -> bool {
    matches!(class, ContentClass::Page | ContentClass::Style | ContentClass::Script)
        || matches!(status, 301..=303 | 307 | 308)
}

/// The values of the columns [`seen`].
fn seen_values(
    (kind, owner, class): (i64, i64, ContentClass),
    host: i64,
    found: &WalkedEntry,
    (used, read): (Timestamp, ReadState),
) -> [Value; 15] {
    let WalkedEntry { summary, versions, size, .. } = found;
    let (scheme, ..) = split(summary.place.url());
    let facts = Facts::new(host, scheme, summary.status, class, owner != 0);
    let versions = i64::try_from(*versions).unwrap_or(i64::MAX);
    [
        kind.into(),
        i64::from(summary.status).into(),
        narrow(summary.body_len).into(),
        narrow(summary.file_len).into(),
        narrow(*size).into(),
        summary.digest.to_vec().into(),
        first_of(&summary.digest).into(),
        summary.when.as_microsecond().into(),
        summary.stored.as_microsecond().into(),
        summary.checked.as_microsecond().into(),
        used.as_microsecond().into(),
        versions.into(),
        read.words.number().into(),
        i64::from(read.is_told).into(),
        facts.0.into(),
    ]
}

/// The ids of type and owner, and the class.
fn numbers(connection: &Connection, summary: &Summary) -> Result<(i64, i64, ContentClass)> {
    let (kind, class) = type_number(connection, &essence(summary.content_type.as_deref()))?;
    let owner = summary.place.owner().map_or(Ok(0), |name| owner_number(connection, name))?;
    Ok((kind, owner, class))
}

/// Adds an entry.
fn insert(connection: &Connection, host: i64, found: &WalkedEntry) -> Result<()> {
    let owner = insert_uncounted(connection, host, found, None)?;
    count(connection, host, owner, 1, narrow(found.summary.file_len))
}

/// Adds an entry, which was last `used` at this time, if known. Does not update the counts, which
/// are computed at the end of a rebuild. Returns the id of the owner.
pub(crate) fn insert_uncounted(
    connection: &Connection,
    host: i64,
    found: &WalkedEntry,
    used: Option<Timestamp>,
) -> Result<i64> {
    let summary = &found.summary;
    let (place, numbers) = (&summary.place, numbers(connection, summary)?);
    let (_, owner, class) = numbers;
    let (_, _, path) = split(place.url());
    let used = used.unwrap_or(summary.stored).max(summary.stored);
    let seen = seen_values(numbers, host, found, (used, ReadState::of(class, summary)));
    let is_plain = i64::from(place.follows_from_url());
    let besides: [Value; 8] = [
        place.key().as_bytes().to_vec().into(),
        variant_name(place).into(),
        place.variant_text().to_owned().into(),
        is_plain.into(),
        host.into(),
        path.to_owned().into(),
        owner.into(),
        personal_reference(place).into(),
    ];
    let values = params_from_iter(seen.into_iter().chain(besides));
    connection.prepare_cached(INSERT)?.execute(values)?;
    Ok(owner)
}

/// For a personal entry: the key prefix of its URL, by which pages refer to the entry. The prefix
/// cannot be derived from the key of the entry. `None` for a shared entry.
fn personal_reference(place: &Place) -> Option<i64> {
    place.owner()?;
    let url = CanonicalUrl::parse(place.url(), &LocalHost::default()).ok()?;
    Some(first_of(url.without_credentials().key().as_bytes()))
}

fn change(
    connection: &Connection,
    host: i64,
    known: &IndexedRow,
    found: &WalkedEntry,
) -> Result<()> {
    let summary = &found.summary;
    let numbers = numbers(connection, summary)?;
    let (_, owner, class) = numbers;
    let is_same = known.stored == summary.stored.as_microsecond() && known.digest == summary.digest;
    let before = Timestamp::from_microsecond(known.used).unwrap_or(Timestamp::UNIX_EPOCH);
    let used = summary.stored.max(before);
    let mut read = ReadState::of(class, summary);
    if is_same {
        read = ReadState { words: WordState::of_number(known.text), is_told: known.told != 0 };
    } else {
        forget_words(connection, known.id)?;
    }
    let seen = seen_values(numbers, host, found, (used, read));
    let besides: [Value; 2] = [i64::from(is_same).into(), known.id.into()];
    let values = params_from_iter(seen.into_iter().chain(besides));
    connection.prepare_cached(CHANGE)?.execute(values)?;
    count(connection, host, owner, 0, narrow(summary.file_len) - known.file)
}

/// Removes an entry and all rows that refer to it.
pub(crate) fn remove(connection: &Connection, id: i64) -> Result<()> {
    let mut find =
        connection.prepare_cached("SELECT host, owner, file FROM entries WHERE id = ?1")?;
    let found = find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)));
    let Some((host, owner, file)) = found.optional()? else { return Ok(()) };
    forget_words(connection, id)?;
    connection.prepare_cached("DELETE FROM entries WHERE id = ?1")?.execute([id])?;
    count(connection, host, owner, -1, -file)
}

/// Updates the counts of a host, and removes a host without entries.
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

/// Removes a host without entries.
pub(crate) fn drop_host(connection: &Connection, host: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM counts WHERE host = ?1")?.execute([host])?;
    connection.prepare_cached("DELETE FROM hosts WHERE id = ?1")?.execute([host])?;
    Ok(())
}

/// Recomputes the counts of all hosts.
pub(crate) fn count_all(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "DELETE FROM counts; INSERT INTO counts \
         SELECT host, owner, count(*), sum(file) FROM entries GROUP BY host, owner",
    )?;
    Ok(())
}

/// Stores the words and references of an entry. `description` is `None` if the entry cannot be
/// read.
pub(crate) fn describe(
    connection: &Connection,
    id: i64,
    description: Option<&Description>,
) -> Result<()> {
    forget_words(connection, id)?;
    let has_words = description.is_some_and(Description::has_words);
    let words = if has_words { WordState::Indexed } else { WordState::None };
    let title = description.and_then(|known| known.title.as_deref());
    let language = description.and_then(|known| known.language.as_deref());
    let is_told = description.is_some_and(|known| !known.is_cut);
    // An empty body has no references.
    connection
        .prepare_cached(
            "UPDATE entries SET title = ?2, language = ?3, text = ?4, told = ?5 OR body = 0 WHERE id = ?1",
        )?
        .execute((id, title, language, words.number(), is_told))?;
    let Some(description) = description else { return Ok(()) };
    if has_words {
        connection
            .prepare_cached("INSERT INTO words (rowid, title, body) VALUES (?1, ?2, ?3)")?
            .execute((id, fold::text(title.unwrap_or_default()), fold::text(&description.text)))?;
    }
    refer(connection, id, description)
}

/// Stores the references of an entry in this order: required sub-resources, optional sub-resources,
/// links.
fn refer(connection: &Connection, id: i64, description: &Description) -> Result<()> {
    let mut references: Vec<&Reference> =
        description.references.iter().take(MAX_REFERENCES).collect();
    references.sort_by_key(|reference| (!reference.is_part, reference.is_spare));
    let (mut targets, mut parts, mut missed) = (Vec::new(), 0_i64, 0_i64);
    for reference in references {
        let target = first_of(reference.key.as_bytes());
        let added = connection
            .prepare_cached("INSERT OR IGNORE INTO refs VALUES (?1, ?2, ?3)")?
            .execute((target, id, reference.is_part))?;
        if added > 0 {
            parts += i64::from(reference.is_part);
            missed += i64::from(reference.is_part && !reference.is_spare);
            targets.extend_from_slice(&target.to_le_bytes());
        }
    }
    if !targets.is_empty() {
        connection
            .prepare_cached("INSERT OR REPLACE INTO referring VALUES (?1, ?2, ?3, ?4)")?
            .execute((id, parts, missed, targets))?;
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

/// Sets the last use of the entries of a key to `time`, if their last use is earlier.
pub(crate) fn record_use(connection: &Connection, key: &Key, time: Timestamp) -> Result<()> {
    connection
        .prepare_cached("UPDATE entries SET used = ?2 WHERE key = ?1 AND used < ?2")?
        .execute((key.as_bytes(), time.as_microsecond()))?;
    Ok(())
}

/// The id of a host, which is added if it is new.
pub(crate) fn host_number(connection: &Connection, scheme: &str, name: &str) -> Result<i64> {
    if let Some(id) = host_id(connection, scheme, name)? {
        return Ok(id);
    }
    let HostName { labels, site } = HostName::of(name);
    let mut add = connection
        .prepare_cached("INSERT INTO hosts (scheme, name, labels, site) VALUES (?1, ?2, ?3, ?4)")?;
    Ok(add.insert((scheme, name, labels, site))?)
}

fn owner_number(connection: &Connection, name: &str) -> Result<i64> {
    if let Some(id) = owner_id(connection, name)? {
        return Ok(id);
    }
    let mut add = connection.prepare_cached("INSERT INTO owners (name) VALUES (?1)")?;
    Ok(add.insert([name])?)
}

fn type_number(connection: &Connection, name: &str) -> Result<(i64, ContentClass)> {
    let mut find = connection.prepare_cached("SELECT id FROM types WHERE name = ?1")?;
    if let Some(id) = find.query_row([name], |row| row.get(0)).optional()? {
        return Ok((id, ContentClass::of(name)));
    }
    let last: Option<i64> =
        connection.query_row("SELECT max(id) FROM types", [], |row| row.get(0))?;
    if last.unwrap_or_default() >= MAX_TYPES && !name.is_empty() {
        return type_number(connection, "");
    }
    let mut add = connection.prepare_cached("INSERT INTO types (name) VALUES (?1)")?;
    Ok((add.insert([name])?, ContentClass::of(name)))
}
