//! The position of a segment in its body: a metadata record in the tail of its file.
//!
//! ```text
//! start: 1048576                                 the offset of the segment in the complete body
//! complete-length: 5242880                       or "unknown"
//! validator: "33a64df5"                          `%` and unprintable bytes are `%` and two hex digits
//! ```

use crate::entry::warc::{Reason, number};
use crate::error::{Error, Result};

/// The longest validator of a segment, in bytes.
pub const MAX_VALIDATOR: usize = 1 << 10;

/// An upper bound for the text of the record: three bytes for each byte of the validator, and two
/// numbers.
pub(crate) const MAX_PART_TEXT: usize = 3 * MAX_VALIDATOR + 128;

/// The position of a segment, and the body that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentPosition {
    pub(crate) start: u64,
    pub(crate) whole: SegmentedBody,
}

/// The complete body that segments belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentedBody {
    pub(crate) validator: Vec<u8>,
    /// The length of the complete body in bytes, if known.
    pub(crate) complete_length: Option<u64>,
}

impl SegmentedBody {
    pub(crate) fn new(validator: &[u8], complete_length: Option<u64>) -> Result<SegmentedBody> {
        Error::check_length("the validator", validator.len(), MAX_VALIDATOR)?;
        if validator.is_empty() {
            return Err(Error::invalid("the validator", "is empty", validator));
        }
        Ok(SegmentedBody { validator: validator.to_vec(), complete_length })
    }

    /// Whether `self` and `other` can be the same body, so that their segments can be joined: the
    /// validators are equal, and the complete lengths do not differ if both are known.
    pub(crate) fn is_compatible_with(&self, other: &SegmentedBody) -> bool {
        let lengths = (self.complete_length, other.complete_length);
        self.validator == other.validator
            && !matches!(lengths, (Some(one), Some(other)) if one != other)
    }

    /// Whether `span`, the beginning and the end of a range, lies within the body. False for
    /// `None`.
    pub(crate) fn contains_range(&self, span: Option<(u64, u64)>) -> bool {
        span.is_some_and(|(_, end)| self.complete_length.is_none_or(|complete| end <= complete))
    }
}

impl SegmentPosition {
    /// Whether the body can have `len` bytes from the start of the segment on.
    pub(crate) fn has_room_for(&self, len: u64) -> bool {
        let end = self.start.checked_add(len);
        end.is_some_and(|end| self.whole.complete_length.is_none_or(|complete| end <= complete))
    }

    /// Returns the content of the metadata record.
    pub(crate) fn text(&self) -> Vec<u8> {
        let complete = self.whole.complete_length;
        let complete = complete.map_or_else(|| "unknown".to_owned(), |length| length.to_string());
        let mut text =
            format!("start: {}\r\ncomplete-length: {complete}\r\nvalidator: ", self.start)
                .into_bytes();
        for &byte in &self.whole.validator {
            if byte.is_ascii_graphic() && byte != b'%' {
                text.push(byte);
            } else {
                text.extend_from_slice(format!("%{byte:02x}").as_bytes());
            }
        }
        text.extend_from_slice(b"\r\n");
        text
    }

    /// Parses the content of the metadata record.
    pub(crate) fn parse(text: &[u8]) -> Result<SegmentPosition, Reason> {
        let wrong = "its position in the complete body is invalid";
        let text = std::str::from_utf8(text).map_err(|_| wrong)?;
        let mut lines = text.strip_suffix("\r\n").ok_or(wrong)?.split("\r\n");
        let mut next = |name: &str| {
            lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(": ")).ok_or(wrong)
        };
        let start = number(next("start")?).ok_or(wrong)?;
        let complete_length = match next("complete-length")? {
            "unknown" => None,
            digits => Some(number(digits).ok_or(wrong)?),
        };
        let validator = unescape(next("validator")?).ok_or(wrong)?;
        if lines.next().is_some() || validator.is_empty() || validator.len() > MAX_VALIDATOR {
            return Err(wrong);
        }
        Ok(SegmentPosition { start, whole: SegmentedBody { validator, complete_length } })
    }
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            bytes.extend(hex::decode([rest.next()?, rest.next()?]).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_position_round_trips() {
        for (start, complete_length, validator) in [
            (0, None, &b"\"a\""[..]),
            (7, Some(8), b"Fri, 20 Nov 2026 13:13:26 GMT"),
            (u64::MAX, Some(u64::MAX), b"\"%\r\n\x80\xff\""),
            (0, Some(0), &[b' '; MAX_VALIDATOR]),
        ] {
            let whole = SegmentedBody::new(validator, complete_length).unwrap();
            let part = SegmentPosition { start, whole };
            assert!(part.text().len() <= MAX_PART_TEXT);
            assert_eq!(SegmentPosition::parse(&part.text()), Ok(part));
        }
        assert!(SegmentedBody::new(b"", None).unwrap_err().is_invalid());
        assert!(SegmentedBody::new(&[b'a'; MAX_VALIDATOR + 1], None).unwrap_err().is_too_large());
    }

    #[test]
    fn an_invalid_segment_position_is_refused() {
        for text in [
            "",
            "start: 0\r\n",
            "start: 0\r\ncomplete-length: 9\r\nvalidator: \r\n",
            "start: 0\r\ncomplete-length: 9\r\nvalidator: a",
            "start: 0\r\ncomplete-length: 9\r\nvalidator: %4\r\n",
            "start: 0\r\ncomplete-length: 9\r\nvalidator: %zz\r\n",
            "start: +1\r\ncomplete-length: 9\r\nvalidator: a\r\n",
            "start: -1\r\ncomplete-length: 9\r\nvalidator: a\r\n",
            "start: 0\r\ncomplete-length: 99999999999999999999\r\nvalidator: a\r\n",
            "start: 99999999999999999999\r\ncomplete-length: 9\r\nvalidator: a\r\n",
            "start: 0\r\ncomplete-length: 9\r\nvalidator: a\r\nmore: 1\r\n",
            "complete-length: 9\r\nstart: 0\r\nvalidator: a\r\n",
        ] {
            assert!(SegmentPosition::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn no_segment_ends_after_the_body() {
        let part = |start, complete_length| SegmentPosition {
            start,
            whole: SegmentedBody { validator: b"v".to_vec(), complete_length },
        };
        assert!(part(5, Some(10)).has_room_for(5));
        assert!(!part(5, Some(10)).has_room_for(6));
        assert!(part(5, None).has_room_for(u64::MAX - 5));
        assert!(!part(5, None).has_room_for(u64::MAX - 4));
        assert!(!part(11, Some(10)).has_room_for(0));
    }
}
