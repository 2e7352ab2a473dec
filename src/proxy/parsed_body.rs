//! The body of a request without the parts that select no content: JSON, forms, multipart.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde_json::Value;
use sha2::{Digest, Sha256};
use wwwoffle_http::media_type::essence;
use wwwoffle_url::url_decode_form_args;

/// The longest boundary of a multipart body, in bytes (RFC 2046 §5.1.1).
const MAX_BOUNDARY: usize = 70;

/// The decimal digits that a 64-bit floating-point number always keeps.
const EXACT_DIGITS: usize = 15;

/// A body, parsed as far as its type is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ParsedBody {
    Json(Value),
    /// The names and values of a form. They need not be text.
    Form(Vec<(Vec<u8>, Vec<u8>)>),
    Other(Bytes),
}

/// Whether a field does not count, by its name. Of JSON also by its path from the top, with dots.
pub(super) type IgnoredFields<'a> = &'a dyn Fn(&str) -> bool;

impl ParsedBody {
    /// Parses a body, without the fields that do not count.
    pub(super) fn parse(fields: &HeaderMap, body: &Bytes, is_ignored: IgnoredFields<'_>) -> Self {
        let kind = fields.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let media = essence(kind);
        if media == "application/x-www-form-urlencoded" {
            let counts =
                |(name, _): &(Vec<u8>, Vec<u8>)| !is_ignored(&String::from_utf8_lossy(name));
            return Self::Form(form_fields(body).into_iter().filter(counts).collect());
        }
        // Many clients of APIs send JSON as text/plain, which needs no preflight request.
        if (media.ends_with("json") || media == "text/plain")
            && let Ok(mut value) = serde_json::from_slice(body)
            && has_exact_numbers(body)
        {
            remove(&mut value, "", is_ignored);
            return Self::Json(value);
        }
        if media.starts_with("multipart/")
            && let Some((_, boundary)) = kind.split_once("boundary=")
        {
            // The boundary is random.
            let boundary = boundary.split(';').next().unwrap_or_default().trim().trim_matches('"');
            if boundary.len() <= MAX_BOUNDARY {
                return Self::Other(without(body, boundary.as_bytes()));
            }
        }
        Self::Other(body.clone())
    }

    /// The digest, which is the same for bodies that differ in what does not count.
    pub(super) fn digest(&self) -> [u8; 32] {
        // The first byte is the type, so that bodies of two types have no digest in common.
        match self {
            Self::Json(value) => Sha256::new_with_prefix(b"j").chain_update(value.to_string()),
            Self::Form(fields) => {
                let texts = fields.iter().flat_map(|(name, value)| [name, value]);
                texts.fold(Sha256::new_with_prefix(b"f"), |hash, text| {
                    // The lengths tell where a name or a value ends.
                    let length = u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes();
                    hash.chain_update(length).chain_update(text)
                })
            }
            Self::Other(body) => Sha256::new_with_prefix(b"o").chain_update(body),
        }
        .finalize()
        .into()
    }
}

/// Whether parsing keeps each number of a JSON text. If it does not, two different texts could
/// become equal.
fn has_exact_numbers(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'"' {
            while let Some((&inner, after)) = rest.split_first() {
                rest = if inner == b'\\' { after.get(1..).unwrap_or_default() } else { after };
                if inner == b'"' {
                    break;
                }
            }
        } else if first == b'-' || first.is_ascii_digit() {
            let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte);
            let length = after.iter().position(is_end).unwrap_or(after.len());
            let start = json.len() - after.len() - 1;
            let number = json.get(start..=start + length).unwrap_or_default();
            rest = after.get(length..).unwrap_or_default();
            if !is_exact(&String::from_utf8_lossy(number)) {
                return false;
            }
        }
    }
    true
}

