//! Heads of requests and responses in archives, converted for the spool.
//!
//! Input is parsed leniently: bare line feeds, folded lines and HTTP/2 in the status line are
//! accepted. Output is written strictly, so that stored heads are unambiguous.

use std::io::{self, BufRead};

use http::HeaderName;
use wwwoffle_http::token::is_token;

use crate::chunked::read_line;
use crate::refusal::Reason;

/// The longest head, in bytes.
pub(crate) const MAX_HEAD: usize = wwwoffle_spool::MAX_HEAD;

/// The largest number of fields of a head.
const MAX_FIELDS: usize = 500;

const NO_REQUEST_LINE: &str = "has a request without a request line";

/// Hop-by-hop fields (RFC 9110 §7.6.1). They describe one connection, so they are not stored.
const ONE_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Response fields that set a cookie.
pub(crate) const SETS_COOKIE: [&str; 2] = ["set-cookie", "set-cookie2"];

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    reason: String,
    pub(crate) fields: Fields,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Fields,
}

/// Field lines, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, Vec<u8>)>);

/// Reads a head, including the empty line at its end.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let (begin, left) = (head.len(), MAX_HEAD.saturating_sub(head.len()));
        let is_line = read_line(input, &mut head, left)?;
        let line = head.get(begin..).unwrap_or_default();
        if is_line && matches!(line, b"\r\n" | b"\n") {
            return Ok(head);
        }
        if !is_line {
            let why = if head.len() < MAX_HEAD {
                "its head is incomplete"
            } else {
                "its head is longer than 64 KiB"
            };
            return Err(Reason::from(why).into());
        }
    }
}

/// Removes the fields that set cookies from a stored head.
pub(crate) fn without_cookies(head: &[u8]) -> Vec<u8> {
    without(head, &SETS_COOKIE)
}

/// Removes from a stored head the sealed body of a form, which only this spool can decrypt, and the
/// login record, from which a password could be guessed.
pub(crate) fn without_own_fields(head: &[u8]) -> Vec<u8> {
    use wwwoffle_http::head::{FORM, LOGIN};
    without(head, &[FORM.as_str(), LOGIN.as_str()])
}

fn without(head: &[u8], names: &[&str]) -> Vec<u8> {
    let (mut left, mut is_named) = (Vec::with_capacity(head.len()), false);
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        // A folded line belongs to the field before it.
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii();
            is_named = names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        }
        if !is_named {
            left.extend_from_slice(line);
        }
    }
    left
}

/// The lines of a head, unfolded and without the empty line.
fn lines(head: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match lines.last_mut() {
            Some(last) if line.starts_with(b" ") || line.starts_with(b"\t") => {
                last.push(b' ');
                last.extend_from_slice(line.trim_ascii());
            }
            _ if line.is_empty() => {}
            _ => lines.push(line.to_vec()),
        }
    }
    lines
}

impl ResponseHead {
    /// Parses a received head.
    pub(crate) fn parse(head: &[u8]) -> Result<Self, Reason> {
        let parsed = Self::parse_recorded(head)?;
        if parsed.status < 600 { Ok(parsed) } else { Err("has no status".into()) }
    }

    /// Parses a head of a fixture, which may have any status of three digits.
    pub(crate) fn parse_recorded(head: &[u8]) -> Result<Self, Reason> {
        let lines = lines(head);
        let first = lines.first().map(Vec::as_slice).unwrap_or_default();
        let rest = first.strip_prefix(b"HTTP/").ok_or("does not begin with a status line")?;
        let text = String::from_utf8_lossy(rest);
        let mut words = text.splitn(3, ' ').map(str::trim);
        let _version = words.next();
        let status = words.next().filter(|word| word.len() == 3);
        let status = status.and_then(|word| word.parse::<u16>().ok()).ok_or("has no status")?;
        if status < 100 {
            return Err("has no status".into());
        }
        let is_plain = |character: &char| (' '..='~').contains(character);
        let reason: String = words.next().unwrap_or_default().chars().filter(is_plain).collect();
        Ok(Self { status, reason, fields: Fields::parse(lines.get(1..).unwrap_or_default())? })
    }

    /// Builds a head without fields. `reason` is reduced to its printable ASCII characters.
    pub(crate) fn synthetic(status: u16, reason: &str) -> Self {
        let is_plain = |character: &char| (' '..='~').contains(character);
        let reason = reason.chars().filter(is_plain).collect();
        Self { status, reason, fields: Fields::default() }
    }

