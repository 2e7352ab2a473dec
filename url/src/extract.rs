//! URLs found in running text: draft-fielding-url-syntax-02 Appendix E, RFC 3986 Appendix C.
//!
//! A URL is in angle brackets, in double quotes, or bare between white space. The prefix `URL:` may
//! precede it. None of these wrappers is part of the URL.
//!
//! | delimiter | a URL is | removed from it |
//! |---|---|---|
//! | `<…>` | a scheme and `//`, or a scheme of [`OPAQUE_SCHEMES`], or any scheme after `URL:` | all white space |
//! | `"…"` | the same, without blanks except around a line break | line breaks, and blanks around them |
//! | bare | the same, up to the first character that a URL cannot have | nothing |
//!
//! Punctuation of the sentence at the end of a bare URL is not part of the URL. Neither is a
//! closing bracket whose opening bracket is outside the URL.
//!
//! The text is read at most three times, so the time is linear.

use std::ops::Range;

use crate::reference::{is_scheme, is_scheme_byte};

/// The maximum length of a text in quotes or angle brackets that is examined, in bytes. If the
/// closing bracket is farther away, the opening bracket is not a delimiter.
pub const MAX_ENCLOSED: usize = 16 << 10;

/// Schemes without `//` that are recognised without the prefix `URL:`. Any other word before a
/// colon is probably an ordinary word.
pub const OPAQUE_SCHEMES: [&str; 11] =
    ["mailto", "news", "nntp", "urn", "tel", "sip", "sips", "xmpp", "magnet", "cid", "mid"];

/// Schemes that are recognised even directly after the end of a sentence: `end.http://h/`.
const COMMON: [&str; 3] = ["http", "https", "ftp"];

/// A URL found in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExtractedUrl {
    /// The URL without wrappers and line breaks.
    pub url: String,
    /// The range of the URL in the text, in bytes: without wrappers, but with the line breaks.
    pub span: Range<usize>,
    /// The URL without the hyphens before its line breaks, if there are any. Printing programs
    /// wrongly add such hyphens, so either form may be the intended one (RFC 3986 Appendix C).
    pub unhyphenated: Option<String>,
}

/// Finds the URLs in a text, from left to right.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::extract;
///
/// let text = "Yes, Jim, I found it under \"http://www.w3.org/pub/WWW/\", but you can probably
///     pick it up from <URL:ftp://ds.internic.
///     net/rfc/>. Note the warning in (http://www.ics.uci.edu/uri/#Related).";
/// let urls: Vec<String> = extract(text).map(|found| found.url).collect();
/// assert_eq!(urls, [
///     "http://www.w3.org/pub/WWW/",
///     "ftp://ds.internic.net/rfc/",
///     "http://www.ics.uci.edu/uri/#Related",
/// ]);
///
/// let found = extract("<http://example.org/off-\nline>").next().unwrap();
/// assert_eq!(found.url, "http://example.org/off-line");
/// assert_eq!(found.unhyphenated.as_deref(), Some("http://example.org/offline"));
/// ```
#[must_use]
pub fn extract(text: &str) -> Extraction<'_> {
    Extraction { text, at: 0 }
}

/// The URLs in a text, from left to right. Made by [`extract`].
#[derive(Clone, Debug)]
pub struct Extraction<'a> {
    text: &'a str,
    /// The position up to which the text has been processed.
    at: usize,
}

impl Iterator for Extraction<'_> {
    type Item = ExtractedUrl;

    fn next(&mut self) -> Option<ExtractedUrl> {
        loop {
            let start = self.at;
            let c = self.text_from(start).chars().next()?;
            let found = match c {
                '<' => self.enclosed(start + 1, '>'),
                '"' => self.enclosed(start + 1, '"'),
                _ if c.is_ascii_alphabetic() => self.word(start),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
            if self.at == start {
                // A scheme does not begin in the middle of a word.
                let digits =
                    self.text_from(start).bytes().take_while(u8::is_ascii_alphanumeric).count();
                self.at = start + digits.max(c.len_utf8());
            }
        }
    }
}

