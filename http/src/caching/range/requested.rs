//! The `Range` field (RFC 9110 §14.2), and the bytes that satisfy it.

use super::stored::StoredRanges;
use super::{MAX_POSITION, Span, digits, merged};

/// The maximum number of ranges in one field. A request with more ranges gets the whole
/// representation, which §14.2 allows for suspected attacks. Document viewers request dozens of
/// ranges.
pub const MAX_RANGES: usize = 128;

/// The approximate overhead of another part in `multipart/byteranges`, in bytes. Ranges with at
/// most this gap between them are sent as one (§15.3.7.2 suggests this number).
const PART: u64 = 80;

/// One requested range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    /// `first-last`, or `first-` to the end.
    From { first: u64, last: Option<u64> },
    /// `-length`: the last bytes.
    Last(u64),
}

/// The byte ranges of a request: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

/// The bytes of a representation that are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeSelection {
    /// The whole representation with 200, because its parts would cost as much or the
    /// representation is empty.
    Whole,
    /// One range with 206 and `Content-Range`.
    One(Span),
    /// Several ranges with 206 and `multipart/byteranges`.
    Several(Vec<Span>),
    /// No range overlaps the representation: 416 (§15.5.17).
    Nothing,
}

impl Ranges {
    /// Parses a `Range` field. `None` if the field must be ignored and the whole representation
    /// sent. §14.2 requires this for unknown units and allows it for malformed fields.
    ///
    /// This parser is more lenient than the grammar: it accepts spaces around commas and empty
    /// members.
    ///
    /// ```
    /// # use wwwoffle_http::caching::range::Ranges;
    /// assert!(Ranges::parse("bytes=0-99, -5").is_some());
    /// assert!(Ranges::parse("bytes=5-4").is_none());
    /// assert!(Ranges::parse("lines=0-99").is_none());
    /// ```
    #[must_use]
    pub fn parse(field: &str) -> Option<Self> {
        let (unit, set) = field.trim().split_once('=')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let mut ranges = Vec::new();
        let members = set.split(',').map(|member| member.trim_matches([' ', '\t']));
        for (seen, member) in members.enumerate() {
            // Empty members count too, because they cost us time and the sender nothing.
            if seen >= MAX_RANGES {
                return None;
            }
            if !member.is_empty() {
                ranges.push(Range::parse(member)?);
            }
        }
        (!ranges.is_empty()).then_some(Self(ranges))
    }

    /// The length of the suffix, if the only requested range is a suffix.
    #[must_use]
    pub fn suffix(&self) -> Option<u64> {
        match self.0.as_slice() {
            [Range::Last(length)] => Some(*length),
            _ => None,
        }
    }

    /// Whether a single range is requested.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Selects the requested bytes of a representation of `length` bytes.
    ///
    /// Ranges that overlap or nearly touch are joined and sorted by position. Otherwise the order
    /// of the request stays (§15.3.7.2). Each byte is sent at most once, so a small request cannot
    /// cause a large response.
    #[must_use]
    pub fn satisfy(&self, length: u64) -> RangeSelection {
        if length == 0 && self.0.iter().any(|range| matches!(range, Range::Last(1..))) {
            // §14.1.2: an empty representation satisfies the range, but `Content-Range` cannot
            // express this.
            return RangeSelection::Whole;
        }
        let mut spans: Vec<Span> = self.0.iter().filter_map(|range| range.within(length)).collect();
        let joined = merged(spans.clone(), PART);
        if joined.len() < spans.len() {
            spans = joined;
        }
        match spans.as_slice() {
            [] => RangeSelection::Nothing,
            [span] => RangeSelection::One(*span),
            several => {
                let content = several.iter().map(|span| span.len().saturating_add(PART));
                let cost = content.fold(0_u64, u64::saturating_add);
                if cost < length { RangeSelection::Several(spans) } else { RangeSelection::Whole }
            }
        }
    }

    /// Selects the requested bytes if only some bytes are stored. `None` if a requested byte is
    /// missing, or if that cannot be determined (RFC 9111 §3.3).
    ///
    /// A partial copy is never sent as the whole representation, and never used to determine the
    /// end of the representation.
    #[must_use]
    pub fn within(&self, held: &StoredRanges, length: Option<u64>) -> Option<RangeSelection> {
        let Some(length) = length else {
            let [Range::From { first, last: Some(last) }] = self.0.as_slice() else { return None };
            let span = Span::new(*first, last.saturating_add(1))?;
            return held.covers(span).then_some(RangeSelection::One(span));
        };
        let satisfied = self.satisfy(length);
        let is_there = match &satisfied {
            RangeSelection::Whole => false,
            RangeSelection::One(span) => held.covers(*span),
            RangeSelection::Several(spans) => spans.iter().all(|span| held.covers(*span)),
            RangeSelection::Nothing => true,
        };
        is_there.then_some(satisfied)
    }
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-')?;
        if first.is_empty() {
            return digits(last).map(Range::Last);
        }
        let first = digits(first)?;
        let last = if last.is_empty() { None } else { Some(digits(last)?) };
        // §14.1.1: a range that ends before it begins makes the whole field invalid.
        last.is_none_or(|last| first <= last).then_some(Range::From { first, last })
    }

    /// The requested bytes in a representation of `length` bytes. `None` if it contains none of
    /// them.
    fn within(self, length: u64) -> Option<Span> {
        let length = length.min(MAX_POSITION);
        match self {
            Range::From { first, last } => {
                let end = last.map_or(length, |last| last.saturating_add(1).min(length));
                Span::new(first, end)
            }
            Range::Last(wanted) => Span::new(length.saturating_sub(wanted), length),
        }
    }
}
