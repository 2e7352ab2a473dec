//! Resolution of a reference against its base, under four sets of rules.
//!
//! The rules differ in their treatment of empty paths, query-only references, backslashes, blanks
//! and more. `tests/data/resolve.jsonl` has hundreds of measured cases. Links in pages are resolved
//! under [`ResolutionRules::Browser`]. The other sets exist because documents require them.

mod dots;

use std::fmt;
use std::str::FromStr as _;

use crate::abarth;
#[cfg(doc)]
use crate::abarth::AbarthUrl;
use crate::browser::{BrowserError, BrowserUrl};
use crate::reference::{MAX_REFERENCE, Reference};

pub(crate) use dots::{merge_segments, remove_dot_segments};

/// The document that governs the resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResolutionRules {
    /// draft-fielding-url-syntax-02 §5.2, literally. An empty reference is the current document;
    /// `?y` removes the last segment of the base; dots are also collapsed in the query of a
    /// relative reference.
    ///
    /// No slash is added between an authority and a relative path: `g` against `http://a` is
    /// `http://ag`, another host. This set is for comparison and for old documents.
    DraftFielding,
    /// [RFC 3986 §5.2], strict: a scheme in the reference makes it absolute even if it equals the
    /// scheme of the base.
    ///
    /// One repair: dot removal may leave two slashes at the start of a path without an authority
    /// (`x:/a/..//b`). Then `/.` is put before them. Otherwise the path would be read as an
    /// authority.
    ///
    /// [RFC 3986 §5.2]: https://www.rfc-editor.org/rfc/rfc3986#section-5.2
    Rfc3986,
    /// draft-abarth-url-01, literally: the result is in the canonical form of [`AbarthUrl`].
    DraftAbarth,
    /// As browsers do: draft-abarth-url-01, completed by the [WHATWG URL Standard]. The result is
    /// serialized, that is, percent-encoded where needed.
    ///
    /// [WHATWG URL Standard]: https://url.spec.whatwg.org/
    Browser,
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// An absolute URL.
    Url(String),
    /// The document that contains the reference, even if its base URL names another document. Only
    /// [`ResolutionRules::DraftFielding`] returns it (§5.2 step 2).
    CurrentDocument {
        /// The fragment, if the reference has one.
        fragment: Option<String>,
    },
}

impl Resolution {
    /// The absolute URL, or `None` for the current document.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Resolution::Url(url) => Some(url),
            Resolution::CurrentDocument { .. } => None,
        }
    }
}

impl fmt::Display for Resolution {
    /// Writes the URL, or `(current document)` as in the draft's Appendix C.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolution::Url(url) => f.write_str(url),
            Resolution::CurrentDocument { fragment: None } => f.write_str("(current document)"),
            Resolution::CurrentDocument { fragment: Some(fragment) } => {
                write!(f, "(current document)#{fragment}")
            }
        }
    }
}

