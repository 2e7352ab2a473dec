//! Writes entries as WARC 1.1 with a gzip member per record.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::Entry;

use super::{ExportOptions, PIECE, index};
use crate::fixture::{RecordedExchange, RecordedMessage, socket as fixture_socket};
use crate::head;
use crate::import::EntryBody;
use crate::item::QueuedRequest;
use crate::warc::{KIND, PAGE};

/// A WARC being written.
pub(crate) struct WarcWriter<W> {
    out: W,
    offset: u64,
}

/// The position of a record in the archive, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordPosition {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A writer that counts the bytes written.
struct CountedWriter<'a> {
    out: &'a mut dyn Write,
    count: u64,
}

impl<W: Write> WarcWriter<W> {
    /// Begins an archive with a `warcinfo` record.
    pub(crate) fn begin(out: W, options: &ExportOptions) -> io::Result<Self> {
        let mut warcs = Self { out, offset: 0 };
        let software = &options.software;
        let block = format!(
            "software: {software}\r\nformat: WARC File Format 1.1\r\n\
             conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
        );
        let fields = [
            ("WARC-Record-ID", id(&[b"warcinfo", time(options.now).as_bytes()])),
            ("WARC-Date", time(options.now)),
            ("Content-Type", "application/warc-fields".to_owned()),
        ];
        warcs.record("warcinfo", &fields, block.as_bytes(), &mut io::empty(), 0)?;
        Ok(warcs)
    }

    /// Adds a response and its request; returns the position of the response.
    pub(crate) fn add(&mut self, entry: &Entry) -> io::Result<RecordPosition> {
        // Even a shared response may set a cookie, which belongs to one user.
        let everyones =
            entry.place().owner().is_none().then(|| head::without_cookies(entry.head()));
        let head = everyones.as_deref().unwrap_or(entry.head());
        self.add_with(entry, (head, &head::without_own_fields(entry.request())))
    }

    /// Adds a response and its request, with the given heads instead of the stored ones.
    pub(crate) fn add_with(
        &mut self,
        entry: &Entry,
        (head, asked): (&[u8], &[u8]),
    ) -> io::Result<RecordPosition> {
        let date = time(entry.received());
        let key = entry.key();
        let variant = entry.place().variant_text();
        let stored = time(entry.stored());
        let seed = [key.as_bytes(), variant.as_bytes(), stored.as_bytes(), entry.digest()];
        let of = |kind: &'static [u8]| id(&[&[kind], seed.as_slice()].concat());
        let (response, request) = (of(b"response"), of(b"request"));
        let uri = index::uri(entry);
        let mut fields = vec![
            ("WARC-Record-ID", response.clone()),
            ("WARC-Date", date.clone()),
            ("WARC-Target-URI", uri.clone()),
            ("WARC-Payload-Digest", digest(entry.digest())),
            ("Content-Type", "application/http; msgtype=response".to_owned()),
        ];
        if entry.place().owner().is_some() {
            // The export says that the response is personal, but does not name its owner.
            fields.push(("Wwwoffle-Owner", "yes".to_owned()));
        }
        let mut body = EntryBody::of(entry);
        let length = entry.body_len();
        let position = self.record("response", &fields, head, &mut body, length)?;
        let fields = [
            ("WARC-Record-ID", request),
            ("WARC-Date", date),
            ("WARC-Target-URI", uri),
            ("WARC-Concurrent-To", response),
            ("WARC-Block-Digest", digest(&Sha256::digest(asked).into())),
            ("Content-Type", "application/http; msgtype=request".to_owned()),
        ];
        self.record("request", &fields, asked, &mut io::empty(), 0)?;
        Ok(position)
    }

    /// Adds an exchange of a fixture; returns the position of the response.
    pub(crate) fn add_exchange(
        &mut self,
        exchange: &RecordedExchange,
    ) -> io::Result<RecordPosition> {
        let RecordedExchange { url, when, request, response, socket } = exchange;
        let date = time(*when);
        // The offset makes the ids of equal exchanges differ.
        let seed = self.offset.to_be_bytes();
        let [response_id, request_id, socket_id] = ["response", "request", "websocket"]
            .map(|kind| id(&[kind.as_bytes(), url.as_bytes(), &seed]));
        let fields = [
            ("WARC-Record-ID", response_id.clone()),
            ("WARC-Date", date.clone()),
            ("WARC-Target-URI", url.clone()),
            ("WARC-Payload-Digest", digest(&Sha256::digest(&response.body).into())),
            ("Content-Type", "application/http; msgtype=response".to_owned()),
        ];
        let position = self.message("response", &fields, response)?;
        let block = Sha256::new().chain_update(&request.head).chain_update(&request.body);
        let fields = [
            ("WARC-Record-ID", request_id),
            ("WARC-Date", date.clone()),
            ("WARC-Target-URI", url.clone()),
            ("WARC-Concurrent-To", response_id.clone()),
            ("WARC-Block-Digest", digest(&block.finalize().into())),
            ("Content-Type", "application/http; msgtype=request".to_owned()),
        ];
        self.message("request", &fields, request)?;
        if let Some(messages) = socket {
            let text = fixture_socket::to_json(messages)?;
            let fields = [
                ("WARC-Record-ID", socket_id),
                ("WARC-Date", date),
                ("WARC-Target-URI", url.clone()),
                ("WARC-Refers-To", response_id),
                ("WARC-Block-Digest", digest(&Sha256::digest(&text).into())),
                ("Content-Type", fixture_socket::MESSAGES.to_owned()),
            ];
            self.record("metadata", &fields, &text, &mut io::empty(), 0)?;
        }
        Ok(position)
    }

