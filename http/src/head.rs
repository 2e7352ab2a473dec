//! Heads of requests and responses, in the form in which the spool stores them.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, CONNECTION, COOKIE, HOST, HeaderName,
    HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, PROXY_AUTHORIZATION, REFERER,
    UPGRADE_INSECURE_REQUESTS, USER_AGENT,
};
use http::request;
use http::{HeaderMap, StatusCode};
use httparse::Status;

/// The most fields read from a stored head.
const MAX_FIELDS: usize = 512;

/// Texts in the names of fields with which APIs and frameworks authenticate a request.
const CREDENTIAL_PARTS: [&str; 9] =
    ["apikey", "credential", "csrf", "jwt", "passw", "secret", "session", "token", "xsrf"];

/// Whole words in the names of further fields that authenticate a request.
const CREDENTIAL_WORDS: [&str; 4] = ["auth", "authentication", "authorization", "key"];

/// The names of further arguments of URLs that are credentials.
const CREDENTIAL_ARGUMENTS: [&str; 4] = ["code", "pass", "pw", "pwd"];

/// Whole words in the names of arguments with which a URL is signed, such as `X-Amz-Signature`.
const SIGNATURE_WORDS: [&str; 2] = ["sig", "signature"];

/// The fields of nearly every request. Comparing them takes much less time than searching their
/// names.
const USUAL: [HeaderName; 12] = [
    ACCEPT,
    ACCEPT_ENCODING,
    ACCEPT_LANGUAGE,
    CACHE_CONTROL,
    CONNECTION,
    COOKIE,
    HOST,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    REFERER,
    UPGRADE_INSECURE_REQUESTS,
    USER_AGENT,
];

/// Whether a request field is a credential for the origin: `Authorization`, or a field with a
/// similar name, for example `X-Api-Key`. `Cookie` does not count. `Sec-` fields, such as
/// `Sec-WebSocket-Key`, do not count either, because browsers set them, not sites.
#[must_use]
pub fn is_credential(name: &HeaderName) -> bool {
    let text = name.as_str();
    if USUAL.contains(name) || text.starts_with("sec-") || name == PROXY_AUTHORIZATION {
        return false;
    }
    is_credential_name(text)
}

/// Whether a value with this name, in lower case, is probably a credential.
fn is_credential_name(name: &str) -> bool {
    let mut words = name.split(|character: char| !character.is_ascii_alphanumeric());
    CREDENTIAL_PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| CREDENTIAL_WORDS.contains(&word))
}

/// Whether an argument of a URL is probably a credential, such as `access_token` or `pwd`.
#[must_use]
pub fn is_credential_argument(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|character: char| !character.is_ascii_alphanumeric());
    is_credential_name(&name)
        || CREDENTIAL_ARGUMENTS.contains(&name.as_str())
        || words.any(|word| SIGNATURE_WORDS.contains(&word))
}

/// Whether a request has a credential for the origin in its fields.
#[must_use]
pub fn has_credentials(request: &HeaderMap) -> bool {
    request.keys().any(is_credential)
}

/// Whether a request field is secret. Such a field is never written in clear.
#[must_use]
pub fn is_secret(name: &HeaderName) -> bool {
    [COOKIE, PROXY_AUTHORIZATION, FORM, LOGIN].contains(name) || is_credential(name)
}

/// The field of a stored request that holds the sealed body of its form.
pub const FORM: HeaderName = HeaderName::from_static("wwwoffle-form");

/// The field of a stored request that holds the login record of its response.
pub const LOGIN: HeaderName = HeaderName::from_static("wwwoffle-login");

/// The field of a stored request that marks its response as the capture of a web archive. Its value
/// is the URL of the capture there.
pub const CAPTURE: HeaderName = HeaderName::from_static("wwwoffle-capture");

/// The URL of the capture in its web archive, from the head of a stored request. `None` if the
/// response came from its origin.
#[must_use]
pub fn capture_in(request: &[u8]) -> Option<String> {
    let fields = read_request(request, b"").ok()?.headers;
    Some(fields.get(CAPTURE)?.to_str().ok()?.to_owned())
}

/// The fields of a response with a proof that the server knows the password (RFC 7616 §3.5). The
/// password could be guessed from it, so they are never written.
const PROOFS: [&str; 2] = ["authentication-info", "proxy-authentication-info"];

