//! `Cache-Control` and `Pragma` in requests and responses (RFC 9111 §5.2, §5.4).
//!
//! Names are compared without case over all lines of the field; unknown directives are ignored
//! (§5.2.3). An argument may be a token or a quoted string for every directive (§5.2).
//!
//! # Repeated and invalid directives
//!
//! - Equal repeated times count once. Times that differ and invalid times are [`Seconds::Broken`]:
//!   the response is stale (§4.2.1). In a request the strictest time is used, and an invalid time
//!   counts as the strictest possible one.
//! - If `no-cache` or `private` occurs with and without field names, the form without names is
//!   used, because it forbids more. An argument that is not a list of names counts as the form
//!   without names.
//! - Text inside a quoted string is not a directive.

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, PRAGMA};

use crate::token::is_token;

/// The maximum of delta-seconds. Larger values are read as infinity and sent as this value (RFC
/// 9111 §1.2.2).
pub const FOREVER: Duration = Duration::from_secs(1 << 31);

/// The most field names that `no-cache` or `private` may list. A longer list means the whole
/// response.
const MAX_NAMES: usize = 64;

/// The text is not a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a number of seconds")]
pub struct ParseSecondsError;

/// Parses the number of seconds in `max-age` or `Age`: ASCII digits without sign or space (RFC 9111
/// §1.2.2). A value above 2³¹ is read as 2³¹.
///
/// # Errors
///
/// [`ParseSecondsError`] if `field` is empty or contains a byte that is not a digit.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use wwwoffle_http::caching::control::{FOREVER, ParseSecondsError, parse_delta_seconds};
/// assert_eq!(parse_delta_seconds(b"3600"), Ok(Duration::from_secs(3_600)));
/// assert_eq!(parse_delta_seconds(b"99999999999999999999"), Ok(FOREVER));
/// assert_eq!(parse_delta_seconds(b"-1"), Err(ParseSecondsError));
/// ```
pub fn parse_delta_seconds(field: &[u8]) -> Result<Duration, ParseSecondsError> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(ParseSecondsError);
    }
    // Overflow need not be detected: a saturated value is far above the maximum.
    let seconds = field.iter().fold(0_u64, |sum, digit| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    });
    Ok(Duration::from_secs(seconds).min(FOREVER))
}

/// The time in a response directive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seconds {
    /// The directive is missing.
    #[default]
    Absent,
    /// A valid time.
    Valid(Duration),
    /// An invalid time, or several times that differ.
    Broken,
}

impl Seconds {
    /// The time, if it is valid.
    #[must_use]
    pub fn valid(self) -> Option<Duration> {
        match self {
            Seconds::Valid(time) => Some(time),
            Seconds::Absent | Seconds::Broken => None,
        }
    }

    fn add(&mut self, argument: &Argument<'_>) {
        let new = argument.seconds().map_or(Seconds::Broken, Seconds::Valid);
        *self = if *self == Seconds::Absent || *self == new { new } else { Seconds::Broken };
    }
}

/// The part of a response that a directive applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DirectiveScope {
    /// Nothing: the directive is missing.
    #[default]
    Nothing,
    /// Some header fields of the response.
    Fields(Vec<HeaderName>),
    /// The whole response.
    All,
}

impl DirectiveScope {
    /// The listed field names, if the directive applies only to these. Otherwise empty.
    #[must_use]
    pub fn fields(&self) -> &[HeaderName] {
        match self {
            DirectiveScope::Fields(names) => names,
            DirectiveScope::Nothing | DirectiveScope::All => &[],
        }
    }

    fn add(&mut self, argument: &Argument<'_>) {
        let mut names = std::mem::take(self).into_names();
        match (names.as_mut(), argument.names()) {
            (Some(names), Some(more)) if names.len() + more.len() <= MAX_NAMES => {
                names.extend(more);
            }
            _ => names = None,
        }
        *self = names.map_or(DirectiveScope::All, DirectiveScope::Fields);
    }

    fn into_names(self) -> Option<Vec<HeaderName>> {
        match self {
            DirectiveScope::Nothing => Some(Vec::new()),
            DirectiveScope::Fields(names) => Some(names),
            DirectiveScope::All => None,
        }
    }
}

