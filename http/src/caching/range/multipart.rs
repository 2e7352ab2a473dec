//! Writes `multipart/byteranges` (RFC 9110 §14.6). The length of the body is known before the first
//! byte is read.
//!
//! A multipart body from an origin is forwarded without being parsed. A range is stored only if it
//! was the only requested one.

use bytes::Bytes;

use super::{ContentRange, Span};

/// A piece of a multipart body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyPiece {
    /// Literal bytes.
    Text(Bytes),
    /// Bytes of the representation.
    Content(Span),
}

impl BodyPiece {
    /// The number of bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> u64 {
        match self {
            BodyPiece::Text(text) => wide(text.len()),
            BodyPiece::Content(span) => span.len(),
        }
    }
}

/// Several ranges of one representation as one body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multipart {
    boundary: String,
    stretches: Vec<BodyPiece>,
}

impl Multipart {
    /// Combines `spans` of a representation of `complete` bytes with this `Content-Type`.
    ///
    /// The boundary is derived from `random`, which must be new for each response. So an attacker
    /// cannot put the boundary into a body.
    #[must_use]
    pub fn new(
        spans: &[Span],
        complete: Option<u64>,
        content_type: Option<&[u8]>,
        random: [u8; 16],
    ) -> Self {
        let boundary = format!("wwwoffle-{}", hex::encode(random));
        let mut stretches = Vec::with_capacity(spans.len().saturating_mul(2).saturating_add(1));
        let mut before = "";
        for &span in spans {
            let mut head = format!("{before}--{boundary}\r\n").into_bytes();
            if let Some(content_type) = content_type {
                head.extend_from_slice(b"Content-Type: ");
                head.extend_from_slice(content_type);
                head.extend_from_slice(b"\r\n");
            }
            let range = ContentRange::Part { span, complete };
            head.extend_from_slice(format!("Content-Range: {range}\r\n\r\n").as_bytes());
            stretches.push(BodyPiece::Text(head.into()));
            stretches.push(BodyPiece::Content(span));
            before = "\r\n";
        }
        stretches.push(BodyPiece::Text(format!("{before}--{boundary}--\r\n").into()));
        Self { boundary, stretches }
    }

    /// The `Content-Type` of the body.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// The `Content-Length` of the body.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.stretches.iter().map(BodyPiece::len).fold(0, u64::saturating_add)
    }

    /// The pieces of the body, in order.
    #[must_use]
    pub fn into_stretches(self) -> Vec<BodyPiece> {
        self.stretches
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