/// Whether parsing keeps a number. It keeps a fraction with few digits, or with the digits by which
/// programs write a floating-point number.
fn is_exact(number: &str) -> bool {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, ""));
    if mantissa == number && !number.contains('.') {
        return number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok();
    }
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let has_small_exponent = exponent.trim_start_matches(['+', '-']).len() <= 2;
    let shortest = || number.parse::<f64>().is_ok_and(|value| value.to_string() == number);
    digits <= EXACT_DIGITS && has_small_exponent || shortest()
}

/// The fields of a form, decoded.
fn form_fields(body: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let decode = |text: &[u8]| url_decode_form_args(text);
    let pairs = body.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty());
    let split = |pair: &[u8]| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        (decode(halves.next().unwrap_or_default()), decode(halves.next().unwrap_or_default()))
    };
    pairs.map(split).collect()
}

/// Removes the members that do not count. A list on the way to a member is not part of its path.
fn remove(value: &mut Value, path: &str, is_ignored: IgnoredFields<'_>) {
    match value {
        Value::Object(members) => {
            let below = |name: &str| match path {
                "" => name.to_owned(),
                path => format!("{path}.{name}"),
            };
            members.retain(|name, _| !is_ignored(name) && !is_ignored(&below(name)));
            for (name, value) in members {
                remove(value, &below(name), is_ignored);
            }
        }
        Value::Array(values) => {
            for value in values {
                remove(value, path, is_ignored);
            }
        }
        _ => {}
    }
}

fn without(body: &Bytes, boundary: &[u8]) -> Bytes {
    let (mut left, mut rest) = (Vec::with_capacity(body.len()), body.as_ref());
    if boundary.is_empty() {
        return body.clone();
    }
    while let Some((&first, after)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(boundary) {
            rest = behind;
        } else {
            left.push(first);
            rest = after;
        }
    }
    left.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "application/x-www-form-urlencoded";
    const JSON: &str = "application/json";

    fn digest(kind: &str, body: &[u8]) -> [u8; 32] {
        let fields = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
        ParsedBody::parse(&fields, &Bytes::copy_from_slice(body), &|name| name == "now").digest()
    }

    #[test]
    fn different_bodies_have_different_digests() {
        let rows: [(&str, &[u8], &str, &[u8]); 8] = [
            (FORM, b"a=%ff", FORM, b"a=%fe"),
            (FORM, b"a=b%00", FORM, b"a=b"),
            (FORM, b"ab=c", FORM, b"a=bc"),
            (JSON, b"[18446744073709551617]", JSON, b"[18446744073709551618]"),
            (JSON, b"[-9223372036854775809]", JSON, b"[-9223372036854775810]"),
            (JSON, b"[0.10000000000000000001]", JSON, b"[0.1]"),
            (JSON, b"[1e-400]", JSON, b"[2e-400]"),
            (JSON, b"[]", "text/html", b"[]"),
        ];
        for (kind, body, other_kind, other) in rows {
            let (one, two) = (digest(kind, body), digest(other_kind, other));
            assert_ne!(one, two, "{kind} {body:?} {other_kind} {other:?}");
        }
    }

    #[test]
    fn usual_numbers_are_parsed() {
        for number in ["0", "-7", "18446744073709551615", "1.50", "-2e3", "0.30000000000000004"] {
            let one = format!(r#"{{"\"9.99999999999999999": {number}, "now": 1}}"#);
            let other = format!(r#"{{"now":2,"\"9.99999999999999999":{number}}}"#);
            let (one, other) = (digest(JSON, one.as_bytes()), digest(JSON, other.as_bytes()));
            assert_eq!(one, other, "{number}");
        }
    }

    #[test]
    fn only_a_valid_boundary_is_removed() {
        for (length, is_removed) in [(70, true), (71, false)] {
            let body = |boundary: char| {
                let boundary = boundary.to_string().repeat(length);
                let kind = format!("multipart/form-data; boundary={boundary}");
                digest(&kind, format!("--{boundary}\r\n\r\nx\r\n--{boundary}--").as_bytes())
            };
            assert_eq!(body('b') == body('c'), is_removed, "{length}");
        }
    }
}
