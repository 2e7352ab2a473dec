//! The fast path for texts that are already canonical, completely or at their beginning. Most URLs
//! that a proxy receives are canonical.
//!
//! This module only affects speed. If it accepts a text, the other modules would return the same
//! text, byte for byte. A property test compares both results.

use crate::encode::{ARGS_AS_TYPED, FORM_ARGS, PATH, PATH_NO_DOT, is, split_run, take_escape};
use crate::host::take_plain;

/// The ends of the parts before the path, in a text whose beginning is canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OriginOffsets {
    pub(crate) protocol_end: usize,
    pub(crate) host_end: usize,
    pub(crate) path_start: usize,
    pub(crate) port: Option<u16>,
}

/// Whether `text` contains nothing that the scans below must examine: arguments, fragment, escapes,
/// dot segments, `--`, and bytes outside the path set. Most texts contain none of these.
///
/// `false` means that this is not known: it is also returned for texts that are too short for this
/// check.
pub(crate) fn is_simple(text: &[u8]) -> bool {
    let (Some((_, bytes)), Some((_, before))) = (text.split_first(), text.split_last()) else {
        return false;
    };
    // Sixteen bytes at a time and without an early exit, so that the loop compiles to vector
    // instructions. The last chunk overlaps the one before it, because a shorter rest would be read
    // byte by byte.
    let (Some(last), Some(last_before)) = (bytes.last_chunk(), before.last_chunk()) else {
        return false;
    };
    let (chunks, _) = bytes.as_chunks();
    let (chunks_before, _) = before.as_chunks();
    let mut odd = [0; 16];
    for (before, chunk) in chunks_before.iter().zip(chunks) {
        mark_odd(&mut odd, before, chunk);
    }
    mark_odd(&mut odd, last_before, last);
    odd == [0; 16]
}

/// Marks each position where a byte, or its pair with the previous byte, is not simple.
#[inline]
fn mark_odd(odd: &mut [u8; 16], before: &[u8; 16], bytes: &[u8; 16]) {
    for (odd, (&before, &byte)) in odd.iter_mut().zip(before.iter().zip(bytes)) {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        // `* + , - . / : ;` and digits.
        let middle = byte.wrapping_sub(b'*') <= b';' - b'*';
        let known = letter || middle || byte == b'_' || byte == b'~' || byte == b'=';
        let dot_segment = before == b'/' && byte == b'.';
        let hyphens = before == b'-' && byte == b'-';
        *odd |= u8::from(!known || dot_segment || hyphens);
    }
}

/// Reads protocol, host and port up to the path. `simple` is the result of [`is_simple`]. `None` if
/// they are not canonical, or if this cannot be decided here.
pub(crate) fn origin(text: &[u8], simple: bool) -> Option<OriginOffsets> {
    // The CPU could not predict a branch on `http` or `https`, so the length is computed.
    let tls = usize::from(text.get(4) == Some(&b's'));
    let protocol_end = 4 + tls;
    let rest = text.strip_prefix(b"http")?.get(tls..)?.strip_prefix(b"://")?;
    let (host, rest) = take_plain(rest, simple)?;
    let host_end = protocol_end + 3 + host.len();
    let (port, rest) = match rest {
        [] | [b'/' | b'?' | b'#', ..] => (None, rest),
        [b':', rest @ ..] => take_port(rest, if tls == 0 { 80 } else { 443 })?,
        _ => return None,
    };
    Some(OriginOffsets { protocol_end, host_end, path_start: text.len() - rest.len(), port })
}

/// Reads path and arguments up to the fragment or the end, and returns where each ends. The path
/// may be empty if nothing follows it. `None` if they are not canonical.
pub(crate) fn path_and_args(
    text: &[u8],
    path_start: usize,
    simple: bool,
) -> Option<(usize, usize)> {
    if simple {
        return Some((text.len(), text.len()));
    }
    let rest = skip_path(text.get(path_start..)?)?;
    let path_end = text.len() - rest.len();
    let rest = match rest {
        [b'?', args @ ..] if path_end > path_start => skip_args(args)?,
        [b'?', ..] => return None,
        rest => rest,
    };
    Some((path_end, text.len() - rest.len()))
}

/// Splits a port from the path after it. `None` if the port is not in canonical spelling, is the
/// default port, or is not followed by a path.
fn take_port(rest: &[u8], default: u16) -> Option<(Option<u16>, &[u8])> {
    let mut port: u16 = 0;
    let mut after = rest;
    while let [byte @ b'0'..=b'9', rest @ ..] = after {
        port = port.checked_mul(10)?.checked_add(u16::from(byte - b'0'))?;
        after = rest;
    }
    let shortest = matches!(rest, [b'1'..=b'9', ..] | [b'0', b'/', ..]);
    (shortest && port != default && after.starts_with(b"/")).then_some((Some(port), after))
}

/// Skips a canonical path. Returns the text from its `?` or `#`, or an empty text. `None` if the
/// path may not be canonical.
fn skip_path(path: &[u8]) -> Option<&[u8]> {
    let mut rest = path;
    loop {
        let (run, stop) = split_run(rest, PATH_NO_DOT);
        match stop {
            [] | [b'?' | b'#', ..] => return Some(stop),
            // A dot after a slash may begin a dot segment, which the full parser handles. A dot
            // after an escape or another dot cannot begin one. A dot before the first run cannot
            // either, because the path begins with `/`.
            [b'.', after @ ..] if !run.ends_with(b"/") => rest = after,
            _ => rest = skip_escape(stop, |value| matches!(value, 0 | b'/') || !is(value, PATH))?,
        }
    }
}

