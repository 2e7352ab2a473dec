//! The differences between the texts of two versions.

use std::fmt::Write as _;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::text::VersionText;

/// The number of equal lines shown before and after differing ones.
const AROUND: usize = 2;

/// The largest number of lines of a difference.
pub const MAX_TOLD: usize = 2_000;

/// Time limit for finding the smallest difference. After that, a good approximation is used.
const TIME: Duration = Duration::from_millis(500);

/// The versions that contain a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Both versions contain the line.
    Same,
    /// Only the older version contains the line.
    Old,
    /// Only the newer version contains the line.
    New,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedLine {
    /// Which versions contain the line.
    pub sort: LineKind,
    /// The number of the line in the newer text, or in the older text if only the older text
    /// contains the line. The first line has the number 1.
    pub number: usize,
    /// The text of the line.
    pub text: String,
}

/// A difference between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Groups of differing lines, each with some context.
    pub stretches: Vec<Vec<ComparedLine>>,
    /// The number of lines that only the newer version contains.
    pub added: usize,
    /// The number of lines that only the older version contains.
    pub removed: usize,
    /// Whether a text or the difference was truncated.
    pub is_cut: bool,
}

impl Diff {
    /// The difference of two texts.
    #[must_use]
    pub fn of(old: &VersionText, new: &VersionText) -> Self {
        let mut differences = Self { is_cut: old.is_cut || new.is_cut, ..Self::default() };
        let (old, new): (Vec<&str>, Vec<&str>) = (
            old.lines.iter().map(String::as_str).collect(),
            new.lines.iter().map(String::as_str).collect(),
        );
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Patience)
            .timeout(TIME)
            .diff_slices(&old, &new);
        let mut room = MAX_TOLD;
        for group in diff.grouped_ops(AROUND) {
            let mut stretch = Vec::new();
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let (sort, index) = match change.tag() {
                    ChangeTag::Equal => (LineKind::Same, change.new_index()),
                    ChangeTag::Delete => (LineKind::Old, change.old_index()),
                    ChangeTag::Insert => (LineKind::New, change.new_index()),
                };
                differences.added += usize::from(sort == LineKind::New);
                differences.removed += usize::from(sort == LineKind::Old);
                if room == 0 {
                    differences.is_cut = true;
                    continue;
                }
                room -= 1;
                let (number, text) = (index.unwrap_or_default() + 1, change.value().to_owned());
                stretch.push(ComparedLine { sort, number, text });
            }
            if !stretch.is_empty() {
                differences.stretches.push(stretch);
            }
        }
        differences
    }

    /// The difference as plain text: `-` before a line that only the older version contains, `+`
    /// before a line that only the newer version contains, and an empty line between stretches.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut plain = String::new();
        for (index, stretch) in self.stretches.iter().enumerate() {
            if index > 0 {
                plain.push('\n');
            }
            for line in stretch {
                let mark = match line.sort {
                    LineKind::Same => ' ',
                    LineKind::Old => '-',
                    LineKind::New => '+',
                };
                // Writing to a string does not fail.
                let _written = writeln!(plain, "{mark} {}", line.text);
            }
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> VersionText {
        VersionText {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..VersionText::default()
        }
    }

    #[test]
    fn differing_lines_are_shown_with_context() {
        let old = text(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
        let new = text(&["a", "b", "c", "X", "e", "f", "g", "h", "i", "j", "k"]);
        let diff = Diff::of(&old, &new);
        assert_eq!(diff.plain(), "  b\n  c\n- d\n+ X\n  e\n  f\n\n  i\n  j\n+ k\n");
        assert_eq!((diff.added, diff.removed, diff.is_cut), (2, 1, false));
        assert_eq!(
            diff.stretches[1][2],
            ComparedLine { sort: LineKind::New, number: 11, text: "k".into() }
        );
        assert_eq!(Diff::of(&old, &old), Diff::default());
        assert_eq!(Diff::of(&text(&[]), &new).added, 11);
    }

    #[test]
    fn a_diff_is_limited() {
        let long = |from: usize| VersionText {
            lines: (from..from + 20_000).map(|number| (number * 7).to_string()).collect(),
            ..VersionText::default()
        };
        let diff = Diff::of(&long(0), &long(100_000));
        assert!(diff.is_cut);
        assert_eq!((diff.added, diff.removed), (20_000, 20_000));
        assert_eq!(diff.stretches.iter().map(Vec::len).sum::<usize>(), MAX_TOLD);
    }
}
