//! Selects among several stored variants (RFC 9110 §12.5.5, RFC 9111 §4.1).
//!
//! `Vary` names the request fields that selected a response. Their normalised values form the
//! *variant text*. Responses to one URL with different variant texts are stored side by side. The
//! text is one line of visible ASCII and spaces. It has one part per field, ordered by name and
//! joined with `&`:
//!
//! ```text
//! name:value            the request's value, without white space around commas
//! name                  the request did not have the field
//! name::9f86d081…       the SHA-256 of a secret or long value, and of `Referer`
//! authorization:Basic   the scheme of a login, never its hash: a password could be guessed from it
//! *                     the response depends on more than the request
//! ```
//!
//! `Accept-Encoding` is excluded: the same codings are requested for every client, and a client
//! that does not accept the coding gets a decoded body.

use std::cmp::Reverse;
use std::str::FromStr;
use std::time::SystemTime;

use http::HeaderMap;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, CONTENT_LANGUAGE, DATE, HeaderName,
    HeaderValue, REFERER, VARY,
};
use sha2::{Digest, Sha256};
use wwwoffle_config::HeaderNames;

use super::language::Languages;
use crate::fields::list;
use crate::head::is_secret;

/// The most fields in `Vary`; real responses name at most ten.
const MAX_NAMES: usize = 24;

/// The longest field name that is read, in bytes.
const MAX_NAME: usize = 64;

/// The longest value that appears literally in a variant text, in bytes.
const MAX_VALUE: usize = 96;

/// The longest variant text, in bytes.
pub const MAX_TEXT: usize = MAX_NAMES * (MAX_NAME + "::".len() + MAX_VALUE + "&".len());

/// The variant text of a response that no request can select.
pub const UNREPEATABLE: &str = "*";

/// The request fields that select a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// These fields, ordered by name and without duplicates.
    By(Vec<HeaderName>),
    /// More than the request: the field is `*`, or its list is invalid or too long.
    ByMore,
}

impl Vary {
    /// Reads the `Vary` of a response over all its lines.
    #[must_use]
    pub fn of(answer: &HeaderMap) -> Self {
        let mut names = Vec::new();
        // `list` skips lines that are not text, so these lines are checked first.
        if answer.get_all(VARY).iter().any(|value| value.to_str().is_err()) {
            return Self::ByMore;
        }
        for member in list(answer, &VARY) {
            match HeaderName::from_bytes(member.as_bytes()) {
                // RFC 9110 §12.5.5: one `*` among other members has the meaning of a single `*`.
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

    /// The variant text of the response to `request`; `None` if no later request can select this
    /// response.
    #[must_use]
    pub fn text(&self, request: &HeaderMap) -> Option<String> {
        let Self::By(names) = self else { return None };
        let parts: Vec<_> = names.iter().map(|name| part(name, request)).collect();
        Some(parts.join("&"))
    }
}

/// The configured exceptions from `Vary`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaryRules {
    /// Fields that select no response. Secret ones always do.
    pub ignored: HeaderNames,
    /// Fields that select a response though it does not name them.
    pub added: HeaderNames,
}

impl VaryRules {
    /// Changes the `Vary` of a response as the rules say. That of a response which depends on more
    /// than the request stays as it is.
    pub fn amend(&self, answer: &mut HeaderMap) {
        if self.is_empty() || Vary::of(answer) == Vary::ByMore {
            return;
        }
        let is_ignored = |name: &String| {
            self.ignored.iter().any(|ignored| ignored == name)
                && HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| !is_secret(&name))
        };
        let given = list(answer, &VARY).map(str::to_ascii_lowercase);
        let mut names: Vec<String> = given.filter(|name| !is_ignored(name)).collect();
        for added in self.added.iter() {
            if !names.iter().any(|name| name == added) {
                names.push(added.to_owned());
            }
        }
        answer.remove(VARY);
        if let Ok(value) = HeaderValue::from_str(&names.join(", "))
            && !names.is_empty()
        {
            answer.insert(VARY, value);
        }
    }

    /// Whether there are no exceptions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether a stored response is for a request with the same values of all added fields.
    #[must_use]
    pub fn accept(&self, stored: &StoredVariant<'_>, request: &HeaderMap) -> bool {
        let mut names = self.added.iter().filter_map(|name| HeaderName::from_str(name).ok());
        names.all(|name| stored.part(&name) == Some(part(&name, request)))
    }
}

/// The request fields in a variant text, each with whether the request had it. Empty for the text
/// of a response that no request can select.
pub fn parts_of(text: &str) -> impl Iterator<Item = (HeaderName, bool)> {
    text.split('&').filter_map(|part| {
        let (name, has_value) = match part.split_once(':') {
            Some((name, _)) => (name, true),
            None => (part, false),
        };
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, has_value))
    })
}

