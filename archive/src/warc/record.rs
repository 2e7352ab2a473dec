//! The records of a WARC file, version 1.0 or 1.1, in sequence.

use std::io::{self, BufRead, Read};

use jiff::Timestamp;

use crate::chunked::read_line;
use crate::refusal::Reason;
use wwwoffle_http::media_type::essence;

/// The longest record header, in bytes.
const MAX_HEADER: usize = 128 << 10;

/// The most fields in a header.
const MAX_FIELDS: usize = 200;

/// How many bytes are skipped at once.
const PIECE: usize = 64 << 10;

/// A reader of records.
pub(crate) struct Records<R> {
    input: R,
    /// The number of unread bytes in the block of the last record.
    left: u64,
    /// Whether the first line of the next record has been read.
    is_at_record: bool,
}

/// The header of a record.
#[derive(Debug)]
pub(crate) struct WarcHeader {
    fields: Vec<(String, String)>,
    /// The length of the block, in bytes.
    pub(crate) length: u64,
}

/// The result of reading a record.
#[derive(Debug)]
pub(crate) enum NextRecord {
    Record(WarcHeader),
    /// Bytes that are not a record, and the reason. Reading can continue after them.
    Rubbish(Reason),
    End,
}

/// The block of a record. If it ends early, reading it fails.
#[derive(Debug)]
pub(crate) struct Block<'a, R> {
    input: &'a mut R,
    left: &'a mut u64,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, left: 0, is_at_record: false }
    }

    /// Skips the rest of the last record, and reads the header of the next one.
    pub(crate) fn next(&mut self) -> io::Result<NextRecord> {
        self.pass()?;
        if std::mem::take(&mut self.is_at_record) {
            return self.header();
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            let is_line = read_line(&mut self.input, &mut line, MAX_HEADER)?;
            if line.is_empty() {
                return Ok(NextRecord::End);
            }
            if line.starts_with(b"WARC/") && is_line {
                return self.header();
            }
            if !line.trim_ascii().is_empty() {
                return self.search();
            }
        }
    }

    /// The block of the last record.
    pub(crate) fn block(&mut self) -> Block<'_, R> {
        Block { input: &mut self.input, left: &mut self.left }
    }

    /// Skips bytes up to the first line of a record.
    fn search(&mut self) -> io::Result<NextRecord> {
        let (mut line, mut begins_line) = (Vec::new(), true);
        loop {
            line.clear();
            let is_line = read_line(&mut self.input, &mut line, PIECE)?;
            let is_record = is_line && begins_line && line.starts_with(b"WARC/1.");
            if line.is_empty() || is_record {
                self.is_at_record = is_record;
                return Ok(NextRecord::Rubbish(
                    "there are invalid bytes between two records".into(),
                ));
            }
            begins_line = is_line;
        }
    }

    fn header(&mut self) -> io::Result<NextRecord> {
        let (mut fields, mut used): (Vec<(String, String)>, usize) = (Vec::new(), 0);
        loop {
            let mut line = Vec::new();
            let is_line = read_line(&mut self.input, &mut line, MAX_HEADER - used)?;
            used += line.len();
            if !is_line {
                return Ok(NextRecord::Rubbish("the header of a record is incomplete".into()));
            }
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                break;
            }
            if fields.len() >= MAX_FIELDS {
                return Ok(NextRecord::Rubbish("a record has more than 200 fields".into()));
            }
            match (text.split_once(':'), fields.last_mut()) {
                (_, Some((_, value))) if text.starts_with([' ', '\t']) => {
                    value.push(' ');
                    value.push_str(text.trim());
                }
                (Some((name, value)), _) => {
                    fields.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                (None, _) => {}
            }
        }
        let mut header = WarcHeader { fields, length: 0 };
        let Some(length) = header.get("Content-Length").and_then(|text| text.parse().ok()) else {
            return Ok(NextRecord::Rubbish("a record has no length".into()));
        };
        (header.length, self.left) = (length, length);
        Ok(NextRecord::Record(header))
    }

    /// Skips the rest of a block.
    fn pass(&mut self) -> io::Result<()> {
        while self.left > 0 {
            let mut block = self.block();
            let there = block.fill_buf()?.len();
            block.consume(there);
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for Block<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if *self.left == 0 {
            return Ok(&[]);
        }
        let there = self.input.fill_buf()?;
        if there.is_empty() {
            // The rest of the block is missing. Without this, the next call would fail again.
            *self.left = 0;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let most = usize::try_from(*self.left).unwrap_or(usize::MAX).min(there.len());
        Ok(there.get(..most).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.input.consume(count);
        *self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
    }
}

impl<R: BufRead> Read for Block<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl WarcHeader {
    /// The first value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_named = move |(own, _): &&(String, String)| own.eq_ignore_ascii_case(name);
        self.fields.iter().filter(is_named).map(|(_, value)| value.as_str())
    }

    /// The record type.
    pub(crate) fn record_type(&self) -> &str {
        self.get("WARC-Type").unwrap_or_default()
    }

    /// The URL that the record describes, without the angle brackets that some tools write. Empty
    /// if the field is missing.
    pub(crate) fn target(&self) -> &str {
        bare(self.get("WARC-Target-URI").unwrap_or_default())
    }

    /// When the record was created.
    pub(crate) fn date(&self) -> Result<Timestamp, Reason> {
        let text = self.get("WARC-Date").ok_or("has no date")?;
        let time: Timestamp = text.parse().map_err(|_| "has an invalid date")?;
        if time < Timestamp::UNIX_EPOCH { Err("has a date before 1970".into()) } else { Ok(time) }
    }

    /// The media type of the block, in lower case without parameters.
    pub(crate) fn content_type(&self) -> String {
        essence(self.get("Content-Type").unwrap_or_default())
    }
}

/// Removes angle brackets.
pub(crate) fn bare(text: &str) -> &str {
    text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        let mut records = Records::new(io::BufReader::with_capacity(7, text));
        let mut shown = Vec::new();
        loop {
            match records.next() {
                Ok(NextRecord::Record(header)) => {
                    let mut block = String::new();
                    let read = records.block().read_to_string(&mut block);
                    let end = read.err().map_or(String::new(), |error| format!(" {error}"));
                    shown.push(format!(
                        "{} {} {block}{end}",
                        header.record_type(),
                        header.target()
                    ));
                }
                Ok(NextRecord::Rubbish(reason)) => shown.push(reason.to_string()),
                Ok(NextRecord::End) => return shown,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn records_are_read_with_any_line_ending() {
        let one = "WARC/1.0\r\nWARC-Type: response\r\nwarc-target-uri: <http://a/>\r\n\
                   Content-Length: 3\r\n\r\nabc\r\n\r\n";
        let two =
            "WARC/1.1\nWARC-Type:resource\nWARC-Target-URI: http://b/\n c\nContent-Length: 0\n\n";
        let both = format!("\r\n{one}\n\n{two}");
        assert_eq!(read(both.as_bytes()), ["response http://a/ abc", "resource http://b/ c "]);
    }

    #[test]
    fn damaged_records_are_skipped() {
        let good = "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 1\r\n\r\na\r\n\r\n";
        for (bad, why) in [
            ("rubbish\r\nmore\r\n", "invalid bytes between"),
            ("WARC/1.0\r\nWARC-Type: x\r\n\r\n", "no length"),
            ("WARC/1.0\r\nContent-Length: -1\r\n\r\n", "no length"),
        ] {
            let shown = read(format!("{good}{bad}{good}").as_bytes());
            assert_eq!((shown.len(), &*shown[0], &*shown[2]), (3, "x  a", "x  a"), "{shown:?}");
            assert!(shown[1].contains(why), "{shown:?}");
        }
        let cut = read(&good.as_bytes()[..good.len() - 5]);
        assert!(cut[0].contains("end of file") || cut[0].contains("unexpected"), "{cut:?}");
        let endless = [b"WARC/1.0\r\n".to_vec(), vec![b'a'; 1 << 20]].concat();
        assert!(read(&endless)[0].contains("incomplete"));
    }
}
