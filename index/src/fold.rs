//! Text normalised for comparison: words without case and accents, and character pairs for scripts
//! without spaces.
//!
//! The same function normalises indexed text, queries and snippets, so that they match. The
//! tokenizer of SQLite only splits the result at spaces.
//!
//! Chinese, Japanese, Thai and some other scripts have no spaces between words. In these scripts
//! each character forms a pair with the next one, and a word is found as a sequence of pairs. The
//! `trigram` tokenizer of SQLite is unsuitable, because most Chinese and Japanese words have two
//! characters.

use std::ops::Range;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The number of bytes of a folded word that are compared. Longer words that begin alike count as
/// equal.
const MAX_WORD: usize = 80;

/// The room in a folded word below which it ends, because a character may need as many bytes.
const MIN_ROOM: usize = 8;

/// The number of bytes of a folded word in ASCII that are compared: it ends below [`MIN_ROOM`] too.
const MAX_ASCII_WORD: usize = MAX_WORD - MIN_ROOM + 1;

/// A word in a text, or one character of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The normalised form.
    pub(crate) folded: String,
    /// Its byte range in the text.
    pub(crate) at: Range<usize>,
    /// Whether this is a character of a script without spaces.
    pub(crate) is_dense: bool,
}

/// Whether a character belongs to a script without spaces between words, or to one that attaches
/// particles to words, such as Hangul.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff     // Thai, Lao
        | 0x0f00..=0x0fff   // Tibetan
        | 0x1000..=0x109f   // Myanmar
        | 0x1100..=0x11ff   // Hangul Jamo
        | 0x1780..=0x17ff   // Khmer
        | 0x19e0..=0x1aaf   // Khmer symbols, Tai Tham
        | 0x3005..=0x3007 | 0x3021..=0x3029
        | 0x3040..=0x30ff   // Hiragana, Katakana
        | 0x3100..=0x318f | 0x31a0..=0x31bf | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xa960..=0xa97f | 0xaa60..=0xaa7f
        | 0xac00..=0xd7ff   // Hangul
        | 0xf900..=0xfaff
        | 0xff66..=0xff9f   // Katakana of half width
        | 0x1b000..=0x1b16f | 0x20000..=0x3ffff)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Whether the character is a combining accent, which is removed.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}')
}

fn fold_into(c: char, folded: &mut String) {
    let room = MAX_WORD.saturating_sub(folded.len());
    if room < MIN_ROOM {
        return;
    }
    if c.is_ascii() {
        folded.push(c.to_ascii_lowercase());
        return;
    }
    // Decomposition would split such a character into parts that are not letters.
    if is_dense(c) && !matches!(c, '\u{ff66}'..='\u{ff9f}') {
        folded.push(c);
        return;
    }
    decompose_compatible(c, |part| {
        if is_of_word(part) && !is_accent(part) && folded.len() < MAX_WORD {
            folded.extend(part.to_lowercase().filter(|part| !is_accent(*part)));
        }
    });
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, first) = rest.next()?;
            if !is_of_word(first) {
                continue;
            }
            let (mut folded, mut end) = (String::new(), start + first.len_utf8());
            fold_into(first, &mut folded);
            let is_dense = self::is_dense(first);
            while !is_dense
                && let Some((at, c)) = rest.next_if(|(_, c)| is_of_word(*c) && !self::is_dense(*c))
            {
                fold_into(c, &mut folded);
                end = at + c.len_utf8();
            }
            // An accent without a base character is not a word.
            if !folded.is_empty() {
                return Some(Word { folded, at: start..end, is_dense });
            }
        }
    })
}

/// The text in the form of the index: words and pairs, separated by spaces.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    // No word goes beyond white space.
    for piece in text.split_ascii_whitespace() {
        if piece.is_ascii() {
            fold_ascii(piece, &mut out);
        } else {
            fold_piece(piece, &mut out);
        }
    }
    out
}

/// [`fold_piece`] for ASCII, which needs no tables and no allocation. Most pages consist of it.
fn fold_ascii(piece: &str, out: &mut String) {
    for word in piece.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        let word = word.get(..MAX_ASCII_WORD).unwrap_or(word);
        out.extend(word.chars().map(|c| c.to_ascii_lowercase()));
    }
}

fn fold_piece(piece: &str, out: &mut String) {
    let mut words = words(piece).peekable();
    while let Some(word) = words.next() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.folded);
        if word.is_dense
            && let Some(next) = words.peek()
            && next.is_dense
            && next.at.start == word.at.end
        {
            out.push_str(&next.folded);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ascii_is_folded_like_other_text(given in "[ -~\\n\u{b}\u{e9}]{0,300}|[a-zA-Z0-9]{60,100}") {
            let folded: Vec<_> = words(&given).map(|word| word.folded).collect();
            prop_assert_eq!(text(&given), folded.join(" "));
        }
    }

    #[test]
    fn words_lose_case_and_accents_and_dense_scripts_become_pairs() {
        for (given, want) in [
            ("Hello, World!", "hello world"),
            ("R\u{e9}sum\u{e9} re\u{301}sume\u{301}", "resume resume"),
            ("Stra\u{df}e ÄÖÜ", "straße aou"),
            ("ﬁne Ａ１", "fine a1"),
            ("东京都 塔", "东京 京都 都 塔"),
            ("東京tower2024", "東京 京 tower2024"),
            ("서울에서", "서울 울에 에서 서"),
            ("हिन्दी भाषा", "हिन्दी भाषा"),
            ("don't e-mail", "don t e mail"),
            ("ελληνικά РУССКИЙ", "ελληνικα русскии"),
            ("\u{301} \u{200b}", ""),
            ("", ""),
        ] {
            assert_eq!(text(given), want, "{given}");
        }
    }

    #[test]
    fn a_word_has_its_position_in_the_text() {
        let given = "«Déjà» 東京";
        let found: Vec<_> = words(given).map(|word| &given[word.at]).collect();
        assert_eq!(found, ["Déjà", "東", "京"]);
        let long = "x".repeat(10_000);
        let all: Vec<_> = words(&long).collect();
        assert!(all.len() == 1 && all[0].folded.len() <= MAX_WORD && all[0].at == (0..10_000));
    }
}
