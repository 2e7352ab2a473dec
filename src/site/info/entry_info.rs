//! Details of one URL, for the page, the API and the command line.

use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderName, SET_COOKIE};
use wwwoffle_spool::{Entry, Place};

use crate::base::shown;
use crate::net::connection;
use wwwoffle_api::{BodyOnDisk, CompressedFile, Field, Info, PageParts, StoredInfo};
use wwwoffle_http::head::{self, is_secret};

/// Response fields with secret values, which are never shown.
const SECRET_ANSWERS: [HeaderName; 2] = [SET_COOKIE, HeaderName::from_static("set-cookie2")];

/// Returns the details of the URL of `place`, with its stored `entry` and its sub-resources
/// `parts`.
#[must_use]
pub fn of<Words>(
    place: &Place,
    entry: Option<&Entry>,
    parts: Option<PageParts<Words>>,
) -> Info<Words> {
    let place = entry.map_or(place, Entry::place);
    let (url, key) = (place.url().to_owned(), place.key().to_string());
    Info { url, key, kept: entry.map(kept_info), parts, pinned: false }
}

fn kept_info(entry: &Entry) -> StoredInfo {
    // If a stored head cannot be parsed, the details are shown without its fields.
    let response = head::read_response(entry.head()).map(|(_, fields)| fields).unwrap_or_default();
    let request = head::read_request(entry.request(), b"").ok();
    let content_type = type_in(&response);
    StoredInfo {
        whose: entry.place().into(),
        status: entry.status(),
        received: entry.received(),
        stored: entry.stored(),
        bytes: entry.body_len(),
        storage: BodyOnDisk {
            compressed: entry
                .plain_len()
                .map(|plain| CompressedFile { bytes: entry.file_len(), plain }),
            shared: entry.shares_body(),
            sharing: None,
        },
        sha256: hex::encode(entry.digest()),
        content_type,
        response: redacted_fields(&response),
        method: request.as_ref().map_or_else(String::new, |request| request.method.to_string()),
        request: request.map(|request| request_fields(request.headers)).unwrap_or_default(),
        // A record without TLS only names the source for the archive tier.
        connection: entry
            .connection()
            .map(connection::read)
            .filter(|connection| !connection.version.is_empty()),
    }
}

/// Returns the fields of a request, without those added for the spool.
fn request_fields(mut headers: HeaderMap) -> Vec<Field> {
    headers.remove(head::FORM);
    headers.remove(head::LOGIN);
    redacted_fields(&headers)
}

/// Returns the `Content-Type` of an entry.
pub(crate) fn content_type(entry: &Entry) -> Option<String> {
    type_in(&head::read_response(entry.head()).ok()?.1)
}

fn type_in(response: &HeaderMap) -> Option<String> {
    response.get(CONTENT_TYPE).map(|value| text(value.as_bytes()))
}

/// Returns the fields of a request or response. The value of a secret field is `None`.
pub(crate) fn redacted_fields(map: &HeaderMap) -> Vec<Field> {
    let is_open = |name: &HeaderName| !is_secret(name) && !SECRET_ANSWERS.contains(name);
    let field = |(name, value): (&HeaderName, &hyper::header::HeaderValue)| Field {
        name: name.as_str().to_owned(),
        value: is_open(name).then(|| text(value.as_bytes())),
    };
    map.iter().map(field).collect()
}

/// Returns a head and the bytes after it for display: without the fields with secret values, and
/// without credentials in the URLs of the other fields.
pub(crate) fn redacted_head(head: &[u8]) -> Vec<u8> {
    let end = head.windows(4).position(|four| four == b"\r\n\r\n").map_or(head.len(), |at| at + 4);
    let (head, rest) = head.split_at_checked(end).unwrap_or((head, b""));
    let (mut open, mut is_hidden) = (Vec::with_capacity(head.len()), false);
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        // A folded line belongs to the field of the line before.
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii();
            is_hidden = HeaderName::from_bytes(name)
                .is_ok_and(|name| is_secret(&name) || SECRET_ANSWERS.contains(&name));
        }
        if !is_hidden {
            append_without_credentials(&mut open, line);
        }
    }
    open.extend_from_slice(rest);
    open
}

