//! The bytes of a fuzzer as structured input: choices from single bytes, texts from lines. Letters
//! work as well as other bytes, so that people can read and write a corpus.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// The remaining bytes. Once they are used up, only zeros and empty lines are read.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn number(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// A number, or `None` for every second value of a byte.
    pub(crate) fn maybe(&mut self) -> Option<u16> {
        self.flag().then(|| self.number())
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// The bytes up to the next LF, which is consumed.
    pub(crate) fn line_of_bytes(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == b'\n');
        let (line, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        line
    }

    /// Like [`line_of_bytes`](Self::line_of_bytes), up to the first invalid UTF-8.
    pub(crate) fn line(&mut self) -> &'a str {
        text(self.line_of_bytes())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Reads lines `Name: value`, up to an empty one or the end. Invalid fields are skipped.
    pub(crate) fn fields(&mut self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        loop {
            let line = self.line_of_bytes();
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                if line.is_empty() {
                    return fields;
                }
                continue;
            };
            let value = line[colon + 1..].trim_ascii();
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(value))
            {
                fields.append(name, value);
            }
        }
    }
}

/// The longest prefix that is valid UTF-8.
pub(crate) fn text(bytes: &[u8]) -> &str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
