//! Decoding of the parts of a URI, and encoding (`decode-uri-fields`, `encode-uri-fields`).

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::{Uri, UriAuthority, UriError, UriPart, grammar};
use crate::reference::split_optional;

/// These sets contain the characters to escape, and the comments name the characters that are not
/// escaped. Here: `unreserved`, and the `sub-delims` that are not delimiters in any part.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';');
/// Characters of user information between its colons, and of host names.
const NAME: &AsciiSet = &KEPT.remove(b'&').remove(b'=');
/// Characters of a path segment: `pchar`.
const SEGMENT: &AsciiSet = &NAME.remove(b':').remove(b'@');
/// Characters of the first segment of a reference without a scheme: `segment-nz-nc`.
const FIRST_SEGMENT: &AsciiSet = &SEGMENT.add(b':');
/// Characters of the name of a pair. The first `=` ends the name.
const PAIR_NAME: &AsciiSet = &KEPT.remove(b':').remove(b'@').remove(b'/').remove(b'?');
/// Characters of the value of a pair. The next `&` ends the value.
const PAIR_VALUE: &AsciiSet = &PAIR_NAME.remove(b'=');
/// Characters of the part of a fragment before its first `?`.
const FRAGMENT: &AsciiSet = &SEGMENT.remove(b'/');

/// A URI in decoded fields.
///
/// Texts are bytes, because percent-decoded text need not be UTF-8. Only percent-encoding is
/// decoded: a `+` stays a `+`.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::{Grammar, Pair, Uri};
///
/// let uri = Uri::parse("http://me%40home:a%3Ab@h/x%2Fy?q=1%26&r#top?z=%C3%A9", Grammar::Strict)?;
/// let mut fields = uri.decode_fields();
/// let authority = fields.authority.as_ref().unwrap();
/// assert_eq!(authority.userinfo, Some(vec![b"me@home".to_vec(), b"a:b".to_vec()]));
/// assert_eq!(fields.path.segments, [b"x/y"]);
/// assert_eq!(fields.query, Some(vec![Pair::new("q", Some("1&")), Pair::new("r", None)]));
/// assert_eq!(fields.fragment.as_ref().unwrap().query, Some(vec![Pair::new("z", Some("é"))]));
/// assert_eq!(fields.encode()?, uri);
///
/// fields.path.segments.push(b"a b".to_vec());
/// assert_eq!(fields.encode()?.form(), "http://me%40home:a%3Ab@h/x%2Fy/a%20b?q=1%26&r#top?z=%C3%A9");
/// # Ok::<(), wwwoffle_url::UriError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UriFields {
    /// The scheme, which is never escaped. `None` for a relative reference.
    pub scheme: Option<String>,
    /// User information, host and port. `None` without `//`.
    pub authority: Option<AuthorityFields>,
    /// The path. It is never absent, but may be empty.
    pub path: PathFields,
    /// The pairs of the query, joined by `&`. `Some` without pairs is an empty query.
    pub query: Option<Vec<Pair>>,
    /// The fragment, which may contain a query. `None` without a `#`.
    pub fragment: Option<FragmentFields>,
}

/// User information, host and port.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AuthorityFields {
    /// Segments joined by `:`, at least one. Usually these are user name and password. `None`
    /// without an `@`.
    pub userinfo: Option<Vec<Vec<u8>>>,
    /// The host.
    pub host: HostField,
    /// The digits of the port. The text may be empty. `None` without a `:`.
    pub port: Option<String>,
}

impl fmt::Debug for AuthorityFields {
    /// Leaves out the user information, because it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.userinfo.as_ref().map(|_| "\u{2026}");
        f.debug_struct("AuthorityFields")
            .field("userinfo", &hidden)
            .field("host", &self.host)
            .field("port", &self.port)
            .finish()
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostField {
    /// An `IP-literal` with its brackets. It is never escaped.
    Literal(String),
    /// A name or IPv4 address, decoded.
    Name(Vec<u8>),
}

/// A path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathFields {
    /// Whether the path begins with a slash.
    pub rooted: bool,
    /// The texts between the slashes.
    pub segments: Vec<Vec<u8>>,
}

/// A name, and a value if the pair has a `=`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The text before the first `=`.
    pub name: Vec<u8>,
    /// The text after the first `=`, if there is one.
    pub value: Option<Vec<u8>>,
}

impl Pair {
    /// A pair of texts.
    #[must_use]
    pub fn new(name: &str, value: Option<&str>) -> Self {
        Self { name: name.as_bytes().to_vec(), value: value.map(|value| value.as_bytes().to_vec()) }
    }
}

/// A fragment in the form that scripts use: a text, and pairs after a `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FragmentFields {
    /// The text before the first `?`.
    pub text: Vec<u8>,
    /// The pairs after the first `?`, if there is one.
    pub query: Option<Vec<Pair>>,
}

