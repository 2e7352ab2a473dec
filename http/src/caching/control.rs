//! `Cache-Control` and `Pragma`, of requests and of answers (RFC 9111 §5.2, §5.4).
//!
//! Names are compared in any case, over all lines of the field, and what is unknown is left out
//! (§5.2.3). An argument may be a token or a quoted string, whatever the directive (§5.2).
//!
//! # What is said twice, or badly
//!
//! - Of a time that is said twice alike, once counts. Times that differ, and one that is no number
//!   of digits, are [`Seconds::Broken`]: the answer is stale (§4.2.1). In a request the one that asks
//!   for more counts, and a broken one asks for all.
//! - `no-cache` and `private` with names of fields and without: without counts, for it forbids more.
//!   So does an argument that is no list of names.
//! - A directive is not what a quoted string has in it.

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, PRAGMA};

/// As good as for ever: what a time above it means, and what it is sent as (RFC 9111 §1.2.2).
pub const FOREVER: Duration = Duration::from_secs(1 << 31);

/// The most names of fields that `no-cache` or `private` may list; above that all are meant.
const MAX_NAMES: usize = 64;

/// No number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a number of seconds")]
pub struct NotSeconds;

/// Reads the number of seconds in `max-age=…` or `Age: …`: digits alone, without sign or space
/// (RFC 9111 §1.2.2). What is above 2³¹ is no error and means 2³¹.
///
/// # Errors
///
/// [`NotSeconds`] when `field` is empty or has anything but digits.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use wwwoffle_http::caching::control::{FOREVER, NotSeconds, delta_seconds};
/// assert_eq!(delta_seconds(b"3600"), Ok(Duration::from_secs(3_600)));
/// assert_eq!(delta_seconds(b"99999999999999999999"), Ok(FOREVER));
/// assert_eq!(delta_seconds(b"-1"), Err(NotSeconds));
/// ```
pub fn delta_seconds(field: &[u8]) -> Result<Duration, NotSeconds> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(NotSeconds);
    }
    // Saturating is enough: whatever saturates is far above the most.
    let seconds = field.iter().fold(0_u64, |sum, digit| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    });
    Ok(Duration::from_secs(seconds).min(FOREVER))
}

/// A time that an answer gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seconds {
    /// It gives none.
    #[default]
    Absent,
    /// This one.
    Valid(Duration),
    /// Something that is none, or several that differ.
    Broken,
}

impl Seconds {
    /// The time, if one is given that can be read.
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

/// What a directive is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: it is not there.
    #[default]
    Nothing,
    /// Some fields of the answer.
    Fields(Vec<HeaderName>),
    /// All of the answer.
    All,
}

