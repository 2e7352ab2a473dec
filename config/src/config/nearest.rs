//! The known name that is most similar to a mistyped one.

/// The largest number of edits between a mistyped name and its suggestion.
const MAX_EDITS: usize = 3;

/// The longest name that is compared, in bytes. All known names are much shorter, and a comparison
/// costs the product of the lengths.
const MAX_NAME: usize = 64;

/// Returns the member of `known` nearest to `typed`. `None` if all are too different to be a useful
/// guess.
///
/// Differences of case, and `_` for `-`, are ignored. Apart from that, the number of different
/// letters is at most [`MAX_EDITS`], and at most a third of the letters of the known name.
pub(crate) fn nearest(
    typed: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    if typed.len() > MAX_NAME {
        return None;
    }
    let plain = typed.to_ascii_lowercase().replace('_', "-");
    known
        .map(|name| (distance(plain.as_bytes(), name.as_bytes()), name))
        .filter(|(edits, name)| *edits <= MAX_EDITS.min(name.len() / 3))
        .min()
        .map(|(_, name)| name)
}

/// The number of bytes to insert, remove or replace to turn `a` into `b` (Levenshtein), one row of
/// the table at a time.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in (1..).zip(a) {
        let (mut diagonal, mut left) = (i - 1, i);
        for (cell, of_b) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(of_a != of_b);
            diagonal = *cell;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn the_nearest_known_name_is_found() {
        for (typed, want) in [
            ("listen", Some("listen")),
            ("listn", Some("listen")),
            ("Listen", Some("listen")),
            ("spool_dir", Some("spool-dir")),
            ("spooldir", Some("spool-dir")),
            ("connect-timout", Some("connect-timeout")),
            ("conect_timeot", Some("connect-timeout")),
            ("port", None),
            ("", None),
            ("ä", None),
        ] {
            let known = ["listen", "spool-dir", "connect-timeout", "socket-timeout"];
            assert_eq!(nearest(typed, known.into_iter()), want, "{typed}");
        }
    }

    #[test]
    fn distance_counts_single_edits() {
        for (a, b, want) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), want, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), want, "{b} {a}");
        }
    }
}
