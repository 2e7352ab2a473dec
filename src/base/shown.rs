//! Prepares foreign text and times for display.
//!
//! The templates escape text. This module does everything else: it removes passwords, limits
//! lengths, and makes characters visible that would hide or reorder the text.

use std::fmt::Write as _;

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::escape::Escaped;

/// The maximum number of characters of a URL that are shown. The middle of a longer URL is left
/// out.
const SHOWN_URL: usize = 160;
/// The maximum number of characters of any other foreign text that are shown.
const SHOWN_TEXT: usize = 400;
/// The maximum length in bytes of a URL that is shown as a link.
const LONGEST_LINK: usize = 8_192;
/// The text in place of the part that is left out.
const ELLIPSIS: &str = " … ";

/// A URL as pages show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownUrl {
    /// The text, without user and password, of limited length.
    pub text: String,
    /// The target of the link; `None` if it must not be a link.
    pub href: Option<String>,
}

impl ShownUrl {
    /// Prepares any URL for display.
    #[must_use]
    pub fn new(url: &str) -> Self {
        let url = without_credentials(url);
        let href = (url.len() <= LONGEST_LINK && is_linkable(&url)).then(|| url.clone());
        Self { text: shortened(&url, SHOWN_URL), href }
    }

    /// Adds the user name of a login to the URL. See [`with_login`].
    #[must_use]
    pub fn of_login(self, login: Option<&str>) -> Self {
        let href = self.href.map(|href| with_login(&href, login));
        Self { text: with_login(&self.text, login), href }
    }
}

/// Adds the user name of a login to a URL without credentials. `login` is the name as a URL has it;
/// any other text is ignored.
#[must_use]
pub fn with_login(url: &str, login: Option<&str>) -> String {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"%!$*+,-.=_~".contains(&byte);
    match login.filter(|name| !name.is_empty() && name.bytes().all(is_usual)) {
        Some(name) => url.replacen("://", &format!("://{name}@"), 1),
        None => url.to_owned(),
    }
}

/// The address of a stored entry on one line: its URL, with the user name of its login, but without
/// a password.
#[must_use]
pub fn address(url: &str) -> String {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let user = host.rsplit_once('@').map(|(user, _)| user.split(':').next().unwrap_or_default());
    with_login(&line(&without_credentials(url)), user)
}

/// Shortens a URL to `characters`, for places where readers only need to distinguish it from other
/// URLs.
#[must_use]
pub fn shorten_url(url: &str, characters: usize) -> String {
    shortened(&without_credentials(url), characters)
}

/// Prepares foreign text for display in a sentence. URLs in it lose their credentials.
#[must_use]
pub fn text(foreign: &str) -> String {
    shortened(&without_any_credentials(foreign), SHOWN_TEXT)
}

/// Like [`text`], without a limit of length.
#[must_use]
pub fn full_text(foreign: &str) -> String {
    line(&without_any_credentials(foreign))
}

/// Removes the credentials of each URL in a text.
#[must_use]
pub fn without_any_credentials(foreign: &str) -> String {
    let mut parts = foreign.split("//");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\\' | '"');
        let (authority, tail) = part.split_at(part.find(ends).unwrap_or(part.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        safe.extend(["//", host, tail]);
    }
    safe
}

/// Makes the hidden characters of foreign text visible, at any length. This keeps a terminal from
/// obeying control sequences in the text.
#[must_use]
pub fn line(foreign: &str) -> String {
    foreign.chars().fold(String::new(), visible)
}

/// A time as pages show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownTime {
    /// For programs: RFC 3339 in UTC.
    pub iso: String,
    /// For people: to the minute, in the time zone of the daemon.
    pub text: String,
}

impl ShownTime {
    /// Prepares a time for display.
    #[must_use]
    pub fn new(time: Timestamp, zone: &TimeZone) -> Self {
        let text = time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
        Self { iso: time.to_string(), text }
    }

    /// Prepares a time for display to the second. Used where several times of the same minute are
    /// listed.
    #[must_use]
    pub fn to_the_second(time: Timestamp, zone: &TimeZone) -> Self {
        let text = time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
        Self { iso: time.to_string(), text }
    }

    /// Writes the same HTML as the template macro `when`.
    #[must_use]
    pub(crate) fn to_html(&self) -> String {
        let (iso, text) = (Escaped(&self.iso), Escaped(&self.text));
        format!("<time datetime=\"{iso}\">{text}</time>")
    }
}

/// A number of bytes for people: `950 B`, `1.5 kB`, `20 MB`. Decimal units, as browsers show them.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1_000 {
        return format!("{count} B");
    }
    let (mut unit_size, mut unit) = (1_000_u64, "kB");
    for larger in UNITS.iter().skip(1) {
        if count / unit_size < 1_000 {
            break;
        }
        (unit_size, unit) = (unit_size.saturating_mul(1_000), larger);
    }
    let whole = count / unit_size;
    if whole < 10 {
        let tenth = count % unit_size / (unit_size / 10);
        format!("{whole}.{tenth} {unit}")
    } else {
        format!("{whole} {unit}")
    }
}

/// A duration for people: `0:08`, `12:30`, `1:02:05`.
#[must_use]
pub fn span(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Removes `user:password@` from a URL as browsers parse it: the authority ends at the first of
/// `/?#\`, and the credentials end at its last `@`.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("//") else { return url.to_owned() };
    // A `//` later in the text belongs to the path of a URL without an authority.
    if !(scheme.is_empty() || scheme.ends_with(':')) || scheme.contains(['/', '?', '#']) {
        return url.to_owned();
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}//{host}{tail}")
}