impl Scope {
    /// The fields it names, if it is about them alone.
    #[must_use]
    pub fn fields(&self) -> &[HeaderName] {
        match self {
            Scope::Fields(names) => names,
            Scope::Nothing | Scope::All => &[],
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
        *self = names.map_or(Scope::All, Scope::Fields);
    }

    fn into_names(self) -> Option<Vec<HeaderName>> {
        match self {
            Scope::Nothing => Some(Vec::new()),
            Scope::Fields(names) => Some(names),
            Scope::All => None,
        }
    }
}

/// What an answer says of its caching (RFC 9111 §5.2.2, RFC 5861, RFC 8246).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one directive, there or not")]
pub struct AnswerControl {
    /// How long it is fresh.
    pub max_age: Seconds,
    /// How long it is fresh in a shared cache.
    pub s_maxage: Seconds,
    /// What may not be used again without asking.
    pub no_cache: Scope,
    /// What is for one person.
    pub private: Scope,
    /// It may not be stored.
    pub no_store: bool,
    /// Its content may not be changed on the way.
    pub no_transform: bool,
    /// It may be stored where it otherwise might not.
    pub public: bool,
    /// Once stale, it may not be used without asking.
    pub must_revalidate: bool,
    /// The same, in a shared cache.
    pub proxy_revalidate: bool,
    /// It may be stored where its status is understood.
    pub must_understand: bool,
    /// It does not change while it is fresh.
    pub immutable: bool,
    /// For how long after it became stale it may be used while it is asked for anew.
    pub stale_while_revalidate: Option<Duration>,
    /// For how long after it became stale it may be used in place of an error.
    pub stale_if_error: Option<Duration>,
}

impl AnswerControl {
    /// Reads it. `Pragma` means nothing in an answer (RFC 9111 §5.4).
    #[must_use]
    pub fn of(fields: &HeaderMap) -> Self {
        let mut control = Self::default();
        let (mut revalidate, mut error) = (Seconds::Absent, Seconds::Absent);
        each(fields, &CACHE_CONTROL, |name, argument| match name {
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
        // They allow what is forbidden otherwise, so a broken one allows nothing.
        control.stale_while_revalidate = revalidate.valid();
        control.stale_if_error = error.valid();
        control
    }
}

/// What a request says of what it takes (RFC 9111 §5.2.1, §5.4, RFC 5861 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one directive, there or not")]
pub struct RequestControl {
    /// Nothing older than this.
    pub max_age: Option<Duration>,
    /// What is stale too, for at most so long; [`Duration::MAX`] for however long.
    pub max_stale: Option<Duration>,
    /// Only what stays fresh for so long.
    pub min_fresh: Option<Duration>,
    /// What is stale too, for at most so long, in place of an error.
    pub stale_if_error: Option<Duration>,
    /// Nothing that its origin was not asked about.
    pub no_cache: bool,
    /// The same, said in the words of HTTP/1.0.
    pub pragma: bool,
    /// Neither request nor answer may be stored.
    pub no_store: bool,
    /// The content may not be changed on the way.
    pub no_transform: bool,
    /// Only what is kept.
    pub only_if_cached: bool,
}

impl RequestControl {
    /// Reads it.
    #[must_use]
    pub fn of(fields: &HeaderMap) -> Self {
        let mut control = Self::default();
        let least = |old: Option<Duration>, new: Duration| old.map_or(new, |old| old.min(new));
        each(fields, &CACHE_CONTROL, |name, argument| {
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
        // RFC 9111 §5.4: it counts where `Cache-Control` is not there at all.
        if !fields.contains_key(CACHE_CONTROL) {
            each(fields, &PRAGMA, |name, _| control.pragma |= name == "no-cache");
        }
        control
    }

    /// Whether the client asked for a new copy: `no-cache` in either spelling, or `max-age=0`.
    #[must_use]
    pub fn is_reload(&self) -> bool {
        self.no_cache || self.pragma || self.max_age == Some(Duration::ZERO)
    }
}

/// What stands behind the `=` of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument<'a> {
    /// Nothing, and no `=`.
    Absent,
    /// A token, or what a quoted string means.
    Text(Cow<'a, [u8]>),
    /// Neither.
    Broken,
}

impl Argument<'_> {
    fn seconds(&self) -> Result<Duration, NotSeconds> {
        match self {
            Argument::Text(text) => delta_seconds(text),
            Argument::Absent | Argument::Broken => Err(NotSeconds),
        }
    }

    /// The names of fields in it; `None` where it does not limit the directive to some fields.
    fn names(&self) -> Option<Vec<HeaderName>> {
        let Argument::Text(text) = self else { return None };
        let names = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let names: Result<Vec<_>, _> =
            names.filter(|name| !name.is_empty()).map(HeaderName::from_bytes).collect();
        names.ok().filter(|names| !names.is_empty())
    }
}

/// Calls `told` with each directive of a field, its name in lower case.
fn each(fields: &HeaderMap, field: &HeaderName, mut told: impl FnMut(&str, &Argument<'_>)) {
    for line in fields.get_all(field) {
        for member in members(line.as_bytes()) {
            let (name, argument) = directive(member);
            if let Some(name) = name {
                told(&name, &argument);
            }
        }
    }
}

/// The members of a list: commas inside quoted strings are no ends (RFC 9110 §5.6.1, §5.6.4).
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
        // No space may be round the `=`. What is meant is plain, but not what it comes to.
        argument = Argument::Broken;
    }
    let name = is_token(bare).then(|| String::from_utf8_lossy(bare).to_ascii_lowercase());
    (name, argument)
}

/// What a quoted string means (RFC 9110 §5.6.4).
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

/// RFC 9110 §5.6.2.
fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a row gives: the lines of `Cache-Control`, between `|`, or of another field by name.
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

    fn scope(name: &str, scope: &Scope, told: &mut Vec<String>) {
        match scope {
            Scope::Nothing => {}
            Scope::Fields(names) => told.push(format!("{name}={names:?}")),
            Scope::All => told.push(name.to_owned()),
        }
    }

    fn of_answer(fields: &HeaderMap) -> Vec<String> {
        let control = AnswerControl::of(fields);
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
        seconds("swr", optional(control.stale_while_revalidate), &mut told);
        seconds("sie", optional(control.stale_if_error), &mut told);
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
    fn directives_are_read_as_the_table_says() {
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
    fn a_list_of_names_without_end_is_all_of_the_answer() {
        let names = (0..=MAX_NAMES).map(|n| format!("x-{n}")).collect::<Vec<_>>().join(",");
        let control = AnswerControl::of(&fields(&format!("private=\"{names}\"")));
        assert_eq!(control.private, Scope::All);
    }
}