/// A malformed stored head. It was already malformed when it was stored, because the spool has
/// verified its checksum.
#[derive(Debug, thiserror::Error)]
#[error("the stored head is malformed")]
pub struct MalformedHead;

/// Writes the head of a response: status line, fields, empty line.
#[must_use]
pub fn write_response(status: StatusCode, fields: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    write_fields(&mut head, fields.iter().filter(|(name, _)| !PROOFS.contains(&name.as_str())));
    head.extend_from_slice(b"\r\n");
    head
}

/// Writes the head of a request without its secret fields.
#[must_use]
pub fn write_request(request: &request::Parts) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.uri).into_bytes();
    let open = request.headers.iter().filter(|(name, _)| !is_secret(name));
    write_fields(&mut head, open);
    head.extend_from_slice(b"\r\n");
    head
}

/// Writes the head of a request as a part of an entry, which other people may read. Like
/// [`write_request`], but without the mark of a capture, and `Referer` is shortened to its origin,
/// because the URL of the referring page may contain a secret.
#[must_use]
pub fn write_recorded_request(mut request: request::Parts) -> Vec<u8> {
    shorten_referer(&mut request.headers);
    // A client must not mark its responses.
    request.headers.remove(CAPTURE);
    write_request(&request)
}

/// Shortens `Referer` to the origin of the referring page. Removes a malformed one.
pub fn shorten_referer(fields: &mut HeaderMap) {
    let Some(referer) = fields.remove(REFERER) else { return };
    let origin = referer.to_str().ok().and_then(|url| {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit('@').next()?;
        HeaderValue::from_str(&format!("{scheme}://{host}/")).ok()
    });
    fields.extend(origin.map(|origin| (REFERER, origin)));
}

/// Adds a field of ours, such as [`FORM`] or [`LOGIN`], to the head of a request.
#[must_use]
pub fn with_field(request: &[u8], name: &HeaderName, value: &str) -> Vec<u8> {
    let fields = request.strip_suffix(b"\r\n").unwrap_or(request);
    [fields, name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n\r\n"].concat()
}

/// Writes only the secret fields of a request, for encryption.
#[must_use]
pub fn write_secrets(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    write_fields(&mut lines, fields.iter().filter(|(name, _)| is_secret(name)));
    lines
}

/// Reads the head of a stored response.
///
/// # Errors
///
/// [`MalformedHead`] if `head` is not the complete head of a response.
pub fn read_response(head: &[u8]) -> Result<(StatusCode, HeaderMap), MalformedHead> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    answer.parse(head).ok().filter(Status::is_complete).ok_or(MalformedHead)?;
    let status =
        answer.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or(MalformedHead)?;
    Ok((status, read_fields(answer.headers)?))
}

/// Parses the head of a recorded request: method, target, fields. `secrets` are the field lines
/// that were stored separately.
///
/// # Errors
///
/// [`MalformedHead`] if `head` or `secrets` does not have the form that this module writes.
pub fn read_request(head: &[u8], secrets: &[u8]) -> Result<request::Parts, MalformedHead> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    parsed.parse(head).ok().filter(Status::is_complete).ok_or(MalformedHead)?;
    let mut request = http::Request::builder()
        .method(parsed.method.unwrap_or_default())
        .uri(parsed.path.unwrap_or_default())
        .body(())
        .map_err(|_| MalformedHead)?
        .into_parts()
        .0;
    request.headers = read_fields(parsed.headers)?;
    for (name, value) in &read_lines(secrets)? {
        request.headers.append(name, value.clone());
    }
    Ok(request)
}

/// Reads field lines without a first line, such as stored trailers.
///
/// # Errors
///
/// [`MalformedHead`] if `lines` are not field lines.
pub fn read_lines(lines: &[u8]) -> Result<HeaderMap, MalformedHead> {
    let mut text = lines.to_vec();
    text.extend_from_slice(b"\r\n");
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    match httparse::parse_headers(&text, &mut fields) {
        Ok(Status::Complete((_, fields))) => read_fields(fields),
        Ok(Status::Partial) | Err(_) => Err(MalformedHead),
    }
}

/// Writes field lines in the form that [`read_lines`] reads.
#[must_use]
pub fn write_lines(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    write_fields(&mut lines, fields.iter());
    lines
}

