//! The position at which a list continues.

use std::fmt;
use std::str::FromStr;

use wwwoffle_spool::{Key, Timestamp};

use super::Sort;
use crate::column::variant_name;
use crate::error::{Error, IndexFault, Result};
use crate::item::Item;
use crate::name::{HostName, split};

/// The maximum length of a cursor, in bytes.
const MAX_CURSOR: usize = 4 << 10;

/// The number of characters of a path that determine its position. Paths that differ only later
/// have no defined order. The SQL index uses the same number.
pub(crate) const SORTED: usize = 120;

/// The position at which a list continues. It is returned with one page and passed to get the next
/// one. Its text form is opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    sort: char,
    pub(crate) at: Position,
}

/// A position in an order. The order determines which of these fields are used.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Host, labels, media type, or a key in hex.
    pub(crate) group: String,
    /// The scheme, or the variant in hex.
    pub(crate) scheme: String,
    /// The path.
    pub(crate) text: String,
    /// A time, a length or a rank.
    pub(crate) value: i64,
    pub(crate) facts: i64,
    pub(crate) id: i64,
}

impl Sort {
    fn letter(self) -> char {
        match self {
            Sort::Name => 'n',
            // `Stored` and `Day` have the same order, so their cursors are interchangeable.
            Sort::Stored | Sort::Day => 's',
            Sort::Used => 'u',
            Sort::Domain => 'd',
            Sort::Type => 't',
            Sort::Size => 'b',
            Sort::Random => 'r',
        }
    }
}

impl Cursor {
    /// The position after an entry.
    pub(crate) fn after_entry(sort: Sort, at: Position) -> Cursor {
        Cursor { sort: sort.letter(), at }
    }

    /// The position after a search result.
    pub(crate) fn after_hit(value: i64, id: i64) -> Cursor {
        Cursor { sort: 'q', at: Position { value, id, ..Position::default() } }
    }

    /// The position after a name in a list of names.
    pub(crate) fn after_name(group: &str, scheme: &str) -> Cursor {
        let (group, scheme) = (group.to_owned(), scheme.to_owned());
        Cursor { sort: 'h', at: Position { group, scheme, ..Position::default() } }
    }

    /// The position after an item of a caller's own list, sorted by time and key.
    #[must_use]
    pub fn of_moment(time: Timestamp, key: Key) -> Cursor {
        let (value, group) = (time.as_microsecond(), key.to_string());
        Cursor { sort: 'm', at: Position { group, value, ..Position::default() } }
    }

    /// The time and key passed to [`Cursor::of_moment`].
    ///
    /// # Errors
    ///
    /// [`Error::is_invalid`] for a cursor of another list.
    pub fn as_moment(&self) -> Result<(Timestamp, Key)> {
        let at = self.of_letter('m')?;
        let key = at.group.parse().map_err(|_| IndexFault::BadCursor)?;
        Ok((Timestamp::from_microsecond(at.value).map_err(|_| IndexFault::BadCursor)?, key))
    }

    /// The position after `place` items of a list in its state at `time`.
    #[must_use]
    pub fn of_place(time: Timestamp, place: u64) -> Cursor {
        let (value, id) = (time.as_microsecond(), place.cast_signed());
        Cursor { sort: 'p', at: Position { value, id, ..Position::default() } }
    }

    /// The position that was passed to [`Cursor::of_place`] with this time.
    ///
    /// # Errors
    ///
    /// [`Error::is_invalid`] for a cursor of another list.
    pub fn as_place(&self, time: Timestamp) -> Result<u64> {
        let at = self.of_letter('p')?;
        if at.value == time.as_microsecond() {
            Ok(at.id.cast_unsigned())
        } else {
            Err(IndexFault::BadCursor.into())
        }
    }

    /// Returns the position. The cursor must belong to this order, otherwise an error is returned.
    pub(crate) fn of(&self, sort: Sort) -> Result<&Position> {
        self.of_letter(sort.letter())
    }

