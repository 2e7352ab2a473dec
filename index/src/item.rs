//! An entry as the index knows it.

use rusqlite::Row;
use wwwoffle_spool::{Key, Place, Timestamp};

use crate::class::Class;
use crate::error::{Error, Result};

/// Whether the words of an entry can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// It has not been read yet.
    NotYet,
    /// They are in the index.
    Indexed,
    /// It has none, or none that can be read.
    None,
}

impl Words {
    pub(crate) fn number(self) -> i64 {
        match self {
            Words::NotYet => 0,
            Words::Indexed => 1,
            Words::None => 2,
        }
    }

    pub(crate) fn of_number(number: i64) -> Words {
        match number {
            0 => Words::NotYet,
            1 => Words::Indexed,
            _ => Words::None,
        }
    }

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Words::NotYet => "not-yet",
            Words::Indexed => "indexed",
            Words::None => "none",
        }
    }
}

/// An entry as the index knows it. Lengths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it is, and what [`wwwoffle_spool::Spool::entries`] takes.
    pub place: Place,
    /// What belongs together with its host: `example.co.uk`.
    pub site: String,
    /// Its title, if it has been read and has one.
    pub title: Option<String>,
    /// The language that it says it is in, as `en-GB`.
    pub language: Option<String>,
    /// The type, in lower case and without parameters; empty for none.
    pub content_type: String,
    /// What sort of thing it is.
    pub class: Class,
    /// The status code.
    pub status: u16,
    /// The length of its body.
    pub body_len: u64,
    /// The length of its file.
    pub file_len: u64,
    /// The SHA-256 of its body.
    pub digest: [u8; 32],
    /// When the response came.
    pub answered: Timestamp,
    /// When it was finished.
    pub stored: Timestamp,
    /// When its origin confirmed it last.
    pub checked: Timestamp,
    /// When it was used last; being stored is a use.
    pub used: Timestamp,
    /// How many older versions of it are kept.
    pub versions: u32,
    /// Whether its words can be searched.
    pub words: Words,
    /// Its number in the index, which is another one when the index is made again.
    pub(crate) id: i64,
    /// That of its facts: with the number, what tells its place in every order.
    pub(crate) facts: i64,
}

impl Item {
    /// Whether it is what a person opens, and no part of something else.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.class.is_page()
    }
}

/// What is read for an [`Item`], to follow `SELECT`; [`FROM`] goes with it.
pub(crate) const COLUMNS: &str = "e.id, e.key, e.vary, e.plain, h.scheme, h.name, e.path, o.name, \
     h.site, e.title, e.language, t.name, e.status, e.body, e.file, e.digest, e.answered, e.stored, \
     e.checked, e.used, e.versions, e.text, e.facts";

/// Where it is read from.
pub(crate) const FROM: &str = "entries e JOIN hosts h ON h.id = e.host JOIN types t ON t.id = e.type \
     LEFT JOIN owners o ON o.id = e.owner";

/// Reads an item. `None` for what does not fit together: only a damaged index has such a thing.
pub(crate) fn read(row: &Row<'_>) -> Result<Option<Item>> {
    let key = Key::from_bytes(row.get(1)?);
    let (vary, is_plain): (String, bool) = (row.get(2)?, row.get(3)?);
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let url = format!("{}://{}{}", text(4)?, text(5)?, text(6)?);
    let owner =
        row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?.unwrap_or_default();
    let Some(place) = Place::remembered(&url, owner, key, &vary, is_plain) else { return Ok(None) };
    let content_type: String = row.get(11)?;
    let length =
        |at: usize| Ok::<_, Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default());
    let time = |at: usize| {
        Ok::<_, Error>(Timestamp::from_microsecond(row.get(at)?).unwrap_or(Timestamp::UNIX_EPOCH))
    };
    Ok(Some(Item {
        id: row.get(0)?,
        place,
        site: row.get(8)?,
        title: row.get(9)?,
        language: row.get(10)?,
        class: Class::of(&content_type),
        content_type,
        status: u16::try_from(row.get::<_, i64>(12)?).unwrap_or_default(),
        body_len: length(13)?,
        file_len: length(14)?,
        digest: row.get(15)?,
        answered: time(16)?,
        stored: time(17)?,
        checked: time(18)?,
        used: time(19)?,
        versions: row.get::<_, i64>(20)?.try_into().unwrap_or_default(),
        words: Words::of_number(row.get(21)?),
        facts: row.get(22)?,
    }))
}
