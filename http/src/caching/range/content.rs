//! `Content-Range`: which bytes an answer brings (RFC 9110 §14.4).

use std::fmt;

use super::{MAX_POSITION, Ranges, Span, digits};

/// What a `Content-Range` of bytes says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRange {
    /// `bytes 0-4/10`: these bytes, of so many in all if that is known.
    Part {
        /// The bytes.
        span: Span,
        /// How many there are in all.
        complete: Option<u64>,
    },
    /// `bytes */10`: none, for there are only so many.
    Unsatisfied {
        /// How many there are in all.
        complete: u64,
    },
}

/// A `Content-Range` that cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadContentRange {
    /// It is not of the form `bytes 0-4/10`.
    #[error("a Content-Range is not of the form bytes 0-4/10")]
    Malformed,
    /// Its end is before its beginning, or behind the end of the whole.
    #[error("a Content-Range does not fit into the length it tells")]
    Impossible,
}

impl ContentRange {
    /// Reads the field.
    ///
    /// # Errors
    ///
    /// [`BadContentRange`]; such an answer must not be combined with anything (§14.4).
    pub fn parse(field: &str) -> Result<Self, BadContentRange> {
        let malformed = BadContentRange::Malformed;
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
    let number = digits(text).ok_or(BadContentRange::Malformed)?;
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

/// The bytes that a 206 brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Which they are.
    pub span: Span,
    /// How many there are in all, if that is known.
    pub complete: Option<u64>,
    /// The answer contradicts itself, and this is the one way to read it: good for itself, and never
    /// to be joined with another part.
    pub doubtful: bool,
}

/// Why the bytes of a 206 are not used for anything but this answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// No range was asked for.
    #[error("a part was sent and not asked for")]
    NotAsked,
    /// Several ranges were asked for. A multipart is passed on: it is not taken apart.
    #[error("several ranges were asked for at once")]
    Several,
    /// There is none, or several, or one that makes no sense.
    #[error("it cannot be told which part was sent")]
    ContentRange(#[from] BadContentRange),
    /// The content is not as long as what it says to be.
    #[error("the part is not as long as its Content-Range says")]
    Length,
}

/// Reads which bytes a 206 brings, from what was asked for, its `Content-Range` (`None` unless there is just
/// one), and the length of its content, if that is known.
///
/// It may bring other bytes than were asked for, more or less: it says itself which (§15.3.7).
///
/// An origin that was asked for the last `n` bytes, sends `n` bytes, and says that they reach to the end, but
/// counts more of them in `Content-Range`, is taken by where they begin and by what came: its count of
/// the end is wrong.
///
/// # Errors
///
/// [`Misfit`]; then the answer is passed on, and nothing of it is kept.
pub fn received(
    asked: Option<&Ranges>,
    content_range: Option<&str>,
    length: Option<u64>,
) -> Result<Received, Misfit> {
    let asked = asked.ok_or(Misfit::NotAsked)?;
    if !asked.is_one() {
        return Err(Misfit::Several);
    }
    let field = content_range.ok_or(BadContentRange::Malformed)?;
    let ContentRange::Part { span, complete } = ContentRange::parse(field)? else {
        return Err(BadContentRange::Malformed.into());
    };
    let Some(length) = length.filter(|length| *length != span.len()) else {
        return Ok(Received { span, complete, doubtful: false });
    };
    let is_the_end = complete == Some(span.end) && asked.suffix() == Some(length);
    let end = span.start.checked_add(length).filter(|end| *end <= MAX_POSITION);
    match end.and_then(|end| Span::new(span.start, end)) {
        Some(span) if is_the_end => Ok(Received { span, complete: Some(span.end), doubtful: true }),
        _ => Err(Misfit::Length),
    }
}
