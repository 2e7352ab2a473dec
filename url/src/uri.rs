//! URIs by the grammar of RFC 3986: parsing, decoding, encoding and forming.
//!
//! The functions are those of the document *URI handling for REBOL 3*: `parse-uri`,
//! `decode-uri-fields`, `encode-uri-fields` and `form-uri`. The document loses some details. They
//! are preserved here, so that each second function reverses the first of its pair:
//!
//! - An empty port (`http://h:`) is distinct from a missing one, an empty path from `/`, and an
//!   empty query or fragment from a missing one.
//! - The path has a flag for its leading slash instead of the word `root`.
//! - A name without `=` has no value, which is distinct from an empty value. Empty pairs (`a&&b`)
//!   stay. A second `=` belongs to the value.
//! - A decoded host distinguishes an address in brackets from a name. So a name that is `[::1]` in
//!   escaped form does not become an address.
//! - The IPv6 rule is that of the RFC. The document's rule never backtracks and does not match
//!   forms such as `1:2::3`.

mod fields;
mod grammar;

use std::fmt;

use crate::reference::{MAX_REFERENCE, Reference, split_port};

pub use fields::{AuthorityFields, FragmentFields, HostField, Pair, PathFields, UriFields};

/// The set of characters that a URI may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grammar {
    /// RFC 3986 Appendix A without additions.
    Strict,
    /// Allows every character that is neither reserved nor `%` unescaped in user information, path,
    /// query and fragment. Many URLs in use have blanks and non-ASCII there. Hosts stay strict.
    Relaxed,
}

/// The kind of a host by its spelling (RFC 3986 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostKind {
    /// `IPv4address`: four decimal numbers up to 255.
    Ipv4,
    /// `IPv6address` in brackets.
    Ipv6,
    /// `IPvFuture` in brackets: `[v1.x]`.
    IpFuture,
    /// `reg-name`, which may be empty.
    Name,
}

crate::named! {
    /// A part of a URI, as named in errors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum UriPart {
        /// The part before the `@`.
        UserInfo = "user information",
        /// The part between `@` and port.
        Host = "host",
        /// The part after the host's colon.
        Port = "port",
        /// The part after the authority.
        Path = "path",
        /// The part after `?`.
        Query = "query",
        /// The part after `#`.
        Fragment = "fragment",
    }
}

/// The reason why a text or a set of fields does not form a URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// The text is longer than [`MAX_REFERENCE`].
    #[error("the URI is {0} bytes long, above the limit of {MAX_REFERENCE}")]
    TooLong(usize),
    /// The scheme is missing, and a relative reference is not allowed.
    #[error("the URI has no scheme")]
    NoScheme,
    /// The scheme is invalid: it must be a letter followed by letters, digits, `+`, `-` or `.`
    /// (§3.1).
    #[error("{0:?} is not a scheme")]
    Scheme(String),
    /// The part contains a character that it may not contain.
    #[error("the {part} has the forbidden character {found:?} at byte {at}")]
    Character {
        /// The part of the URI.
        part: UriPart,
        /// The forbidden character.
        found: char,
        /// The position of the character in the part, in bytes.
        at: usize,
    },
    /// The text in brackets is neither `IPv6address` nor `IPvFuture`.
    #[error("{0:?} is not an address")]
    Literal(String),
    /// The text of the path would be parsed into other segments, or into another part of the URI.
    /// For example, the slash after an empty first segment would become the leading slash.
    #[error("the path would be parsed differently: {0}")]
    Path(&'static str),
    /// The list would form the same text as another list: user information without segments, or a
    /// single pair without name and value.
    #[error("the {0} would be parsed differently")]
    Ambiguous(UriPart),
}

/// A URI or relative reference that follows the grammar, with its parts as written.
///
/// Forming it with [`Display`](fmt::Display) or [`form`](Uri::form) returns the parsed text, byte
/// for byte.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::{Grammar, HostKind, Uri};
///
/// let text = "http://user:secret@[2001:db8::7]:8080/a//b%20c?x=1&y#top";
/// let uri = Uri::parse(text, Grammar::Strict)?;
/// assert_eq!((uri.scheme(), uri.userinfo()), (Some("http"), Some("user:secret")));
/// assert_eq!((uri.host(), uri.host_kind()), (Some("[2001:db8::7]"), Some(HostKind::Ipv6)));
/// assert_eq!((uri.port(), uri.is_rooted()), (Some("8080"), true));
/// assert_eq!(uri.segments(), ["a", "", "b%20c"]);
/// assert_eq!(uri.form(), text);
///
/// assert!(Uri::parse("http://h/a b", Grammar::Strict).is_err());
/// assert!(Uri::parse("http://h/a b", Grammar::Relaxed).is_ok());
/// # Ok::<(), wwwoffle_url::UriError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Uri {
    scheme: Option<String>,
    authority: Option<UriAuthority>,
    rooted: bool,
    segments: Vec<String>,
    query: Option<String>,
    fragment: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct UriAuthority {
    userinfo: Option<String>,
    host: String,
    kind: HostKind,
    port: Option<String>,
}

impl Uri {
    /// Parses a URI, which begins with a scheme (`uri-rule`).
    ///
    /// # Errors
    ///
    /// [`UriError`], with the invalid part and the position in it.
    pub fn parse(text: &str, grammar: Grammar) -> Result<Uri, UriError> {
        let uri = Self::parse_reference(text, grammar)?;
        if uri.scheme.is_none() { Err(UriError::NoScheme) } else { Ok(uri) }
    }

