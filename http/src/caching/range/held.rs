//! Which bytes of a representation are there, and which are not.

use super::Span;

/// The bytes that are there: apart from each other, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held(Vec<Span>);

impl Held {
    /// Whatever of these there is; they may overlap and come in any order.
    #[must_use]
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().collect();
        spans.sort_unstable();
        let mut held: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match held.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => held.push(span),
            }
        }
        Self(held)
    }

    /// The stretches that are there, none touching another.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether every byte of `wanted` is there.
    #[must_use]
    pub fn covers(&self, wanted: Span) -> bool {
        self.0.iter().any(|span| span.contains(wanted))
    }

    /// What of `wanted` is not there.
    #[must_use]
    pub fn lacking(&self, wanted: Span) -> Vec<Span> {
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

    /// What one request to the origin asks for, so that all of `wanted` is there: from the first byte
    /// that lacks to the last. Bytes between that are there come twice, for several ranges at once would
    /// come as a multipart, which many origins answer with the whole instead.
    #[must_use]
    pub fn to_ask_for(&self, wanted: Span) -> Option<Span> {
        let lacking = self.lacking(wanted);
        Span::new(lacking.first()?.start, lacking.last()?.end)
    }
}

impl Span {
    /// The `Range` field that asks for it: open at the end where the representation of `length` bytes ends
    /// there, or where its length is not known and nothing ends it.
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