    /// The reason phrase.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Whether the response is personal: it sets a cookie, or `Cache-Control` has `private`.
    pub(crate) fn is_private(&self) -> bool {
        let control = self.fields.all("cache-control").any(|value| {
            let value = String::from_utf8_lossy(value).to_ascii_lowercase();
            value.split(',').any(|word| word.trim().split('=').next() == Some("private"))
        });
        control || SETS_COOKIE.iter().any(|name| self.fields.has(name))
    }

    /// The head in the form of the spool: HTTP/1.1 without hop-by-hop fields.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {:03} {}\r\n", self.status, self.reason).into_bytes();
        self.fields.write(&mut head, is_one_hop);
        head
    }
}

impl RequestHead {
    /// Parses a recorded request head.
    pub(crate) fn parse(head: &[u8]) -> Result<Self, Reason> {
        let parsed = Self::parse_recorded(head)?;
        let Self { method, target, .. } = &parsed;
        let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase()) && method.len() <= 20;
        if is_method && target.is_ascii() { Ok(parsed) } else { Err(NO_REQUEST_LINE.into()) }
    }

    /// Parses a head of a fixture, which may have any method, and a target with UTF-8 text.
    pub(crate) fn parse_recorded(head: &[u8]) -> Result<Self, Reason> {
        let lines = lines(head);
        let first = lines.first().map(Vec::as_slice).unwrap_or_default();
        let text = std::str::from_utf8(first).map_err(|_| NO_REQUEST_LINE)?;
        let mut words = text.split_ascii_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_method = is_token(method.as_bytes());
        let is_target = !target.bytes().any(|byte| byte.is_ascii_control());
        if !is_method || target.is_empty() || !is_target {
            return Err(NO_REQUEST_LINE.into());
        }
        let fields = Fields::parse(lines.get(1..).unwrap_or_default())?;
        Ok(Self { method: method.to_owned(), target: target.to_owned(), fields })
    }

    /// Whether the request has a login, a token, a cookie or a stored form, which identifies the
    /// person who sent it.
    pub(crate) fn is_private(&self) -> bool {
        self.fields.0.iter().any(|(name, _)| is_secret(name))
    }

    /// The approximate memory use, in bytes.
    pub(crate) fn size(&self) -> usize {
        let fields = self.fields.0.iter().map(|(name, value)| name.len() + value.len() + 96);
        self.method.len() + self.target.len() + 64 + fields.sum::<usize>()
    }

    /// The head in the form of the spool: without secrets and hop-by-hop fields.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        self.fields.write(&mut head, |name| is_one_hop(name) || is_secret(name));
        head
    }
}

impl Fields {
    fn parse(lines: &[Vec<u8>]) -> Result<Self, Reason> {
        let mut fields = Self::default();
        for line in lines {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let (name, value) = line.split_at(colon);
            let Ok(name) = std::str::from_utf8(name.trim_ascii()) else { continue };
            fields.push(name, value.get(1..).unwrap_or_default())?;
        }
        Ok(fields)
    }

