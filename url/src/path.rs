//! The canonical spelling of paths and arguments.

use crate::encode::{
    ARGS_AS_TYPED, FORM_ARGS, PATH, PATH_NO_DOT, is, push_escaped, split_run, take_escape,
};

/// The meaning of a raw `\` in a path, which depends on the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backslash {
    /// Like `/`: browsers do so for http, https, ftp, ws, wss and file.
    Slash,
    /// Like an ordinary character.
    Ordinary,
}

/// The treatment of `&amp;` in arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ampersands {
    /// `&amp;` stays unchanged.
    AsTyped,
    /// `&amp;` becomes `&`, even if it is escaped several times (`&amp;amp;`). Otherwise a second
    /// parse of the result would give another URL.
    Repaired,
}

/// Writes the canonical spelling of a path; an empty path is `/`.
///
/// Every escape is decoded, and encoded again if its byte is outside the path set. `%2F` and `%00`
/// stay escaped: decoding `%2F` would change the segments, so that two resources would get the same
/// key. Dot segments are removed last, so `%2e` is a dot and `%2F` is not a slash.
pub(crate) fn push_path(out: &mut Vec<u8>, path: &[u8], backslash: Backslash) {
    let start = out.len();
    let slash = |byte: &u8| *byte == b'/' || (*byte == b'\\' && backslash == Backslash::Slash);
    if !path.first().is_some_and(slash) {
        out.push(b'/');
    }
    let mut dots = false;
    let mut rest = path;
    loop {
        let (run, stop) = split_run(rest, PATH_NO_DOT);
        out.extend_from_slice(run);
        let [byte, after @ ..] = stop else { break };
        rest = after;
        let mut value = *byte;
        if let Some((escaped, after)) = take_escape(stop) {
            rest = after;
            value = escaped;
            if matches!(value, 0 | b'/') {
                push_escaped(out, value);
                continue;
            }
        } else if slash(byte) {
            value = b'/';
        }
        if value == b'.' {
            dots |= out.last() == Some(&b'/');
        }
        if is(value, PATH) {
            out.push(value);
        } else {
            push_escaped(out, value);
        }
    }
    if dots && let Some(spelled) = out.get(start..) {
        let clean = remove_dot_segments(spelled);
        out.truncate(start);
        out.extend_from_slice(&clean);
    }
}

/// Removes dot segments as in RFC 3986 §5.2.4 from a path that begins with `/`.
///
/// Each `..` scans only bytes that it removes, so the time is linear.
pub(crate) fn remove_dot_segments(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    let mut segments = path.strip_prefix(b"/").unwrap_or(path).split(|&b| b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let up = match segment {
            b"." => false,
            b".." => true,
            _ => {
                out.push(b'/');
                out.extend_from_slice(segment);
                continue;
            }
        };
        if up {
            out.truncate(out.iter().rposition(|&b| b == b'/').unwrap_or(0));
        }
        if segments.peek().is_none() {
            out.push(b'/');
        }
    }
    out
}

/// Removes dot segments from a path without decoding it (`CanonicaliseName`).
///
/// An empty path becomes `/`. 2.9 leaves `/a//..` unchanged and shortens `/a/.` to `/a`. Here both
/// become `/a/`, as in RFC 3986 and every browser.
///
/// ```
/// assert_eq!(wwwoffle_url::canonicalise_name(b"/a/./b/../c/.."), b"/a/");
/// ```
#[must_use]
pub fn canonicalise_name(path: &[u8]) -> Vec<u8> {
    let clean = remove_dot_segments(path);
    if path.starts_with(b"/") || clean.len() < 2 {
        return if clean.is_empty() { b"/".to_vec() } else { clean };
    }
    clean.get(1..).unwrap_or_default().to_vec()
}

/// Writes the canonical spelling of arguments: `URLRecodeFormArgs` and the repair of `&amp;`.
pub(crate) fn recode_args(out: &mut Vec<u8>, args: &[u8], ampersands: Ampersands) {
    let mut rest = args;
    loop {
        let (run, stop) = split_run(rest, ARGS_AS_TYPED);
        out.extend_from_slice(run);
        let [byte, after @ ..] = stop else { break };
        rest = after;
        if *byte == b';' {
            // The output is searched, so that `&%61mp;` and `&amp;amp;` are found too.
            if ampersands == Ampersands::Repaired && out.ends_with(b"&amp") {
                out.truncate(out.len() - b"amp".len());
            } else {
                out.push(b';');
            }
        } else if let Some((value, after)) = take_escape(stop) {
            rest = after;
            match value {
                b' ' => out.push(b'+'),
                _ if is(value, FORM_ARGS) => out.push(value),
                _ => push_escaped(out, value),
            }
        } else if *byte == b' ' {
            out.push(b'+');
        } else {
            push_escaped(out, *byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> String {
        let mut out = b"x".to_vec();
        push_path(&mut out, text.as_bytes(), Backslash::Slash);
        String::from_utf8(out).unwrap().split_off(1)
    }

    #[test]
    fn paths() {
        let rows = [
            ("", "/"),
            ("/", "/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/a//..", "/a/"),
            ("/..//a", "//a"),
            ("/%2e%2E/x", "/x"),
            ("/a/..%2fb", "/a/..%2Fb"),
            ("/a/..%00/b", "/a/..%00/b"),
            ("/a\\..\\b", "/b"),
            ("/a%5Cb", "/a%5Cb"),
            ("/%zz%4", "/%25zz%254"),
            ("/%25%32%46", "/%252F"),
            ("/.a/..b/...", "/.a/..b/..."),
            ("/a&b@c|d'", "/a%26b%40c%7Cd%27"),
        ];
        for (given, expected) in rows {
            assert_eq!(path(given), expected, "{given}");
        }
    }

    #[test]
    fn ampersands_are_repaired_to_the_end() {
        let rows = [
            ("a&amp;b", "a&b"),
            ("a&amp;amp;amp;b", "a&b"),
            ("&amp;", "&"),
            ("a&%61m%70;b", "a&b"),
            ("a%26amp;b", "a%26amp;b"),
            ("a&AMP;b", "a&AMP;b"),
            ("amp;", "amp;"),
            ("&amp%3B", "&amp%3B"),
        ];
        for (given, expected) in rows {
            let mut out = Vec::new();
            recode_args(&mut out, given.as_bytes(), Ampersands::Repaired);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{given}");
        }
    }
}