/// Whether the field name is short enough, and contains none of the characters that have a meaning
/// in a variant text. RFC 9110 §5.6.2 allows some of these characters.
fn is_plain(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= MAX_NAME && name.bytes().all(is_usual)
}

/// The variant text of `answer` to `request`; `None` for [`Vary::ByMore`].
#[must_use]
pub fn variant_text(answer: &HeaderMap, request: &HeaderMap) -> Option<String> {
    Vary::of(answer).text(request)
}

/// The properties of a stored response that are needed for a selection.
#[derive(Clone, Copy, Debug)]
pub struct StoredVariant<'a> {
    /// The header fields.
    pub fields: &'a HeaderMap,
    /// The variant text.
    pub variant: &'a str,
    /// The fields of the request that led to the response, without the secret ones.
    pub request: &'a HeaderMap,
    /// The time when the response was received.
    pub received: SystemTime,
}

impl StoredVariant<'_> {
    /// The `Date` of the response, or the time when it was received if it has no valid `Date`.
    #[must_use]
    pub fn date(&self) -> SystemTime {
        let date = self.fields.get(DATE).and_then(|value| value.to_str().ok());
        date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(self.received)
    }

    /// The part of the variant text for `name`. `None` if the value is unknown, because the field
    /// is secret and was not stored.
    fn part(&self, name: &HeaderName) -> Option<String> {
        let is_named = |part: &&str| part.split(':').next() == Some(name.as_str());
        match self.variant.split('&').find(is_named) {
            Some(part) => Some(part.to_owned()),
            None if is_secret(name) => None,
            None => Some(part(name, self.request)),
        }
    }

    /// The degree to which the response fits `request`. `elsewhere` are the fields in the `Vary` of
    /// any response to the URL.
    fn fit(&self, request: &HeaderMap, elsewhere: &[HeaderName]) -> Fit {
        let Vary::By(names) = Vary::of(self.fields) else { return Fit::Apart { by: MAX_NAMES } };
        let differs = |name: &&HeaderName| self.part(name) != Some(part(name, request));
        let (language, others): (Vec<_>, Vec<_>) =
            names.iter().filter(differs).partition(|name| **name == ACCEPT_LANGUAGE);
        match (language.is_empty(), others.len()) {
            // RFC 9111 §4.1: if other responses have `Vary`, its absence here is probably a
            // mistake, and the other responses take precedence. But if this response belongs to a
            // request with equal fields, the page no longer varies.
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

    /// Whether the response is in the language with the highest weight, if there is only one such
    /// language. Then no other response could be preferred.
    fn is_in_favourite(&self, request: &HeaderMap) -> bool {
        languages(request).is_some_and(|languages| {
            let mut tags = list(self.fields, &CONTENT_LANGUAGE);
            match (tags.next(), tags.next(), languages.favourite()) {
                (Some(tag), None, Some(favourite)) => tag.eq_ignore_ascii_case(favourite),
                _ => false,
            }
        })
    }

    /// The client's weight for the language of the response.
    fn weight(&self, languages: Option<&Languages>) -> u16 {
        let weight = |languages: &Languages| {
            list(self.fields, &CONTENT_LANGUAGE).map(|tag| languages.weight_of(tag)).max()
        };
        languages.and_then(weight).unwrap_or_default()
    }
}

/// The degree to which a stored response fits a request. The best fit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The request has equal values for all fields in the `Vary` of the response.
    Exact,
    /// All values except the languages are equal, and the response is in the client's preferred
    /// language.
    Favourite,
    /// The response has no `Vary`, and belongs to a different request.
    Unvaried,
    /// The response belongs to a different request. `by` is the number of fields that differ,
    /// without the languages.
    Apart { by: usize },
}

