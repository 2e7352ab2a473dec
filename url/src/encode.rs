//! The bytes that are not escaped in each part of a URL, and the escapes of all other bytes.
//!
//! The sets are those of WWWOFFLE 2.9. Keys depend on them, so they cannot follow later standards.

/// Bytes that the path encoder leaves unescaped: RFC 3986 `pchar` and `/`, without `&`, `'` and
/// `@`.
pub(crate) const PATH: u8 = 1;
/// Bytes that the form-argument encoder leaves unescaped.
pub(crate) const FORM_ARGS: u8 = 1 << 1;
/// Bytes that the encoder for users and passwords leaves unescaped.
pub(crate) const PASSWORD: u8 = 1 << 2;
/// Bytes that arguments may contain as typed: the form-argument set and the separators. The `;` is
/// left out, because it may end an `&amp;`.
pub(crate) const ARGS_AS_TYPED: u8 = 1 << 3;
/// The path set without `.`, which may begin a dot segment.
pub(crate) const PATH_NO_DOT: u8 = 1 << 4;
/// Bytes of a host name that stays unchanged, unless IDNA or a number is involved.
pub(crate) const PLAIN_HOST: u8 = 1 << 5;
/// Bytes of a protocol after its first letter (RFC 3986 §3.1).
pub(crate) const PROTOCOL: u8 = 1 << 6;
/// Bytes that end the authority. WHATWG reads `\` as `/` here.
pub(crate) const AUTHORITY_END: u8 = 1 << 7;

/// The sets that contain each byte.
static CLASSES: [u8; 256] = classes();

/// Whether the byte is in at least one of the sets in `set`.
#[inline]
pub(crate) fn is(byte: u8, set: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|classes| classes & set != 0)
}

#[expect(
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "runs at compile time, where a wrong index is an error"
)]
const fn classes() -> [u8; 256] {
    const fn put(mut table: [u8; 256], bytes: &[u8], set: u8) -> [u8; 256] {
        let mut i = 0;
        while i < bytes.len() {
            table[bytes[i] as usize] |= set;
            i += 1;
        }
        table
    }
    let all = PATH | FORM_ARGS | PASSWORD | ARGS_AS_TYPED | PATH_NO_DOT;
    let mut table = [0; 256];
    table = put(table, b"abcdefghijklmnopqrstuvwxyz0123456789", all | PLAIN_HOST | PROTOCOL);
    table = put(table, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", all | PROTOCOL);
    table = put(table, b"!$()*+,-/:;=_~", PATH | PATH_NO_DOT);
    table = put(table, b".", PATH);
    table = put(table, b"!$()*,-./:_|~", FORM_ARGS | ARGS_AS_TYPED);
    table = put(table, b"!$*+,-.=_~", PASSWORD);
    table = put(table, b"&=+?", ARGS_AS_TYPED);
    table = put(table, b"-._", PLAIN_HOST);
    table = put(table, b"+-.", PROTOCOL);
    put(table, b"/?#\\", AUTHORITY_END)
}

/// Decodes the escape at the beginning of `text`. Returns its byte and the rest.
///
/// A `%` without two hex digits is not an escape. (2.9 accepts any two bytes.)
#[inline]
pub(crate) fn take_escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, rest @ ..] = text else { return None };
    Some((hex_digit(*high)? << 4 | hex_digit(*low)?, rest))
}

#[inline]
fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Writes `%XY` with upper-case digits.
#[inline]
pub(crate) fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'A' + value - 10 };
    out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
}

/// Writes `text` with everything outside `set` escaped.
pub(crate) fn push_encoded(out: &mut Vec<u8>, text: &[u8], set: u8) {
    for &byte in text {
        if is(byte, set) {
            out.push(byte);
        } else {
            push_escaped(out, byte);
        }
    }
}

/// Splits `text` before the first byte that is not in `set`.
#[inline]
pub(crate) fn split_run(text: &[u8], set: u8) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !is(byte, set)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_need_two_hex_digits() {
        assert_eq!(take_escape(b"%4Ax"), Some((b'J', &b"x"[..])));
        for text in [&b"%4"[..], b"%", b"%4g", b"%g4", b"4A", b"% 4", b"%+4"] {
            assert_eq!(take_escape(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_character_set_contains_its_delimiters() {
        for byte in [b'?', b'#', b'%', b' ', b'\\', 0, 0x7f, 0x80, 0xff] {
            assert!(!is(byte, PATH | PATH_NO_DOT | PASSWORD | FORM_ARGS), "{byte}");
        }
        for byte in [b'@', b':', b'/'] {
            assert!(!is(byte, PASSWORD), "{byte}");
        }
    }
}