    pub(crate) fn of_letter(&self, letter: char) -> Result<&Position> {
        if self.sort == letter { Ok(&self.at) } else { Err(IndexFault::BadCursor.into()) }
    }
}

impl Position {
    /// The position of an entry in an order.
    pub(crate) fn of(item: &Item, sort: Sort) -> Position {
        let mut at =
            Position { facts: item.position.facts, id: item.position.id, ..Position::default() };
        let (scheme, host, path) = split(item.place.url());
        match sort {
            Sort::Name | Sort::Domain => {
                at.group = match sort {
                    Sort::Name => host.to_owned(),
                    _ => HostName::of(host).labels,
                };
                scheme.clone_into(&mut at.scheme);
                at.text = path.chars().take(SORTED).collect();
            }
            // Negated, because larger values come first.
            Sort::Stored | Sort::Day => at.value = -item.times.stored.as_microsecond(),
            Sort::Used => at.value = -item.times.used.as_microsecond(),
            Sort::Size => at.value = -i64::try_from(item.content.body_len).unwrap_or(i64::MAX),
            Sort::Type => item.content.content_type.clone_into(&mut at.group),
            Sort::Random => {
                at.group = item.place.key().to_string();
                at.scheme = hex::encode(variant_name(&item.place));
                (at.facts, at.id) = (0, 0);
            }
        }
        if matches!(sort, Sort::Stored | Sort::Day | Sort::Used | Sort::Size) {
            (at.facts, at.id) = (-at.facts, -at.id);
        }
        at
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { group, scheme, text, value, facts, id } = &self.at;
        write!(f, "{}.{value:x}.{facts:x}.{id:x}", self.sort)?;
        [group, scheme, text].iter().try_for_each(|text| write!(f, ".{}", hex::encode(text)))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cursor> {
        if text.len() > MAX_CURSOR {
            return Err(IndexFault::BadCursor.into());
        }
        let mut fields = text.split('.');
        let mut field = || fields.next().ok_or(IndexFault::BadCursor);
        let mut sort = field()?.chars();
        let (Some(sort), None) = (sort.next(), sort.next()) else {
            return Err(IndexFault::BadCursor.into());
        };
        let number = |text: &str| match u64::from_str_radix(text, 16) {
            Ok(number) => Ok(number.cast_signed()),
            Err(_) => Err(IndexFault::BadCursor),
        };
        let (value, facts, id) = (number(field()?)?, number(field()?)?, number(field()?)?);
        let text = |text: &str| {
            let bytes = hex::decode(text).map_err(|_| IndexFault::BadCursor)?;
            String::from_utf8(bytes).map_err(|_| IndexFault::BadCursor)
        };
        let (group, scheme, text) = (text(field()?)?, text(field()?)?, text(field()?)?);
        if fields.next().is_some() {
            return Err(IndexFault::BadCursor.into());
        }
        Ok(Cursor { sort, at: Position { group, scheme, text, value, facts, id } })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_round_trips(
            group in "\\PC{0,20}", text in "\\PC{0,20}", value: i64, facts: i64, id: i64, sort in "[a-z]"
        ) {
            let sort = sort.chars().next().unwrap();
            let at = Position { group, scheme: "http".into(), text, value, facts, id };
            let cursor = Cursor { sort, at };
            prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }

        #[test]
        fn cursor_is_valid_only_for_its_own_list(place: u64, second in 0_i64..4_000_000_000) {
            let time = |second| Timestamp::from_second(second).unwrap();
            let shown = Cursor::of_place(time(second), place).to_string();
            let cursor = shown.parse::<Cursor>().unwrap();
            prop_assert_eq!(cursor.as_place(time(second)).unwrap(), place);
            prop_assert!(cursor.as_place(time(second + 1)).unwrap_err().is_invalid());
            prop_assert!(cursor.as_moment().is_err());
        }

        #[test]
        fn anything_else_is_refused(text in "\\PC{0,40}|[a-f0-9.-]{0,60}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                let again: Cursor = cursor.to_string().parse().unwrap();
                prop_assert_eq!(again, cursor);
            }
        }
    }
}
