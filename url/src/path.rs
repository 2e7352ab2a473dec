//! Paths and arguments in their one spelling.

use crate::encode::{
    ARGS_AS_TYPED, FORM_ARGS, PATH, PATH_NO_DOT, is, push_escaped, split_run, take_escape,
};

/// How a protocol reads a raw `\` in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backslash {
    /// As `/`: browsers do for http, https, ftp, ws, wss and file.
    Slash,
    /// As an ordinary character.
    Ordinary,
}

/// What happens to `&amp;` in arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ampersands {
    /// It stays.
    AsTyped,
    /// It becomes `&`, however often it was escaped: `&amp;amp;` too, or a second reading of the
    /// result would differ from the first.
    Repaired,
}

/// Writes the canonical spelling of a path; one that is empty is `/`.
///
/// Every escape becomes its byte and is escaped again if the path set doesn't keep it, but `%2F`
/// and `%00` stay: a decoded `/` would move the ends of segments, so two resources would be one.
/// Dot segments go last, so `%2e` is a dot and `%2F` no slash.
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

/// Removes dot segments after RFC 3986 §5.2.4 from a path that begins with `/`.
///
/// Each `..` scans only bytes it removes, so the time is linear.
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

/// Removes dot segments from a path as it is spelled, decoding nothing (`CanonicaliseName`).
///
/// What is empty becomes `/`. 2.9 leaves `/a//..` as it is and shortens `/a/.` to `/a`; here both
/// are `/a/`, as RFC 3986 and every browser have it.
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

/// Writes arguments in their one spelling: `URLRecodeFormArgs`, and the repair of `&amp;`.
pub(crate) fn recode_args(out: &mut Vec<u8>, args: &[u8], ampersands: Ampersands) {
    let mut rest = args;
    loop {
        let (run, stop) = split_run(rest, ARGS_AS_TYPED);
        out.extend_from_slice(run);
        let [byte, after @ ..] = stop else { break };
        rest = after;
        if *byte == b';' {
            // Looked for in what was written, so that `&%61mp;` and `&amp;amp;` are found too.
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
