//! URLs as browsers read them.
//!
//! draft-abarth-url-01 began to describe browsers and left many points as "TODO": drive letters,
//! `file`, dot segments, percent-encoding, IDNA and addresses in hosts, empty queries. The [WHATWG
//! URL Standard] later specified all of these, and this module is its *basic URL parser*. Where
//! draft and standard disagree, the standard is followed. The draft, for example, ends an authority
//! at `;` and never distinguishes an empty query from a missing one.
//!
//! The parser reads a URL once from left to right, so its time is linear. Texts are read as UTF-8.
//! Queries are also encoded as UTF-8, whatever the encoding of the page.
//!
//! [WHATWG URL Standard]: https://url.spec.whatwg.org/

mod host;
mod parser;
mod path;

use std::fmt;
use std::str::FromStr;

use crate::reference::MAX_REFERENCE;

pub use host::{HostError, ParsedHost, parse_host};

/// A URL that a browser accepts, in the form the browser serializes it to.
///
/// One string, and the offsets of its parts:
///
/// ```text
/// https://user:pass@example.com:8042/over/there?name=ferret#nose
///       |    |    ||           |    |          |           |
///       |    |    |host_start  |    |          query       fragment
///       |    |    credentials  |    path
///       |    username          host_end
///       scheme
/// ```
///
/// # Examples
///
/// ```
/// use wwwoffle_url::BrowserUrl;
///
/// let base: BrowserUrl = "HTTP://Example.ORG:80/a/b".parse()?;
/// assert_eq!(base.as_str(), "http://example.org/a/b");
/// let link = BrowserUrl::parse(" ../c d?e='f'\n", Some(&base))?;
/// assert_eq!(link.as_str(), "http://example.org/c%20d?e=%27f%27");
/// assert_eq!((link.path(), link.query()), ("/c%20d", Some("e=%27f%27")));
/// # Ok::<(), wwwoffle_url::BrowserError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BrowserUrl {
    text: String,
    /// The position before the `:` after the scheme.
    scheme: usize,
    /// The end of the user name. Without credentials, the start of the host.
    username: usize,
    /// The start of the host; `None` without an authority.
    host_start: Option<usize>,
    /// The end of the host.
    host_end: usize,
    port: Option<u16>,
    path: usize,
    /// The position before the `?`; `None` without a query. `fragment` is the same for the `#`.
    query: Option<usize>,
    fragment: Option<usize>,
    opaque: bool,
}

/// The reason why a browser refuses a URL: the *failure* of the WHATWG URL Standard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// The text is longer than [`MAX_REFERENCE`].
    #[error("the URL is {0} bytes long, above the limit of {MAX_REFERENCE}")]
    TooLong(usize),
    /// There is no scheme, and no base from which to take one (*no scheme state*).
    #[error("the URL is relative, and there is no base")]
    RelativeWithoutBase,
    /// There is no scheme, and the base is a URL like `mailto:`, which cannot have relative
    /// references (*no scheme state*).
    #[error("the URL is relative, but its base has no path")]
    OpaqueBase,
    /// Credentials or a port without a host (*authority state*, *host state*).
    #[error("the host is missing")]
    HostMissing,
    /// The host is invalid (*host parser*).
    #[error("the host is invalid")]
    Host(#[from] HostError),
    /// A character other than a digit after the host's colon (*port state*).
    #[error("the port is not a number")]
    PortInvalid,
    /// The port is larger than 65535 (*port state*).
    #[error("the port is above 65535")]
    PortOutOfRange,
}

impl BrowserUrl {
    /// Parses a URL, relative to `base` if there is one (WHATWG *basic URL parser*).
    ///
    /// # Errors
    ///
    /// [`BrowserError`] for a text that a browser refuses, and for a text longer than
    /// [`MAX_REFERENCE`].
    pub fn parse(text: &str, base: Option<&BrowserUrl>) -> Result<BrowserUrl, BrowserError> {
        if text.len() > MAX_REFERENCE {
            return Err(BrowserError::TooLong(text.len()));
        }
        let url = parser::parse(text, base)?;
        debug_assert!(url.offsets_hold(), "{url:?}");
        Ok(url)
    }

    /// The serialized URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The serialized URL.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// The scheme in lower case, without its `:`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.slice(0, self.scheme)
    }

    /// The user name, percent-encoded; empty without credentials.
    #[must_use]
    pub fn username(&self) -> &str {
        match self.host_start {
            Some(_) => self.slice(self.authority_start(), self.username),
            None => "",
        }
    }

    /// The password, percent-encoded. Browsers treat an empty password as a missing one.
    #[must_use]
    pub fn password(&self) -> Option<&str> {
        let at = self.host_start?.checked_sub(1)?;
        self.text.get(self.username.checked_add(1)?..at).filter(|password| !password.is_empty())
    }

    /// The host, IPv6 in brackets. `None` without an authority; empty in `file:///`.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.host_start.map(|start| self.slice(start, self.host_end))
    }

    /// The port, unless it is missing or the scheme's default.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path, percent-encoded. It begins with a slash, unless it is opaque like the address in
    /// `mailto:`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.slice(self.path, self.query.or(self.fragment).unwrap_or(self.text.len()))
    }

    /// Whether the path is opaque. Then only a fragment can be a reference relative to this URL.
    #[must_use]
    pub fn has_opaque_path(&self) -> bool {
        self.opaque
    }

    /// The text after the `?`. `None` without a `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        let end = self.fragment.unwrap_or(self.text.len());
        self.query.map(|start| self.slice(start + 1, end))
    }

    /// The text after the `#`. `None` without a `#`.
    #[must_use]
    pub fn fragment(&self) -> Option<&str> {
        self.fragment.map(|start| self.slice(start + 1, self.text.len()))
    }

    fn authority_start(&self) -> usize {
        self.scheme + "://".len()
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Whether the invariants of the offsets hold.
    fn offsets_hold(&self) -> bool {
        let end = self.text.len();
        let fragment = self.fragment.unwrap_or(end);
        let query = self.query.unwrap_or(fragment);
        let is_at = |at: usize, c: char| self.text.get(at..).is_some_and(|t| t.starts_with(c));
        is_at(self.scheme, ':')
            && self.host_start.is_none_or(|start| {
                self.authority_start() <= self.username
                    && self.username <= start
                    && start <= self.host_end
                    && self.host_end <= self.path
            })
            && self.path <= query
            && query <= fragment
            && (self.query.is_none() || is_at(query, '?'))
            && (self.fragment.is_none() || is_at(fragment, '#'))
    }
}

impl FromStr for BrowserUrl {
    type Err = BrowserError;

    fn from_str(text: &str) -> Result<Self, BrowserError> {
        Self::parse(text, None)
    }
}

impl fmt::Display for BrowserUrl {
    /// The serialized URL, credentials included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for BrowserUrl {
    /// The URL without its password, because this form is written to logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(_), Some(start)) = (self.password(), self.host_start) else {
            return write!(f, "BrowserUrl({:?})", self.text);
        };
        let before = self.slice(0, self.username);
        let after = self.slice(start, self.text.len());
        write!(f, "BrowserUrl({:?})", format!("{before}:\u{2026}@{after}"))
    }
}

/// The default port of a scheme (WHATWG *special scheme*). A scheme for which this returns `None`
/// is not special, except `file`.
fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        _ => None,
    }
}
