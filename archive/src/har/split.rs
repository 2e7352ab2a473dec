//! Splits a HAR into its entries, in the memory of one entry.
//!
//! ```text
//! {"log": { …, "entries": [ {…}, {…}, … ] }}
//! ```
//!
//! Everything around the entries is skipped. The caller parses the JSON of each entry.

use std::io::{self, BufRead};

use crate::refusal::Reason;

/// The longest entry, in bytes.
pub(crate) const MAX_ENTRY: usize = 48 << 20;

/// The deepest nesting of brackets.
const MAX_DEPTH: usize = 200;

/// The longest key that is compared, in bytes.
const MAX_NAME: usize = 16;

/// The entries of a HAR, read in turn.
pub(crate) struct HarEntries<R> {
    input: R,
    /// The open brackets, the innermost last.
    open: Vec<u8>,
    /// The beginning of the last string.
    last: Vec<u8>,
    /// The keys of the open objects and arrays, in the order of `open`.
    names: Vec<Vec<u8>>,
    in_string: bool,
    escaped: bool,
}

/// The result of reading the next entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextEntry {
    Entry(Vec<u8>),
    TooLong,
    End,
}

impl<R: BufRead> HarEntries<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            open: Vec::new(),
            last: Vec::new(),
            names: Vec::new(),
            in_string: false,
            escaped: false,
        }
    }

    /// Reads the next entry.
    pub(crate) fn next(&mut self) -> io::Result<NextEntry> {
        let (mut entry, mut is_too_long) = (Vec::new(), false);
        loop {
            let there = self.input.fill_buf()?;
            if there.is_empty() {
                let is_whole = self.open.is_empty();
                return if is_whole { Ok(NextEntry::End) } else { Err(cut()) };
            }
            let mut bytes = there.to_vec();
            let mut used = bytes.len();
            for (index, &byte) in bytes.iter().enumerate() {
                let was_inside = self.is_inside();
                self.take(byte)?;
                let is_inside = self.is_inside();
                if was_inside || is_inside {
                    is_too_long |= entry.len() >= MAX_ENTRY;
                    if !is_too_long {
                        entry.push(byte);
                    }
                }
                if was_inside && !is_inside {
                    used = index + 1;
                    break;
                }
            }
            let is_end = used < bytes.len() || (!entry.is_empty() && !self.is_inside());
            bytes.clear();
            self.input.consume(used);
            if is_end && !entry.is_empty() {
                return Ok(if is_too_long { NextEntry::TooLong } else { NextEntry::Entry(entry) });
            }
        }
    }

    /// Whether an entry is open: `{ "log": { "entries": [ {`.
    fn is_inside(&self) -> bool {
        let name = |depth: usize| self.names.get(depth).map(Vec::as_slice);
        self.open.len() >= 4
            && self.open.starts_with(b"{{[{")
            && name(1) == Some(b"log")
            && name(2) == Some(b"entries")
    }

    fn take(&mut self, byte: u8) -> io::Result<()> {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ if self.last.len() < MAX_NAME => self.last.push(byte),
                _ => {}
            }
            return Ok(());
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.last.clear();
            }
            b'{' | b'[' => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(Reason::from("its brackets are nested too deep").into());
                }
                self.open.push(byte);
                self.names.push(std::mem::take(&mut self.last));
            }
            b'}' | b']' => {
                let opened = if byte == b'}' { b'{' } else { b'[' };
                self.names.pop();
                self.last.clear();
                if self.open.pop() != Some(opened) {
                    return Err(Reason::from("its brackets do not match").into());
                }
            }
            b',' => self.last.clear(),
            _ => {}
        }
        Ok(())
    }
}

fn cut() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Result<Vec<String>, String> {
        let mut entries = HarEntries::new(io::BufReader::with_capacity(5, text.as_bytes()));
        let mut found = Vec::new();
        loop {
            match entries.next().map_err(|error| error.to_string())? {
                NextEntry::Entry(entry) => found.push(String::from_utf8(entry).unwrap()),
                NextEntry::TooLong => found.push("too long".to_owned()),
                NextEntry::End => return Ok(found),
            }
        }
    }

    #[test]
    fn entries_are_distinguished_from_similar_text() {
        for (text, want) in [
            (
                r#"{"log":{"entries":[{"a":1},{"b":{"c":[{}]}}]}}"#,
                &[r#"{"a":1}"#, r#"{"b":{"c":[{}]}}"#][..],
            ),
            (r#"{"x":{"entries":[{"a":1}]},"log":{"pages":[{}],"entries":[]}}"#, &[]),
            (
                r#"{"log":{"comment":"\"entries\":[{","entries":[ {"a":"}\\"} ]}}"#,
                &[r#"{"a":"}\\"}"#],
            ),
            (r#"{"log":{"entries":[{}]}}"#, &["{}"]),
            ("[]", &[]),
            ("", &[]),
            ("\u{feff}{\"log\":{\"entries\":[{}]}}\n", &["{}"]),
        ] {
            assert_eq!(
                split(text).as_deref(),
                Ok(&want.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in [r#"{"log":{"entries":[{"a":1}"#, "{]", "}", &"[".repeat(1_000)] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
