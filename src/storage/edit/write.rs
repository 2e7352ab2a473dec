//! A response that does not come from an origin: the user supplies its head and body.

use wwwoffle_spool::{Error, MAX_HEAD, NewEntry, Place, Spool, StoredEntry, Timestamp, Writer};

use wwwoffle_http::head::read_response;

/// A response that is being written into the spool: its head, then its body, in pieces of any
/// length.
#[derive(Debug)]
pub struct Intake {
    place: Place,
    now: Timestamp,
    /// The received part of the head, until a writer exists.
    head: Vec<u8>,
    writer: Option<Writer>,
    /// The length of the body, if the head declares it.
    declared: Option<u64>,
}

/// The reason why a response was not stored.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The input does not begin with a response head.
    #[error("expected a response head, such as \"HTTP/1.1 200 OK\", fields and an empty line")]
    NoHead,
    /// The head is longer than the limit.
    #[error("the response head is longer than {MAX_HEAD} bytes")]
    LongHead,
    /// The length of the body differs from the length that the head declares.
    #[error("the body has {found} bytes, but its Content-Length is {declared}")]
    OtherLength {
        /// The declared length.
        declared: u64,
        /// The received length.
        found: u64,
    },
    /// The spool cannot store the response.
    #[error("it cannot be stored")]
    Spool(#[from] Error),
}

impl Intake {
    /// Creates the intake for a response of `place` received at `now`.
    #[must_use]
    pub fn new(place: Place, now: Timestamp) -> Self {
        Self { place, now, head: Vec::new(), writer: None, declared: None }
    }

    /// Appends the next piece.
    ///
    /// # Errors
    ///
    /// [`IntakeError`] if the bytes are not a response, or the disk fails or is full. Then nothing
    /// is stored.
    pub fn push(&mut self, spool: &Spool, bytes: &[u8]) -> Result<(), IntakeError> {
        if let Some(writer) = &mut self.writer {
            return Ok(writer.write(bytes)?);
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        // The end of the head may be split between two pieces.
        let Some(end) = end_of_head(&self.head, before.saturating_sub(3)) else {
            return if self.head.len() > MAX_HEAD { Err(IntakeError::LongHead) } else { Ok(()) };
        };
        let body = self.head.split_off(end);
        let (head, declared) = clean_head(&self.head)?;
        let new = NewEntry {
            asked: self.now,
            when: self.now,
            head,
            request: request(self.place.url()),
            connection: None,
        };
        let mut writer = spool.begin(&self.place, new)?;
        writer.write(&body)?;
        (self.writer, self.declared) = (Some(writer), declared);
        Ok(())
    }

    /// Stores the response.
    ///
    /// # Errors
    ///
    /// [`IntakeError`] if the head is incomplete, the body does not have the declared length, or
    /// the disk fails or is full. Then nothing is stored.
    pub fn finish(self) -> Result<StoredEntry, IntakeError> {
        let writer = self.writer.ok_or(IntakeError::NoHead)?;
        let found = writer.written();
        if let Some(declared) = self.declared.filter(|declared| *declared != found) {
            return Err(IntakeError::OtherLength { declared, found });
        }
        Ok(writer.finish(None)?)
    }
}

/// The head of a response with this type.
#[must_use]
pub fn head_of(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n")
}

/// The media type for the extension of `path`; `text/html` if there is no extension.
#[must_use]
pub fn type_of(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("html", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html",
        "txt" => "text/plain",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// The position of the body: after the first empty line, with any line endings. `None` if there is
/// no empty line. Bytes before `from` are skipped.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().enumerate().find_map(|(index, &byte)| {
        if byte != b'\n' {
            return None;
        }
        match (rest.get(index + 1), rest.get(index + 2)) {
            (Some(b'\n'), _) => Some(from + index + 2),
            (Some(b'\r'), Some(b'\n')) => Some(from + index + 3),
            _ => None,
        }
    })
}

