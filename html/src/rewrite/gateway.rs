//! Gateway addresses: a URL as a path on our own site, `/http/www.example.org/path?query`, for
//! browsers without a proxy setting.
//!
//! [`address`] and [`url_of`] are inverse to each other, byte for byte. Path and query are
//! unchanged, so the origin gets the same bytes as through the proxy.

use wwwoffle_url::{BrowserUrl, CanonicalUrl, LocalHost};

/// The prefixes of gateway addresses and their schemes.
pub const SCHEMES: [(&str, &str); 4] =
    [("/http/", "http"), ("/https/", "https"), ("/ftp/", "ftp"), ("/finger/", "finger")];

/// The reason why an address is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// The host is empty.
    #[error("expected a host, as in /http/www.example.org/")]
    NoHost,
    /// The URL has a user and password, which would be visible in the address and stored by the
    /// browser.
    #[error("an address with a user before the host is not supported")]
    User,
    /// The host is ambiguous.
    #[error("{0:?} is not a host")]
    Host(String),
}

/// The address of a URL, including its fragment. `None` for other schemes than those of
/// [`SCHEMES`], for URLs with a user, and for hosts that a path cannot contain unchanged.
///
/// ```
/// # use wwwoffle_html::rewrite::gateway::{address, url_of};
/// # use wwwoffle_url::BrowserUrl;
/// let url = BrowserUrl::parse("https://www.example.org:8443/a?b#c", None)?;
/// assert_eq!(address(&url).as_deref(), Some("/https/www.example.org:8443/a?b#c"));
/// let back = url_of("/https/www.example.org:8443/a?b").unwrap().unwrap();
/// assert_eq!(back, "https://www.example.org:8443/a?b");
/// # Ok::<(), wwwoffle_url::BrowserError>(())
/// ```
#[must_use]
pub fn address(url: &BrowserUrl) -> Option<String> {
    let has_user = !url.username().is_empty() || url.password().is_some();
    // The URL Standard allows a quotation mark in a host, but in a path it would be escaped.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte);
    let host = url.host()?;
    // A host must not look like a dot segment of the path.
    let is_host = host.bytes().all(is_plain) && !is_dots(host);
    if !is_fetched(url) || has_user || !is_host {
        return None;
    }
    let rest = url.as_str().strip_prefix(url.scheme())?.strip_prefix("://")?;
    Some(format!("/{}/{rest}", url.scheme()))
}

/// The URL of a request target; `None` if the target is not a gateway address. The target must be
/// passed unchanged: not decoded, and with its dot segments.
///
/// # Errors
///
/// [`InvalidAddress`] if the host is missing or ambiguous, or if there is a user.
#[must_use]
pub fn url_of(target: &str) -> Option<Result<String, InvalidAddress>> {
    let (rest, scheme) = SCHEMES
        .into_iter()
        .find_map(|(begin, scheme)| target.strip_prefix(begin).map(|rest| (rest, scheme)))?;
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    Some(if host.is_empty() {
        Err(InvalidAddress::NoHost)
    } else if host.contains('@') {
        Err(InvalidAddress::User)
    } else if host.contains(['%', '\\', '#']) || is_dots(host) {
        // A browser would treat dots and a backslash as parts of the path on our own site.
        Err(InvalidAddress::Host(host.to_owned()))
    } else {
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(format!("{scheme}://{host}{slash}{path}"))
    })
}

/// Whether the scheme of the URL is one of [`SCHEMES`].
pub(super) fn is_fetched(url: &BrowserUrl) -> bool {
    SCHEMES.iter().any(|(_, scheme)| *scheme == url.scheme())
}

fn is_dots(host: &str) -> bool {
    matches!(host, "." | "..")
}

/// The settings for replacing the references of a page by gateway addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Our own host names.
    pub local: LocalHost,
    /// Whether the page is a page of our own, such as an error message. Such a page may refer to
    /// our own site; other pages may not.
    pub is_ours: bool,
    /// The text of the link that replaces a refresh, as HTML. Browsers do not follow a refresh
    /// while scripts are forbidden.
    pub onward: String,
}

