//! What a person looks for: words, `"a row of words"`, `begin*`, `one OR other`, `-without`.
//!
//! Any text is a query. What it asks for is made anew in the language of the database, from folded words
//! alone, so nothing that is typed is ever read as part of that language.

use std::fmt::Write as _;

use crate::fold::{self, Word};

/// The longest query that is read, in bytes; the rest is left out.
pub const MAX_QUERY: usize = 1 << 10;

/// As many words of a query count.
const MAX_WORDS: usize = 32;

/// The fewest characters by which words are found that only begin so.
const MIN_PREFIX: usize = 2;

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Each has to be found: one of its alternatives, that is.
    wanted: Vec<Vec<Row>>,
    /// None may be found.
    unwanted: Vec<Row>,
}

/// What has to be in the title of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Titles {
    /// All that is looked for.
    All,
    /// Some of it.
    Any,
}

/// Words that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    words: Vec<Piece>,
    /// The last word may go on.
    is_prefix: bool,
}

/// A word of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    folded: String,
    /// One character of what is written without blanks, which follows the one before at once.
    is_dense: bool,
}

impl Query {
    /// Reads what was typed.
    ///
    /// ```
    /// use wwwoffle_index::Query;
    /// assert!(!Query::parse("tea OR coffee \"black forest\" -cake choc*").is_empty());
    /// assert!(Query::parse("-cake \"\" * ((").is_empty());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Query {
        let end = (0..=text.len().min(MAX_QUERY)).rev().find(|at| text.is_char_boundary(*at));
        let mut rest = text.get(..end.unwrap_or_default()).unwrap_or_default();
        let (mut query, mut or, mut room) = (Query::default(), false, MAX_WORDS);
        while let Some((typed, after)) = next(rest) {
            rest = after;
            if typed.text == "OR" && !typed.is_quoted && !typed.is_negative {
                or = !query.wanted.is_empty();
                continue;
            }
            let was_or = std::mem::take(&mut or);
            for row in rows(&typed, &mut room) {
                if typed.is_negative {
                    query.unwanted.push(row);
                } else if let Some(last) = query.wanted.last_mut().filter(|_| was_or) {
                    last.push(row);
                } else {
                    query.wanted.push(vec![row]);
                }
            }
        }
        query
    }

    /// Whether nothing is looked for. What is only not to be there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The same for the database. What is not to be there may be nowhere.
    pub(crate) fn to_match(&self, titles: Option<Titles>) -> String {
        let mut text = match titles {
            None => self.wanted(" AND "),
            Some(Titles::All) => format!("(title : ({}))", self.wanted(" AND ")),
            Some(Titles::Any) => {
                format!("({}) AND (title : ({}))", self.wanted(" AND "), self.wanted(" OR "))
            }
        };
        for (at, row) in self.unwanted.iter().enumerate() {
            text.push_str(if at == 0 { " NOT (" } else { " OR " });
            row.write(&mut text);
        }
        if !self.unwanted.is_empty() {
            text.push(')');
        }
        text
    }

    fn wanted(&self, between: &str) -> String {
        let groups = self.wanted.iter().map(|alternatives| {
            let mut text = String::from("(");
            for (at, row) in alternatives.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { " OR " });
                row.write(&mut text);
            }
            text + ")"
        });
        groups.collect::<Vec<_>>().join(between)
    }

    /// Whether a text that is short, as a URL, has what is looked for.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let words: Vec<Word> = fold::words(text).collect();
        let has = |row: &Row| (0..words.len()).any(|at| row.length_at(&words, at).is_some());
        self.wanted.iter().all(|any| any.iter().any(has)) && !self.unwanted.iter().any(has)
    }

    /// How many words from this one on are something that is looked for, and which group it is of.
    pub(crate) fn hit_at(&self, words: &[Word], at: usize) -> Option<(usize, usize)> {
        let groups = self.wanted.iter().enumerate();
        let rows = groups.flat_map(|(group, any)| any.iter().map(move |row| (group, row)));
        rows.filter_map(|(group, row)| Some((row.length_at(words, at)?, group))).max()
    }

    /// How many groups there are, of each of which something has to be found.
    pub(crate) fn groups(&self) -> usize {
        self.wanted.len()
    }
}

impl Row {
    fn write(&self, out: &mut String) {
        let mut phrase = String::new();
        let mut words = self.words.iter().peekable();
        let (mut ends_open, mut after_dense) = (self.is_prefix, false);
        while let Some(word) = words.next() {
            let is_last = words.peek().is_none();
            let follower = words.peek().filter(|next| word.is_dense && next.is_dense);
            // The last character of several is the end of a pair already.
            if word.is_dense && after_dense && is_last {
                break;
            }
            after_dense = word.is_dense;
            if !phrase.is_empty() {
                phrase.push(' ');
            }
            phrase.push_str(&word.folded);
            match follower {
                Some(next) => phrase.push_str(&next.folded),
                None => ends_open |= word.is_dense && is_last,
            }
        }
        // Folded words have no quotation marks.
        let star = if ends_open { "*" } else { "" };
        let _written = write!(out, "\"{phrase}\"{star}");
    }