    /// Adds a field. A field with an invalid name or value is dropped, because other programs could
    /// parse it differently. Fails if there are too many fields.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) -> Result<(), Reason> {
        if self.0.len() >= MAX_FIELDS {
            return Err("has more than 500 fields".into());
        }
        let value = value.trim_ascii();
        let is_value = value.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
        if is_token(name.as_bytes()) && is_value {
            self.0.push((name.to_owned(), value.to_vec()));
        }
        Ok(())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.push((name.to_owned(), value.as_bytes().to_vec()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    pub(crate) fn first(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let is_named = move |(own, _): &&(String, Vec<u8>)| own.eq_ignore_ascii_case(name);
        self.0.iter().filter(is_named).map(|(_, value)| value.as_slice())
    }

    /// The value of `Content-Length`. `None` if it is missing or not a number.
    pub(crate) fn content_length(&self) -> Option<u64> {
        let value = self.first("content-length")?;
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    }

    /// Whether a comma-separated field contains this word.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.all(name).any(|value| {
            let value = String::from_utf8_lossy(value);
            value.split(',').any(|own| own.trim().eq_ignore_ascii_case(word))
        })
    }

    /// Removes words from a comma-separated field. `is_removed` gets them in lower case.
    pub(crate) fn remove_words(&mut self, name: &str, is_removed: impl Fn(&str) -> bool) {
        let mut rest = Vec::new();
        for value in self.all(name) {
            let value = String::from_utf8_lossy(value);
            let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
            rest.extend(
                words.filter(|word| !is_removed(&word.to_ascii_lowercase())).map(str::to_owned),
            );
        }
        self.remove(name);
        if !rest.is_empty() {
            self.set(name, &rest.join(", "));
        }
    }

    fn write(&self, out: &mut Vec<u8>, is_left_out: impl Fn(&str) -> bool) {
        for (name, value) in &self.0 {
            if !is_left_out(name) && !self.has_word("connection", name) {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn is_one_hop(name: &str) -> bool {
    ONE_HOP.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether a field of a request is secret.
fn is_secret(name: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| wwwoffle_http::head::is_secret(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(head: &str) -> Result<String, String> {
        let head = ResponseHead::parse(head.as_bytes()).map_err(|reason| reason.to_string())?;
        Ok(String::from_utf8(head.bytes()).unwrap())
    }

    #[test]
    fn a_lenient_response_head_is_written_strictly() {
        for (given, want) in [
            ("HTTP/1.0 200 OK\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
            ("HTTP/2 200\r\na:  b \r\n\r\n", "HTTP/1.1 200 \r\na: b\r\n\r\n"),
            (
                "HTTP/1.1 404 Not\u{e9} Found\nA: b\n c\n\n",
                "HTTP/1.1 404 Not Found\r\nA: b c\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nno colon\r\nB ad: x\r\nX: a\0b\r\n\r\n",
                "HTTP/1.1 200 OK\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close, X-Hop\r\n\
                 X-Hop: 1\r\nKeep-Alive: 5\r\nServer: s\r\n\r\n",
                "HTTP/1.1 200 OK\r\nServer: s\r\n\r\n",
            ),
        ] {
            assert_eq!(answer(given).as_deref(), Ok(want), "{given:?}");
        }
        for bad in ["", "\r\n\r\n", "<html>", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n"] {
            assert!(answer(bad).is_err(), "{bad:?}");
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(501));
        assert!(answer(&many).is_err());
    }

    #[test]
    fn a_request_is_stored_without_its_secrets() {
        for secret in ["Cookie: a=b", "Authorization: x", "X-Api-Key: x", "wwwoffle-form: x"] {
            let head = format!("GET /a HTTP/1.1\r\nHost: h\r\n{secret}\r\n\r\n");
            let head = RequestHead::parse(head.as_bytes()).unwrap();
            assert!(head.is_private(), "{secret}");
            assert_eq!(head.bytes(), b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "{secret}");
        }
        for bad in ["", "GET", "get /\r\n\r\n", "GET /\u{1}\r\n\r\n", "\r\nGET /"] {
            let parsed = RequestHead::parse(bad.as_bytes());
            assert!(parsed.is_err() || bad.starts_with('\r'), "{bad:?}");
        }
    }

    #[test]
    fn cookies_are_removed_with_their_folded_lines() {
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nSET-COOKIE : d=e;\r\n\tPath=/\r\nF: g\r\n\
            Set-Cookie2: h\r\n\r\n";
        let want = b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nF: g\r\n\r\n";
        assert_eq!(without_cookies(head), want);
    }

    #[test]
    fn a_response_determines_its_owner() {
        for (fields, want) in [
            ("", false),
            ("Cache-Control: public, max-age=5\r\n", false),
            ("Cache-Control: max-age=5, Private\r\n", true),
            ("Cache-Control: private=\"x\"\r\n", true),
            ("Set-Cookie: a=b\r\n", true),
        ] {
            let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
            assert_eq!(
                ResponseHead::parse(head.as_bytes()).unwrap().is_private(),
                want,
                "{fields}"
            );
        }
    }

    #[test]
    fn an_endless_head_is_refused() {
        let endless = vec![b'a'; 1 << 20];
        assert!(read(&mut endless.as_slice()).unwrap_err().to_string().contains("64 KiB"));
        assert!(
            read(&mut &b"HTTP/1.1 200 OK\r\n"[..]).unwrap_err().to_string().contains("incomplete")
        );
        let mut both = &b"HTTP/1.1 200 OK\n\nbody"[..];
        assert_eq!(read(&mut both).unwrap(), b"HTTP/1.1 200 OK\n\n");
        assert_eq!(both, b"body");
    }
}
