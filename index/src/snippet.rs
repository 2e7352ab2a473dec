//! An excerpt of a page's text around the search terms, with their positions.

use std::ops::Range;

use crate::fold::{self, Word};
use crate::query::Query;

/// The maximum number of words of a text that are examined for a snippet.
const MAX_WORDS: usize = 100_000;

/// The approximate length of a snippet in bytes.
const LENGTH: usize = 240;

/// An excerpt without markup; the ranges to highlight are separate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The excerpt, with line ends and tabs replaced by spaces.
    pub text: String,
    /// The byte ranges of search terms, in order.
    pub marks: Vec<Range<usize>>,
    /// Whether the text continues before the excerpt.
    pub is_cut_before: bool,
    /// Whether the text continues after the excerpt.
    pub is_cut_after: bool,
}

/// The matches in a text: for each the byte range, and the number of its group in the query.
fn hits(text: &str, query: &Query) -> Vec<(Range<usize>, usize)> {
    let words: Vec<Word> = fold::words(text).take(MAX_WORDS).collect();
    let (mut hits, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let Some((length, group)) = query.hit_at(&words, at) else {
            at += 1;
            continue;
        };
        if let (Some(first), Some(last)) = (words.get(at), words.get(at + length - 1)) {
            hits.push((first.at.start..last.at.end, group));
        }
        at += length;
    }
    hits
}

/// The excerpt that contains the largest number of different search terms. Without a match, it is
/// the beginning of the text.
#[must_use]
pub fn snippet(text: &str, query: &Query) -> Snippet {
    let hits = hits(text, query);
    let mut best = (0, 0);
    for (at, (first, _)) in hits.iter().enumerate() {
        let here = hits.iter().skip(at).take_while(|(hit, _)| hit.end < first.start + LENGTH);
        let mut groups: Vec<usize> = here.map(|(_, group)| *group).collect();
        let all = groups.len().min(8);
        groups.sort_unstable();
        groups.dedup();
        // The number of different terms counts first, then the number of matches.
        let worth = groups.len() * 16 + all;
        if worth > best.0 {
            best = (worth, at);
        }
        if groups.len() == query.groups() && at > 64 {
            break;
        }
    }
    let first = hits.get(best.1).map_or(0, |(hit, _)| hit.start);
    cut(text, first, &hits)
}

/// The ranges to highlight in a text that is shown completely, such as a title.
#[must_use]
pub fn marks(text: &str, query: &Query) -> Vec<Range<usize>> {
    hits(text, query).into_iter().map(|(hit, _)| hit).collect()
}

fn cut(text: &str, first: usize, hits: &[(Range<usize>, usize)]) -> Snippet {
    let start = excerpt_start(text, first.saturating_sub(LENGTH / 5), first);
    let most = boundary(text, start.saturating_add(LENGTH));
    let end = match text.get(start..most).and_then(|piece| piece.rfind(char::is_whitespace)) {
        Some(blank) if most < text.len() && blank > LENGTH / 2 => start + blank,
        _ => most,
    };
    let piece = text.get(start..end).unwrap_or_default();
    let marks = hits.iter().filter(|(hit, _)| start <= hit.start && hit.end <= end);
    Snippet {
        // Each character is replaced by one byte, so that the ranges remain valid.
        text: piece.replace(['\n', '\r', '\t'], " "),
        marks: marks.map(|(hit, _)| hit.start - start..hit.end - start).collect(),
        is_cut_before: start > 0,
        is_cut_after: end < text.len(),
    }
}

/// The start of an excerpt between `from` and `to`, after a space if possible.
fn excerpt_start(text: &str, from: usize, to: usize) -> usize {
    let from = boundary(text, from);
    if from == 0 {
        return 0;
    }
    let blank = text.get(from..to).and_then(|piece| piece.find(char::is_whitespace));
    let behind = |blank: usize| {
        let rest = text.get(from + blank..).unwrap_or_default();
        from + blank + (rest.len() - rest.trim_start().len())
    };
    blank.map_or(from, behind).min(to)
}

fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(text: &str, query: &str) -> String {
        let Snippet { text, marks, is_cut_before, is_cut_after } =
            snippet(text, &Query::parse(query));
        let mut shown = String::from(if is_cut_before { "…" } else { "" });
        let mut at = 0;
        for mark in marks {
            shown.extend([&text[at..mark.start], "[", &text[mark.clone()], "]"]);
            at = mark.end;
        }
        shown + &text[at..] + if is_cut_after { "…" } else { "" }
    }

    #[test]
    fn matching_words_are_marked() {
        for (text, query, want) in [
            ("A cup of Tea.", "tea cup", "A [cup] of [Tea]."),
            ("Thé au café", "the cafe", "[Thé] au [café]"),
            ("black\ntea, black coffee", "\"black tea\"", "[black tea], black coffee"),
            ("chocolate chocs", "choco*", "[chocolate] chocs"),
            ("東京都は日本", "東京", "[東京]都は日本"),
            ("nothing of it", "tea", "nothing of it"),
            ("", "tea", ""),
        ] {
            assert_eq!(marked(text, query), want, "{text} {query}");
        }
    }

    #[test]
    fn snippet_shows_the_densest_match() {
        let far = format!("tea {} green tea here {}", "filler ".repeat(100), "end ".repeat(100));
        let shown = marked(&far, "green tea");
        assert!(shown.starts_with("…filler") && shown.contains("[green] [tea] here"), "{shown}");
        assert!(shown.ends_with("end…") && shown.len() < 2 * LENGTH, "{shown}");
    }

    proptest! {
        #[test]
        fn marks_are_inside_the_snippet(text in "\\PC{0,800}", query in "\\PC{0,20}|[a-c ]{0,9}") {
            let found = snippet(&text, &Query::parse(&query));
            let mut before = 0;
            for mark in &found.marks {
                prop_assert!(before <= mark.start && mark.start < mark.end);
                prop_assert!(found.text.get(mark.clone()).is_some());
                before = mark.end;
            }
            prop_assert!(found.text.len() <= LENGTH + 4);
        }
    }
}
