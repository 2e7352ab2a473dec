//! The coders of WWWOFFLE's README.URL, under the same names.
//!
//! Each converts bytes to bytes or text and cannot fail. A `%` without two hex digits after it is
//! an ordinary character. In 2.9, this is so only for a `%` at the end of a text.

use crate::encode::{self, FORM_ARGS, PASSWORD, PATH};
use crate::path::recode_args;

/// Undoes percent-encoding (`URLDecodeGeneric`).
///
/// ```
/// assert_eq!(wwwoffle_url::url_decode_generic(b"a%20b%zz"), b"a b%zz");
/// ```
#[must_use]
pub fn url_decode_generic(text: &[u8]) -> Vec<u8> {
    decode(text, |byte| byte)
}

/// Undoes the encoding of form arguments, where `+` is a space (`URLDecodeFormArgs`).
///
/// ```
/// assert_eq!(wwwoffle_url::url_decode_form_args(b"a+b%2Bc"), b"a b+c");
/// ```
#[must_use]
pub fn url_decode_form_args(text: &[u8]) -> Vec<u8> {
    decode(text, |byte| if byte == b'+' { b' ' } else { byte })
}

fn decode(text: &[u8], raw: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        if let Some((value, after)) = encode::take_escape(rest) {
            out.push(value);
            rest = after;
        } else {
            out.push(raw(*byte));
            rest = after;
        }
    }
    out
}

/// Writes arguments in their canonical spelling (`URLRecodeFormArgs`). Only equivalent spellings
/// become equal: `%26` stays distinct from `&`, while `%20` and `+` become the same.
///
/// ```
/// assert_eq!(wwwoffle_url::url_recode_form_args(b"a b=%7e%26&c%3d"), "a+b=~%26&c%3D");
/// ```
#[must_use]
pub fn url_recode_form_args(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    recode_args(&mut out, text, crate::path::Ampersands::AsTyped);
    ascii(out)
}

/// Encodes a decoded path (`URLEncodePath`).
///
/// ```
/// assert_eq!(wwwoffle_url::url_encode_path(b"/a b/?"), "/a%20b/%3F");
/// ```
#[must_use]
pub fn url_encode_path(text: &[u8]) -> String {
    encoded(text, PATH)
}

/// Encodes a key or a value for the arguments of a URL or the body of a form
/// (`URLEncodeFormArgs`).
///
/// ```
/// assert_eq!(wwwoffle_url::url_encode_form_args(b"a b&c"), "a+b%26c");
/// ```
#[must_use]
pub fn url_encode_form_args(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    for piece in text.split_inclusive(|&byte| byte == b' ') {
        let (space, piece) = match piece {
            [before @ .., b' '] => (true, before),
            _ => (false, piece),
        };
        encode::push_encoded(&mut out, piece, FORM_ARGS);
        if space {
            out.push(b'+');
        }
    }
    ascii(out)
}

/// Encodes a user or a password (`URLEncodePassword`).
///
/// ```
/// assert_eq!(wwwoffle_url::url_encode_password(b"a:b@c/"), "a%3Ab%40c%2F");
/// ```
#[must_use]
pub fn url_encode_password(text: &[u8]) -> String {
    encoded(text, PASSWORD)
}

/// Splits arguments at each `&` and `;`, without decoding (`SplitFormArgs`).
///
/// ```
/// let pieces: Vec<_> = wwwoffle_url::split_form_args(b"a=1&b;").collect();
/// assert_eq!(pieces, [&b"a=1"[..], b"b", b""]);
/// ```
pub fn split_form_args(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'&' | b';'))
}

/// Removes blanks at both ends (`TrimArgs`): space, tab, line feed, vertical tab, form feed,
/// carriage return.
///
/// ```
/// assert_eq!(wwwoffle_url::trim_args(b" \x0ba b\r\n"), b"a b");
/// ```
#[must_use]
pub fn trim_args(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

fn encoded(text: &[u8], set: u8) -> String {
    let mut out = Vec::with_capacity(text.len());
    encode::push_encoded(&mut out, text, set);
    ascii(out)
}

/// Converts the output of an encoder to text. All its bytes are ASCII.
pub(crate) fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("encoders write ASCII only")
}
