//! URIs by the grammar of RFC 3986, taken apart, decoded, encoded and formed.
//!
//! This is *URI handling for REBOL 3*: `parse-uri`, `decode-uri-fields`, `encode-uri-fields` and
//! `form-uri`. Where that document loses something, this does not, so that the pairs are inverse:
//!
//! - An empty port (`http://h:`), an empty path beside `/`, and an empty query or fragment beside
//!   none stay what they were.
//! - The path has a flag for its leading slash in place of the word `root`.
//! - A name without `=` has no value, which is not the empty value; empty pairs (`a&&b`) stay; a
//!   second `=` belongs to the value.
//! - A host in brackets and a host name are different things when decoded, so a name that spells
//!   `[::1]` with escapes does not become an address.
//! - The IPv6 rule is the RFC's own. The document's is tried in order without going back, and misses
//!   forms such as `1:2::3`.

mod fields;
mod grammar;

use std::fmt;

use crate::reference::{MAX_REFERENCE, Reference};

pub use fields::{AuthorityFields, FragmentFields, HostField, Pair, PathFields, UriFields};

/// Which characters a URI may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grammar {
    /// RFC 3986 Appendix A and nothing else.
    Strict,
    /// Any character that is neither reserved nor `%` may stand unescaped in user information, path,
    /// query and fragment: blanks and non-ASCII, as many URLs in use have them. Hosts stay strict.
    Relaxed,
}

/// What a host is by its spelling (RFC 3986 §3.2.2).
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

/// A part of a URI, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// Before the `@`.
    UserInfo,
    /// Between `@` and port.
    Host,
    /// After the host's colon.
    Port,
    /// After the authority.
    Path,
    /// After `?`.
    Query,
    /// After `#`.
    Fragment,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::UserInfo => "user information",
            Part::Host => "host",
            Part::Port => "port",
            Part::Path => "path",
            Part::Query => "query",
            Part::Fragment => "fragment",
        })
    }
}

/// Why a text is no URI, or why fields form none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// The text is longer than [`MAX_REFERENCE`].
    #[error("the URI is {0} bytes long, above the limit of {MAX_REFERENCE}")]
    TooLong(usize),
    /// There is no scheme, and a relative reference was not asked for.
    #[error("the URI has no scheme")]
    NoScheme,
    /// A scheme is a letter and then letters, digits, `+`, `-`, `.` (§3.1).
    #[error("{0:?} is no scheme")]
    Scheme(String),
    /// A character that this part may not have.
    #[error("the {part} has {found:?} at byte {at}")]
    Character {
        /// The part.
        part: Part,
        /// The character.
        found: char,
        /// Where it stands in the part, in bytes.
        at: usize,
    },
    /// What stands in brackets is neither `IPv6address` nor `IPvFuture`.
    #[error("{0:?} is no address")]
    Literal(String),
    /// The segments and the slash before them would be read as something else, for instance an
    /// empty first segment as a slash.
    #[error("the path would not be read back as it is: {0}")]
    Path(&'static str),
    /// A list that would form the same text as another list: no segments of user information, or a
    /// single pair with neither name nor value.
    #[error("the {0} would not be read back as it is")]
    Ambiguous(Part),
}

/// A URI or relative reference that follows the grammar, its parts as they were written.
///
/// Forming it with [`Display`](fmt::Display) or [`form`](Uri::form) gives back the text it was parsed
/// from, byte for byte.
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
    /// Parses a URI: what begins with a scheme (`uri-rule`).
    ///
    /// # Errors
    ///
    /// [`UriError`], with the part that is wrong and the place in it.
    pub fn parse(text: &str, grammar: Grammar) -> Result<Uri, UriError> {
        let uri = Self::parse_reference(text, grammar)?;
        if uri.scheme.is_none() { Err(UriError::NoScheme) } else { Ok(uri) }
    }

    /// Parses a URI or a relative reference (`uri-reference`, the document's `/relative`).
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse); a first segment with a colon is an error too, since it would be
    /// a scheme (§4.2).
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
        grammar::check(parts.path, Part::Path, grammar)?;
        for (text, part) in [(parts.query, Part::Query), (parts.fragment, Part::Fragment)] {
            grammar::check(text.unwrap_or_default(), part, grammar)?;
        }
        // With neither scheme nor slash before it, a colon can only come first here.
        if parts.scheme.is_none() && authority.is_none() && parts.path.starts_with(':') {
            return Err(UriError::Character { part: Part::Path, found: ':', at: 0 });
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

    /// The scheme as written.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_deref()
    }

    /// What stands before the `@`.
    #[must_use]
    pub fn userinfo(&self) -> Option<&str> {
        self.authority.as_ref()?.userinfo.as_deref()
    }

    /// The host, brackets included. It may be empty, but whenever there is an authority it is there.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.authority.as_ref().map(|authority| authority.host.as_str())
    }

    /// What the host is by its spelling.
    #[must_use]
    pub fn host_kind(&self) -> Option<HostKind> {
        self.authority.as_ref().map(|authority| authority.kind)
    }

    /// The digits after the host's colon; they may be none, and may be more than a port has.
    #[must_use]
    pub fn port(&self) -> Option<&str> {
        self.authority.as_ref()?.port.as_deref()
    }

    /// Whether the path begins with a slash.
    #[must_use]
    pub fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// The path's segments, still escaped. An empty path has none; `/` has one, which is empty.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// What stands after the `?`, still escaped.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// What stands after the `#`, still escaped.
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
        grammar::check(userinfo.unwrap_or_default(), Part::UserInfo, grammar)?;
        let colon = match host_port.rfind(']') {
            Some(close) => {
                host_port.get(close..).and_then(|rest| rest.find(':')).map(|at| close + at)
            }
            None => host_port.find(':'),
        };
        let (host, port) = match colon.map(|at| host_port.split_at(at)) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => (host_port, None),
        };
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
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(authority) = &self.authority {
            f.write_str("//")?;
            if let Some(userinfo) = &authority.userinfo {
                write!(f, "{userinfo}@")?;
            }
            f.write_str(&authority.host)?;
            if let Some(port) = &authority.port {
                write!(f, ":{port}")?;
            }
        }
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 || self.rooted {
                f.write_str("/")?;
            }
            f.write_str(segment)?;
        }
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uri {
    /// The text with the user information left out, since it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.clone();
        if let Some(userinfo) = shown.authority.as_mut().and_then(|a| a.userinfo.as_mut()) {
            "\u{2026}".clone_into(userinfo);
        }
        write!(f, "Uri({:?})", shown.form())
    }
}
