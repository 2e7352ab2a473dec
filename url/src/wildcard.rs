//! Patterns of text and stars.

/// Whether `pattern` matches the whole of `text`. A `*` stands for any text, including none.
///
/// The leftmost position of each piece is always right, because it leaves the most text for the
/// pieces after it. So no position is tried twice, and the time is linear in both lengths.
#[must_use]
pub fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    let Some(mut rest) = rest.strip_suffix(last) else {
        return false;
    };
    pieces.all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}
