//! URL strings and digital identifiers as the PDF Reference defines them for Web Capture (chapter
//! 10, "Document Interchange").
//!
//! A PDF file made from web pages identifies the pages by their URLs, in a special canonical form.
//! That form is much closer to the URL as written than [`BrowserUrl`](crate::BrowserUrl), because
//! escapes stay unchanged.

use md5::{Digest as _, Md5};

use crate::reference::{MAX_REFERENCE, is_scheme_byte, split_optional, split_port};
use crate::resolve::{directory, merge_segments};

/// The reason why a URL has no canonical string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PdfError {
    /// The URL or its base is longer than [`MAX_REFERENCE`].
    #[error("the URL is {0} bytes long, above the limit of {MAX_REFERENCE}")]
    TooLong(usize),
    /// A relative URL whose base is missing or also relative.
    #[error("the URL is relative, and its base is missing or relative")]
    Relative,
}

/// A URL as in RFC 1808 §2.1. Unlike in RFC 3986, the path is split at the first `;`, and an empty
/// authority is the same as a missing one.
#[derive(Clone, Copy)]
struct PdfParts<'a> {
    scheme: Option<&'a str>,
    net_loc: Option<&'a str>,
    path: &'a str,
    params: Option<&'a str>,
    query: Option<&'a str>,
}

/// Returns the canonical form under which PDF files store captured pages.
///
/// These are the seven steps of "URL Strings". The URL is made absolute (RFC 1808 §4) and loses its
/// fragment. Scheme and host become lower case. `localhost` in a `file` URL, the scheme's default
/// port and dot segments are removed (RFC 1808 §4 step 6, so a `..` at the top stays). As in the
/// document's note on percent-encoding, the URL counts as encoded once, and no `%` is decoded, added
/// or removed.
///
/// The document leaves three points open:
///
/// - The default port of `https` is 443.
/// - Steps 4 to 7 apply only to URLs with `//` or a path from the root. Others, such as `mailto:`,
///   have neither host nor path.
/// - A relative path or parameters against a base without a path get the slash that RFC 1808
///   forgot, so that `g` and `http://h` do not form the host `hg`.
///
/// # Errors
///
/// [`PdfError`] for a relative URL whose base is missing or relative, and for a URL or base longer
/// than [`MAX_REFERENCE`].
///
/// # Examples
///
/// ```
/// use wwwoffle_url::pdf_canonical;
///
/// let canonical = pdf_canonical("HTTP://WWW.Example.COM:80/a/./b/../%7Ec#top", None)?;
/// assert_eq!(canonical, "http://www.example.com/a/%7Ec");
/// assert_eq!(pdf_canonical("FILE://localhost/x", None)?, "file:///x");
/// assert_eq!(pdf_canonical("../y", Some("ftp://h:21/a/b/c"))?, "ftp://h/a/y");
/// # Ok::<(), wwwoffle_url::PdfError>(())
/// ```
pub fn pdf_canonical(url: &str, base: Option<&str>) -> Result<String, PdfError> {
    let longest = url.len().max(base.map_or(0, str::len));
    if longest > MAX_REFERENCE {
        return Err(PdfError::TooLong(longest));
    }
    let mut parts = PdfParts::parse(url);
    let mut merged = String::new();
    if parts.scheme.is_none() {
        let base = PdfParts::parse(base.ok_or(PdfError::Relative)?);
        parts = parts.against(&base, &mut merged);
    }
    let scheme = parts.scheme.ok_or(PdfError::Relative)?.to_ascii_lowercase();
    let path = match parts.net_loc {
        None if !parts.path.starts_with('/') => parts.path.to_owned(),
        _ => merge_segments(parts.path),
    };
    let mut result = format!("{scheme}:");
    if let Some(net_loc) = parts.net_loc {
        result.push_str("//");
        push_net_loc(&mut result, &scheme, net_loc);
    }
    if parts.net_loc.is_none() && path.starts_with("//") {
        // Without the prefix, the path after dot removal would be read as a host.
        result.push_str("/.");
    }
    result.push_str(&path);
    for (delimiter, text) in [(';', parts.params), ('?', parts.query)] {
        if let Some(text) = text {
            result.push(delimiter);
            result.push_str(text);
        }
    }
    Ok(result)
}