impl Uri {
    /// Splits the parts into fields and decodes them (`decode-uri-fields`).
    ///
    /// The parts are split at separators before escapes are decoded (RFC 3986 §2.4). So an escaped
    /// separator is an ordinary character of its field.
    #[must_use]
    pub fn decode_fields(&self) -> UriFields {
        UriFields {
            scheme: self.scheme.clone(),
            authority: self.authority.as_ref().map(|authority| AuthorityFields {
                userinfo: authority.userinfo.as_ref().map(|t| t.split(':').map(decode).collect()),
                host: if authority.host.starts_with('[') {
                    HostField::Literal(authority.host.clone())
                } else {
                    HostField::Name(decode(&authority.host))
                },
                port: authority.port.clone(),
            }),
            path: PathFields {
                rooted: self.rooted,
                segments: self.segments.iter().map(|segment| decode(segment)).collect(),
            },
            query: self.query.as_deref().map(decode_pairs),
            fragment: self.fragment.as_deref().map(|fragment| {
                let (text, query) = split_optional(fragment, '?');
                FragmentFields { text: decode(text), query: query.map(decode_pairs) }
            }),
        }
    }
}

impl UriFields {
    /// Joins the fields to a URI, or to a relative reference if there is no scheme, and adds the
    /// necessary escapes (`encode-uri-fields`). The result follows the strict grammar.
    ///
    /// Decoding the result returns the same fields. But decoding and encoding a URI may change the
    /// spelling of escapes: `%7e` becomes `~`, and `%2C` becomes `,`.
    ///
    /// # Errors
    ///
    /// [`UriError`] if the fields form a text that would be parsed differently, or if a scheme,
    /// address or port is invalid.
    pub fn encode(&self) -> Result<Uri, UriError> {
        if let Some(scheme) = &self.scheme {
            grammar::check_scheme(scheme)?;
        }
        let authority = self.authority.as_ref().map(AuthorityFields::encode).transpose()?;
        let fragment = self.fragment.as_ref().map(FragmentFields::encode).transpose()?;
        Ok(Uri {
            segments: self.encode_path()?,
            scheme: self.scheme.clone(),
            authority,
            rooted: self.path.rooted,
            query: self
                .query
                .as_ref()
                .map(|query| encode_pairs(query, UriPart::Query))
                .transpose()?,
            fragment,
        })
    }

    fn encode_path(&self) -> Result<Vec<String>, UriError> {
        let PathFields { rooted, segments } = &self.path;
        match (segments.as_slice(), rooted) {
            ([], true) => return Err(UriError::Path("a slash begins a segment")),
            ([first, ..], false) if first.is_empty() => {
                return Err(UriError::Path("the first segment is empty"));
            }
            ([_, ..], false) if self.authority.is_some() => {
                return Err(UriError::Path("no slash is between it and the authority"));
            }
            ([first, _, ..], true) if first.is_empty() && self.authority.is_none() => {
                return Err(UriError::Path("two slashes begin an authority"));
            }
            _ => {}
        }
        let first = if self.scheme.is_none() && !rooted { FIRST_SEGMENT } else { SEGMENT };
        let sets = std::iter::once(first).chain(std::iter::repeat(SEGMENT));
        Ok(segments.iter().zip(sets).map(|(segment, set)| encode(segment, set)).collect())
    }
}

impl AuthorityFields {
    fn encode(&self) -> Result<UriAuthority, UriError> {
        let userinfo = match self.userinfo.as_deref() {
            Some([]) => return Err(UriError::Ambiguous(UriPart::UserInfo)),
            Some(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| encode(part, NAME)).collect();
                Some(parts.join(":"))
            }
            None => None,
        };
        let host = match &self.host {
            HostField::Literal(text) if text.starts_with('[') => text.clone(),
            HostField::Literal(text) => return Err(UriError::Literal(text.clone())),
            HostField::Name(name) => encode(name, NAME),
        };
        let kind = grammar::host_kind(&host)?;
        grammar::check_port(self.port.as_deref().unwrap_or_default())?;
        Ok(UriAuthority { userinfo, host, kind, port: self.port.clone() })
    }
}

impl FragmentFields {
    fn encode(&self) -> Result<String, UriError> {
        let mut text = encode(&self.text, FRAGMENT);
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(&encode_pairs(query, UriPart::Fragment)?);
        }
        Ok(text)
    }
}

fn decode(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

fn encode(text: &[u8], set: &'static AsciiSet) -> String {
    percent_encode(text, set).to_string()
}

fn decode_pairs(text: &str) -> Vec<Pair> {
    if text.is_empty() {
        return Vec::new();
    }
    let pairs = text.split('&').map(|pair| split_optional(pair, '='));
    pairs.map(|(name, value)| Pair { name: decode(name), value: value.map(decode) }).collect()
}

fn encode_pairs(pairs: &[Pair], part: UriPart) -> Result<String, UriError> {
    if matches!(pairs, [Pair { name, value: None }] if name.is_empty()) {
        return Err(UriError::Ambiguous(part));
    }
    let pairs = pairs.iter().map(|pair| {
        let mut text = encode(&pair.name, PAIR_NAME);
        if let Some(value) = &pair.value {
            text.push('=');
            text.push_str(&encode(value, PAIR_VALUE));
        }
        text
    });
    Ok(pairs.collect::<Vec<_>>().join("&"))
}
