//! Patterns in which `*` stands for any text, including none.

use std::fmt;
use wwwoffle_url::matches_wildcard;

/// A pattern of text and stars. It compares bytes, so case matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wildcard(Box<str>);

/// The simplest description of a pattern, for an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WildcardShape<'a> {
    /// The pattern matches every text.
    Anything,
    /// The pattern matches only this text.
    Exactly(&'a str),
    /// The pattern matches every text with this end.
    EndsWith(&'a str),
    /// Any other pattern.
    Other,
}

impl Wildcard {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shape(&self) -> WildcardShape<'_> {
        match self.0.trim_start_matches('*') {
            "" if !self.0.is_empty() => WildcardShape::Anything,
            rest if rest.contains('*') => WildcardShape::Other,
            rest if rest.len() == self.0.len() => WildcardShape::Exactly(rest),
            rest => WildcardShape::EndsWith(rest),
        }
    }

    /// Whether the pattern matches the whole of `text`.
    pub(crate) fn matches(&self, text: &str) -> bool {
        matches_wildcard(&self.0, text)
    }
}

impl fmt::Display for Wildcard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Wildcard, WildcardShape};
    use proptest::prelude::*;

    /// A reference implementation: tries every possibility, so it is obviously correct but slow.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', after)), _) if naive(after, text) => true,
            (Some((b'*', _)), Some((_, rest))) => naive(pattern, rest),
            (Some((a, after)), Some((b, rest))) => a == b && naive(after, rest),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn wildcard_agrees_with_naive_matcher(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let want = naive(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(Wildcard::new(&pattern).matches(&text), want);
        }

        #[test]
        fn wildcard_shapes_agree_with_matching(pattern in "[ab*]{0,4}", text in "[ab]{0,5}") {
            let pattern = Wildcard::new(&pattern);
            let matches = pattern.matches(&text);
            match pattern.shape() {
                WildcardShape::Anything => prop_assert!(matches),
                WildcardShape::Exactly(all) => prop_assert_eq!(matches, text == all),
                WildcardShape::EndsWith(end) => prop_assert_eq!(matches, text.ends_with(end)),
                WildcardShape::Other => {}
            }
        }
    }

    #[test]
    fn a_hostile_pattern_takes_linear_time() {
        // With backtracking this would not end within the age of the universe.
        let pattern = Wildcard::new(&"*a".repeat(5_000));
        let text = "a".repeat(1 << 20) + "b";
        assert!(!pattern.matches(&text));
        let pattern = Wildcard::new(&("*".to_owned() + &"a".repeat(5_000) + "b*"));
        assert!(!pattern.matches(&"a".repeat(1 << 20)));
    }
}
