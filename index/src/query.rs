//! Search queries: words, `"a phrase"`, `prefix*`, `one OR other`, `-excluded`.
//!
//! Every text is a valid query. The query for SQLite is built only from folded words, so user input
//! is never interpreted as SQLite syntax.

use std::fmt::Write as _;

use crate::fold::{self, Word};

/// The maximum length of a query, in bytes. The rest is ignored.
pub const MAX_QUERY: usize = 1 << 10;

/// The maximum number of words of a query. Further words are ignored.
const MAX_WORDS: usize = 32;

/// The minimum number of characters of a prefix search.
const MIN_PREFIX: usize = 2;

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Groups of alternative phrases. At least one phrase of each group must occur.
    wanted: Vec<Vec<Phrase>>,
    /// Phrases that must not occur.
    unwanted: Vec<Phrase>,
}

/// The phrases that the title of a page must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TitleCondition {
    /// A phrase of each group of the query.
    All,
    /// A phrase of at least one group of the query.
    Any,
}

/// Words that must follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Phrase {
    words: Vec<PhraseWord>,
    /// Whether the last word is a prefix.
    is_prefix: bool,
}

/// A word of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PhraseWord {
    folded: String,
    /// Whether this is a character of a script without spaces. Such a character must follow the one
    /// before it directly.
    is_dense: bool,
}

impl Query {
    /// Parses user input.
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

    /// Whether the query searches for nothing. Exclusions alone do not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The query in the syntax of SQLite, limited by a condition for titles. Exclusions apply to
    /// title and text.
    pub(crate) fn to_match(&self, titles: Option<TitleCondition>) -> String {
        let mut text = match titles {
            None => self.wanted(" AND "),
            Some(TitleCondition::All) => format!("(title : ({}))", self.wanted(" AND ")),
            Some(TitleCondition::Any) => {
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

    /// Whether a short text, such as a URL, matches.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let words: Vec<Word> = fold::words(text).collect();
        let has = |row: &Phrase| (0..words.len()).any(|at| row.length_at(&words, at).is_some());
        self.wanted.iter().all(|any| any.iter().any(has)) && !self.unwanted.iter().any(has)
    }

    /// The number of words at position `at` that match a phrase, and the group of the phrase.
    /// `None` if no phrase matches there.
    pub(crate) fn hit_at(&self, words: &[Word], at: usize) -> Option<(usize, usize)> {
        let groups = self.wanted.iter().enumerate();
        let rows = groups.flat_map(|(group, any)| any.iter().map(move |row| (group, row)));
        rows.filter_map(|(group, row)| Some((row.length_at(words, at)?, group))).max()
    }

    /// The number of groups. A phrase of each must occur.
    pub(crate) fn groups(&self) -> usize {
        self.wanted.len()
    }
}

impl Phrase {
    fn write(&self, out: &mut String) {
        let mut phrase = String::new();
        let mut words = self.words.iter().peekable();
        let (mut ends_open, mut after_dense) = (self.is_prefix, false);
        while let Some(word) = words.next() {
            let is_last = words.peek().is_none();
            let follower = words.peek().filter(|next| word.is_dense && next.is_dense);
            // The last character of a run is already part of the pair before it.
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
        // Folded words contain no quotation marks.
        let star = if ends_open { "*" } else { "" };
        let _written = write!(out, "\"{phrase}\"{star}");
    }

    /// The number of words that the phrase covers at `at`. `None` if it does not match there.
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

/// A token of the input.
struct QueryToken<'a> {
    text: &'a str,
    is_negative: bool,
    is_quoted: bool,
    has_star: bool,
}

/// The next token of the input, and the rest. `None` at the end.
fn next(text: &str) -> Option<(QueryToken<'_>, &str)> {
    let text = text.trim_start();
    let bare = text.strip_prefix(['-', '−']);
    let (is_negative, text) = (bare.is_some(), bare.unwrap_or(text));
    if let Some(inner) = text.strip_prefix(['"', '“', '„', '«']) {
        let end = inner.find(['"', '”', '“', '»']).unwrap_or(inner.len());
        let (inside, rest) = inner.split_at(end);
        let rest = rest.strip_prefix(['"', '”', '“', '»']).unwrap_or(rest);
        return Some((
            QueryToken { text: inside, is_negative, is_quoted: true, has_star: false },
            rest,
        ));
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len());
    let (inside, rest) = text.split_at(end);
    if inside.is_empty() && rest.is_empty() && !is_negative {
        return None;
    }
    let has_star = inside.ends_with('*');
    Some((QueryToken { text: inside, is_negative, is_quoted: false, has_star }, rest))
}

/// The words of a token as phrases: `e-mail` is a phrase of two words, and a run of characters of a
/// script without spaces is one phrase.
fn rows(typed: &QueryToken<'_>, room: &mut usize) -> Vec<Phrase> {
    let words: Vec<PhraseWord> = fold::words(typed.text)
        .take(*room)
        .map(|word| PhraseWord { folded: word.folded, is_dense: word.is_dense })
        .collect();
    *room -= words.len();
    let Some(last) = words.last() else { return Vec::new() };
    let is_long = last.is_dense || last.folded.chars().count() >= MIN_PREFIX;
    vec![Phrase { is_prefix: typed.has_star && is_long, words }]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_contains_words_only() {
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
    fn a_short_text_is_searched_directly() {
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
        fn every_typed_query_is_valid_for_the_database(typed in "\\PC{0,60}|[\"()*^:+{} a-cOR東京-]{0,40}") {
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
