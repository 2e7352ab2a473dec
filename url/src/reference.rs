//! References: URLs as written, split without checking them.
//!
//! A reference has a path and up to four components around it. A component is absent if its
//! delimiter is missing, and empty if no text follows the delimiter. Absent and empty are
//! distinguished, so that joining reverses splitting (RFC 3986 §5.3).

use std::fmt;

/// The maximum length of a URL or reference that is resolved, in bytes. A longer text is an error.
/// [`Reference::parse`] has no limit.
pub const MAX_REFERENCE: usize = 1 << 20;

/// The five components of a URL reference ([RFC 3986 Appendix B]; draft-fielding-url-syntax-02 §4.4
/// and Appendix B, which call the authority *server*).
///
/// Parsing cannot fail: every text is a reference of some kind. Joining the components with
/// [`Display`](fmt::Display) returns the parsed text, byte for byte.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::Reference;
///
/// let reference = Reference::parse("http://www.ics.uci.edu/pub/ietf/uri/?#Related");
/// assert_eq!(reference.scheme, Some("http"));
/// assert_eq!(reference.authority, Some("www.ics.uci.edu"));
/// assert_eq!(reference.path, "/pub/ietf/uri/");
/// assert_eq!(reference.query, Some(""));
/// assert_eq!(reference.fragment, Some("Related"));
/// assert_eq!(reference.to_string(), "http://www.ics.uci.edu/pub/ietf/uri/?#Related");
/// ```
///
/// [RFC 3986 Appendix B]: https://www.rfc-editor.org/rfc/rfc3986#appendix-B
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reference<'a> {
    /// The scheme as written, without its `:`. `None` without a scheme.
    pub scheme: Option<&'a str>,
    /// The text between `//` and the path: user information, host and port, not split. `None`
    /// without `//`.
    pub authority: Option<&'a str>,
    /// The path, with its leading slash if there is one. It is never absent, but may be empty.
    pub path: &'a str,
    /// The text after the first `?`. `None` without a `?`.
    pub query: Option<&'a str>,
    /// The text after the first `#`. `None` without a `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Splits a reference into its components.
    ///
    /// This is the regular expression of RFC 3986 Appendix B. Any text before the first colon is
    /// the scheme, if no `/`, `?` or `#` precedes the colon: `1:2` has the scheme `1`, which §3.1
    /// does not allow. Components are not validated here. The expression in Appendix B of
    /// draft-fielding-url-syntax-02 is not used: with it, the scheme ends at the *last* colon
    /// before a slash, which contradicts §4.2 of that draft.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let (rest, fragment) = split_optional(text, '#');
        let (rest, query) = split_optional(rest, '?');
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if !scheme.is_empty() && !scheme.contains('/') => {
                (Some(scheme), rest)
            }
            _ => (None, rest),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self { scheme, authority, path, query, fragment }
    }
}

impl fmt::Display for Reference<'_> {
    /// Component recomposition, RFC 3986 §5.3; draft-fielding-url-syntax-02 §5.2 step 7.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(authority) = self.authority {
            write!(f, "//{authority}")?;
        }
        f.write_str(self.path)?;
        if let Some(query) = self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

/// Whether `text` is spelled like a scheme (RFC 3986 §3.1).
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_scheme_byte)
}

/// Whether a scheme may contain this byte after its first byte.
pub(crate) fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Splits at the first `delimiter`, if there is one.
pub(crate) fn split_optional(text: &str, delimiter: char) -> (&str, Option<&str>) {
    match text.split_once(delimiter) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Splits a host from its port, at the first colon outside the brackets of an IPv6 address.
pub(crate) fn split_port(host_port: &str) -> (&str, Option<&str>) {
    let address = host_port.rfind(']').unwrap_or(0);
    let colon = host_port.get(address..).and_then(|rest| rest.find(':'));
    match colon.and_then(|colon| host_port.split_at_checked(address + colon)) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => (host_port, None),
    }
}