/// Normalizes the line ends of a head and removes the hop-by-hop fields and `Content-Length`.
/// Returns the declared length beside the head.
fn clean_head(head: &[u8]) -> Result<(Vec<u8>, Option<u64>), IntakeError> {
    const OF_CONNECTION: [&str; 7] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let (mut tidied, mut declared) = (Vec::with_capacity(head.len() + 64), None);
    let lines =
        head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for line in lines.take_while(|line| !line.is_empty()) {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
        if name == "content-length" {
            let value = line.get(name.len() + 1..).unwrap_or_default().trim_ascii();
            let value = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            declared = Some(value.ok_or(IntakeError::NoHead)?);
        } else if !OF_CONNECTION.contains(&name.as_str()) {
            tidied.extend_from_slice(line);
            tidied.extend_from_slice(b"\r\n");
        }
    }
    tidied.extend_from_slice(b"\r\n");
    read_response(&tidied).map_err(|_| IntakeError::NoHead)?;
    Ok((tidied, declared))
}

/// A request that could have led to the response.
fn request(url: &str) -> Vec<u8> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_spool::{Body, Options};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    /// Stores input in pieces of `piece` bytes. Returns the stored head and body.
    fn store_pieces(bytes: &[u8], piece: usize) -> Result<(String, Vec<u8>), IntakeError> {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let url = CanonicalUrl::parse("http://a/b?c", &LocalHost::default()).unwrap();
        let place = Place::of(&url);
        let mut intake = Intake::new(place.clone(), Timestamp::UNIX_EPOCH);
        for piece in bytes.chunks(piece) {
            intake.push(&spool, piece)?;
        }
        intake.finish()?;
        let entry = spool.entry(&place).unwrap().found().unwrap();
        assert_eq!(entry.request(), b"GET /b?c HTTP/1.1\r\nHost: a\r\n\r\n");
        let Body::Whole(body) = entry.body() else { panic!("it is small") };
        Ok((String::from_utf8(entry.head().to_vec()).unwrap(), body.to_vec()))
    }

    #[test]
    #[ignore = "slow"]
    fn head_and_body_are_separated_in_any_pieces() {
        let table: [(&[u8], &str, &[u8]); 5] = [
            (b"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", b""),
            (b"HTTP/1.1 200 OK\n\nbody\n\n", "HTTP/1.1 200 OK\r\n\r\n", b"body\n\n"),
            (b"HTTP/1.0 404 No\r\nA: b\n\r\nx", "HTTP/1.0 404 No\r\nA: b\r\n\r\n", b"x"),
            (
                b"HTTP/1.1 200 OK\nContent-length: 3\nConnection: close\nA: b\n\nabc",
                "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
                b"abc",
            ),
            (b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "HTTP/1.1 200 OK\r\n\r\n", b""),
        ];
        for (bytes, head, body) in table {
            for piece in [1, 2, 3, 7, 1_000] {
                let (got, got_body) = store_pieces(bytes, piece).unwrap();
                assert_eq!((got.as_str(), got_body.as_slice()), (head, body), "{piece}");
            }
        }
    }

    #[test]
    fn an_invalid_response_is_refused() {
        for (bytes, why) in [
            (&b""[..], "expected a response head"),
            (b"HTTP/1.1 200 OK\r\nA: b", "expected a response head"),
            (b"<!doctype html>\n\n", "expected a response head"),
            (b"HTTP/1.1 200 OK\nContent-Length: x\n\n", "expected a response head"),
            (b"HTTP/1.1 200 OK\nContent-Length: 4\n\nabc", "the body has 3 bytes"),
            (b"HTTP/1.1 200 OK\n bad\0\n\n", "expected a response head"),
        ] {
            let refused = store_pieces(bytes, 5).unwrap_err();
            assert!(refused.to_string().starts_with(why), "{refused}");
        }
        let long = [b"HTTP/1.1 200 OK\nA: ".to_vec(), vec![b'x'; MAX_HEAD]].concat();
        assert!(matches!(store_pieces(&long, 1_000).unwrap_err(), IntakeError::LongHead));
    }

    #[test]
    fn types_follow_from_the_ends_of_names() {
        for (path, want) in [
            ("/", "text/html"),
            ("/a", "text/html"),
            ("/a.b/c", "text/html"),
            ("/a.PNG", "image/png"),
            ("/a.tar.gz", "application/octet-stream"),
        ] {
            assert_eq!(type_of(path), want, "{path}");
        }
    }
}
