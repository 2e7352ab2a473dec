//! Which of several stored answers is a request's own (RFC 9110 §12.5.5, RFC 9111 §4.1).
//!
//! An answer names in `Vary` the fields of the request that it was chosen by. Their values, brought
//! to one spelling, are its *variant text*: answers to one URL with different texts are kept side by
//! side. The text is one line of visible ASCII, one part for each field in order of names, joined
//! with `&`:
//!
//! ```text
//! name:value            what the request said, white space around commas left out
//! name                  the request did not have the field
//! name::9f86d081…       the SHA-256 of a value that is secret, or too long
//! *                     the answer was chosen by more than the request
//! ```
//!
//! `Accept-Encoding` is not part of it: origins are asked for the same codings whatever a client
//! says, and a client that does not take one gets the answer decoded.

use std::cmp::Reverse;
use std::time::SystemTime;

use http::HeaderMap;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, DATE, HeaderName, HeaderValue, VARY,
};
use sha2::{Digest, Sha256};

use super::language::Languages;
use crate::fields::list;
use crate::head::SECRET;

/// The most fields that an answer may be chosen by; real ones name ten at most.
const MAX_NAMES: usize = 24;

/// The longest name of a field that is read, in bytes.
const MAX_NAME: usize = 64;

/// The longest value that stands in a variant text as it is, in bytes.
const MAX_VALUE: usize = 96;

/// The longest variant text, in bytes.
pub const MAX_TEXT: usize = MAX_NAMES * (MAX_NAME + "::".len() + MAX_VALUE + "&".len());

/// The variant text of what no request can choose again.
pub const UNREPEATABLE: &str = "*";

/// What an answer was chosen by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// These fields of the request, in order of names, each once.
    By(Vec<HeaderName>),
    /// More than the request tells: `*`. So is a list that cannot be read, or is too long.
    ByMore,
}

impl Vary {
    /// Reads the `Vary` of an answer, over all its lines.
    #[must_use]
    pub fn of(answer: &HeaderMap) -> Self {
        let mut names = Vec::new();
        // A value that is no text cannot be a list of names, and is left out by `list`.
        if answer.get_all(VARY).iter().any(|value| value.to_str().is_err()) {
            return Self::ByMore;
        }
        for member in list(answer, &VARY) {
            match HeaderName::from_bytes(member.as_bytes()) {
                // RFC 9110 §12.5.5: one `*` among the members is as if it was alone.
                Ok(name) if is_plain(member) => names.push(name),
                _ => return Self::ByMore,
            }
            if names.len() > MAX_NAMES {
                return Self::ByMore;
            }
        }
        names.retain(|name| name != ACCEPT_ENCODING);
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        Self::By(names)
    }

    /// The variant text of an answer to `request`; `None` where no request will have the same answer.
    #[must_use]
    pub fn text(&self, request: &HeaderMap) -> Option<String> {
        let Self::By(names) = self else { return None };
        let parts: Vec<_> = names.iter().map(|name| part(name, request)).collect();
        Some(parts.join("&"))
    }
}

/// Whether it is a name as fields have: none with a sign that means something in a variant text, of
/// which RFC 9110 §5.6.2 allows some.
fn is_plain(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= MAX_NAME && name.bytes().all(is_usual)
}

/// The variant text of `answer` to `request`; `None` for `Vary: *`.
#[must_use]
pub fn variant_text(answer: &HeaderMap, request: &HeaderMap) -> Option<String> {
    Vary::of(answer).text(request)
}

/// A stored answer, as far as a choice needs it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its fields.
    pub fields: &'a HeaderMap,
    /// The variant text it was kept under.
    pub variant: &'a str,
    /// The fields of the request it answered, less the secret ones.
    pub request: &'a HeaderMap,
    /// When it came.
    pub received: SystemTime,
}

