//! Addresses of versions, and the links to them, as Memento defines them (RFC 7089).

use std::fmt::Write as _;

use jiff::Timestamp;
use wwwoffle_url::url_encode_form_args;

use wwwoffle_api::History;

/// The type of a list of versions (RFC 7089 §5).
pub const LINK_FORMAT: &str = "application/link-format";

/// The path of a version on our own server; it delivers the stored version unmodified. The path
/// contains the time when the version was stored and the time when it was received. The latter
/// selects the sub-resources.
#[must_use]
pub fn version_path(url: &str, (stored, came): (Timestamp, Timestamp)) -> String {
    format!(
        "/history/version/?url={}&came={came}&at={stored}",
        url_encode_form_args(url.as_bytes())
    )
}

/// The path of a version with marks for its changes since the version that was stored at `from`.
#[must_use]
pub fn marked_path(url: &str, from: Timestamp, (stored, came): (Timestamp, Timestamp)) -> String {
    let url = url_encode_form_args(url.as_bytes());
    // The page selects its sub-resources by the time, like the version itself.
    format!("/history/marked/?url={url}&from={from}&came={came}&at={stored}")
}

/// The path of the list of versions for programs, without our host.
#[must_use]
pub fn timemap_path(url: &str) -> String {
    format!("/history/timemap/?{}", url_encode_form_args(url.as_bytes()))
}

/// Formats a time as an HTTP date. A time before 1970 becomes the beginning of 1970.
#[must_use]
pub fn http_date(time: Timestamp) -> String {
    httpdate::fmt_http_date(time.max(Timestamp::UNIX_EPOCH).into())
}

/// The links of a response that is a version (§2.2): to the original page, which also selects
/// versions by date, to the list of versions, and to the version. `stored` is when the version was
/// stored, `came` when it was received.
#[must_use]
pub fn links(origin: &str, url: &str, (stored, came): (Timestamp, Timestamp)) -> String {
    format!(
        "<{}>; rel=\"original timegate\", <{origin}{}>; rel=\"timemap\"; type=\"{LINK_FORMAT}\", \
         <{origin}{}>; rel=\"memento\"; datetime=\"{}\"",
        uri(url),
        timemap_path(url),
        version_path(url, (stored, came)),
        http_date(came),
    )
}

/// The list of versions, oldest first (§5). The list names the original page as the address that
/// selects a version by date. This is true for requests through the proxy.
#[must_use]
pub fn timemap(origin: &str, history: &History) -> String {
    let url = &history.url;
    let mut versions: Vec<_> = history.versions.iter().collect();
    versions.sort_by_key(|version| (version.received, version.stored));
    let page = uri(url);
    let mut text = format!(
        "<{page}>; rel=\"original timegate\",\n<{origin}{}>; rel=\"self\"; type=\"{LINK_FORMAT}\"",
        timemap_path(url),
    );
    // Writing to a string does not fail.
    if let (Some(first), Some(last)) = (versions.first(), versions.last()) {
        let (from, until) = (http_date(first.received), http_date(last.received));
        let _written = write!(text, "; from=\"{from}\"; until=\"{until}\"");
    }
    let count = versions.len();
    for (number, version) in versions.into_iter().enumerate() {
        let first = if number == 0 { "first " } else { "" };
        let last = if number + 1 == count { "last " } else { "" };
        let (path, date) =
            (version_path(url, (version.stored, version.received)), http_date(version.received));
        let _written =
            write!(text, ",\n<{origin}{path}>; rel=\"{first}{last}memento\"; datetime=\"{date}\"");
    }
    text.push('\n');
    text
}

/// A URL for use between angle brackets (RFC 3986 §2). Characters that could end it are escaped.
fn uri(url: &str) -> String {
    let mut uri = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_graphic() && !b"<>\"".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _written = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_api::Version;

    fn version(second: i64, present: bool) -> Version {
        let received = Timestamp::from_second(second).unwrap();
        let stored = received + jiff::SignedDuration::from_millis(500);
        let (status, bytes, content_type) = (200, 1, None);
        Version { stored, received, present, status, bytes, content_type, capture: None }
    }

    #[test]
    fn the_timemap_begins_with_the_page_and_is_ordered() {
        let origin = "http://localhost:8080";
        let url = "http://a.example/?x=1&y".to_owned();
        let versions = vec![version(120, true), version(60, false)];
        let history = History { url, owner: None, versions };
        assert_eq!(
            timemap(origin, &history),
            "<http://a.example/?x=1&y>; rel=\"original timegate\",\n\
             <http://localhost:8080/history/timemap/?http://a.example/%3Fx%3D1%26y>; rel=\"self\"; \
             type=\"application/link-format\"; from=\"Thu, 01 Jan 1970 00:01:00 GMT\"; \
             until=\"Thu, 01 Jan 1970 00:02:00 GMT\",\n\
             <http://localhost:8080/history/version/?url=http://a.example/%3Fx%3D1%26y&came=1970-01-01T00:01:00Z&at=1970-01-01T00:01:00.5Z>; \
             rel=\"first memento\"; datetime=\"Thu, 01 Jan 1970 00:01:00 GMT\",\n\
             <http://localhost:8080/history/version/?url=http://a.example/%3Fx%3D1%26y&came=1970-01-01T00:02:00Z&at=1970-01-01T00:02:00.5Z>; \
             rel=\"last memento\"; datetime=\"Thu, 01 Jan 1970 00:02:00 GMT\"\n"
        );
        let one = History { versions: vec![version(-5, true)], ..history };
        assert!(
            timemap(origin, &one)
                .contains("rel=\"first last memento\"; datetime=\"Thu, 01 Jan 1970 00:00:00")
        );
    }

    #[test]
    fn no_url_ends_its_link() {
        let text = links(
            "http://l",
            "http://a/>; rel=\"x\"\r\nä",
            (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
        );
        assert!(
            text.starts_with(
                "<http://a/%3E;%20rel=%22x%22%0D%0A%C3%A4>; rel=\"original timegate\", <"
            ),
            "{text}"
        );
        assert_eq!(text.matches('<').count(), 3, "{text}");
        assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{text}");
    }
}