/// The caching directives of a response (RFC 9111 §5.2.2, RFC 5861, RFC 8246).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one directive, there or not")]
pub struct ResponseControl {
    /// Lifetime.
    pub max_age: Seconds,
    /// Lifetime in a shared cache.
    pub s_maxage: Seconds,
    /// The part of the response that needs revalidation before each reuse.
    pub no_cache: DirectiveScope,
    /// The part of the response that is meant for a single user.
    pub private: DirectiveScope,
    /// Whether the response must not be stored.
    pub no_store: bool,
    /// Whether proxies must not change the content.
    pub no_transform: bool,
    /// Whether the response may be stored even if other rules would not allow it.
    pub public: bool,
    /// Whether a stale response must be revalidated.
    pub must_revalidate: bool,
    /// Like `must_revalidate`, for shared caches only.
    pub proxy_revalidate: bool,
    /// Whether the response may be stored only if its status code is understood.
    pub must_understand: bool,
    /// Whether the response does not change while it is fresh.
    pub immutable: bool,
    /// The times for which the response may be served stale.
    pub stale: StaleTimes,
}

/// The times for which a stale response may be served (RFC 5861).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleTimes {
    /// During revalidation. `None` if not at all.
    pub while_revalidate: Option<Duration>,
    /// In place of an error. `None` if not at all.
    pub if_error: Option<Duration>,
}

impl ResponseControl {
    /// Reads the fields of a response. `Pragma` has no meaning in responses (RFC 9111 §5.4).
    #[must_use]
    pub fn of(fields: &HeaderMap) -> Self {
        let mut control = Self::default();
        let (mut revalidate, mut error) = (Seconds::Absent, Seconds::Absent);
        visit_directives(fields, &CACHE_CONTROL, |name, argument| match name {
            "max-age" => control.max_age.add(argument),
            "s-maxage" => control.s_maxage.add(argument),
            "no-cache" => control.no_cache.add(argument),
            "private" => control.private.add(argument),
            "no-store" => control.no_store = true,
            "no-transform" => control.no_transform = true,
            "public" => control.public = true,
            "must-revalidate" => control.must_revalidate = true,
            "proxy-revalidate" => control.proxy_revalidate = true,
            "must-understand" => control.must_understand = true,
            "immutable" => control.immutable = true,
            "stale-while-revalidate" => revalidate.add(argument),
            "stale-if-error" => error.add(argument),
            _ => {}
        });
        // These directives relax other rules, so an invalid one is ignored.
        control.stale =
            StaleTimes { while_revalidate: revalidate.valid(), if_error: error.valid() };
        control
    }
}

/// The caching directives of a request (RFC 9111 §5.2.1, §5.4, RFC 5861 §4). A field is `None` or
/// `false` if the request does not have the directive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one directive, there or not")]
pub struct RequestControl {
    /// The largest acceptable age.
    pub max_age: Option<Duration>,
    /// The maximum time for which a response may have been stale; [`Duration::MAX`] for any time.
    pub max_stale: Option<Duration>,
    /// The time for which the response must remain fresh.
    pub min_fresh: Option<Duration>,
    /// The maximum time for which a response that replaces an error may have been stale.
    pub stale_if_error: Option<Duration>,
    /// Whether the response must be revalidated.
    pub no_cache: bool,
    /// Like `no_cache`, from the HTTP/1.0 field `Pragma`.
    pub pragma: bool,
    /// Whether neither request nor response may be stored.
    pub no_store: bool,
    /// Whether proxies must not change the content.
    pub no_transform: bool,
    /// Whether only a stored response is acceptable.
    pub only_if_cached: bool,
}