/// The reason why a reference could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The base or the reference is longer than [`MAX_REFERENCE`].
    #[error("the text is {0} bytes long, above the limit of {MAX_REFERENCE}")]
    TooLong(usize),
    /// The reference is relative, and the base has no scheme.
    #[error("the reference is relative, and the base has no scheme")]
    RelativeBase,
    /// The reference is relative, and the base is not a hierarchical URL (draft-abarth-url-01 §4.1).
    #[error("the reference is relative, and the base is not hierarchical")]
    OpaqueBase,
    /// A browser would refuse this base.
    #[error("a browser would refuse the base")]
    Base(#[source] BrowserError),
    /// A browser would refuse this reference against this base.
    #[error("a browser would refuse the reference")]
    Browser(#[source] BrowserError),
}

/// Resolves `reference` against `base`. An empty `base` means that the base is unknown. An absolute
/// reference needs no base (draft-fielding-url-syntax-02 §5.1.4).
///
/// The rules of [`ResolutionRules::DraftFielding`] and [`ResolutionRules::Rfc3986`] change no
/// character: they split, remove dot segments and join. The result of [`ResolutionRules::Browser`]
/// is a serialized URL, and that of [`ResolutionRules::DraftAbarth`] is canonical.
///
/// # Errors
///
/// - [`ResolveError::TooLong`] if a text is longer than [`MAX_REFERENCE`].
/// - Under [`ResolutionRules::Browser`]: [`ResolveError::Base`] or [`ResolveError::Browser`] if a
///   browser refuses the base or the reference.
/// - Under [`ResolutionRules::DraftAbarth`]: [`ResolveError::OpaqueBase`] for a relative reference
///   whose base is not hierarchical.
/// - Under the two other sets: [`ResolveError::RelativeBase`] for a relative reference whose base
///   has no scheme.
///
/// # Examples
///
/// ```
/// use wwwoffle_url::{Resolution, ResolutionRules, resolve};
///
/// let base = "http://a/b/c/d;p?q";
/// assert_eq!(resolve(base, "../g", ResolutionRules::Rfc3986)?.url(), Some("http://a/b/g"));
/// assert_eq!(resolve(base, "?y", ResolutionRules::Rfc3986)?.url(), Some("http://a/b/c/d;p?y"));
/// assert_eq!(resolve(base, "?y", ResolutionRules::DraftFielding)?.url(), Some("http://a/b/c/?y"));
/// assert_eq!(resolve(base, r"\\G\é", ResolutionRules::Browser)?.url(), Some("http://g/%C3%A9"));
/// let top = resolve(base, "#top", ResolutionRules::DraftFielding)?;
/// assert_eq!(top, Resolution::CurrentDocument { fragment: Some("top".to_owned()) });
/// # Ok::<(), wwwoffle_url::ResolveError>(())
/// ```
pub fn resolve(
    base: &str,
    reference: &str,
    rules: ResolutionRules,
) -> Result<Resolution, ResolveError> {
    let longest = base.len().max(reference.len());
    if longest > MAX_REFERENCE {
        return Err(ResolveError::TooLong(longest));
    }
    match rules {
        ResolutionRules::DraftFielding => draft_fielding(base, &Reference::parse(reference)),
        ResolutionRules::Rfc3986 => rfc3986(base, &Reference::parse(reference)),
        ResolutionRules::DraftAbarth => {
            abarth::resolve(base, reference).map(Resolution::Url).ok_or(ResolveError::OpaqueBase)
        }
        ResolutionRules::Browser => {
            let base = Some(base).filter(|base| !base.is_empty());
            let base = base.map(BrowserUrl::from_str).transpose().map_err(ResolveError::Base)?;
            let url = BrowserUrl::parse(reference, base.as_ref()).map_err(ResolveError::Browser)?;
            Ok(Resolution::Url(url.into_string()))
        }
    }
}

/// draft-fielding-url-syntax-02 §5.2; the numbers in the body are its steps.
fn draft_fielding(text: &str, reference: &Reference<'_>) -> Result<Resolution, ResolveError> {
    // 2: the reference has only a fragment.
    if (Reference { fragment: None, ..*reference }) == Reference::default() {
        let fragment = reference.fragment.map(str::to_owned);
        return Ok(Resolution::CurrentDocument { fragment });
    }
    // 3: the reference is already absolute.
    if reference.scheme.is_some() {
        return Ok(Resolution::Url(reference.to_string()));
    }
    let base = absolute_base(text)?;
    let mut result = Reference { scheme: base.scheme, ..*reference };
    // 4: the reference has an authority.
    if result.authority.is_some() {
        return Ok(Resolution::Url(result.to_string()));
    }
    result.authority = base.authority;
    // 5: an absolute path.
    if result.path.starts_with('/') {
        return Ok(Resolution::Url(result.to_string()));
    }
    // 6: a relative path. The buffer includes the query while dots are removed.
    let mut buffer = directory(base.path).to_owned();
    buffer.push_str(reference.path);
    if let Some(query) = reference.query {
        buffer.push('?');
        buffer.push_str(query);
    }
    let buffer = merge_segments(&buffer);
    let (path, query) = crate::reference::split_optional(&buffer, '?');
    Ok(Resolution::Url(Reference { path, query, ..result }.to_string()))
}

/// Resolves a reference as in RFC 3986 §5.2.2, "Transform References", strict.
fn rfc3986(text: &str, reference: &Reference<'_>) -> Result<Resolution, ResolveError> {
    let path;
    let mut result = *reference;
    if reference.scheme.is_some() {
        path = remove_dot_segments(reference.path);
    } else {
        let base = absolute_base(text)?;
        result.scheme = base.scheme;
        if reference.authority.is_some() {
            path = remove_dot_segments(reference.path);
        } else {
            result.authority = base.authority;
            if reference.path.is_empty() {
                path = base.path.to_owned();
                result.query = reference.query.or(base.query);
            } else if reference.path.starts_with('/') {
                path = remove_dot_segments(reference.path);
            } else {
                path = remove_dot_segments(&merge(&base, reference.path));
            }
        }
    }
    // §3.3: a path without an authority cannot begin with two slashes. §5.2.4 does not ensure that.
    let guarded = if result.authority.is_none() && path.starts_with("//") {
        format!("/.{path}")
    } else {
        path
    };
    result.path = &guarded;
    Ok(Resolution::Url(result.to_string()))
}

/// Merges a relative path with the path of the base (RFC 3986 §5.2.3, "Merge Paths").
fn merge(base: &Reference<'_>, path: &str) -> String {
    if base.authority.is_some() && base.path.is_empty() {
        return format!("/{path}");
    }
    format!("{}{path}", directory(base.path))
}

/// The path up to and including its last slash.
pub(crate) fn directory(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default()
}

fn absolute_base(text: &str) -> Result<Reference<'_>, ResolveError> {
    let base = Reference::parse(text);
    if base.scheme.is_some() { Ok(base) } else { Err(ResolveError::RelativeBase) }
}