impl<'a> Extraction<'a> {
    fn text_from(&self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Reads a URL that begins with the word at `start`, or after it if the word is `URL:`.
    fn word(&mut self, start: usize) -> Option<ExtractedUrl> {
        let rest = self.text_from(start);
        let length = rest.bytes().take_while(|&byte| is_scheme_byte(byte)).count();
        let word = rest.get(..length).unwrap_or_default();
        self.at = start + length;
        if !self.text_from(self.at).starts_with(':') {
            return None;
        }
        if word.eq_ignore_ascii_case("url") {
            let after = self.text_from(self.at + 1);
            self.at = self.text.len() - after.trim_start().len();
            return self.bare(self.at, true);
        }
        match word.rsplit_once('.') {
            Some((before, scheme)) if is_one_of(scheme, &COMMON) => {
                self.bare(start + before.len() + 1, false)
            }
            _ => self.bare(start, false),
        }
    }

    /// Reads a URL without delimiters at `start`. It ends before the first character that a URL
    /// cannot contain.
    fn bare(&mut self, start: usize, prefixed: bool) -> Option<ExtractedUrl> {
        let rest = self.text_from(start);
        if !begins_url(rest, prefixed) {
            return None;
        }
        let end = rest.find(|c| !may_be_bare(c)).unwrap_or(rest.len());
        let url = without_punctuation(rest.get(..end)?);
        if !has_body(url) {
            return None;
        }
        self.at = start + url.len();
        Some(ExtractedUrl { url: url.to_owned(), span: start..self.at, unhyphenated: None })
    }

    /// Reads a URL that begins at `start`, after an opening delimiter, and ends before `close`.
    /// `None` if there is no such URL.
    fn enclosed(&mut self, start: usize, close: char) -> Option<ExtractedUrl> {
        let rest = self.text_from(start);
        let end = rest.bytes().take(MAX_ENCLOSED).position(|b| matches!(b, b'<' | b'>' | b'"'))?;
        let (inside, after) = rest.split_at_checked(end)?;
        if !after.starts_with(close) {
            return None;
        }
        let (body, prefixed) = match inside.trim_start().split_at_checked(4) {
            Some((prefix, body)) if prefix.eq_ignore_ascii_case("url:") => (body, true),
            _ => (inside, false),
        };
        let body = body.trim_start();
        if !begins_url(body, prefixed) || !has_body(body) {
            return None;
        }
        // Quotes with blanks inside enclose a sentence, not a URL.
        if close == '"' && (inside.starts_with(char::is_whitespace) || has_lone_blank(body)) {
            return None;
        }
        let from = start + inside.len() - body.len();
        self.at = start + end + close.len_utf8();
        let (url, unhyphenated) = unbroken(body);
        Some(ExtractedUrl { url, span: from..from + body.trim_end().len(), unhyphenated })
    }
}

/// Whether a URL begins here: a scheme, a colon, and a body that looks like that of a URL.
fn begins_url(text: &str, prefixed: bool) -> bool {
    let length = text.bytes().take_while(|&byte| is_scheme_byte(byte)).count();
    let Some((scheme, rest)) = text.split_at_checked(length) else { return false };
    let Some(rest) = rest.strip_prefix(':').filter(|_| is_scheme(scheme)) else { return false };
    rest.starts_with("//")
        || ((prefixed || is_one_of(scheme, &OPAQUE_SCHEMES)) && rest.starts_with(may_be_bare))
}

/// Whether there is more than delimiters after the scheme.
fn has_body(url: &str) -> bool {
    url.split_once(':').is_some_and(|(_, body)| body.contains(char::is_alphanumeric))
}

fn is_one_of(scheme: &str, list: &[&str]) -> bool {
    list.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Whether a bare URL may contain this character. A delimiter, or a character that RFC 3986
/// excludes, ends the URL. Letters and digits of any script do not end it.
fn may_be_bare(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '{' | '}' | '\\' | '^' | '`' | '|')
    } else {
        c.is_alphanumeric()
    }
}

/// Removes punctuation that belongs to the surrounding sentence.
fn without_punctuation(url: &str) -> &str {
    let count = |c: char| url.matches(c).count();
    let (mut round, mut square) = (count(')'), count(']'));
    let (open_round, open_square) = (count('('), count('['));
    let mut end = url.len();
    for (at, c) in url.char_indices().rev() {
        match c {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '(' | '[' => {}
            ')' if round > open_round => round -= 1,
            ']' if square > open_square => square -= 1,
            _ => break,
        }
        end = at;
    }
    url.get(..end).unwrap_or_default()
}

/// Whether the text contains white space without a line break.
fn has_lone_blank(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_whitespace());
    words.filter(|blank| !blank.is_empty()).any(|blank| !blank.contains(['\n', '\r']))
}

/// Removes white space from the text. If there is a hyphen before a line break, also returns the
/// text without such hyphens.
fn unbroken(text: &str) -> (String, Option<String>) {
    let mut url = String::with_capacity(text.len());
    let mut unhyphenated: Option<String> = None;
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        rest = after.trim_start();
        let blank = after.get(..after.len() - rest.len()).unwrap_or_default();
        let broken = blank.contains(['\n', '\r']);
        let hyphenated = word.strip_suffix('-').filter(|_| broken);
        if hyphenated.is_some() && unhyphenated.is_none() {
            unhyphenated = Some(url.clone());
        }
        if let Some(unhyphenated) = &mut unhyphenated {
            unhyphenated.push_str(hyphenated.unwrap_or(word));
        }
        url.push_str(word);
    }
    (url, unhyphenated)
}