/// Copies a line, without the credentials before the host of each URL.
fn append_without_credentials(open: &mut Vec<u8>, line: &[u8]) {
    let mut rest = line;
    while let Some(at) = rest.windows(2).position(|two| two == b"//") {
        let (before, after) = rest.split_at_checked(at + 2).unwrap_or((rest, b""));
        open.extend_from_slice(before);
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\\\"".contains(byte);
        let authority = after.iter().position(ends).unwrap_or(after.len());
        let host = after.iter().take(authority).rposition(|&byte| byte == b'@');
        rest = after.get(host.map_or(0, |at| at + 1)..).unwrap_or_default();
    }
    open.extend_from_slice(rest);
}

/// Returns a field value, made safe to show.
pub(crate) fn text(value: &[u8]) -> String {
    shown::full_text(&String::from_utf8_lossy(value))
}

#[cfg(test)]
mod tests {
    use wwwoffle_spool::{NewEntry, Options, Spool, Timestamp};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::*;

    #[test]
    fn a_head_is_shown_without_its_secrets() {
        let head =
            b"HTTP/1.1 200 OK\r\nSet-Cookie: id=hunter2;\r\n Path=/\r\nsEt-cookie2: hunter2\r\n\
                     Location: https://me:hunter2@a.example/x?u=//b:hunter2@c\r\nVary: *\r\n\r\n\
                     Cookie: of the body, http://me:pw@a/";
        let want = b"HTTP/1.1 200 OK\r\nLocation: https://a.example/x?u=//c\r\nVary: *\r\n\r\n\
                     Cookie: of the body, http://me:pw@a/";
        assert_eq!(String::from_utf8_lossy(&redacted_head(head)), String::from_utf8_lossy(want));
        let asked =
            b"GET / HTTP/1.1\r\nAuthorization: hunter2\r\nCookie: a=hunter2\r\nHost: a\r\n\r\n";
        let open = redacted_head(asked);
        assert_eq!(String::from_utf8_lossy(&open), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        for odd in [&b""[..], b"\n", b"//", b"a: //@", b"Cookie: x"] {
            assert!(redacted_head(odd).len() <= odd.len());
        }
    }

    #[test]
    fn an_entry_is_described_without_its_secrets() {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let url = CanonicalUrl::parse("https://me:hunter2@a.example/p", &LocalHost::default());
        let place = Place::of(&url.unwrap());
        assert_eq!(of::<String>(&place, None, None).kept, None);
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: id=hunter2\r\n\
                     Location: https://me:hunter2@b.example/\xff\r\n\r\n";
        let new = NewEntry {
            asked: Timestamp::UNIX_EPOCH,
            when: Timestamp::UNIX_EPOCH,
            head: head.to_vec(),
            request: b"GET /p HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\nbody".to_vec(),
            connection: Some(b"tls-version: TLSv1.3\r\n".to_vec()),
        };
        let mut writer = spool.begin(&place, new).unwrap();
        writer.write(b"body").unwrap();
        writer.finish(None).unwrap();
        let entry = spool.entry(&place).unwrap().found().unwrap();
        let info = of::<String>(&place, Some(&entry), None);
        let text = serde_json::to_string(&info).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        let copy = info.kept.unwrap();
        assert_eq!((copy.status, copy.bytes, &*copy.method), (200, 4, "GET"));
        assert_eq!(copy.content_type.as_deref(), Some("text/html"));
        assert_eq!(copy.connection.unwrap().version, "TLSv1.3");
        let value = |fields: &[Field], name: &str| {
            fields.iter().find(|field| field.name == name).map(|field| field.value.clone())
        };
        assert_eq!(value(&copy.response, "set-cookie"), Some(None));
        let location = Some(Some("https://b.example/\u{fffd}".to_owned()));
        assert_eq!(value(&copy.response, "location"), location);
        assert_eq!(value(&copy.request, "accept"), Some(Some("*/*".to_owned())));
    }
}