/// The address that opens a URL of [`ShownUrl::href`] in a browser. Browsers speak neither FTP nor
/// finger, whatever proxy they use, so such a URL is opened in the gateway.
#[must_use]
pub(crate) fn opening(href: &str) -> String {
    match href.split_once("://") {
        Some((scheme @ ("ftp" | "finger"), rest)) => format!("/{scheme}/{rest}"),
        _ => href.to_owned(),
    }
}

/// Whether a link with this text leads where the text says: it has a scheme that we fetch, and no
/// hidden characters.
fn is_linkable(url: &str) -> bool {
    let lower = url.get(..9).unwrap_or(url).to_ascii_lowercase();
    ["http://", "https://", "ftp://", "finger://"].iter().any(|scheme| lower.starts_with(scheme))
        && !url.chars().any(|c| is_hidden(c) || c == ' ' || c == '\\')
}

/// The beginning and the end of a text, with hidden characters made visible. The time is
/// proportional to `limit`, not to the length of `foreign`.
fn shortened(foreign: &str, limit: usize) -> String {
    if foreign.chars().nth(limit).is_none() {
        return foreign.chars().fold(String::new(), visible);
    }
    let last = limit / 4;
    let head = foreign.chars().take(limit - last).fold(String::new(), visible);
    let tail: Vec<char> = foreign.chars().rev().take(last).collect();
    tail.into_iter().rev().fold(head + ELLIPSIS, visible)
}

fn visible(mut text: String, c: char) -> String {
    if is_hidden(c) {
        // Writing to a string cannot fail.
        let _ = write!(text, "⟨U+{:04X}⟩", u32::from(c));
    } else {
        text.push(c);
    }
    text
}

/// Whether a character is invisible, or changes the direction of the text (Unicode Standard Annex
/// 9).
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_shown() {
        let table = [
            ("http://user:secret@a.example/p@q", "http://a.example/p@q"),
            ("http://user:se@cret@a.example", "http://a.example"),
            ("http://user@a.example?x@y", "http://a.example?x@y"),
            ("//user:secret@a.example/", "//a.example/"),
            ("http://a.example\\@b.example/", "http://a.example\\@b.example/"),
            ("http://a.example/?u=http://me:pw@b/", "http://a.example/?u=http://me:pw@b/"),
            ("/path//x:y@z", "/path//x:y@z"),
            ("mailto:a@b.example", "mailto:a@b.example"),
            ("", ""),
        ];
        for (given, want) in table {
            assert_eq!(ShownUrl::new(given).text, want, "{given}");
        }
    }

    #[test]
    fn schemes_that_browsers_lack_open_in_the_gateway() {
        for (href, want) in [
            ("ftp://a.test:2121/x?y", "/ftp/a.test:2121/x?y"),
            ("finger://a.test/ada", "/finger/a.test/ada"),
            ("http://a.test/ftp://b", "http://a.test/ftp://b"),
        ] {
            assert_eq!(opening(href), want);
        }
    }

    #[test]
    fn only_web_addresses_are_links() {
        for good in ["http://a/", "HTTPS://a/", "ftp://a/x", "finger://a/x", "http://a/%20?q=\"<>'"]
        {
            assert_eq!(ShownUrl::new(good).href.as_deref(), Some(good));
        }
        let long = format!("http://a/{}", "x".repeat(LONGEST_LINK));
        let bad = [
            "javascript:alert(1)",
            " http://a/",
            "http:a",
            "data:text/html,x",
            "/x",
            "",
            "http://a/\n",
            "http://a/\u{202e}x",
            "java\0script:x",
            "http://a b/",
            &long,
        ];
        for bad in bad {
            assert_eq!(ShownUrl::new(bad).href, None, "{bad:.40}");
        }
        assert_eq!(ShownUrl::new("http://u:p@a/").href.as_deref(), Some("http://a/"));
    }

    #[test]
    fn invisible_characters_are_made_visible() {
        assert_eq!(text("a\u{202e}b\0c\nd\u{200b}"), "a⟨U+202E⟩b⟨U+0000⟩c⟨U+000A⟩d⟨U+200B⟩");
        assert_eq!(text("ä <b> 日本"), "ä <b> 日本");
    }

    #[test]
    fn credentials_in_a_sentence_are_not_shown() {
        let table = [
            ("cannot reach \"http://me:pw@a:80/x@y\"", "cannot reach \"http://a:80/x@y\""),
            ("http://me:pw@a", "http://a"),
            ("see // a@b", "see // a@b"),
            ("///me@a//b@c", "///me@a//c"),
        ];
        for (given, want) in table {
            assert_eq!(text(given), want);
        }
    }

    #[test]
    fn a_shown_text_is_shortened_in_its_middle() {
        let url = format!("http://a.example/{}end.html", "x".repeat(100_000));
        let shown = ShownUrl::new(&url).text;
        assert_eq!(shown.chars().count(), SHOWN_URL + ELLIPSIS.chars().count());
        assert!(shown.starts_with("http://a.example/xxx") && shown.ends_with("xend.html"));
        assert_eq!(text(&"é".repeat(SHOWN_TEXT)), "é".repeat(SHOWN_TEXT));
    }

    #[test]
    fn times_and_sizes() {
        let time = "2026-11-20T23:30:15.5Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(ShownTime::new(time, &zone).text, "2026-11-21 00:30");
        assert_eq!(ShownTime::new(time, &zone).iso, "2026-11-20T23:30:15.5Z");
        let table = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_550, "1.5 kB"),
            (10_900, "10 kB"),
            (999_999, "999 kB"),
            (52_428_800, "52 MB"),
            (u64::MAX, "18 EB"),
        ];
        for (count, want) in table {
            assert_eq!(bytes(count), want);
        }
        for (seconds, want) in [(0, "0:00"), (59, "0:59"), (754, "12:34"), (36_001, "10:00:01")] {
            assert_eq!(span(seconds), want);
        }
    }
}