impl RequestControl {
    /// Reads the fields of a request.
    #[must_use]
    pub fn of(fields: &HeaderMap) -> Self {
        let mut control = Self::default();
        let least = |old: Option<Duration>, new: Duration| old.map_or(new, |old| old.min(new));
        visit_directives(fields, &CACHE_CONTROL, |name, argument| {
            let seconds = argument.seconds();
            match name {
                "max-age" => {
                    let asked = seconds.unwrap_or(Duration::ZERO);
                    control.max_age = Some(least(control.max_age, asked));
                }
                "min-fresh" => {
                    let asked = seconds.unwrap_or(FOREVER);
                    control.min_fresh = control.min_fresh.max(Some(asked));
                }
                "max-stale" => {
                    let any = (*argument == Argument::Absent).then_some(Duration::MAX);
                    let allowed = any.or(seconds.ok()).unwrap_or(Duration::ZERO);
                    control.max_stale = Some(least(control.max_stale, allowed));
                }
                "stale-if-error" => {
                    let allowed = seconds.unwrap_or(Duration::ZERO);
                    control.stale_if_error = Some(least(control.stale_if_error, allowed));
                }
                "no-cache" => control.no_cache = true,
                "no-store" => control.no_store = true,
                "no-transform" => control.no_transform = true,
                "only-if-cached" => control.only_if_cached = true,
                _ => {}
            }
        });
        // RFC 9111 §5.4: `Pragma` counts only if `Cache-Control` is missing.
        if !fields.contains_key(CACHE_CONTROL) {
            visit_directives(fields, &PRAGMA, |name, _| control.pragma |= name == "no-cache");
        }
        control
    }

    /// Whether the client wants a new copy: `no-cache` in either field, or `max-age=0`.
    #[must_use]
    pub fn is_reload(&self) -> bool {
        self.no_cache || self.pragma || self.max_age == Some(Duration::ZERO)
    }
}

/// The argument of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument<'a> {
    /// No argument and no `=`.
    Absent,
    /// A token, or the contents of a quoted string.
    Text(Cow<'a, [u8]>),
    /// An invalid argument.
    Broken,
}

impl Argument<'_> {
    fn seconds(&self) -> Result<Duration, ParseSecondsError> {
        match self {
            Argument::Text(text) => parse_delta_seconds(text),
            Argument::Absent | Argument::Broken => Err(ParseSecondsError),
        }
    }

    /// The listed field names; `None` if the directive is not limited to some fields.
    fn names(&self) -> Option<Vec<HeaderName>> {
        let Argument::Text(text) = self else { return None };
        let names = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let names: Result<Vec<_>, _> =
            names.filter(|name| !name.is_empty()).map(HeaderName::from_bytes).collect();
        names.ok().filter(|names| !names.is_empty())
    }
}

/// Calls `visit` with the lower-case name and the argument of each directive.
fn visit_directives(
    fields: &HeaderMap,
    field: &HeaderName,
    mut visit: impl FnMut(&str, &Argument<'_>),
) {
    for line in fields.get_all(field) {
        for member in members(line.as_bytes()) {
            let (name, argument) = directive(member);
            if let Some(name) = name {
                visit(&name, &argument);
            }
        }
    }
}

/// The members of a list. A comma inside a quoted string does not separate members (RFC 9110
/// §5.6.1, §5.6.4).
fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let ends = move |byte: &u8| {
        match *byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return true,
            _ => {}
        }
        false
    };
    line.split(ends).map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

fn directive(member: &[u8]) -> (Option<String>, Argument<'_>) {
    let mut parts = member.splitn(2, |byte| *byte == b'=');
    let name = parts.next().unwrap_or_default();
    let mut argument = match parts.next() {
        None => Argument::Absent,
        Some(text) if is_token(text) => Argument::Text(Cow::Borrowed(text)),
        Some(text) => unquoted(text).map_or(Argument::Broken, |text| Argument::Text(text.into())),
    };
    let bare = name.trim_ascii_end();
    if bare.len() < name.len() {
        // Spaces around `=` are invalid. The directive counts, but its value is invalid.
        argument = Argument::Broken;
    }
    let name = is_token(bare).then(|| String::from_utf8_lossy(bare).to_ascii_lowercase());
    (name, argument)
}

