//! WARC 1.1 records (ISO 28500:2017), as far as the spool writes and reads them.
//!
//! A record is a header, a block, and two line ends. Every record that we write has the additional
//! field `Wwwoffle-Check`, which detects changed bits in the header; the digests of the standard do
//! not cover the header. The names of our own fields begin with `Wwwoffle-`; the standard lets
//! readers skip them.

use std::ops::Range;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::error::{Result, SpoolFault};

/// The first line of every record.
pub(crate) const VERSION_LINE: &str = "WARC/1.1\r\n";

/// A line end. [`BLOCK_END`] is the two line ends after a header or a block.
pub(crate) const LINE_END: &str = "\r\n";
pub(crate) const BLOCK_END: &str = "\r\n\r\n";

/// An upper bound for the number of fields in our records.
const MAX_FIELDS: usize = 32;

/// The name of the field for the check, a CRC-32 in hex.
const CHECK: &str = "Wwwoffle-Check";

/// The media types of the blocks (WARC 1.1 §6.3, §6.5, §6.6).
pub(crate) const RESPONSE: &str = "application/http; msgtype=response";
pub(crate) const REQUEST: &str = "application/http; msgtype=request";
pub(crate) const FIELDS: &str = "application/warc-fields";

/// The reason why a record or file was refused: a few words, shown after "is damaged or foreign: ".
pub(crate) type Reason = &'static str;

/// The parsed header of a record.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    fields: [(&'a str, &'a str); MAX_FIELDS],
    /// The length in bytes, including the empty line: the offset of the block.
    pub(crate) len: usize,
    /// The range of the digits of `Wwwoffle-Check` in the record.
    check: Range<usize>,
}

impl<'a> Header<'a> {
    /// Parses the header at the beginning of `bytes`, without verifying its check.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Header<'a>, Reason> {
        if !bytes.starts_with(VERSION_LINE.as_bytes()) {
            return Err("it does not begin with a WARC record");
        }
        let mut header =
            Header { fields: [("", ""); MAX_FIELDS], len: VERSION_LINE.len(), check: 0..0 };
        let mut free = header.fields.iter_mut();
        loop {
            let line = line_at(bytes, header.len).ok_or("a header is truncated")?;
            let start = header.len;
            header.len += line.len() + LINE_END.len();
            if line.is_empty() {
                return Ok(header);
            }
            let line = std::str::from_utf8(line).map_err(|_| "a header is not UTF-8")?;
            let field = line.split_once(": ").ok_or("a header line without a colon")?;
            if field.0 == CHECK {
                let digits = start + CHECK.len() + 2;
                header.check = digits..digits + field.1.len();
            }
            *free.next().ok_or("a header has too many lines")? = field;
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1)
    }

    pub(crate) fn need(&self, name: &str) -> Result<&'a str, Reason> {
        self.get(name).ok_or("a field is missing in a header")
    }

    /// Parses a required field of decimal digits.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Reason> {
        number(self.need(name)?).ok_or("a number in a header is invalid")
    }

    /// Parses a required field with a time.
    pub(crate) fn time(&self, name: &str) -> Result<Timestamp, Reason> {
        self.need(name)?.parse().map_err(|_| "a time in a header is invalid")
    }

    /// Parses a required field with a SHA-256.
    pub(crate) fn digest(&self, name: &str) -> Result<[u8; 32], Reason> {
        let digits = self.need(name)?.strip_prefix("sha256:").unwrap_or_default();
        let mut digest = [0; 32];
        hex::decode_to_slice(digits, &mut digest).map_err(|_| "a digest in a header is invalid")?;
        Ok(digest)
    }

    /// Compares the check with the CRC-32 of `covered`, the bytes of the record from its header on.
    /// The digits of the check are left out.
    pub(crate) fn verify(&self, covered: &[u8]) -> Result<(), Reason> {
        let found = covered.get(self.check.clone()).unwrap_or_default();
        let before = covered.get(..self.check.start).unwrap_or_default();
        let after = covered.get(self.check.end..).unwrap_or_default();
        if found == check_digits(&[before, after]).as_bytes() {
            Ok(())
        } else {
            Err("a header does not match its checksum")
        }
    }
}

/// Parses decimal digits. At least one digit, and nothing else, is allowed.
pub(crate) fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the line at `start`, without its line end. `None` if the line end is missing.
fn line_at(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let rest = bytes.get(start..)?;
    let end = rest.iter().position(|&byte| byte == b'\r')?;
    if rest.get(end + 1) != Some(&b'\n') {
        return None;
    }
    rest.get(..end)
}

/// Computes the digits of the check over consecutive pieces.
pub(crate) fn check_digits(pieces: &[&[u8]]) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for piece in pieces {
        hasher.update(piece);
    }
    format!("{:08x}", hasher.finalize())
}

/// A record being built in memory: header, block and line ends.
#[derive(Debug)]
pub(crate) struct Record {
    bytes: Vec<u8>,
}

impl Record {
    /// Begins a record of the WARC type `kind`.
    pub(crate) fn new(kind: &str) -> Record {
        let mut record = Record { bytes: VERSION_LINE.as_bytes().to_vec() };
        record.field("WARC-Type", kind);
        record
    }

