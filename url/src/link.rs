//! A link and the URL of its page (`LinkURL`).

use std::borrow::Cow;

use crate::canonical::CanonicalUrl;
use crate::encode::{PROTOCOL, split_run};
use crate::error::{ParseError, UrlFault};
use crate::localhost::LocalHost;
use crate::path::Backslash;
use crate::split::{backslash, clean};

/// The canonical URL of a link's target, as browsers read links (`LinkURL`).
///
/// A link never inherits the credentials of the page's URL. Where 2.9 differs from browsers,
/// browsers are followed: a `:` in the arguments makes no protocol, `?y` keeps the page's name, and
/// an empty link is the page with its arguments.
///
/// ```
/// # fn main() -> Result<(), wwwoffle_url::ParseError> {
/// use wwwoffle_url::{CanonicalUrl, LocalHost, link_url};
/// let local = LocalHost::default();
/// let page = CanonicalUrl::parse("http://a.example/b/c?d", &local)?;
/// let link = link_url(&page, b"../e?u=http://x/", &local)?;
/// assert_eq!(link.as_str(), "http://a.example/e?u=http://x/");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Fails as [`CanonicalUrl::parse`] does, and for a link that names no host, such as `tel:1`.
pub fn link_url(
    base: &CanonicalUrl,
    link: &[u8],
    local: &LocalHost,
) -> Result<CanonicalUrl, ParseError> {
    match resolve(base, &clean(link)?) {
        LinkTarget::Base => Ok(base.without_credentials()),
        LinkTarget::Text(text) | LinkTarget::Joined(text) => CanonicalUrl::from_clean(&text, local),
        LinkTarget::OtherProtocol { name, text } => {
            let url = CanonicalUrl::from_clean(text, local)?;
            if url.protocol().as_bytes().eq_ignore_ascii_case(name) {
                return Ok(url);
            }
            // `foo:80` alone is a host and a port. In a link, `foo` is the protocol.
            let protocol = String::from_utf8_lossy(name).to_ascii_lowercase();
            Err(UrlFault::NotHierarchical { protocol }.into())
        }
    }
}

/// The target of a link, before dot segments are removed.
pub(crate) enum LinkTarget<'a> {
    Base,
    /// An absolute URL with a complete path.
    Text(Vec<u8>),
    /// An absolute URL whose path begins with the path of the base.
    Joined(Vec<u8>),
    /// An absolute URL under a protocol that browsers do not know.
    OtherProtocol {
        name: &'a [u8],
        text: &'a [u8],
    },
}

/// Resolves a link that [`clean`] returned.
pub(crate) fn resolve<'a>(base: &CanonicalUrl, link: &'a [u8]) -> LinkTarget<'a> {
    let (name, rest) = split_run(link, PROTOCOL);
    let [b':', rest @ ..] = rest else { return relative(base, link) };
    if !name.first().is_some_and(u8::is_ascii_alphabetic) {
        return relative(base, link);
    }
    if backslash(name) == Backslash::Ordinary {
        return LinkTarget::OtherProtocol { name, text: link };
    }
    let same = name.eq_ignore_ascii_case(base.protocol().as_bytes());
    if same && !rest.starts_with(b"//") { relative(base, rest) } else { absolute(name, rest) }
}

/// Makes an absolute URL under a protocol that browsers know. Any number of slashes may precede the
/// host.
fn absolute(protocol: &[u8], rest: &[u8]) -> LinkTarget<'static> {
    let slashes = rest.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    LinkTarget::Text([protocol, b"://", rest.get(slashes..).unwrap_or_default()].concat())
}

fn relative(base: &CanonicalUrl, link: &[u8]) -> LinkTarget<'static> {
    let protocol = base.protocol().as_bytes();
    let known = backslash(protocol) == Backslash::Slash;
    let slash = |byte: u8| byte == b'/' || (known && byte == b'\\');
    let origin = [protocol, b"://", base.host_port().as_bytes()].concat();
    let path: Cow<'_, str> = match link {
        [] => return LinkTarget::Base,
        [first, second, ..] if slash(*first) && slash(*second) && known => {
            return absolute(protocol, link);
        }
        [b'/', b'/', rest @ ..] => return LinkTarget::Text([protocol, b"://", rest].concat()),
        [first, ..] if slash(*first) => return LinkTarget::Text([&origin, link].concat()),
        [b'?', ..] => Cow::Borrowed(base.path()),
        _ => {
            let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            Cow::Owned(format!("{folder}/"))
        }
    };
    LinkTarget::Joined([&origin, path.as_bytes(), link].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_browsers_read_them() {
        let local = LocalHost::default();
        let base = CanonicalUrl::parse("http://me:pw@a/b/c/d;p?q", &local).unwrap();
        let rows = [
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/../x", "http://a/b/c/g"),
            ("?/../y", "http://a/b/c/d;p?/../y"),
            ("?y", "http://a/b/c/d;p?y"),
            (".", "http://a/b/c/"),
            ("", "http://a/b/c/d;p?q"),
            ("#x", "http://a/b/c/d;p?q"),
            (" \t\n", "http://a/b/c/d;p?q"),
            ("?u=http://x/", "http://a/b/c/d;p?u=http://x/"),
            ("g?u=http://x/", "http://a/b/c/g?u=http://x/"),
            ("http:g", "http://a/b/c/g"),
            ("http:/g", "http://a/g"),
            ("http:?g", "http://a/b/c/d;p?g"),
            ("https:g", "https://g/"),
            ("https:///g/", "https://g/"),
            ("//g", "http://g/"),
            ("///g", "http://g/"),
            ("\\g\\h", "http://a/g/h"),
            ("\\\\g", "http://g/"),
            ("a/%2e%2e/../g", "http://a/b/g"),
            ("./a:b", "http://a/b/c/a:b"),
            ("foo://g", "foo://g/"),
            ("g #x", "http://a/b/c/g%20"),
        ];
        for (link, expected) in rows {
            let url = link_url(&base, link.as_bytes(), &local).unwrap();
            assert_eq!((url.as_str(), url.user()), (expected, None), "{link}");
        }
        for link in ["mailto:u@h.example", "javascript:void(0)", "tel:123", "g:80", "g:u@h"] {
            let error = link_url(&base, link.as_bytes(), &local).unwrap_err();
            assert!(error.is_not_hierarchical(), "{link}: {error}");
        }
    }

    #[test]
    fn under_other_protocols_a_backslash_is_a_character() {
        let local = LocalHost::default();
        let base = CanonicalUrl::parse("finger://a/b/c", &local).unwrap();
        for (link, expected) in
            [("\\g", "finger://a/b/%5Cg"), ("//g", "finger://g/"), ("/g", "finger://a/g")]
        {
            assert_eq!(link_url(&base, link.as_bytes(), &local).unwrap().as_str(), expected);
        }
    }
}
