//! The path states of the WHATWG parser, and the percent-encode set of each part of a URL.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// *Fragment percent-encode set*.
pub(super) const FRAGMENT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');
/// *Query percent-encode set*.
pub(super) const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');
/// *Special-query percent-encode set*.
pub(super) const SPECIAL_QUERY: &AsciiSet = &QUERY.add(b'\'');
/// *Path percent-encode set*. `^` was added in 2024, because servers refuse it unescaped.
pub(super) const PATH: &AsciiSet = &QUERY.add(b'?').add(b'^').add(b'`').add(b'{').add(b'}');
/// *Userinfo percent-encode set*.
pub(super) const USERINFO: &AsciiSet = &PATH
    .add(b'/')
    .add(b':')
    .add(b';')
    .add(b'=')
    .add(b'@')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'|');

/// A path that is built segment by segment. Each segment follows a slash: an empty text has no
/// segment, and `/` has one empty segment.
#[derive(Debug, Default)]
pub(super) struct Path {
    pub(super) text: String,
    /// Whether the scheme is `file`, whose paths may begin with a drive letter.
    pub(super) file: bool,
}

impl Path {
    /// *Path state*, up to the end of `rest`, from which query and fragment were removed.
    pub(super) fn append(&mut self, rest: &str, special: bool) {
        let is_slash = |c: char| c == '/' || (special && c == '\\');
        let mut segments = rest.split(is_slash).peekable();
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            if is_double_dot(segment) {
                self.shorten();
                if is_last {
                    self.text.push('/');
                }
            } else if is_single_dot(segment) {
                if is_last {
                    self.text.push('/');
                }
            } else {
                self.push(segment);
            }
        }
    }

    fn push(&mut self, segment: &str) {
        let is_drive = self.file && self.text.is_empty() && is_drive_letter(segment);
        self.text.push('/');
        match segment.chars().next() {
            Some(letter) if is_drive => {
                self.text.push(letter);
                self.text.push(':');
            }
            _ => self.text.extend(utf8_percent_encode(segment, PATH)),
        }
    }

    /// *Shorten a URL's path*: removes the last segment, unless it is the only segment and a drive
    /// letter.
    pub(super) fn shorten(&mut self) {
        if self.file && self.text.strip_prefix('/').is_some_and(is_normalized_drive_letter) {
            return;
        }
        self.text.truncate(self.text.rfind('/').unwrap_or(0));
    }

    /// The first segment, if it is a normalized drive letter.
    pub(super) fn drive(path: &str) -> Option<&str> {
        let first = path.strip_prefix('/')?.split('/').next()?;
        is_normalized_drive_letter(first).then_some(first)
    }
}

/// *Opaque path state*: escapes control characters, non-ASCII, and a final blank before a query or
/// fragment. If that blank was not escaped, it would be lost when query or fragment are removed.
pub(super) fn opaque(path: &str, is_last: bool) -> String {
    match path.strip_suffix(' ') {
        Some(before) if !is_last => format!("{}%20", utf8_percent_encode(before, CONTROLS)),
        _ => utf8_percent_encode(path, CONTROLS).to_string(),
    }
}

fn is_single_dot(segment: &str) -> bool {
    segment == "." || segment.eq_ignore_ascii_case("%2e")
}

fn is_double_dot(segment: &str) -> bool {
    segment == ".."
        || [".%2e", "%2e.", "%2e%2e"].iter().any(|dots| segment.eq_ignore_ascii_case(dots))
}

/// Whether `text` is a *Windows drive letter*: a letter and `:` or `|`.
pub(super) fn is_drive_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':' | b'|'] if letter.is_ascii_alphabetic())
}

fn is_normalized_drive_letter(text: &str) -> bool {
    is_drive_letter(text) && text.ends_with(':')
}

/// Whether `text` begins with a drive letter, followed by the end or a delimiter (*starts with a
/// Windows drive letter*).
pub(super) fn starts_with_drive_letter(text: &str) -> bool {
    text.get(..2).is_some_and(is_drive_letter)
        && matches!(text.as_bytes().get(2), None | Some(b'/' | b'\\' | b'?' | b'#'))
}
