//! Difference between two texts, line by line.

use serde::Serialize;

use crate::base::shown;

/// Number of unchanged lines shown before and after the changed lines.
const AROUND: usize = 3;

/// Maximum number of lines shown of the old text, and also of the new text; the others are counted.
const MOST_LINES: usize = 120;

/// One line of a difference, as a template sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// `same`, `old`, `new`, or `more` in place of omitted lines.
    kind: &'static str,
    /// Line number, counted from 1: in the new text, or in the old text for lines that only the old
    /// text has. For `more`, the number of omitted lines.
    number: usize,
    text: String,
}

impl DiffLine {
    /// Returns a line of a difference computed elsewhere.
    pub(crate) fn new(kind: &'static str, number: usize, text: &str) -> Self {
        Self { kind, number, text: shown::text(text) }
    }
}

/// Returns the lines in which `old` and `new` differ, with some context; empty if the texts are
/// equal.
///
/// Everything between the first and the last differing line counts as changed, because an edit is
/// one contiguous range.
#[must_use]
pub fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    if old == new {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let shorter = old.len().min(new.len());
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(&new).take_while(alike).count();
    let backward = old.iter().rev().zip(new.iter().rev());
    let after = backward.take(shorter - before).take_while(alike).count();
    let mut lines = Vec::new();
    let begin = before.saturating_sub(AROUND);
    push(&mut lines, "same", begin, new.get(begin..before));
    push(&mut lines, "old", before, old.get(before..old.len() - after));
    push(&mut lines, "new", before, new.get(before..new.len() - after));
    let end = new.len() - after;
    push(&mut lines, "same", end, new.get(end..new.len().min(end + AROUND)));
    lines
}

fn push(lines: &mut Vec<DiffLine>, kind: &'static str, from: usize, texts: Option<&[&str]>) {
    let texts = texts.unwrap_or_default();
    let shown = texts.iter().take(MOST_LINES).zip(from + 1..);
    lines.extend(shown.map(|(text, number)| DiffLine { kind, number, text: shown::text(text) }));
    if texts.len() > MOST_LINES {
        lines.push(DiffLine {
            kind: "more",
            number: texts.len() - MOST_LINES,
            text: String::new(),
        });
    }
}

/// Returns the lines of a text from `first` to `last`, both counted from 1 and included.
#[must_use]
pub fn lines(text: &str, first: usize, last: usize) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let texts: Vec<&str> =
        text.lines().skip(first.saturating_sub(1)).take(last + 1 - first).collect();
    push(&mut lines, "same", first.saturating_sub(1), Some(&texts));
    lines
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, diff, lines};

    fn shown(old: &str, new: &str) -> String {
        let of_kind = |kind| match kind {
            "old" => '-',
            "new" => '+',
            "more" => '…',
            _ => ' ',
        };
        let lines = diff(old, new).into_iter();
        lines
            .map(|line| format!("{}{}{}", of_kind(line.kind), line.number, line.text))
            .collect::<Vec<_>>()
            .join("|")
    }

    #[test]
    fn differing_lines_are_shown_with_their_numbers() {
        for (old, new, want) in [
            ("a\n", "a\n", ""),
            ("", "a\nb\n", "+1a|+2b"),
            ("a\nb\n", "", "-1a|-2b"),
            ("a\nb\nc\n", "a\nx\nc\n", " 1a|-2b|+2x| 3c"),
            ("a\na\n", "a\na\na\n", " 1a| 2a|+3a"),
            ("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n5\n6\n7\n", " 55| 66| 77|-88"),
        ] {
            assert_eq!(shown(old, new), want, "{old:?} {new:?}");
        }
        let long = "x\n".repeat(MOST_LINES + 7);
        assert!(shown("", &long).ends_with("…7"));
        assert_eq!(lines("a\nb\nc", 2, 3).len(), 2);
    }
}