    /// Parses a URI or a relative reference (`uri-reference`, the document's `/relative`).
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), but the scheme may be missing. A first segment with a colon is an
    /// error, because it would be a scheme (§4.2).
    ///
    /// # Examples
    ///
    /// ```
    /// # use wwwoffle_url::{Grammar, Uri};
    /// let uri = Uri::parse_reference("../a?b", Grammar::Strict)?;
    /// assert_eq!((uri.scheme(), uri.is_rooted()), (None, false));
    /// assert_eq!(uri.segments(), ["..", "a"]);
    /// # Ok::<(), wwwoffle_url::UriError>(())
    /// ```
    pub fn parse_reference(text: &str, grammar: Grammar) -> Result<Uri, UriError> {
        if text.len() > MAX_REFERENCE {
            return Err(UriError::TooLong(text.len()));
        }
        let parts = Reference::parse(text);
        if let Some(scheme) = parts.scheme {
            grammar::check_scheme(scheme)?;
        }
        let authority =
            parts.authority.map(|text| UriAuthority::parse(text, grammar)).transpose()?;
        grammar::check(parts.path, UriPart::Path, grammar)?;
        for (text, part) in [(parts.query, UriPart::Query), (parts.fragment, UriPart::Fragment)] {
            grammar::check(text.unwrap_or_default(), part, grammar)?;
        }
        // Before the first slash, a colon is only possible as the first character here: after any
        // other character, it would have ended a scheme.
        if parts.scheme.is_none() && authority.is_none() && parts.path.starts_with(':') {
            return Err(UriError::Character { part: UriPart::Path, found: ':', at: 0 });
        }
        let (rooted, segments) = split_path(parts.path);
        Ok(Uri {
            scheme: parts.scheme.map(str::to_owned),
            authority,
            rooted,
            segments,
            query: parts.query.map(str::to_owned),
            fragment: parts.fragment.map(str::to_owned),
        })
    }

    /// The text of the URI (`form-uri`; RFC 3986 §5.3).
    #[must_use]
    pub fn form(&self) -> String {
        self.to_string()
    }

    /// The scheme as written. `None` for a relative reference.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_deref()
    }

    /// The text before the `@`. `None` without an `@`.
    #[must_use]
    pub fn userinfo(&self) -> Option<&str> {
        self.authority.as_ref()?.userinfo.as_deref()
    }

    /// The host, brackets included. It may be empty. `None` without an authority.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.authority.as_ref().map(|authority| authority.host.as_str())
    }

    /// The kind of the host by its spelling. `None` without an authority.
    #[must_use]
    pub fn host_kind(&self) -> Option<HostKind> {
        self.authority.as_ref().map(|authority| authority.kind)
    }

    /// The digits after the colon of the host. They may be missing, or be too large for a port.
    /// `None` without a colon.
    #[must_use]
    pub fn port(&self) -> Option<&str> {
        self.authority.as_ref()?.port.as_deref()
    }

    /// Whether the path begins with a slash.
    #[must_use]
    pub fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// The path's segments, still escaped. An empty path has no segments; `/` has one empty
    /// segment.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The text after the `?`, still escaped. `None` without a `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// The text after the `#`, still escaped. `None` without a `#`.
    #[must_use]
    pub fn fragment(&self) -> Option<&str> {
        self.fragment.as_deref()
    }
}

impl UriAuthority {
    /// `authority`: `[ userinfo "@" ] host [ ":" port ]`. None of the three may contain `@`.
    fn parse(text: &str, grammar: Grammar) -> Result<Self, UriError> {
        let (userinfo, host_port) = match text.split_once('@') {
            Some((userinfo, rest)) => (Some(userinfo), rest),
            None => (None, text),
        };
        grammar::check(userinfo.unwrap_or_default(), UriPart::UserInfo, grammar)?;
        let (host, port) = split_port(host_port);
        let kind = grammar::host_kind(host)?;
        grammar::check_port(port.unwrap_or_default())?;
        Ok(Self {
            userinfo: userinfo.map(str::to_owned),
            host: host.to_owned(),
            kind,
            port: port.map(str::to_owned),
        })
    }
}

fn split_path(path: &str) -> (bool, Vec<String>) {
    let split = |path: &str| path.split('/').map(str::to_owned).collect();
    match path.strip_prefix('/') {
        Some(path) => (true, split(path)),
        None if path.is_empty() => (false, Vec::new()),
        None => (false, split(path)),
    }
}

impl fmt::Display for Uri {
    /// The text of the URI, user information included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.authority.as_ref().map(|authority| {
            let userinfo = authority.userinfo.iter().map(|userinfo| format!("{userinfo}@"));
            let port = authority.port.iter().map(|port| format!(":{port}"));
            userinfo.chain([authority.host.clone()]).chain(port).collect::<String>()
        });
        let root = if self.rooted { "/" } else { "" };
        let path = format!("{root}{}", self.segments.join("/"));
        let reference = Reference {
            scheme: self.scheme.as_deref(),
            authority: authority.as_deref(),
            path: &path,
            query: self.query.as_deref(),
            fragment: self.fragment.as_deref(),
        };
        write!(f, "{reference}")
    }
}

impl fmt::Debug for Uri {
    /// The text without the user information, because it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.clone();
        if let Some(userinfo) = shown.authority.as_mut().and_then(|a| a.userinfo.as_mut()) {
            "\u{2026}".clone_into(userinfo);
        }
        write!(f, "Uri({:?})", shown.form())
    }
}