/// The contents of a quoted string (RFC 9110 §5.6.4).
fn unquoted(text: &[u8]) -> Option<Vec<u8>> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let (mut meant, mut bytes) = (Vec::with_capacity(inner.len()), inner.iter());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return None,
            b'\\' => meant.push(*bytes.next()?),
            byte => meant.push(*byte),
        }
    }
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a table row: lines of `Cache-Control` or `pragma: …`, separated by `|`.
    fn fields(given: &str) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for line in given.split(" | ") {
            let (name, value) = match line.split_once(": ") {
                Some(("pragma", value)) => (PRAGMA, value),
                _ => (CACHE_CONTROL, line),
            };
            fields.append(name, value.trim().parse().unwrap());
        }
        fields
    }

    fn seconds(name: &str, time: Seconds, told: &mut Vec<String>) {
        match time {
            Seconds::Absent => {}
            Seconds::Valid(time) => told.push(format!("{name}={}", time.as_secs())),
            Seconds::Broken => told.push(format!("{name}=broken")),
        }
    }

    fn scope(name: &str, scope: &DirectiveScope, told: &mut Vec<String>) {
        match scope {
            DirectiveScope::Nothing => {}
            DirectiveScope::Fields(names) => told.push(format!("{name}={names:?}")),
            DirectiveScope::All => told.push(name.to_owned()),
        }
    }

    fn of_answer(fields: &HeaderMap) -> Vec<String> {
        let control = ResponseControl::of(fields);
        let (mut told, optional) =
            (Vec::new(), |time: Option<_>| time.map_or(Seconds::Absent, Seconds::Valid));
        seconds("max-age", control.max_age, &mut told);
        seconds("s-maxage", control.s_maxage, &mut told);
        scope("no-cache", &control.no_cache, &mut told);
        scope("private", &control.private, &mut told);
        for (name, is_there) in [
            ("no-store", control.no_store),
            ("no-transform", control.no_transform),
            ("public", control.public),
            ("must-revalidate", control.must_revalidate),
            ("proxy-revalidate", control.proxy_revalidate),
            ("must-understand", control.must_understand),
            ("immutable", control.immutable),
        ] {
            told.extend(is_there.then(|| name.to_owned()));
        }
        seconds("swr", optional(control.stale.while_revalidate), &mut told);
        seconds("sie", optional(control.stale.if_error), &mut told);
        told
    }

    fn of_request(fields: &HeaderMap) -> Vec<String> {
        let control = RequestControl::of(fields);
        let mut told = Vec::new();
        for (name, time) in [
            ("max-age", control.max_age),
            ("max-stale", control.max_stale),
            ("min-fresh", control.min_fresh),
            ("sie", control.stale_if_error),
        ] {
            let shown = |time: Duration| match time {
                Duration::MAX => "any".to_owned(),
                time => time.as_secs().to_string(),
            };
            told.extend(time.map(|time| format!("{name}={}", shown(time))));
        }
        for (name, is_there) in [
            ("no-cache", control.no_cache),
            ("pragma", control.pragma),
            ("no-store", control.no_store),
            ("no-transform", control.no_transform),
            ("only-if-cached", control.only_if_cached),
            ("reload", control.is_reload()),
        ] {
            told.extend(is_there.then(|| name.to_owned()));
        }
        told
    }

    #[test]
    fn directives_are_parsed_as_the_table_says() {
        let (mut wrong, mut read): (_, fn(&HeaderMap) -> Vec<String>) = (Vec::new(), of_answer);
        for (number, row) in (1..).zip(include_str!("control.txt").lines()) {
            match row {
                "[answers]" => read = of_answer,
                "[requests]" => read = of_request,
                _ => {}
            }
            let Some((given, want)) = row.split_once(" ->").filter(|_| !row.starts_with('#'))
            else {
                continue;
            };
            let got = read(&fields(given)).join(" ");
            if got != want.trim() {
                wrong.push(format!("control.txt:{number}: {} got {got}", row.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn an_unterminated_field_list_covers_the_response() {
        let names = (0..=MAX_NAMES).map(|n| format!("x-{n}")).collect::<Vec<_>>().join(",");
        let control = ResponseControl::of(&fields(&format!("private=\"{names}\"")));
        assert_eq!(control.private, DirectiveScope::All);
    }
}
