//! `multipart/byteranges` (RFC 9110 §14.6), written. Its length is known before the first byte is read.
//!
//! What origins send in this form is passed on and not read: a part is kept only where it was asked for
//! alone.

use bytes::Bytes;

use super::{ContentRange, Span};

/// A piece of a body that is made of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// These bytes, as they are.
    Text(Bytes),
    /// These bytes of the representation.
    Content(Span),
}

impl Stretch {
    /// How many bytes it has.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u64 {
        match self {
            Stretch::Text(text) => wide(text.len()),
            Stretch::Content(span) => span.len(),
        }
    }
}

/// Several parts of one representation as one body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multipart {
    boundary: String,
    stretches: Vec<Stretch>,
}

impl Multipart {
    /// Puts `spans` of a representation of `complete` bytes and this `Content-Type` together.
    ///
    /// The boundary is made of `random`, which has to be new for each answer: what nobody can know
    /// beforehand nobody has put into a body.
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
            stretches.push(Stretch::Text(head.into()));
            stretches.push(Stretch::Content(span));
            before = "\r\n";
        }
        stretches.push(Stretch::Text(format!("{before}--{boundary}--\r\n").into()));
        Self { boundary, stretches }
    }

    /// Its `Content-Type`.
    #[must_use]
    pub fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// Its `Content-Length`.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.stretches.iter().map(Stretch::len).fold(0, u64::saturating_add)
    }

    /// What it is made of, in order.
    #[must_use]
    pub fn into_stretches(self) -> Vec<Stretch> {
        self.stretches
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
