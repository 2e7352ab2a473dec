//! The form of an entry in the object store: a WARC 1.1 file with a request and its response.
//!
//! ```text
//! WARC/1.1 request    the request line, `Host`, and the fields that `Vary` names
//! WARC/1.1 response   the head without cookies, and the body
//!          Wwwoffle-Head       length of the head
//!          Wwwoffle-Variant    variant text of the entry, if it has one
//!          Wwwoffle-Requested  when the request was sent
//!          Wwwoffle-Stored     when the entry was finished
//! ```
//!
//! The name of the file is the SHA-256 of all its bytes. So a reader can verify the whole file, and
//! the same entry always has the same name. Everything before the body has a bounded length.

use hyper::HeaderMap;
use hyper::header::SET_COOKIE;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use wwwoffle_http::head;
use wwwoffle_spool::{Entry, MAX_HEAD, MAX_URL, MAX_VARIANT, NewEntry};

use super::shared;
use crate::base::owner;
use crate::net::connection;

/// The longest request of an object, in bytes.
const MAX_REQUEST: usize = 64 << 10;

/// The longest beginning of an object, up to its body.
pub(super) const MAX_START: usize = MAX_HEAD + MAX_REQUEST + MAX_URL * 2 + MAX_VARIANT + (8 << 10);

/// The end of every record.
const END: &[u8] = b"\r\n\r\n";

/// The bytes of an object around its body.
#[derive(Debug)]
pub(super) struct ObjectFrame {
    pub(super) start: Vec<u8>,
    pub(super) body_len: u64,
    pub(super) end: &'static [u8],
}

impl ObjectFrame {
    /// The bytes around the body of `entry`. `None` if the entry cannot be shared, because one of
    /// its heads is invalid or too long.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        let (status, mut fields) = head::read_response(entry.head()).ok()?;
        owner::remove_cookies(&mut fields);
        fields.remove(SET_COOKIE);
        let head = head::write_response(status, &fields);
        let request = shared_request(entry.request(), &fields)?;
        if request.len() > MAX_REQUEST || head.len() > MAX_HEAD {
            return None;
        }
        let (url, date) = (entry.url(), time(entry.responded()));
        let seed = [entry.key().as_bytes().as_slice(), entry.digest(), date.as_bytes()].concat();
        let mut start = Vec::with_capacity(request.len() + head.len() + (2 << 10));
        record(
            &mut start,
            &[
                ("WARC-Type", "request"),
                ("WARC-ObjectRecord-ID", &record_id(b"request", &seed)),
                ("WARC-Date", &date),
                ("WARC-Target-URI", url),
                ("WARC-Concurrent-To", &record_id(b"response", &seed)),
                ("Content-Type", "application/http; msgtype=request"),
                ("Content-Length", &request.len().to_string()),
            ],
        );
        start.extend_from_slice(&request);
        start.extend_from_slice(END);
        let length = u64::try_from(head.len()).ok()?.checked_add(entry.body_len())?;
        let (head_len, variant) = (head.len().to_string(), entry.place().variant_text());
        let (requested, stored) = (time(entry.requested()), time(entry.stored()));
        let (id, digest) = (record_id(b"response", &seed), hex::encode(entry.digest()));
        let (digest, length) = (format!("sha256:{digest}"), length.to_string());
        let mut fields = vec![
            ("WARC-Type", "response"),
            ("WARC-ObjectRecord-ID", &id),
            ("WARC-Date", &date),
            ("WARC-Target-URI", url),
            ("WARC-Payload-Digest", &digest),
            ("Content-Type", "application/http; msgtype=response"),
            ("Wwwoffle-Head", &head_len),
            ("Wwwoffle-Requested", &requested),
            ("Wwwoffle-Stored", &stored),
        ];
        if !variant.is_empty() {
            fields.push(("Wwwoffle-Variant", variant));
        }
        fields.push(("Content-Length", &length));
        record(&mut start, &fields);
        start.extend_from_slice(&head);
        Some(Self { start, body_len: entry.body_len(), end: END })
    }

    /// The length of the whole object, in bytes.
    pub(super) fn len(&self) -> u64 {
        let around = self.start.len() + self.end.len();
        self.body_len.saturating_add(u64::try_from(around).unwrap_or(u64::MAX))
    }
}

