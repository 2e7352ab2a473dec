//! The stored bytes of a representation.

use super::{Span, merged};

/// The stored bytes: disjoint ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRanges(Vec<Span>);

impl StoredRanges {
    /// The union of `spans`, which may overlap and come in any order.
    #[must_use]
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Self {
        Self(merged(spans.into_iter().collect(), 0))
    }

    /// The stored ranges, which neither overlap nor touch.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether every byte of `wanted` is stored.
    #[must_use]
    pub fn covers(&self, wanted: Span) -> bool {
        self.0.iter().any(|span| span.contains(wanted))
    }
}
