//! The stored and missing bytes of a representation.

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

    /// The missing ranges of `wanted`.
    #[must_use]
    pub fn missing(&self, wanted: Span) -> Vec<Span> {
        let mut lacking = Vec::new();
        let mut at = wanted.start;
        for span in self.0.iter().filter(|span| wanted.start < span.end && span.start < wanted.end)
        {
            lacking.extend(Span::new(at, span.start));
            at = span.end;
        }
        lacking.extend(Span::new(at, wanted.end));
        lacking
    }

    /// The range that a single request must ask for to complete `wanted`: from the first missing
    /// byte to the last. `None` if no byte is missing. Stored bytes in between are transferred
    /// again, because many origins answer a request for several ranges with the whole
    /// representation.
    #[must_use]
    pub fn range_to_request(&self, wanted: Span) -> Option<Span> {
        let lacking = self.missing(wanted);
        Span::new(lacking.first()?.start, lacking.last()?.end)
    }
}

impl Span {
    /// The `Range` field that requests this range. The end stays open if the range reaches the end
    /// of a representation of `length` bytes.
    ///
    /// ```
    /// # use wwwoffle_http::caching::range::Span;
    /// let span = Span::new(5, 10).unwrap();
    /// assert_eq!(span.field(Some(10)), "bytes=5-");
    /// assert_eq!(span.field(None), "bytes=5-9");
    /// ```
    #[must_use]
    pub fn field(self, length: Option<u64>) -> String {
        if length.is_some_and(|length| length <= self.end) {
            format!("bytes={}-", self.start)
        } else {
            format!("bytes={}-{}", self.start, self.last())
        }
    }
}