/// The request without everything that tells about the person.
fn shared_request(request: &[u8], answer: &HeaderMap) -> Option<Vec<u8>> {
    let mut request = head::read_request(request, b"").ok()?;
    request.headers = shared::published_fields(&request.headers, answer);
    Some(head::write_request(&request))
}

fn record(out: &mut Vec<u8>, fields: &[(&str, &str)]) {
    out.extend_from_slice(b"WARC/1.1\r\n");
    for (name, value) in fields {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn time(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// A record id that follows from the content, so that the same entry has the same bytes at every
/// node (RFC 9562 §5.8).
fn record_id(kind: &[u8], seed: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest([kind, seed].concat()).into();
    let half = digest.first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    let number = half & !((0xf << 76) | (0b11 << 62)) | (8 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
        .map(|(from, to)| digits.get(from..to).unwrap_or_default());
    format!("<urn:uuid:{}>", parts.join("-"))
}

/// The beginning of an object, up to its body.
#[derive(Debug)]
pub(super) struct ObjectStart {
    pub(super) url: String,
    pub(super) variant: String,
    pub(super) stored: Timestamp,
    pub(super) new: NewEntry,
    pub(super) body_len: u64,
    /// The position of the body.
    pub(super) offset: usize,
}

impl ObjectStart {
    /// Parses the beginning of an object. `None` if `bytes` end before its body.
    ///
    /// # Errors
    ///
    /// The reason why this is no such object.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        let Some((request, at)) = ObjectRecord::parse(bytes, "request")? else { return Ok(None) };
        let asked = request.block(bytes, at, MAX_REQUEST)?;
        let Some(asked) = asked else { return Ok(None) };
        let next = at + asked.len();
        let Some(between) = bytes.get(next..next + END.len()) else { return Ok(None) };
        if between != END {
            return Err("its first record has another length");
        }
        let next = next + END.len();
        let rest = bytes.get(next..).unwrap_or_default();
        let Some((response, at)) = ObjectRecord::parse(rest, "response")? else { return Ok(None) };
        let head_len: usize = response.number("Wwwoffle-Head")?;
        let length: u64 = response.number("Content-Length")?;
        if head_len > MAX_HEAD {
            return Err("its head is too long");
        }
        let Some(head) = rest.get(at..at + head_len) else { return Ok(None) };
        let body_len = u64::try_from(head_len).ok().and_then(|head| length.checked_sub(head));
        let body_len = body_len.ok_or("its head is longer than its record")?;
        let new = NewEntry {
            asked: response.time("Wwwoffle-Requested")?,
            when: response.time("WARC-Date")?,
            head: head.to_vec(),
            request: asked.to_vec(),
            connection: Some(connection::of_archive_tier()),
        };
        Ok(Some(Self {
            url: response.need("WARC-Target-URI")?.to_owned(),
            variant: response.field("Wwwoffle-Variant").unwrap_or_default().to_owned(),
            stored: response.time("Wwwoffle-Stored")?,
            new,
            body_len,
            offset: next + at + head_len,
        }))
    }
}

/// The header of a record.
struct ObjectRecord<'a>(Vec<(&'a str, &'a str)>);

impl<'a> ObjectRecord<'a> {
    /// Parses a header, and returns the position of its block.
    fn parse(bytes: &'a [u8], kind: &str) -> Result<Option<(Self, usize)>, &'static str> {
        let begin = b"WARC/1.1\r\n";
        if !bytes.iter().zip(begin).all(|(found, expected)| found == expected) {
            return Err("it is no WARC file");
        }
        let end = bytes.windows(END.len()).position(|window| window == END);
        let Some(end) = end else { return Ok(None) };
        let header = bytes.get(begin.len()..end + 2).ok_or("its record has no fields")?;
        let header = std::str::from_utf8(header).map_err(|_| "its record is not UTF-8")?;
        let fields = header.split_terminator("\r\n").map(|line| line.split_once(": "));
        let record = Self(fields.collect::<Option<_>>().ok_or("its record has an invalid line")?);
        if record.field("WARC-Type") != Some(kind) {
            return Err("its records have another order");
        }
        Ok(Some((record, end + END.len())))
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    fn need(&self, name: &str) -> Result<&'a str, &'static str> {
        self.field(name).ok_or("its record lacks a field")
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, &'static str> {
        self.need(name)?.parse().map_err(|_| "its record has an invalid number")
    }

    fn time(&self, name: &str) -> Result<Timestamp, &'static str> {
        self.need(name)?.parse().map_err(|_| "its record has an invalid time")
    }

    fn block<'b>(
        &self,
        bytes: &'b [u8],
        at: usize,
        most: usize,
    ) -> Result<Option<&'b [u8]>, &'static str> {
        let length: usize = self.number("Content-Length")?;
        if length > most {
            return Err("its request is too long");
        }
        Ok(bytes.get(at..at + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_spool::{Options, Place, Spool};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn stored(head: &str, request: &str, body: &[u8]) -> Entry {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let url = CanonicalUrl::parse("http://h.example/a", &LocalHost::default()).unwrap();
        let place = Place::of(&url).with_variant("accept-language: de");
        let new = NewEntry {
            asked: "2026-01-01T00:00:00.25Z".parse().unwrap(),
            when: "2026-01-01T00:00:01Z".parse().unwrap(),
            head: head.as_bytes().to_vec(),
            request: request.as_bytes().to_vec(),
            connection: None,
        };
        let mut writer = spool.begin(&place, new).unwrap();
        writer.write(body).unwrap();
        writer.finish(None).unwrap();
        spool.entry(&place).unwrap().found().unwrap()
    }

    #[test]
    fn an_object_has_the_response_and_nothing_about_the_person() {
        let entry = stored(
            "HTTP/1.1 200 OK\r\nSet-Cookie: id=1\r\nVary: Accept-Language\r\nETag: \"x\"\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h.example\r\nUser-Agent: mine\r\nReferer: http://p.example/\r\n\
             Accept-Language: de\r\n\r\n",
            b"body",
        );
        let frame = ObjectFrame::of(&entry).unwrap();
        let bytes = [&frame.start, b"body".as_slice(), frame.end].concat();
        assert_eq!(frame.len(), u64::try_from(bytes.len()).unwrap());
        let text = String::from_utf8(bytes.clone()).unwrap();
        for gone in ["Set-Cookie", "set-cookie", "mine", "p.example"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        for end in 0..frame.start.len() {
            assert!(ObjectStart::parse(&bytes[..end]).unwrap().is_none(), "{end} bytes");
        }
        let start = ObjectStart::parse(&bytes).unwrap().unwrap();
        assert_eq!(
            (start.url.as_str(), start.variant.as_str()),
            ("http://h.example/a", "accept-language: de")
        );
        assert_eq!((start.new.asked, start.new.when), (entry.requested(), entry.received()));
        assert_eq!((start.stored, start.body_len), (entry.stored(), 4));
        assert_eq!(&bytes[start.offset..start.offset + 4], b"body");
        assert_eq!(ObjectFrame::of(&entry).unwrap().start, frame.start, "the name stays the same");
    }

    #[test]
    fn a_foreign_object_is_refused() {
        for (bytes, why) in [
            ("<html>", "it is no WARC file"),
            ("WARC/1.1\r\nWARC-Type: response\r\n\r\n", "its records have another order"),
            ("WARC/1.1\r\nWARC-Type\r\n\r\n", "its record has an invalid line"),
            ("WARC/1.1\r\nWARC-Type: request\r\n\r\n", "its record lacks a field"),
            (
                "WARC/1.1\r\nWARC-Type: request\r\nContent-Length: 999999999\r\n\r\n",
                "its request is too long",
            ),
            (
                "WARC/1.1\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n0123",
                "its first record has another length",
            ),
        ] {
            assert_eq!(ObjectStart::parse(bytes.as_bytes()).unwrap_err(), why);
        }
    }
}
