//! The body of a request without the parts that select no content: JSON, forms, multipart.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde_json::Value;
use sha2::{Digest, Sha256};
use wwwoffle_url::url_decode_form_args;

/// A body, parsed as far as its type is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ParsedBody {
    Json(Value),
    Form(Vec<(String, String)>),
    Other(Bytes),
}

/// Whether a field does not count, by its name. Of JSON also by its path from the top, with dots.
pub(super) type IgnoredFields<'a> = &'a dyn Fn(&str) -> bool;

impl ParsedBody {
    /// Parses a body, without the fields that do not count.
    pub(super) fn parse(fields: &HeaderMap, body: &Bytes, is_ignored: IgnoredFields<'_>) -> Self {
        let kind = fields.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let media = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if media == "application/x-www-form-urlencoded" {
            let counts = |(name, _): &(String, String)| !is_ignored(name);
            return Self::Form(form_fields(body).into_iter().filter(counts).collect());
        }
        // Many clients of APIs send JSON as text/plain, which needs no preflight request.
        if (media.ends_with("json") || media == "text/plain")
            && let Ok(mut value) = serde_json::from_slice(body)
        {
            remove(&mut value, "", is_ignored);
            return Self::Json(value);
        }
        if media.starts_with("multipart/")
            && let Some((_, boundary)) = kind.split_once("boundary=")
        {
            // The boundary is random.
            let boundary = boundary.split(';').next().unwrap_or_default().trim().trim_matches('"');
            return Self::Other(without(body, boundary.as_bytes()));
        }
        Self::Other(body.clone())
    }

    /// The digest, which is the same for bodies that differ in what does not count.
    pub(super) fn digest(&self) -> [u8; 32] {
        match self {
            Self::Json(value) => Sha256::digest(value.to_string()),
            Self::Form(fields) => Sha256::digest(format!("{fields:?}")),
            Self::Other(body) => Sha256::digest(body),
        }
        .into()
    }
}

/// The fields of a form, decoded.
fn form_fields(body: &[u8]) -> Vec<(String, String)> {
    let decode = |text: &[u8]| String::from_utf8_lossy(&url_decode_form_args(text)).into_owned();
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
