//! `Range`: what a client asks for (RFC 9110 §14.2), and what of it there is.

use super::held::Held;
use super::{MAX_POSITION, Span, digits};

/// How many ranges one field may hold. More are answered with the whole representation, as §14.2
/// allows for what can only be a mistake or an attack. Viewers of documents ask for dozens.
pub const MAX_RANGES: usize = 128;

/// What a further part of a `multipart/byteranges` costs, in bytes: ranges that are nearer to each other are
/// sent as one (§15.3.7.2 names this number).
const PART: u64 = 80;

/// One range as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    /// `first-last`, or `first-` up to the end.
    From { first: u64, last: Option<u64> },
    /// `-length`: the last bytes.
    Last(u64),
}

/// The ranges of bytes that a client asks for: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

/// What of a representation is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Satisfied {
    /// All of it, with 200: parts of it would cost as much, or it is empty.
    Whole,
    /// This, with 206 and `Content-Range`.
    One(Span),
    /// These, with 206 and `multipart/byteranges`.
    Several(Vec<Span>),
    /// None of the ranges has a byte of it: 416 (§15.5.17).
    Nothing,
}

impl Ranges {
    /// Reads a `Range` field. `None` where it is to be ignored, which §14.2 says of units that are not
    /// known and allows for whatever is malformed: then the whole representation is the answer.
    ///
    /// Laxer than the grammar: blanks around the commas, and empty members between them.
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
            // Empty members count as well: they are free for who sends them, and not for us.
            if seen >= MAX_RANGES {
                return None;
            }
            if !member.is_empty() {
                ranges.push(Range::parse(member)?);
            }
        }
        (!ranges.is_empty()).then_some(Self(ranges))
    }

    /// The length of the one suffix that is asked for, and nothing else.
    #[must_use]
    pub fn suffix(&self) -> Option<u64> {
        match self.0.as_slice() {
            [Range::Last(length)] => Some(*length),
            _ => None,
        }
    }

    /// Whether it is one range.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// What there is of them in a representation of `length` bytes.
    ///
    /// Ranges that overlap or nearly touch become one, in the order of the bytes; others keep the
    /// order they were asked in (§15.3.7.2). Each byte is sent once at most, so that a small request
    /// cannot bring a large answer.
    #[must_use]
    pub fn satisfy(&self, length: u64) -> Satisfied {
        if length == 0 && self.0.iter().any(|range| matches!(range, Range::Last(1..))) {
            // §14.1.2: it is satisfied with the whole of nothing, which no Content-Range can say.
            return Satisfied::Whole;
        }
        let mut spans: Vec<Span> = self.0.iter().filter_map(|range| range.within(length)).collect();
        if has_neighbours(&spans) {
            spans = joined(spans);
        }
        match spans.as_slice() {
            [] => Satisfied::Nothing,
            [span] => Satisfied::One(*span),
            several => {
                let content = several.iter().map(|span| span.len().saturating_add(PART));
                let cost = content.fold(0_u64, u64::saturating_add);
                if cost < length { Satisfied::Several(spans) } else { Satisfied::Whole }
            }
        }
    }

    /// The same, where only some bytes are there: `None` when one that is asked for lacks, or when it
    /// cannot be told (RFC 9111 §3.3).
    ///
    /// What is there in part is never sent whole, and never taken for a proof that there is no more.
    #[must_use]
    pub fn within(&self, held: &Held, length: Option<u64>) -> Option<Satisfied> {
        let Some(length) = length else {
            let [Range::From { first, last: Some(last) }] = self.0.as_slice() else { return None };
            let span = Span::new(*first, last.saturating_add(1))?;
            return held.covers(span).then_some(Satisfied::One(span));
        };
        let satisfied = self.satisfy(length);
        let is_there = match &satisfied {
            Satisfied::Whole => false,
            Satisfied::One(span) => held.covers(*span),
            Satisfied::Several(spans) => spans.iter().all(|span| held.covers(*span)),
            Satisfied::Nothing => true,
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
        // §14.1.1: a range that ends before it begins is invalid, and with it the whole field.
        last.is_none_or(|last| first <= last).then_some(Range::From { first, last })
    }

    /// Its bytes in a representation of `length` bytes.
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

/// Whether any two overlap, or are so near that a part of its own costs more than what is between.
fn has_neighbours(spans: &[Span]) -> bool {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    sorted.iter().zip(sorted.iter().skip(1)).any(|(one, next)| are_near(*one, *next))
}

fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if are_near(*last, span) => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// For two in order.
fn are_near(one: Span, next: Span) -> bool {
    next.start <= one.end.saturating_add(PART)
}
