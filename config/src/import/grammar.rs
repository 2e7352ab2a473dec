//! The grammar of a configuration of WWWOFFLE 2.9: sections of lines, and files of lines.
//!
//! ```text
//! # a comment
//! StartUp                      the name of a section, which may be abbreviated
//! {
//!  http-port = 8080            KEY = VALUE
//!  <*://*/*.gif> images = no   the same, for some URLs
//!  !*.example.org              a member of a list
//! }
//! DontGet
//! [
//! adverts.conf                 the lines of this section are in this file, in the same directory
//! ]
//! ```

use crate::former::sections;

/// A line of the main file, or of the file of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OldLine {
    /// An empty line.
    Blank,
    /// A comment from its `#` on, as written.
    Comment(String),
    /// A setting.
    OldItem(OldItem),
    /// A line outside the grammar, with the reason.
    Wrong { text: String, because: &'static str },
}

/// A setting in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OldItem {
    /// The URLs to which the line applies, between `<` and `>`; all URLs if absent.
    pub(super) spec: Option<String>,
    /// The text before the `=`, or the whole line for a member of a list.
    pub(super) key: String,
    /// The text after the `=`, if there is one.
    pub(super) value: Option<String>,
    /// The whole text, without the space around it.
    pub(super) text: String,
}

/// A line and its number, counted from 1.
pub(super) type NumberedLine = (usize, OldLine);

/// A part of the main file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OldPart {
    /// A line outside every section.
    Outside(NumberedLine),
    /// A section with its lines between braces.
    Section { name: &'static str, line: usize, lines: Vec<NumberedLine> },
    /// A section whose lines are in another file, which is named between brackets.
    Elsewhere { name: &'static str, line: usize, file: String },
}

/// Parses a main file.
pub(super) fn parts(text: &str) -> Vec<OldPart> {
    let mut lines = (1..).zip(text.lines());
    let mut parts = Vec::new();
    while let Some((line, text)) = lines.next() {
        match read(text, outside_line) {
            OldLine::OldItem(OldItem { key, .. }) => match section(&key) {
                Some(name) => parts.push(body(name, line, &mut lines)),
                None => parts.push(wrong_line(line, text, "no section has this name")),
            },
            other => parts.push(OldPart::Outside((line, other))),
        }
    }
    parts
}

/// Parses the lines of one section from its own file.
pub(super) fn lines(text: &str) -> Vec<NumberedLine> {
    (1..).zip(text.lines().map(|line| read(line, item))).collect()
}

fn wrong_line(line: usize, text: &str, because: &'static str) -> OldPart {
    OldPart::Outside((line, OldLine::Wrong { text: text.trim().to_owned(), because }))
}

/// The section named `name`, or else the first section whose name begins with `name`.
fn section(name: &str) -> Option<&'static str> {
    let begins = |section: &&str| {
        section.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let exact = sections().find(|section| section.eq_ignore_ascii_case(name));
    exact.or_else(|| sections().find(begins))
}

/// Parses the body of a section, after its name.
fn body<'a>(
    name: &'static str,
    line: usize,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> OldPart {
    let mut held = Vec::new();
    for (number, text) in lines.by_ref() {
        match text.trim() {
            "{" => {
                let end = |text: &str| text.trim() == "}";
                held.extend(
                    lines
                        .take_while(|(_, text)| !end(text))
                        .map(|(number, text)| (number, read(text, item))),
                );
                return OldPart::Section { name, line, lines: held };
            }
            "[" => {
                let mut file = String::new();
                for (_, text) in lines.take_while(|(_, text)| text.trim() != "]") {
                    let text = text.trim();
                    if !text.is_empty() && !text.starts_with('#') {
                        text.clone_into(&mut file);
                    }
                }
                return OldPart::Elsewhere { name, line, file };
            }
            _ => match read(text, outside_line) {
                OldLine::OldItem(OldItem { text, .. }) => {
                    let because = "expected { or [ after the name of a section";
                    held.push((number, OldLine::Wrong { text, because }));
                    return OldPart::Section { name, line, lines: held };
                }
                other => held.push((number, other)),
            },
        }
    }
    OldPart::Section { name, line, lines: held }
}

fn read(text: &str, otherwise: impl Fn(&str) -> OldLine) -> OldLine {
    match text.trim() {
        "" => OldLine::Blank,
        text if text.starts_with('#') => OldLine::Comment(text.to_owned()),
        text => otherwise(text),
    }
}

fn outside_line(text: &str) -> OldLine {
    let (text, key) = (text.to_owned(), text.to_owned());
    OldLine::OldItem(OldItem { spec: None, key, value: None, text })
}

fn item(text: &str) -> OldLine {
    let (spec, rest) = match text.strip_prefix('<').map(|rest| rest.split_once('>')) {
        None => (None, text),
        Some(Some((spec, rest))) => (Some(spec.trim().to_owned()), rest.trim()),
        Some(None) => {
            let because = "the pattern after < has no closing >";
            return OldLine::Wrong { text: text.to_owned(), because };
        }
    };
    let (key, value) = match equals(rest) {
        Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
        None => (rest, None),
    };
    OldLine::OldItem(OldItem { spec, key: key.to_owned(), value, text: text.to_owned() })
}

/// Splits at the first `=` with a blank before it, because a URL may contain other `=`. If there is
/// no such `=`, splits at the first `=`, unless a URL precedes it.
fn equals(text: &str) -> Option<(&str, &str)> {
    if let Some(at) = text.find(" =").or_else(|| text.find("\t=")) {
        let (key, rest) = text.split_at(at);
        return rest.split_once('=').map(|(_, value)| (key, value));
    }
    text.split_once('=').filter(|(key, _)| !key.contains("://"))
}