    /// How many words it takes up if it is at `at`.
    fn length_at(&self, words: &[Word], at: usize) -> Option<usize> {
        let found = words.get(at..at.checked_add(self.words.len())?)?;
        let last = self.words.len().checked_sub(1)?;
        let is_here = self.words.iter().zip(found).enumerate().all(|(number, (want, word))| {
            if number == last && self.is_prefix {
                word.folded.starts_with(&want.folded)
            } else {
                word.folded == want.folded
            }
        });
        is_here.then_some(self.words.len())
    }
}

/// A piece of what was typed.
struct Typed<'a> {
    text: &'a str,
    is_negative: bool,
    is_quoted: bool,
    has_star: bool,
}

/// The next piece of what was typed, and what follows.
fn next(text: &str) -> Option<(Typed<'_>, &str)> {
    let text = text.trim_start();
    let bare = text.strip_prefix(['-', '−']);
    let (is_negative, text) = (bare.is_some(), bare.unwrap_or(text));
    if let Some(inner) = text.strip_prefix(['"', '“', '„', '«']) {
        let end = inner.find(['"', '”', '“', '»']).unwrap_or(inner.len());
        let (inside, rest) = inner.split_at(end);
        let rest = rest.strip_prefix(['"', '”', '“', '»']).unwrap_or(rest);
        return Some((Typed { text: inside, is_negative, is_quoted: true, has_star: false }, rest));
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len());
    let (inside, rest) = text.split_at(end);
    if inside.is_empty() && rest.is_empty() && !is_negative {
        return None;
    }
    let has_star = inside.ends_with('*');
    Some((Typed { text: inside, is_negative, is_quoted: false, has_star }, rest))
}

/// The words of a piece as what follows each other: of `e-mail` both, and of what is written without
/// blanks each stretch.
fn rows(typed: &Typed<'_>, room: &mut usize) -> Vec<Row> {
    let words: Vec<Piece> = fold::words(typed.text)
        .take(*room)
        .map(|word| Piece { folded: word.folded, is_dense: word.is_dense })
        .collect();
    *room -= words.len();
    let Some(last) = words.last() else { return Vec::new() };
    let is_long = last.is_dense || last.folded.chars().count() >= MIN_PREFIX;
    vec![Row { is_prefix: typed.has_star && is_long, words }]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_is_made_of_words_alone() {
        for (typed, want) in [
            ("tea", "(\"tea\")"),
            ("Black Tea", "(\"black\") AND (\"tea\")"),
            ("\"Black  Tea\" cup", "(\"black tea\") AND (\"cup\")"),
            ("tea OR coffee cup", "(\"tea\" OR \"coffee\") AND (\"cup\")"),
            ("OR tea OR", "(\"tea\")"),
            ("tea -milk -\"with sugar\"", "(\"tea\") NOT (\"milk\" OR \"with sugar\")"),
            ("choc*", "(\"choc\"*)"),
            ("c*", "(\"c\")"),
            ("e-mail", "(\"e mail\")"),
            (
                "title:x) NEAR(a b, 3) AND {",
                "(\"title x\") AND (\"near a\") AND (\"b\") AND (\"3\") AND (\"and\")",
            ),
            ("\"unclosed row", "(\"unclosed row\")"),
            ("東京", "(\"東京\")"),
            ("東京都", "(\"東京 京都\")"),
            ("水", "(\"水\"*)"),
            ("東京 tower", "(\"東京\") AND (\"tower\")"),
            ("東京tower", "(\"東京 京 tower\")"),
            ("tower東", "(\"tower 東\"*)"),
            ("café 'x'", "(\"cafe\") AND (\"x\")"),
        ] {
            assert_eq!(Query::parse(typed).to_match(None), want, "{typed}");
        }
        for nothing in ["", "  ", "-x", "*", "\"\"", "!!! --", "OR", "\u{0}"] {
            assert!(Query::parse(nothing).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn a_short_text_is_searched_as_it_is() {
        for (query, text, found) in [
            ("tea", "http://a.example/Green-Tea.html", true),
            ("te*", "http://a.example/Green-Tea.html", true),
            ("te", "http://a.example/Green-Tea.html", false),
            ("\"green tea\"", "http://a.example/green/tea", true),
            ("tea -green", "http://a.example/green/tea", false),
            ("coffee OR tea", "http://a.example/tea", true),
        ] {
            assert_eq!(Query::parse(query).is_in(text), found, "{query} {text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_the_database_understands_it(typed in "\\PC{0,60}|[\"()*^:+{} a-cOR東京-]{0,40}") {
            let query = Query::parse(&typed);
            if !query.is_empty() {
                let connection = rusqlite::Connection::open_in_memory().unwrap();
                connection.execute_batch("CREATE VIRTUAL TABLE t USING fts5 (a, b)").unwrap();
                let mut find = connection.prepare("SELECT rowid FROM t WHERE t MATCH ?1").unwrap();
                let found = find.query_map([query.to_match(None)], |row| row.get::<_, i64>(0)).unwrap();
                prop_assert_eq!(found.collect::<Result<Vec<_>, _>>().unwrap(), [0_i64; 0]);
            }
        }
    }
}