impl Stored<'_> {
    /// Its `Date`, or when it came where that is none.
    #[must_use]
    pub fn date(&self) -> SystemTime {
        let date = self.fields.get(DATE).and_then(|value| value.to_str().ok());
        date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(self.received)
    }

    /// The part of its text that `name` has; `None` where nobody knows any more.
    fn part(&self, name: &HeaderName) -> Option<String> {
        let is_named = |part: &&str| part.split(':').next() == Some(name.as_str());
        match self.variant.split('&').find(is_named) {
            Some(part) => Some(part.to_owned()),
            None if SECRET.contains(name) => None,
            None => Some(part(name, self.request)),
        }
    }

    /// How well it fits; `elsewhere` are the fields that any answers to the URL were chosen by.
    fn fit(&self, request: &HeaderMap, elsewhere: &[HeaderName]) -> Fit {
        let Vary::By(names) = Vary::of(self.fields) else { return Fit::Apart { by: MAX_NAMES } };
        let differs = |name: &&HeaderName| self.part(name) != Some(part(name, request));
        let (language, others): (Vec<_>, Vec<_>) =
            names.iter().filter(differs).partition(|name| **name == ACCEPT_LANGUAGE);
        match (language.is_empty(), others.len()) {
            // RFC 9111 §4.1: answers that lack `Vary` by mistake yield to those that have it; but not
            // where somebody got this one who asked alike, as after the page varies no more.
            (true, 0)
                if !self.fields.contains_key(VARY)
                    && elsewhere.iter().any(|name| differs(&name)) =>
            {
                Fit::Unvaried
            }
            (true, 0) => Fit::Exact,
            (false, 0) if self.is_in_favourite(request) => Fit::Favourite,
            (_, by) => Fit::Apart { by },
        }
    }

    /// Whether it is in the language that the client wants more than each other one. Then no other
    /// answer could be preferred, whatever else its original request took.
    fn is_in_favourite(&self, request: &HeaderMap) -> bool {
        languages(request).is_some_and(|languages| {
            let mut tags = list(self.fields, &CONTENT_LANGUAGE);
            match (tags.next(), tags.next(), languages.favourite()) {
                (Some(tag), None, Some(favourite)) => tag.eq_ignore_ascii_case(favourite),
                _ => false,
            }
        })
    }

    /// How much the client wants its language.
    fn weight(&self, languages: Option<&Languages>) -> u16 {
        let weight = |languages: &Languages| {
            list(self.fields, &CONTENT_LANGUAGE).map(|tag| languages.weight_of(tag)).max()
        };
        languages.and_then(weight).unwrap_or_default()
    }
}

/// How well a stored answer fits a request, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// All fields that it was chosen by are the same.
    Exact,
    /// All but the languages, and it is in the one that the client wants most.
    Favourite,
    /// It says that it is the same for all, and another request got it.
    Unvaried,
    /// It answered another request: so many fields differ, the languages not counted.
    Apart { by: usize },
}