fn read_fields(parsed: &[httparse::Header<'_>]) -> Result<HeaderMap, MalformedHead> {
    let mut fields = HeaderMap::with_capacity(parsed.len());
    for field in parsed {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| MalformedHead)?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| MalformedHead)?;
        fields.append(name, value);
    }
    Ok(fields)
}

fn write_fields<'fields>(
    head: &mut Vec<u8>,
    fields: impl Iterator<Item = (&'fields HeaderName, &'fields HeaderValue)>,
) {
    for (name, value) in fields {
        write_name(head, name);
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
}

/// Writes a field name with capitals, such as `Content-Type`. hyper has lower-case names, but old
/// tools expect capitals.
fn write_name(head: &mut Vec<u8>, name: &HeaderName) {
    let mut first = true;
    for byte in name.as_str().bytes() {
        head.push(if first { byte.to_ascii_uppercase() } else { byte });
        first = byte == b'-';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_head_round_trips() {
        let mut fields = HeaderMap::new();
        fields.append("content-type", "text/html".parse().unwrap());
        fields.append("set-cookie", "a=b".parse().unwrap());
        fields.append("set-cookie", "c=d".parse().unwrap());
        fields.append("x-odd", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        let head = write_response(StatusCode::NOT_FOUND, &fields);
        assert!(head.starts_with(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n"));
        assert_eq!(read_response(&head).unwrap(), (StatusCode::NOT_FOUND, fields));
    }

    #[test]
    fn secrets_are_stored_separately_and_restored() {
        let request = http::Request::get("/a?b=%2f")
            .header("Host", "h.example")
            .header("Cookie", "id=1")
            .header("Authorization", "Basic eDp5")
            .header("Accept", "*/*")
            .header("X-Api-Key", "k")
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let (head, secret) = (write_request(&request), write_secrets(&request.headers));
        assert_eq!(head, b"GET /a?b=%2f HTTP/1.1\r\nHost: h.example\r\nAccept: */*\r\n\r\n");
        assert_eq!(secret, b"Cookie: id=1\r\nAuthorization: Basic eDp5\r\nX-Api-Key: k\r\n");
        let back = read_request(&head, &secret).unwrap();
        assert_eq!((back.method, back.uri), (request.method, request.uri));
        assert_eq!(back.headers, request.headers);
    }

    #[test]
    fn a_credential_is_recognised_by_its_name() {
        for name in [
            "api-key",
            "api_key",
            "authentication",
            "authorization",
            "cf-access-client-secret",
            "ocp-apim-subscription-key",
            "private-token",
            "x-access-token",
            "x-amz-security-token",
            "x-api-key",
            "x-apikey",
            "x-auth-email",
            "x-auth-token",
            "x-authorization",
            "x-csrf-token",
            "x-goog-iap-jwt-assertion",
            "x-password",
            "x-session-id",
            "x-session-token",
            "x-shopify-access-token",
            "x-vault-token",
        ] {
            let name = HeaderName::from_static(name);
            assert!(is_credential(&name) && is_secret(&name), "{name}");
        }
        for name in [
            "accept",
            "keep-alive",
            "origin",
            "sec-websocket-key",
            "upgrade-insecure-requests",
            "x-author",
            "x-keyboard",
            "x-requested-with",
        ] {
            assert!(!is_secret(&HeaderName::from_static(name)), "{name}");
        }
        for name in [COOKIE, PROXY_AUTHORIZATION, FORM] {
            assert!(is_secret(&name) && !is_credential(&name), "{name}");
        }
    }

    #[test]
    fn a_recorded_referer_is_an_origin() {
        for (given, want) in [
            ("https://u:p@h.example:8/reset/1?token=2", "https://h.example:8/"),
            ("http://h.example", "http://h.example/"),
            ("http://h.example?a@b", "http://h.example/"),
            ("about:blank", ""),
        ] {
            let mut fields = HeaderMap::from_iter([(REFERER, given.parse().unwrap())]);
            shorten_referer(&mut fields);
            let got = fields.get(REFERER).map_or("", |value| value.to_str().unwrap());
            assert_eq!(got, want, "{given}");
        }
    }

    #[test]
    fn invalid_text_is_refused() {
        assert!(read_response(b"").is_err());
        assert!(read_response(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(read_response(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n").is_err());
        assert!(read_request(b"GET / HTTP/1.1\r\n\r\n", b"no colon\r\n").is_err());
        assert!(read_lines(b"").unwrap().is_empty());
    }
}