/// The MD5 digest that names captured data, in lower-case hex: of the canonical URL string,
/// followed by the content if there is any.
///
/// The document that defines these rules breaks off after "generated using the MD5 message-digest
/// algorithm", before it names the input. The digest of the URL string alone identifies the page;
/// with the content it distinguishes versions of the page. `canonical` is the result of
/// [`pdf_canonical`] and is hashed unchanged.
///
/// # Examples
///
/// ```
/// # use wwwoffle_url::{pdf_canonical, pdf_identifier};
/// let canonical = pdf_canonical("http://Example.org:80/", None)?;
/// assert_eq!(pdf_identifier(&canonical, None), "d0d92cdc9b30c1300fbc3c7ebd304be0");
/// assert_ne!(pdf_identifier(&canonical, Some(b"x")), pdf_identifier(&canonical, None));
/// # Ok::<(), wwwoffle_url::PdfError>(())
/// ```
#[must_use]
pub fn pdf_identifier(canonical: &str, content: Option<&[u8]>) -> String {
    let mut digest = Md5::new();
    digest.update(canonical);
    digest.update(content.unwrap_or_default());
    hex::encode(digest.finalize())
}

impl<'a> PdfParts<'a> {
    /// Parses a URL as in RFC 1808 §2.4: splits off the fragment, then the scheme, the location,
    /// the query and the parameters. The fragment is dropped, as in step 2 of the document.
    fn parse(text: &'a str) -> Self {
        let (rest, _fragment) = split_optional(text, '#');
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if !scheme.is_empty() && scheme.bytes().all(is_scheme_byte) => {
                (Some(scheme), rest)
            }
            _ => (None, rest),
        };
        let (net_loc, rest) = match rest.strip_prefix("//") {
            Some(rest) => {
                // RFC 1808 does not allow for a query directly after the host, but this is common.
                let (net_loc, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                (Some(net_loc), rest)
            }
            None => (None, rest),
        };
        let (rest, query) = split_optional(rest, '?');
        let (path, params) = split_optional(rest, ';');
        Self { scheme, net_loc, path, params, query }
    }

    /// Resolves a relative URL against `base` as in RFC 1808 §4; the numbers below are its steps.
    /// `merged` is the storage for a joined path.
    fn against(mut self, base: &PdfParts<'a>, merged: &'a mut String) -> Self {
        // 2c: the scheme of the base.
        self.scheme = base.scheme;
        // 3: the reference has its own location, and it is not empty.
        if self.net_loc.is_some_and(|net_loc| !net_loc.is_empty()) {
            return self;
        }
        self.net_loc = base.net_loc;
        if self.path.starts_with('/') {
            // 4: an absolute path.
        } else if self.path.is_empty() {
            // 5: the path of the base. If the reference has no parameters, those of the base are
            // used, and also the query of the base if the reference has no query.
            let missing = base.path.is_empty() && base.net_loc.is_some() && self.params.is_some();
            self.path = if missing { "/" } else { base.path };
            if self.params.is_none() {
                self.params = base.params;
                self.query = self.query.or(base.query);
            }
        } else {
            // 6: a relative path. Its dot segments are removed later, together with all others.
            let directory = directory(base.path);
            let missing = directory.is_empty() && base.net_loc.is_some();
            *merged = format!("{}{directory}{}", if missing { "/" } else { "" }, self.path);
            self.path = merged;
        }
        self
    }
}

/// Writes user information, host and port in canonical form (steps 4 to 6). User information stays
/// unchanged.
fn push_net_loc(result: &mut String, scheme: &str, net_loc: &str) {
    let (userinfo, host_port) = net_loc.split_at(net_loc.rfind('@').map_or(0, |at| at + 1));
    result.push_str(userinfo);
    let (host, port) = split_port(host_port);
    let host = host.to_ascii_lowercase();
    if !(scheme == "file" && host == "localhost") {
        result.push_str(&host);
    }
    let default = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        "ftp" => Some(21),
        _ => None,
    };
    if let Some(port) = port {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        if default.is_none() || !is_number || port.parse::<u16>().ok() != default {
            result.push(':');
            result.push_str(port);
        }
    }
}