impl Gateway {
    /// The address of a URL in a gateway page. `None` if the page must not refer to the URL, or if
    /// the URL has no gateway address.
    #[must_use]
    pub fn place(&self, url: &BrowserUrl) -> Option<String> {
        let is_local =
            CanonicalUrl::parse(url.as_str(), &self.local).is_ok_and(|url| url.is_local());
        if !is_local {
            return address(url);
        }
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let fragment = url.fragment().map_or_else(String::new, |part| format!("#{part}"));
        // A browser would read two leading slashes as the start of a host.
        let is_path = !url.path().starts_with("//");
        (self.is_ours && is_path).then(|| format!("{}{query}{fragment}", url.path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_names_one_url() {
        for (target, want) in [
            ("/http/h.example/", Ok("http://h.example/")),
            ("/http/h.example", Ok("http://h.example/")),
            ("/http/h.example?a/b", Ok("http://h.example/?a/b")),
            (
                "/https/h.example:81/a//b/../c?d=/http/x",
                Ok("https://h.example:81/a//b/../c?d=/http/x"),
            ),
            ("/http/[::1]:8080/%2e%2e%2fa", Ok("http://[::1]:8080/%2e%2e%2fa")),
            ("/ftp/h.example/a", Ok("ftp://h.example/a")),
            ("/finger/h.example/ada", Ok("finger://h.example/ada")),
            ("/http/", Err(InvalidAddress::NoHost)),
            ("/http//control/", Err(InvalidAddress::NoHost)),
            ("/http/?x", Err(InvalidAddress::NoHost)),
            ("/http/u:p@h.example/", Err(InvalidAddress::User)),
            ("/http/../control/", Err(InvalidAddress::Host("..".to_owned()))),
            ("/http/%2e%2e/control/", Err(InvalidAddress::Host("%2e%2e".to_owned()))),
            ("/http/a%2fb/", Err(InvalidAddress::Host("a%2fb".to_owned()))),
            ("/http/a\\b/", Err(InvalidAddress::Host("a\\b".to_owned()))),
        ] {
            let want = want.map(str::to_owned);
            assert_eq!(url_of(target), Some(want), "{target}");
        }
        for target in ["/", "/http", "/HTTP/h/", "/control/online", "//http/h/", "/local/http/h/"] {
            assert_eq!(url_of(target), None, "{target}");
        }
    }

    #[test]
    fn only_fetched_urls_have_a_gateway_address() {
        for text in [
            "gopher://h/",
            "ftp://u:p@h/",
            "file:///a",
            "http://u@h/",
            "http://:p@h/",
            "ws://h/",
            "data:,",
            "http://a\"b/",
            "http://../a",
        ] {
            assert_eq!(address(&BrowserUrl::parse(text, None).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn links_of_a_site_do_not_reach_our_own_pages() {
        let local = LocalHost::default();
        let url = |text| BrowserUrl::parse(text, None).unwrap();
        for (is_ours, want) in [(false, None), (true, Some("/queue/?a#b"))] {
            let gateway = Gateway { local: local.clone(), is_ours, onward: String::new() };
            let place = gateway.place(&url("http://localhost:8080/queue/?a#b"));
            assert_eq!(place.as_deref(), want);
            // A browser would read this path as a host.
            assert_eq!(gateway.place(&url("http://localhost:8080//evil.example/x")), None);
            let place = gateway.place(&url("http://h.example/queue/"));
            assert_eq!(place.as_deref(), Some("/http/h.example/queue/"));
        }
    }

    proptest! {
        /// Each address is converted back to its URL. On any of our pages, a browser resolves the
        /// address without changing it.
        #[test]
        fn address_and_url_are_inverse(text in "(https?|ftp)://[a-zA-Z0-9.:\\[\\]-]{1,12}[/?#]?\\PC{0,40}") {
            if let Ok(url) = BrowserUrl::parse(&text, None)
                && let Some(address) = address(&url)
            {
                let end = address.find('#').unwrap_or(address.len());
                let bare = url.as_str().split('#').next().unwrap();
                prop_assert_eq!(url_of(&address[..end]).unwrap().unwrap(), bare);
                let page = BrowserUrl::parse("http://ship:8080/https/other.example/x/y?z", None).unwrap();
                let there = BrowserUrl::parse(&address, Some(&page)).unwrap();
                prop_assert_eq!(there.as_str(), format!("http://ship:8080{address}"));
            }
        }

        /// On a page of our own, a browser resolves the address of a URL on our site to this URL.
        #[test]
        fn links_of_our_own_pages_stay_inside(path in "[/\\\\a.?#]{0,6}\\PC{0,20}") {
            let gateway =
                Gateway { local: LocalHost::default(), is_ours: true, onward: String::new() };
            let page = BrowserUrl::parse("http://localhost:8080/http/x/y", None).unwrap();
            let text = format!("http://localhost:8080/{path}");
            if let Ok(url) = BrowserUrl::parse(&text, None)
                && let Some(place) = gateway.place(&url)
            {
                let there = BrowserUrl::parse(&place, Some(&page)).map(|it| it.as_str().to_owned());
                prop_assert_eq!(there, Ok(url.as_str().to_owned()));
            }
        }

        /// The URL of every valid target names a host.
        #[test]
        fn every_gateway_target_has_a_host(target in "/https?/\\PC{0,40}") {
            if let Some(Ok(url)) = url_of(&target) {
                let rest = url.split_once("://").unwrap().1;
                let host = rest.split(['/', '?']).next().unwrap();
                prop_assert!(!host.is_empty() && host != ".." && !host.contains(['@', '%', '\\']));
            }
        }
    }
}
