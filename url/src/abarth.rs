//! URLs as draft-abarth-url-01 reads them, literally: the first description of how browsers process
//! URLs.
//!
//! The draft leaves several points as "TODO". They are completed as follows, which is what the
//! measured rows of `tests/data/resolve.jsonl` expect:
//!
//! - The hierarchical schemes are http, https, ftp, gopher, ws and wss. Other URLs have only a path,
//!   and no reference can be relative to them.
//! - A scheme consists of letters, digits, `+`, `-` and `.`, in any order.
//! - Dots in a path are collapsed as in RFC 3986 §5.2.4.
//! - Nothing is percent-encoded or decoded. The letters of a host become lower case, and are not
//!   converted to ASCII.
//!
//! [`BrowserUrl`](crate::BrowserUrl) is the standard that followed the draft.

use std::fmt;

use crate::reference::is_scheme_byte;
use crate::resolve::{directory, remove_dot_segments};

/// The hierarchical schemes and their default ports.
const HIERARCHICAL: [(&str, &str); 6] = [
    ("http", "80"),
    ("https", "443"),
    ("ftp", "21"),
    ("gopher", "70"),
    ("ws", "80"),
    ("wss", "443"),
];

/// A URL in the parts of draft-abarth-url-01 §3, each as written. An empty part and a missing part
/// are the same, as in the draft. [`Display`](fmt::Display) writes the canonical form of §5.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::AbarthUrl;
///
/// let url = AbarthUrl::parse(r" HTTP:\\u:p@Example.org:80\a;b/../c?d#e ").unwrap();
/// assert_eq!((url.user, url.password, url.host, url.port), ("u", "p", "Example.org", "80"));
/// assert_eq!(url.to_string(), "http://u:p@example.org/c?d#e");
/// assert_eq!(AbarthUrl::parse("http://h;x/").unwrap().host, "h");
/// assert_eq!(AbarthUrl::parse("no scheme"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AbarthUrl<'a> {
    /// The text before the first colon.
    pub scheme: &'a str,
    /// The user name.
    pub user: &'a str,
    /// The password.
    pub password: &'a str,
    /// The host.
    pub host: &'a str,
    /// The port.
    pub port: &'a str,
    /// The path; of a URL that is not hierarchical, everything after the scheme.
    pub path: &'a str,
    /// The query.
    pub query: &'a str,
    /// The fragment.
    pub fragment: &'a str,
    /// User information, host and port.
    authority: &'a str,
}

impl<'a> AbarthUrl<'a> {
    /// Parses a URL (§3). `None` if it has no scheme.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (scheme, after) = trim(text).split_once(':')?;
        let mut url = Self { scheme, path: after, ..Self::default() };
        if url.default_port().is_none() {
            return Some(url);
        }
        // §3.2
        let (authority, rest) = split(after.trim_start_matches(is_slash), |c| {
            is_slash(c) || matches!(c, '?' | '#' | ';')
        });
        let (path, rest) = split(rest, |c| matches!(c, '?' | '#'));
        let (query, fragment) = match rest.strip_prefix('?') {
            Some(rest) => rest.split_once('#').unwrap_or((rest, "")),
            None => ("", rest.strip_prefix('#').unwrap_or_default()),
        };
        // §3.3
        let (user_info, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let is_address = host.starts_with('[') && host.rfind(']') > host.rfind(':');
        let (host, port) = match host.rsplit_once(':') {
            Some(parts) if !is_address => parts,
            _ => (host, ""),
        };
        // §3.4
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        url = Self { user, password, host, port, path, query, fragment, authority, ..url };
        Some(url)
    }

    /// The default port of the scheme. `None` if the scheme is not hierarchical.
    fn default_port(&self) -> Option<&'static str> {
        let known = HIERARCHICAL.iter().find(|(name, _)| self.scheme.eq_ignore_ascii_case(name));
        known.map(|(_, port)| *port)
    }

    /// The target of `reference`, which is relative to this URL (§4.1), in canonical form. `None` if
    /// this URL is not hierarchical.
    fn target(&self, reference: &str) -> Option<String> {
        self.default_port()?;
        let Self { scheme, authority, path, query, .. } = *self;
        let origin = format!("{scheme}://{authority}");
        let mut characters = reference.chars();
        let target = match (characters.next(), characters.next()) {
            (None, _) => return Some(Self { fragment: "", ..*self }.to_string()),
            (Some(first), Some(second)) if is_slash(first) && is_slash(second) => {
                format!("{scheme}:{reference}")
            }
            (Some(first), _) if is_slash(first) => origin + reference,
            (Some('?'), _) => origin + path + reference,
            (Some('#'), _) => format!("{origin}{path}?{query}{reference}"),
            _ => {
                let path = path.replace('\\', "/");
                // A base that is canonical has at least one slash (§4.4).
                let directory = Some(directory(&path)).filter(|path| !path.is_empty());
                origin + directory.unwrap_or("/") + reference
            }
        };
        AbarthUrl::parse(&target).map(|url| url.to_string())
    }
}

impl fmt::Display for AbarthUrl<'_> {
    /// Writes the canonical form (§5).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme.to_ascii_lowercase())?;
        let Some(default_port) = self.default_port() else { return f.write_str(self.path) };
        f.write_str("//")?;
        if !self.user.is_empty() || !self.password.is_empty() {
            f.write_str(self.user)?;
            if !self.password.is_empty() {
                write!(f, ":{}", self.password)?;
            }
            f.write_str("@")?;
        }
        f.write_str(&self.host.to_lowercase())?;
        if !self.port.is_empty() && self.port != default_port {
            write!(f, ":{}", self.port)?;
        }
        let path = remove_dot_segments(&self.path.replace('\\', "/"));
        f.write_str(if path.is_empty() { "/" } else { &path })?;
        for (delimiter, part) in [('?', self.query), ('#', self.fragment)] {
            if !part.is_empty() {
                write!(f, "{delimiter}{part}")?;
            }
        }
        Ok(())
    }
}

/// Resolves a reference (§4) and returns the canonical form. `None` if the reference is relative, and
/// the base is invalid or not hierarchical.
pub(crate) fn resolve(base: &str, reference: &str) -> Option<String> {
    let (base, reference) = (AbarthUrl::parse(base), trim(reference));
    let (scheme, after) = reference.split_once(':').unwrap_or_default();
    if scheme.is_empty() || !scheme.bytes().all(is_scheme_byte) {
        return base?.target(reference);
    }
    let shared = base.filter(|base| base.scheme.eq_ignore_ascii_case(scheme));
    match shared.filter(|base| base.default_port().is_some()) {
        Some(base) => base.target(after),
        None => AbarthUrl::parse(reference).map(|url| url.to_string()),
    }
}

/// Removes what the draft calls control characters from both ends.
fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

fn is_slash(c: char) -> bool {
    matches!(c, '/' | '\\')
}

/// Splits before the first character for which `is_end` returns true.
fn split(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}
