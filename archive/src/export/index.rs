//! A line of a CDXJ index: a key that groups the pages of a site, a time, and the position of the
//! record.

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{Entry, Place};

use super::warc::{RecordPosition, digest};
use crate::fixture::{RecordedExchange, RecordedMessage};
use wwwoffle_http::media_type::essence;

/// The URL in the spelling that the origin received. Archives distinguish spellings, as the spool
/// does.
pub(super) fn uri(entry: &Entry) -> String {
    let canonical = entry.url();
    let head = str::from_utf8(entry.request()).unwrap_or_default();
    let target = head.split(' ').nth(1).filter(|target| target.starts_with('/'));
    let is_respelled = Place::spelling_of(entry.place().variant_text()).is_some();
    let Some(target) = target.filter(|_| is_respelled) else { return canonical.to_owned() };
    let host = canonical.find("://").map_or(0, |at| at + "://".len());
    let path = canonical.get(host..).and_then(|rest| rest.find(['/', '?']));
    let origin = path.and_then(|path| canonical.get(..host + path)).unwrap_or(canonical);
    format!("{origin}{target}")
}

/// The line for a response in the archive `file`.
pub(super) fn line(entry: &Entry, position: RecordPosition, file: &str) -> String {
    let facts = RecordFacts {
        uri: &uri(entry),
        head: entry.head(),
        digest: entry.digest(),
        when: entry.received(),
    };
    facts.line(position, file)
}

/// The line for an exchange of a fixture in the archive `file`.
pub(super) fn exchange_line(
    exchange: &RecordedExchange,
    position: RecordPosition,
    file: &str,
) -> String {
    let RecordedMessage { head, body } = &exchange.response;
    let digest = Sha256::digest(body).into();
    RecordFacts { uri: &exchange.url, head, digest: &digest, when: exchange.when }
        .line(position, file)
}

/// What a line says about a response.
struct RecordFacts<'a> {
    uri: &'a str,
    head: &'a [u8],
    digest: &'a [u8; 32],
    when: Timestamp,
}

impl RecordFacts<'_> {
    fn line(&self, position: RecordPosition, file: &str) -> String {
        let Self { uri, head, .. } = self;
        let status = head.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
        let fields = json!({
            "url": uri,
            "mime": media_type(head),
            "status": String::from_utf8_lossy(status),
            "digest": digest(self.digest),
            "length": position.length.to_string(),
            "offset": position.offset.to_string(),
            "filename": file,
        });
        format!("{} {} {fields}", surt(uri), digits(self.when))
    }
}

/// The media type of a response with this head, without parameters.
pub(super) fn media_type(head: &[u8]) -> String {
    let kind = essence(&content_type(head).unwrap_or_default());
    if kind.is_empty() { "unk".to_owned() } else { kind }
}

/// The `Content-Type` of a response with this head.
pub(super) fn content_type(head: &[u8]) -> Option<String> {
    let fields = head.split(|&byte| byte == b'\n').skip(1);
    let value = fields.into_iter().find_map(|line| {
        let (name, value) = line.split_at_checked("content-type:".len())?;
        name.eq_ignore_ascii_case(b"content-type:").then_some(value)
    })?;
    Some(String::from_utf8_lossy(value).trim().to_owned())
}

/// A time in UTC as the 14 digits `YYYYMMDDhhmmss`.
fn digits(time: Timestamp) -> String {
    let mut text = format!("{:.0}", time.max(Timestamp::UNIX_EPOCH));
    text.retain(|character| character.is_ascii_digit());
    text
}

/// The Sort-friendly URI Reordering Transform of web archive indexes: the host reversed without
/// `www`, in lower case, with sorted arguments.
fn surt(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host.as_str(), ""),
    };
    let name = without_www(name);
    // pywb reverses an IPv4 address too, and removes the brackets of an IPv6 address.
    let mut key = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.to_owned(),
        None => name.split('.').rev().collect::<Vec<_>>().join(","),
    };
    if !port.is_empty() {
        key = format!("{key}:{port}");
    }
    let path = path.to_ascii_lowercase();
    let (path, arguments) = path.split_once('?').unwrap_or((&path, ""));
    let path = if path.is_empty() { "/" } else { path };
    key = format!("{key}){path}");
    if !arguments.is_empty() {
        let mut arguments: Vec<&str> = arguments.split('&').collect();
        arguments.sort_unstable();
        key = format!("{key}?{}", arguments.join("&"));
    }
    key
}

/// Removes the first label of a host if it is `www`, or `www` with a number, and at least two
/// labels follow.
fn without_www(name: &str) -> &str {
    let Some((first, rest)) = name.split_once('.') else { return name };
    let is_www =
        first.strip_prefix("www").is_some_and(|end| end.bytes().all(|b| b.is_ascii_digit()));
    if is_www && rest.contains('.') { rest } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_a_site_together() {
        for (url, want) in [
            ("http://www.example.org/", "org,example)/"),
            ("https://a.Example.org/B?d=1&c=2", "org,example,a)/b?c=2&d=1"),
            ("http://example.org:8080?x", "org,example:8080)/?x"),
            ("http://127.0.0.1:8080/a", "1,0,0,127:8080)/a"),
            ("http://[::1]:8/a", "::1:8)/a"),
            ("http://www2.example.org/", "org,example)/"),
            ("http://www.org/", "org,www)/"),
        ] {
            assert_eq!(surt(url), want);
        }
        assert_eq!(digits("2024-05-01T10:02:03.5Z".parse().unwrap()), "20240501100203");
    }
}