/// Skips canonical arguments. Returns the text from the `#`, or an empty text. `None` if the
/// arguments are empty or may not be canonical.
fn skip_args(args: &[u8]) -> Option<&[u8]> {
    let mut rest = args;
    loop {
        let (run, stop) = split_run(rest, ARGS_AS_TYPED);
        match stop {
            [] | [b'#', ..] => return (stop.len() < args.len()).then_some(stop),
            [b';', after @ ..] if !run.ends_with(b"&amp") => rest = after,
            _ => rest = skip_escape(stop, |value| value != b' ' && !is(value, FORM_ARGS))?,
        }
    }
}

/// Skips an escape with upper-case digits, if its byte must be escaped.
fn skip_escape(text: &[u8], needed: impl Fn(u8) -> bool) -> Option<&[u8]> {
    let (value, rest) = take_escape(text)?;
    let [_, high, low, ..] = text else { return None };
    let upper = !high.is_ascii_lowercase() && !low.is_ascii_lowercase();
    (upper && needed(value)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::split::clean;
    use crate::{CanonicalUrl, LocalHost};

    const STARTS: &[&str] = &[
        "http://",
        "http://a/",
        "https://a.b:1/",
        "https://a?",
        "http://www.a-b.example",
        "https://www.example.org/a",
    ];
    const PIECES: &[&str] = &[
        "a", "b-c", "x.y", "xn--", "1", "/", ".", "..", "?", "#", "&", "&amp", ";", "%", "%2F",
        "%2f", "%00", "%41", "%26", "%3B", "%20", "+", " ", "\t", ":80", ":8080", ":081", "@", "=",
        "|", "\\", "é", "_", "~", "'",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 8192, ..<_>::default() })]

        #[test]
        fn fast_path_agrees_with_full_parser(
            start in select(STARTS),
            rest in prop::collection::vec(select(PIECES), 0..10),
            end in select(&["", "/long/enough"][..]),
        ) {
            let text = [start, &rest.concat(), end].concat();
            let local = LocalHost::default();
            if origin(text.as_bytes(), is_simple(text.as_bytes())).is_some() {
                let long = CanonicalUrl::from_clean(&clean(text.as_bytes()).unwrap(), &local);
                prop_assert_eq!(CanonicalUrl::parse(&text, &local), long.clone());
                prop_assert_eq!(CanonicalUrl::parse_bytes(text.as_bytes(), &local), long);
            }
        }
    }

    fn find(text: &str) -> Option<(usize, usize)> {
        let simple = is_simple(text.as_bytes());
        path_and_args(text.as_bytes(), origin(text.as_bytes(), simple)?.path_start, simple)
    }

    #[test]
    fn odd_byte_is_detected_at_every_position() {
        let plain = "https://www.a-b.example:8080/a_b,c;d~e*f+g=h.i/Jj0/".as_bytes();
        for end in 17..=plain.len() {
            assert!(is_simple(&plain[..end]), "{end}");
            for (at, odd) in (8..end - 1).flat_map(|at| {
                ["/.", "--", "aé", "a%", "a&", "a?", "a#", "a@", "a ", "a\t", "a\0", "a\u{7f}"]
                    .map(|odd| (at, odd))
            }) {
                let text = [&plain[..at], odd.as_bytes(), &plain[at + 2..end]].concat();
                assert!(!is_simple(&text), "{}", String::from_utf8_lossy(&text));
            }
        }
        assert!(!is_simple(b"http://a/") && !is_simple(b""));
    }

    #[test]
    fn simple_characters_are_unescaped_in_a_path() {
        for byte in 0..=u8::MAX {
            let text = [b"http://www.a.example/a", &[byte][..]].concat();
            assert!(!is_simple(&text) || is(byte, PATH), "{byte}");
        }
    }

    #[test]
    fn canonical_texts_are_found() {
        for text in [
            "http://a/",
            "https://www.b-c.example:8443/a/b.c/d..;e/%C3%A9%2F?a=b&c;d=%26#e",
            "http://a:0/a.?&#b",
            "http://a",
            "http://a#b",
        ] {
            assert!(find(text).is_some(), "{text}");
        }
        for text in [
            "http://a?b",
            "HTTP://a/",
            "http://A/",
            "http://1/",
            "http://a.1/",
            "http://xn--a/",
            "http://a:80/",
            "http://a:01/",
            "http://a:/",
            "http://a:65536/",
            "http://u@a/",
            "http:///",
            "http://a/.",
            "http://a/b/../c",
            "http://a/.b",
            "http://a/?",
            "http://a/?#",
            "http://a/%2f",
            "http://a/%41",
            "http://a/?&amp;",
            "http://a/?%41",
            "http://a/?%20",
            "http://a/&",
            "http://a/ ",
            "http://a/b\t",
            "http://a/%",
            "https://a:443/",
            "ftp://a/",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