/// Chooses the stored answer that is the request's own (RFC 9111 §4.1): the newest by its `Date` of
/// those that fit best.
///
/// ```
/// # use std::time::SystemTime;
/// use http::HeaderMap;
/// use wwwoffle_http::caching::vary::{Stored, select};
/// let request = |language: &str| {
///     HeaderMap::from_iter([(http::header::ACCEPT_LANGUAGE, language.parse().unwrap())])
/// };
/// let fields = HeaderMap::from_iter([(http::header::VARY, "Accept-Language".parse().unwrap())]);
/// let (german, received) = (request("de, en;q=0.5"), SystemTime::UNIX_EPOCH);
/// let stored = [Stored { fields: &fields, variant: "", request: &german, received }];
/// assert_eq!(select(&stored, &request("EN;q=0.5,de")), Some(0));
/// assert_eq!(select(&stored, &request("fr")), None);
/// ```
#[must_use]
pub fn select(stored: &[Stored<'_>], request: &HeaderMap) -> Option<usize> {
    let names = names(stored);
    let fits = stored.iter().enumerate().filter_map(|(index, stored)| {
        let fit = stored.fit(request, &names);
        (fit < Fit::Apart { by: 0 }).then(|| (fit, Reverse(stored.date()), index))
    });
    fits.min().map(|(_, _, index)| index)
}

/// Whether `stored` is an answer to `request` as far as `Vary` tells.
#[must_use]
pub fn fits(stored: &Stored<'_>, request: &HeaderMap) -> bool {
    stored.fit(request, &[]) < Fit::Apart { by: 0 }
}

/// The fields that any of the answers was chosen by.
fn names(stored: &[Stored<'_>]) -> Vec<HeaderName> {
    let by = |stored: &Stored<'_>| match Vary::of(stored.fields) {
        Vary::By(names) => names,
        Vary::ByMore => Vec::new(),
    };
    let mut names: Vec<_> = stored.iter().flat_map(by).collect();
    names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    names
}

/// Chooses a stored answer where the origin cannot be asked: the request's own, or else the one that
/// differs in the fewest fields, in the language that the client wants most, the newest.
#[must_use]
pub fn nearest(stored: &[Stored<'_>], request: &HeaderMap) -> Option<usize> {
    let (languages, names) = (languages(request), names(stored));
    let near = stored.iter().enumerate().map(|(index, stored)| {
        let fit = stored.fit(request, &names);
        let weight = match fit {
            Fit::Apart { .. } => stored.weight(languages.as_ref()),
            Fit::Exact | Fit::Favourite | Fit::Unvaried => 0,
        };
        (fit, Reverse(weight), Reverse(stored.date()), index)
    });
    near.min().map(|(.., index)| index)
}

fn languages(request: &HeaderMap) -> Option<Languages> {
    let text = combined(&ACCEPT_LANGUAGE, request)?;
    Languages::parse(std::str::from_utf8(&text).ok()?)
}

/// The part of a variant text that says what `request` has for `name`.
fn part(name: &HeaderName, request: &HeaderMap) -> String {
    let Some(value) = normal(name, request) else { return name.to_string() };
    let shown = escaped(&value);
    if SECRET.contains(name) || shown.len() > MAX_VALUE {
        return format!("{name}::{}", hex::encode(Sha256::digest(&value)));
    }
    format!("{name}:{shown}")
}

/// The value of `name` in the one spelling for all that mean the same; `None` where it is absent,
/// which is not the same as empty (RFC 9111 §4.1).
fn normal(name: &HeaderName, request: &HeaderMap) -> Option<Vec<u8>> {
    let value = combined(name, request)?;
    if name == ACCEPT_LANGUAGE
        && let Some(languages) = std::str::from_utf8(&value).ok().and_then(Languages::parse)
    {
        return Some(languages.text().into_bytes());
    }
    Some(value)
}

/// All lines of `name` as one (RFC 9110 §5.3), without the white space around commas that may stand
/// there (§5.6.1). What is quoted stays as it is.
fn combined(name: &HeaderName, request: &HeaderMap) -> Option<Vec<u8>> {
    let lines: Vec<_> = request.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    if lines.is_empty() {
        return None;
    }
    let mut value: Vec<u8> = Vec::new();
    // What was quoted or is no white space ends here: blanks behind it may go.
    let (mut solid, mut quoted, mut escaped) = (0, false, false);
    for &byte in &lines.join(&b","[..]) {
        let is_blank = matches!(byte, b' ' | b'\t');
        if !quoted && byte == b',' {
            value.truncate(solid);
        }
        if !quoted && is_blank && matches!(value.last(), None | Some(b',')) {
            continue;
        }
        value.push(byte);
        if quoted || !is_blank {
            solid = value.len();
        }
        match byte {
            b'"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = quoted && byte == b'\\' && !escaped;
    }
    value.truncate(solid);
    Some(value)
}

/// `bytes` in visible ASCII and spaces, without what has a meaning in a variant text.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for (index, &byte) in bytes.iter().enumerate() {
        let has_meaning = matches!(byte, b'%' | b'&') || (byte == b':' && index == 0);
        if has_meaning || !(b' '..=b'~').contains(&byte) {
            text.push('%');
            text.push_str(&hex::encode([byte]));
        } else {
            text.push(char::from(byte));
        }
    }
    text
}

#[cfg(test)]
mod tests;