    /// Adds a field. The caller ensures that `value` has no control characters.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        push_field(&mut self.bytes, name, value);
    }

    /// Appends a field if it has a value.
    pub(crate) fn field_if(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.field(name, value.as_ref());
        }
    }

    /// Adds length, digest and check, then the block, which is the concatenation of `pieces`.
    pub(crate) fn finish(mut self, pieces: &[&[u8]]) -> Vec<u8> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut digest = Sha256::new();
        for piece in pieces {
            digest.update(piece);
        }
        self.field("WARC-Block-Digest", &format!("sha256:{}", hex::encode(digest.finalize())));
        self.field("Content-Length", &length.to_string());
        let end = [LINE_END.as_bytes()];
        let check_line = format!("{CHECK}: ");
        let covered: Vec<&[u8]> =
            [self.bytes.as_slice(), check_line.as_bytes(), BLOCK_END.as_bytes()]
                .into_iter()
                .chain(pieces.iter().copied())
                .collect();
        let digits = check_digits(&covered);
        self.field(CHECK, &digits);
        for piece in end.iter().chain(pieces) {
            self.bytes.extend_from_slice(piece);
        }
        self.bytes.extend_from_slice(BLOCK_END.as_bytes());
        self.bytes
    }
}

/// Appends one line of a header.
pub(crate) fn push_field(bytes: &mut Vec<u8>, name: &str, value: &str) {
    debug_assert!(!value.contains(['\r', '\n']), "{name} would be two lines");
    for piece in [name, ": ", value, LINE_END] {
        bytes.extend_from_slice(piece.as_bytes());
    }
}

/// Parses a record written by [`Record`] at the beginning of `bytes`. Returns its header, its
/// block, and the bytes after it. Length and check are verified.
pub(crate) fn parse_record(bytes: &[u8]) -> Result<(Header<'_>, &[u8], &[u8]), Reason> {
    let header = Header::parse(bytes)?;
    let length =
        usize::try_from(header.number("Content-Length")?).map_err(|_| "a length is too large")?;
    let end = header.len.checked_add(length).ok_or("a length is too large")?;
    let covered = bytes.get(..end).ok_or("it is shorter than its header says")?;
    header.verify(covered)?;
    let rest = bytes.get(end..).unwrap_or_default();
    let rest = rest.strip_prefix(BLOCK_END.as_bytes()).ok_or("a record is truncated")?;
    let block = covered.get(header.len..).unwrap_or_default();
    Ok((header, block, rest))
}

/// The text of a time for a header field: UTC with six digits after the point, so the width is
/// fixed.
///
/// A time before 1970, from a wrong clock, becomes the beginning of 1970.
pub(crate) fn time_text(time: Timestamp) -> String {
    format!("{:.6}", time.max(Timestamp::UNIX_EPOCH))
}

/// Escapes the first `most` bytes of a text for one header line: control characters and `%` become
/// `%` and two hex digits for each byte.
pub(crate) fn escape(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (start, character) in text.char_indices() {
        if start + character.len_utf8() > most {
            break;
        }
        if character.is_control() || character == '%' {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                line.push('%');
                line.push_str(&hex::encode([byte]));
            }
        } else {
            line.push(character);
        }
    }
    line
}

/// Reverses [`escape`].
pub(crate) fn unescape(line: &str) -> String {
    let mut pieces = line.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        bytes.extend(hex::decode(digits).unwrap_or_default());
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes two new record ids (RFC 9562, version 4).
pub(crate) fn record_ids() -> Result<[String; 2]> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(SpoolFault::Random)?;
    let (first, second) = random.split_at(16);
    Ok([urn(first), urn(second)])
}

fn urn(random: &[u8]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(random);
    // RFC 9562 §5.4: the version is 4, the variant 0b10.
    let (version, variant) = (0xf << 76, 0b11 << 62);
    let number = u128::from_be_bytes(bytes) & !(version | variant) | (4 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    let part = |range: Range<usize>| digits.get(range).unwrap_or_default();
    format!(
        "<urn:uuid:{}-{}-{}-{}-{}>",
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back() {
        let mut record = Record::new("request");
        record.field("WARC-Target-URI", "http://example.org/");
        let mut bytes = record.finish(&[b"GET / HTTP/1.1\r\n\r\n", b"body"]);
        bytes.extend_from_slice(b"next");
        let (header, block, rest) = parse_record(&bytes).unwrap();
        assert_eq!(header.get("WARC-Target-URI"), Some("http://example.org/"));
        assert_eq!(header.get("WARC-Record-ID"), None);
        assert_eq!(block, b"GET / HTTP/1.1\r\n\r\nbody");
        assert_eq!(header.digest("WARC-Block-Digest"), Ok(Sha256::digest(block).into()));
        assert_eq!(rest, b"next");
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        let bytes = Record::new("request").finish(&[b"block"]);
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                assert!(parse_record(&changed).is_err(), "byte {index}, bit {bit}");
            }
            assert!(parse_record(&bytes[..index]).is_err(), "cut at {index}");
        }
    }

    #[test]
    fn escaped_text_is_one_line_and_round_trips() {
        for text in ["", "plain", "100 %", "a\r\nWARC-Type: x", "\u{85}é\0%41", "tab\t"] {
            let line = escape(text, 1 << 10);
            assert!(!line.contains(char::is_control), "{line:?}");
            assert_eq!(unescape(&line), text);
        }
        assert_eq!(escape("aéé", 4), "aé");
    }

    #[test]
    fn ids_are_version_four() {
        for _ in 0..64 {
            for id in record_ids().unwrap() {
                assert_eq!(id.len(), "<urn:uuid:00000000-0000-4000-8000-000000000000>".len());
                assert_eq!(id.as_bytes()[24], b'4', "{id}");
                assert!(b"89ab".contains(&id.as_bytes()[29]), "{id}");
            }
        }
    }

    #[test]
    fn times_are_always_as_wide() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-5, "1970-01-01T00:00:00.000000Z"),
            (1_700_000_000, "2023-11-14T22:13:20.000000Z"),
            (253_370_764_799, "9998-12-31T23:59:59.000000Z"),
        ] {
            assert_eq!(time_text(Timestamp::from_second(seconds).unwrap()), text);
        }
    }
}
