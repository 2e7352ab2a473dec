//! Checks which exchanges may be stored. An exchange that could not be read back, or that contains
//! a secret, is refused.

use crate::entry::layout::{MAX_HEAD, MAX_KEPT_REQUEST, MAX_URL};
use crate::entry::place::{MAX_OWNER, MAX_VARIANT, Place, scheme_and_host};
use crate::error::{Error, Result};

/// Checks that a place can be stored.
pub(crate) fn check_place(place: &Place) -> Result<()> {
    Error::check_length("the URL", place.url().len(), MAX_URL)?;
    Error::check_length("the owner", place.owner().unwrap_or_default().len(), MAX_OWNER)?;
    Error::check_length("the variant", place.variant_text().len(), MAX_VARIANT)?;
    check_url(place.url())
}

/// Checks that a URL is one line, without spaces and without credentials.
fn check_url(url: &str) -> Result<()> {
    let authority = scheme_and_host(url).1;
    if url.is_empty() || url.chars().any(|character| character.is_control() || character == ' ') {
        return Err(Error::invalid("the URL", "has spaces or control characters", url.as_bytes()));
    }
    if authority.contains('@') {
        return Err(Error::invalid("the URL", "contains credentials", b""));
    }
    Ok(())
}

/// Checks the head of a response.
pub(crate) fn check_head(head: &[u8]) -> Result<()> {
    let invalid = |why| Err(Error::invalid("the head of the response", why, head));
    Error::check_length("the head of the response", head.len(), MAX_HEAD)?;
    if status_of(head).is_none() {
        return invalid("does not begin with an HTTP/1 status line");
    }
    match empty_line(head) {
        Some(end) if end == head.len() => {}
        _ => return invalid("does not end with its first empty line"),
    }
    if has_bare_line_feed(head) {
        return invalid("has a line feed without a carriage return");
    }
    if has_field(head, &["transfer-encoding"]) {
        return invalid("has a Transfer-Encoding, which a stored body must not have");
    }
    Ok(())
}

/// Checks the request to be stored with a response.
pub(crate) fn check_request(request: &[u8]) -> Result<()> {
    Error::check_length("the request", request.len(), MAX_KEPT_REQUEST)?;
    let Some(end) = empty_line(request) else {
        return Err(Error::invalid("the request", "has a head without an empty line", b""));
    };
    refuse_secrets(request.get(..end).unwrap_or_default())
}

/// Refuses a head with a field that only the origin may see.
pub(crate) fn refuse_secrets(head: &[u8]) -> Result<()> {
    if has_field(head, &["authorization", "proxy-authorization", "cookie"]) {
        // The message must not quote the secret.
        return Err(Error::invalid("the request", "has a header field with secrets", b""));
    }
    Ok(())
}

/// The offset after the first empty line, which ends a head. `None` if the head has no end.
pub(crate) fn empty_line(head: &[u8]) -> Option<usize> {
    head.windows(4).position(|window| window == b"\r\n\r\n").map(|start| start + 4)
}

/// Whether a head has a line feed without a carriage return. Other WARC readers treat such a line
/// feed as a line end, and could see the end of the head elsewhere.
fn has_bare_line_feed(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').rev().skip(1);
    !lines.all(|line| line.ends_with(b"\r"))
}

/// The values of all fields with this name in a head.
pub(crate) fn field_values<'a>(head: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    head.split(|&byte| byte == b'\n').filter_map(move |line| {
        let (field, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?.trim_ascii();
        field.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })
}

/// Whether a head has one of these fields. `names` are in lower case.
fn has_field(head: &[u8], names: &[&str]) -> bool {
    head.split(|&byte| byte == b'\n').skip(1).any(|line| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii();
        names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes()))
    })
}

/// The status code of a head such as `HTTP/1.1 200 OK`. `None` if the head does not begin with an
/// HTTP/1 status line.
pub(crate) fn status_of(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let after = rest.get(5)?;
    let separated = rest.get(1) == Some(&b' ') && matches!(after, b' ' | b'\r');
    std::str::from_utf8(digits).ok().filter(|_| separated)?.parse().ok()
}
