//! Heads as bytes: what the spool keeps of a request and of an answer, and back.

use http::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use http::request;
use http::{HeaderMap, StatusCode};

/// The most fields read from a kept head.
const MAX_FIELDS: usize = 512;

/// The fields of a request that are nobody else's business: never written in clear.
pub const SECRET: [HeaderName; 3] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION];

/// A kept head that is none. The spool has checked its digest, so it was kept like this.
#[derive(Debug, thiserror::Error)]
#[error("the kept head is malformed")]
pub struct Malformed;

/// Writes the head of an answer: status line, fields, empty line.
#[must_use]
pub fn of_answer(status: StatusCode, fields: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    write_fields(&mut head, fields.iter());
    head.extend_from_slice(b"\r\n");
    head
}

/// Writes the head of a request without its secrets.
#[must_use]
pub fn of_request(request: &request::Parts) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.uri).into_bytes();
    let open = request.headers.iter().filter(|(name, _)| !SECRET.contains(name));
    write_fields(&mut head, open);
    head.extend_from_slice(b"\r\n");
    head
}

/// Writes the secret fields of a request alone, to be sealed.
#[must_use]
pub fn secrets(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    write_fields(&mut lines, fields.iter().filter(|(name, _)| SECRET.contains(name)));
    lines
}

/// Reads the head of a kept answer.
///
/// # Errors
///
/// [`Malformed`] when it is no HTTP/1.1 head.
pub fn read_answer(head: &[u8]) -> Result<(StatusCode, HeaderMap), Malformed> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    match answer.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) | Err(_) => return Err(Malformed),
    }
    let status = answer.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or(Malformed)?;
    Ok((status, read_fields(answer.headers)?))
}

/// Reads the head of a recorded request: method, target, fields. `secrets` are field lines that
/// were kept apart.
///
/// # Errors
///
/// [`Malformed`] when either is not what this module writes.
pub fn read_request(head: &[u8], secrets: &[u8]) -> Result<request::Parts, Malformed> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) | Err(_) => return Err(Malformed),
    }
    let mut request = http::Request::builder()
        .method(parsed.method.unwrap_or_default())
        .uri(parsed.path.unwrap_or_default())
        .body(())
        .map_err(|_| Malformed)?
        .into_parts()
        .0;
    request.headers = read_fields(parsed.headers)?;
    for (name, value) in &read_lines(secrets)? {
        request.headers.append(name, value.clone());
    }
    Ok(request)
}

/// Reads field lines without a first line, such as kept trailers.
///
/// # Errors
///
/// [`Malformed`] when they are no field lines.
pub fn read_lines(lines: &[u8]) -> Result<HeaderMap, Malformed> {
    let mut text = lines.to_vec();
    text.extend_from_slice(b"\r\n");
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    match httparse::parse_headers(&text, &mut fields) {
        Ok(httparse::Status::Complete((_, fields))) => read_fields(fields),
        Ok(httparse::Status::Partial) | Err(_) => Err(Malformed),
    }
}

/// Writes field lines, as [`read_lines`] reads them.
#[must_use]
pub fn lines(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    write_fields(&mut lines, fields.iter());
    lines
}

fn read_fields(parsed: &[httparse::Header<'_>]) -> Result<HeaderMap, Malformed> {
    let mut fields = HeaderMap::with_capacity(parsed.len());
    for field in parsed {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| Malformed)?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| Malformed)?;
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

/// `content-type` as `Content-Type`: hyper has names in lower case, old tools know the other.
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
    fn an_answer_is_read_as_it_was_written() {
        let mut fields = HeaderMap::new();
        fields.append("content-type", "text/html".parse().unwrap());
        fields.append("set-cookie", "a=b".parse().unwrap());
        fields.append("set-cookie", "c=d".parse().unwrap());
        fields.append("x-odd", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        let head = of_answer(StatusCode::NOT_FOUND, &fields);
        assert!(head.starts_with(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n"));
        assert_eq!(read_answer(&head).unwrap(), (StatusCode::NOT_FOUND, fields));
    }

    #[test]
    fn secrets_are_kept_apart_and_come_back() {
        let request = http::Request::get("/a?b=%2f")
            .header("Host", "h.example")
            .header("Cookie", "id=1")
            .header("Authorization", "Basic eDp5")
            .header("Accept", "*/*")
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let (head, secret) = (of_request(&request), secrets(&request.headers));
        assert_eq!(head, b"GET /a?b=%2f HTTP/1.1\r\nHost: h.example\r\nAccept: */*\r\n\r\n");
        assert_eq!(secret, b"Cookie: id=1\r\nAuthorization: Basic eDp5\r\n");
        let back = read_request(&head, &secret).unwrap();
        assert_eq!((back.method, back.uri), (request.method, request.uri));
        assert_eq!(back.headers, request.headers);
    }

    #[test]
    fn rubbish_is_refused() {
        assert!(read_answer(b"").is_err());
        assert!(read_answer(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(read_answer(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n").is_err());
        assert!(read_request(b"GET / HTTP/1.1\r\n\r\n", b"no colon\r\n").is_err());
        assert!(read_lines(b"").unwrap().is_empty());
    }
}
