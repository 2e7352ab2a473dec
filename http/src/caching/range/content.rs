//! `Content-Range`: the bytes that a response contains (RFC 9110 §14.4).

use std::fmt;

use super::{MAX_POSITION, Ranges, Span, digits};

/// A parsed `Content-Range` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRange {
    /// `bytes 0-4/10`: a range and, if known, the complete length.
    Part {
        /// The range.
        span: Span,
        /// The complete length, if known.
        complete: Option<u64>,
    },
    /// `bytes */10`: the range cannot be satisfied.
    Unsatisfied {
        /// The complete length.
        complete: u64,
    },
}

/// An invalid or unusable `Content-Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadContentRange {
    /// The field does not have the form `bytes 0-4/10`.
    #[error("Content-Range does not have the form bytes 0-4/10")]
    MalformedHead,
    /// The range ends before it begins, or after the complete length.
    #[error("the range lies outside the length given in Content-Range")]
    Impossible,
}

impl ContentRange {
    /// Parses the field.
    ///
    /// # Errors
    ///
    /// [`BadContentRange`]. A response with such a field must not be combined with others (§14.4).
    pub fn parse(field: &str) -> Result<Self, BadContentRange> {
        let malformed = BadContentRange::MalformedHead;
        let (unit, rest) = field.trim().split_once(' ').ok_or(malformed)?;
        let (range, complete) = rest.trim_start_matches(' ').split_once('/').ok_or(malformed)?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return Err(malformed);
        }
        let complete = match complete {
            "*" => None,
            number => Some(position(number)?),
        };
        if range == "*" {
            return complete.map(|complete| Self::Unsatisfied { complete }).ok_or(malformed);
        }
        let (first, last) = range.split_once('-').ok_or(malformed)?;
        let (first, last) = (position(first)?, position(last)?);
        if complete.is_some_and(|complete| complete <= last) {
            return Err(BadContentRange::Impossible);
        }
        let end = last.checked_add(1).filter(|end| *end <= MAX_POSITION);
        let span = end.and_then(|end| Span::new(first, end)).ok_or(BadContentRange::Impossible)?;
        Ok(Self::Part { span, complete })
    }
}

fn position(text: &str) -> Result<u64, BadContentRange> {
    let number = digits(text).ok_or(BadContentRange::MalformedHead)?;
    if number <= MAX_POSITION { Ok(number) } else { Err(BadContentRange::Impossible) }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { span, complete: Some(complete) } => {
                write!(f, "bytes {}-{}/{complete}", span.start, span.last())
            }
            Self::Part { span, complete: None } => {
                write!(f, "bytes {}-{}/*", span.start, span.last())
            }
            Self::Unsatisfied { complete } => write!(f, "bytes */{complete}"),
        }
    }
}

/// The bytes of a 206.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedRange {
    /// The received range.
    pub span: Span,
    /// The complete length, if known.
    pub complete: Option<u64>,
    /// Whether the response contradicts itself, so that `span` is only its most plausible reading.
    /// Such a range may be used alone, but not combined with another part.
    pub doubtful: bool,
}

/// The reason why the bytes of a 206 cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartMismatch {
    /// No range was requested.
    #[error("the origin sent a part, but no range was requested")]
    NotAsked,
    /// Several ranges were requested. A multipart body is forwarded without being parsed.
    #[error("several ranges were requested at once")]
    Several,
    /// `Content-Range` is missing, repeated or invalid.
    #[error("the position of the part is unknown")]
    ContentRange(#[from] BadContentRange),
    /// The length of the content differs from its `Content-Range`.
    #[error("the length of the part differs from its Content-Range")]
    Length,
}

/// Determines the bytes of a 206 from the requested ranges, its `Content-Range` (`None` unless the
/// field occurs exactly once) and the length of its content, if known.
///
/// The response may contain more, fewer or other bytes than requested; its `Content-Range` decides
/// (§15.3.7).
///
/// Some origins answer a request for the last `n` bytes with `n` bytes that reach to the end, but
/// give a larger range in `Content-Range`. The result then starts where the field says, has `n`
/// bytes and is `doubtful`.
///
/// # Errors
///
/// [`PartMismatch`]. The response is then forwarded and not stored.
pub fn parse_received(
    asked: Option<&Ranges>,
    content_range: Option<&str>,
    length: Option<u64>,
) -> Result<ReceivedRange, PartMismatch> {
    let asked = asked.ok_or(PartMismatch::NotAsked)?;
    if !asked.is_one() {
        return Err(PartMismatch::Several);
    }
    let field = content_range.ok_or(BadContentRange::MalformedHead)?;
    let ContentRange::Part { span, complete } = ContentRange::parse(field)? else {
        return Err(BadContentRange::MalformedHead.into());
    };
    let Some(length) = length.filter(|length| *length != span.len()) else {
        return Ok(ReceivedRange { span, complete, doubtful: false });
    };
    let is_the_end = complete == Some(span.end) && asked.suffix() == Some(length);
    let end = span.start.checked_add(length).filter(|end| *end <= MAX_POSITION);
    match end.and_then(|end| Span::new(span.start, end)) {
        Some(span) if is_the_end => {
            Ok(ReceivedRange { span, complete: Some(span.end), doubtful: true })
        }
        _ => Err(PartMismatch::Length),
    }
}