/// Selects the stored response for a request (RFC 9111 §4.1): the newest by `Date` among the best
/// fits. Returns its index in `stored`, or `None` if no response fits.
///
/// ```
/// # use std::time::SystemTime;
/// use http::HeaderMap;
/// use wwwoffle_http::caching::vary::{StoredVariant, select};
/// let request = |language: &str| {
///     HeaderMap::from_iter([(http::header::ACCEPT_LANGUAGE, language.parse().unwrap())])
/// };
/// let fields = HeaderMap::from_iter([(http::header::VARY, "Accept-Language".parse().unwrap())]);
/// let (german, received) = (request("de, en;q=0.5"), SystemTime::UNIX_EPOCH);
/// let stored = [StoredVariant { fields: &fields, variant: "", request: &german, received }];
/// assert_eq!(select(&stored, &request("EN;q=0.5,de")), Some(0));
/// assert_eq!(select(&stored, &request("fr")), None);
/// ```
#[must_use]
pub fn select(stored: &[StoredVariant<'_>], request: &HeaderMap) -> Option<usize> {
    let names = names(stored);
    let fits = stored.iter().enumerate().filter_map(|(index, stored)| {
        let fit = stored.fit(request, &names);
        (fit < Fit::Apart { by: 0 }).then(|| (fit, Reverse(stored.date()), index))
    });
    fits.min().map(|(_, _, index)| index)
}

/// Whether `stored` answers `request` according to `Vary`.
#[must_use]
pub fn fits(stored: &StoredVariant<'_>, request: &HeaderMap) -> bool {
    stored.fit(request, &[]) < Fit::Apart { by: 0 }
}

/// The fields in the `Vary` of any of the responses.
fn names(stored: &[StoredVariant<'_>]) -> Vec<HeaderName> {
    let by = |stored: &StoredVariant<'_>| match Vary::of(stored.fields) {
        Vary::By(names) => names,
        Vary::ByMore => Vec::new(),
    };
    let mut names: Vec<_> = stored.iter().flat_map(by).collect();
    names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    names
}

/// Selects a stored response when the origin is unreachable: the best fit, and if none fits, the
/// response with the fewest different fields, then the preferred language. Of equal responses, the
/// newest is selected. `None` if `stored` is empty.
#[must_use]
pub fn nearest(stored: &[StoredVariant<'_>], request: &HeaderMap) -> Option<usize> {
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

/// The part of a variant text for the field `name` of `request`.
#[must_use]
pub fn part(name: &HeaderName, request: &HeaderMap) -> String {
    let Some(value) = normal(name, request) else { return name.to_string() };
    if name == AUTHORIZATION {
        // The responses to different logins are stored separately.
        let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
        return format!("{name}:{}", escaped(scheme.get(..MAX_VALUE).unwrap_or(scheme)));
    }
    let shown = escaped(&value);
    if is_secret(name) || name == REFERER || shown.len() > MAX_VALUE {
        return format!("{name}::{}", hex::encode(Sha256::digest(&value)));
    }
    format!("{name}:{shown}")
}

/// The normalised value of `name`. `None` if the field is missing, which is different from an empty
/// field (RFC 9111 §4.1).
fn normal(name: &HeaderName, request: &HeaderMap) -> Option<Vec<u8>> {
    let value = combined(name, request)?;
    if name == ACCEPT_LANGUAGE
        && let Some(languages) = std::str::from_utf8(&value).ok().and_then(Languages::parse)
    {
        return Some(languages.text().into_bytes());
    }
    Some(value)
}

/// All lines of `name` as one line (RFC 9110 §5.3), without optional white space around commas
/// (§5.6.1). Quoted text is unchanged.
fn combined(name: &HeaderName, request: &HeaderMap) -> Option<Vec<u8>> {
    let lines: Vec<_> = request.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    if lines.is_empty() {
        return None;
    }
    let mut value: Vec<u8> = Vec::new();
    // `solid`: the end of the last byte that is quoted or not a space. Spaces after it may be
    // removed.
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

/// `bytes` as visible ASCII and spaces, with the characters escaped that have a meaning in a
/// variant text.
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
