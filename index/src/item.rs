//! An entry as the index describes it.

use rusqlite::Row;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::{Key, Place, Timestamp};

use crate::class::ContentClass;
use crate::error::{Error, Result};

wwwoffle_url::named! {
    /// Whether the words of an entry can be searched.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum WordState {
        /// The entry has not been read.
        NotYet = "not-yet",
        /// The words are in the index.
        Indexed = "indexed",
        /// The entry has no readable words.
        None = "none",
    }
}

impl WordState {
    pub(crate) fn number(self) -> i64 {
        match self {
            WordState::NotYet => 0,
            WordState::Indexed => 1,
            WordState::None => 2,
        }
    }

    pub(crate) fn of_number(number: i64) -> WordState {
        match number {
            0 => WordState::NotYet,
            1 => WordState::Indexed,
            _ => WordState::None,
        }
    }
}

/// An entry as the index describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its place, for [`wwwoffle_spool::Spool::entries`].
    pub place: Place,
    /// The registrable domain of its host: `example.co.uk`.
    pub site: String,
    /// Its title, if it was read and has one.
    pub title: Option<String>,
    /// Its declared language, such as `en-GB`.
    pub language: Option<String>,
    /// Its content.
    pub content: StoredContent,
    /// Its times.
    pub times: ItemTimes,
    /// The number of its older versions.
    pub versions: u32,
    /// Whether its words can be searched.
    pub words: WordState,
    /// Its position in the index.
    pub(crate) position: ItemPosition,
}

/// The stored content of an entry. Lengths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// The media type in lower case without parameters; empty if unknown.
    pub content_type: String,
    /// Its class.
    pub class: ContentClass,
    /// The status code of the response.
    pub status: u16,
    /// The length of the body.
    pub body_len: u64,
    /// The length of the file.
    pub file_len: u64,
    /// The SHA-256 of the body.
    pub digest: [u8; 32],
}

/// The times of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTimes {
    /// When the response arrived.
    pub answered: Timestamp,
    /// When the entry was finished.
    pub stored: Timestamp,
    /// When the origin last confirmed it.
    pub checked: Timestamp,
    /// When it was last used. Storing it counts as a use.
    pub used: Timestamp,
}

/// The last two sort keys of an entry, which are the same in every order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemPosition {
    /// The id of the entry, which changes with a rebuild.
    pub(crate) id: i64,
    /// The packed properties.
    pub(crate) facts: i64,
}

impl Item {
    /// Whether users open the entry directly, rather than as a sub-resource of a page.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.content.class.is_page()
    }
}

/// The columns of an [`Item`] after `SELECT`, to be used with [`FROM`].
pub(crate) const COLUMNS: &str = "e.id, e.key, e.vary, e.plain, h.scheme, h.name, e.path, o.name, \
     h.site, e.title, e.language, t.name, e.status, e.body, e.file, e.digest, e.answered, e.stored, \
     e.checked, e.used, e.versions, e.text, e.facts";

/// The tables of an [`Item`].
pub(crate) const FROM: &str = "entries e JOIN hosts h ON h.id = e.host JOIN types t ON t.id = e.type \
     LEFT JOIN owners o ON o.id = e.owner";

/// Reads an item. `None` if its columns contradict each other, which happens only in a damaged
/// index.
pub(crate) fn read(row: &Row<'_>) -> Result<Option<Item>> {
    let key = Key::from_bytes(row.get(1)?);
    let (vary, is_plain): (String, bool) = (row.get(2)?, row.get(3)?);
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let url = format!("{}://{}{}", text(4)?, text(5)?, text(6)?);
    let owner =
        row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?.unwrap_or_default();
    let Some(place) = Place::from_stored(&url, owner, key, &vary, is_plain) else {
        return Ok(None);
    };
    let content_type: String = row.get(11)?;
    let length =
        |at: usize| Ok::<_, Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default());
    let time = |at: usize| {
        Ok::<_, Error>(Timestamp::from_microsecond(row.get(at)?).unwrap_or(Timestamp::UNIX_EPOCH))
    };
    Ok(Some(Item {
        place,
        site: row.get(8)?,
        title: row.get(9)?,
        language: row.get(10)?,
        content: StoredContent {
            class: ContentClass::of(&content_type),
            content_type,
            status: u16::try_from(row.get::<_, i64>(12)?).unwrap_or_default(),
            body_len: length(13)?,
            file_len: length(14)?,
            digest: row.get(15)?,
        },
        times: ItemTimes {
            answered: time(16)?,
            stored: time(17)?,
            checked: time(18)?,
            used: time(19)?,
        },
        versions: row.get::<_, i64>(20)?.try_into().unwrap_or_default(),
        words: WordState::of_number(row.get(21)?),
        position: ItemPosition { id: row.get(0)?, facts: row.get(22)? },
    }))
}