    fn message(
        &mut self,
        kind: &str,
        fields: &[(&str, String)],
        RecordedMessage { head, body }: &RecordedMessage,
    ) -> io::Result<RecordPosition> {
        let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
        self.record(kind, fields, head, &mut body.as_ref(), length)
    }

    /// Adds a queued request, which must not contain secrets. Its body is not written.
    pub(crate) fn waiting(&mut self, waiting: &QueuedRequest) -> io::Result<()> {
        let (date, uri) = (time(waiting.when), waiting.url.to_string());
        let mut fields = vec![
            ("WARC-Record-ID", id(&[b"waiting", uri.as_bytes(), date.as_bytes()])),
            ("WARC-Date", date),
            ("WARC-Target-URI", uri),
            ("Content-Type", "application/http; msgtype=request".to_owned()),
            (KIND, if waiting.page.is_some() { "part" } else { "page" }.to_owned()),
        ];
        let page = waiting.page.clone().filter(|page| !page.contains(char::is_control));
        fields.extend(page.map(|page| (PAGE, page)));
        self.record("request", &fields, &waiting.head.bytes(), &mut io::empty(), 0)?;
        Ok(())
    }

    /// The underlying output.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    fn record(
        &mut self,
        kind: &str,
        fields: &[(&str, String)],
        head: &[u8],
        body: &mut dyn Read,
        body_len: u64,
    ) -> io::Result<RecordPosition> {
        let mut header = format!("WARC/1.1\r\nWARC-Type: {kind}\r\n");
        for (name, value) in fields {
            header = format!("{header}{name}: {value}\r\n");
        }
        let length = u64::try_from(head.len()).unwrap_or(u64::MAX).saturating_add(body_len);
        header = format!("{header}Content-Length: {length}\r\n\r\n");
        let counted = CountedWriter { out: &mut self.out, count: 0 };
        let mut member = GzEncoder::new(counted, Compression::default());
        member.write_all(header.as_bytes())?;
        member.write_all(head)?;
        let mut body = io::BufReader::with_capacity(PIECE, body);
        if io::copy(&mut body, &mut member)? < body_len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        member.write_all(b"\r\n\r\n")?;
        let written = member.finish()?.count;
        let position = RecordPosition { offset: self.offset, length: written };
        self.offset += written;
        Ok(position)
    }
}

impl Write for CountedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.count += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A time in WARC 1.1 notation. Whole seconds have no fraction. A time before 1970 becomes the
/// beginning of 1970.
pub(super) fn time(time: Timestamp) -> String {
    let time = time.max(Timestamp::UNIX_EPOCH);
    if time.subsec_nanosecond() == 0 { format!("{time:.0}") } else { format!("{time:.6}") }
}

pub(super) fn digest(sha256: &[u8; 32]) -> String {
    format!("sha256:{}", hex::encode(sha256))
}

/// A record id (RFC 9562 §5.8) that is derived from `pieces`, so that two exports of the same
/// entries have the same ids.
pub(super) fn id(pieces: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
        hasher.update(b"\n");
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let half = digest.first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    let (version, variant) = (0xf << 76, 0b11 << 62);
    let number = half & !(version | variant) | (8 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)]
        .map(|(from, to)| digits.get(from..to).unwrap_or_default());
    format!("<urn:uuid:{}>", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ids_follow_the_standards() {
        assert_eq!(time("2024-05-01T10:00:00Z".parse().unwrap()), "2024-05-01T10:00:00Z");
        assert_eq!(time("2024-05-01T10:00:00.5Z".parse().unwrap()), "2024-05-01T10:00:00.500000Z");
        let id = id(&[b"a"]);
        assert_eq!((id.len(), id.get(24..25), id.get(..10)), (47, Some("8"), Some("<urn:uuid:")));
        assert_ne!(self::id(&[b"ab", b"c"]), self::id(&[b"a", b"bc"]));
    }
}
