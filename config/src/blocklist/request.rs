//! The properties of a request that browser rules compare, in addition to its URL.

use crate::pattern::parts::UrlParts;
use std::net::Ipv4Addr;
use wwwoffle_url::CanonicalUrl;

/// Labels, such as the `co` in `co.uk`, below which names are registered in the domains of
/// countries. There the registered name has three labels instead of two.
const SHARED: &[&str] =
    &["ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "mil", "ne", "net", "nom", "or", "org"];

/// A request as input to a [`BlockList`](crate::BlockList).
#[derive(Clone, Copy, Debug)]
pub struct BlockQuery<'a> {
    /// The requested URL.
    pub url: &'a UrlParts<'a>,
    /// The page that causes the request: `Referer`. `None` if it is unknown. Rules compare its
    /// host.
    pub page: Option<&'a CanonicalUrl>,
    /// The relation of `page` to the URL, if the browser sends it: `Sec-Fetch-Site`.
    pub site: Option<PageRelation>,
    /// The intended use of the response.
    pub purpose: RequestPurpose,
}

impl<'a> BlockQuery<'a> {
    /// A request of which only the URL is known.
    #[must_use]
    pub fn of(url: &'a UrlParts<'a>) -> Self {
        Self { url, page: None, site: None, purpose: RequestPurpose::default() }
    }

    /// The host of the page. If the page is unknown but has the same origin as the URL, the host of
    /// the URL; otherwise `None`.
    #[cfg_attr(not(feature = "easylist"), expect(dead_code, reason = "only EasyList asks"))]
    pub(crate) fn page_host(&self) -> Option<&'a str> {
        let own = || (self.site == Some(PageRelation::Same)).then_some(self.url.host);
        self.page.map(CanonicalUrl::host).or_else(own)
    }

    /// Whether the page belongs to another site than the URL. If neither the page nor its relation
    /// is known, returns `false`: otherwise rules for other sites would block a URL that a person
    /// typed.
    #[cfg_attr(not(feature = "easylist"), expect(dead_code, reason = "only EasyList asks"))]
    pub(crate) fn is_third_party(&self) -> bool {
        match self.site {
            Some(site) => site == PageRelation::Cross,
            None => self.page.is_some_and(|page| site_of(page.host()) != site_of(self.url.host)),
        }
    }
}

/// The relation of the requesting page to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRelation {
    /// Same origin, or a URL that a person requests directly.
    Same,
    /// Same site, under another host name.
    Near,
    /// Another site.
    Cross,
}

impl PageRelation {
    /// Parses `Sec-Fetch-Site` (Fetch Metadata §2.4). `None` for an unknown value.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        match value.trim() {
            "same-origin" | "none" => Some(Self::Same),
            "same-site" => Some(Self::Near),
            "cross-site" => Some(Self::Cross),
            _ => None,
        }
    }
}

wwwoffle_url::named! {
    /// The intended use of a response. Its name is that of the engine for EasyList.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RequestPurpose {
        /// A page in a window or tab.
        Page = "document",
        /// A frame in a page.
        Frame = "subdocument",
        /// A style sheet.
        Style = "stylesheet",
        /// A script or a worker.
        Script = "script",
        /// An image.
        Image = "image",
        /// A font.
        Font = "font",
        /// Audio, video or subtitles.
        Media = "media",
        /// Data for a plug-in.
        Object = "object",
        /// Data requested by a script.
        Data = "xmlhttprequest",
        /// A WebSocket.
        WebSocket = "websocket",
        /// Any other use, or an unknown one.
        #[default]
        Other = "other",
    }
}

impl RequestPurpose {
    /// Parses `Sec-Fetch-Dest` (Fetch Metadata §2.1).
    ///
    /// ```
    /// use wwwoffle_config::RequestPurpose;
    ///
    /// assert_eq!(RequestPurpose::parse("iframe"), RequestPurpose::Frame);
    /// assert_eq!(RequestPurpose::parse("something-new"), RequestPurpose::Other);
    /// ```
    #[must_use]
    pub fn parse(value: &str) -> Self {
        match value.trim() {
            "document" => Self::Page,
            "iframe" | "frame" | "fencedframe" => Self::Frame,
            "style" => Self::Style,
            "script" | "worker" | "sharedworker" | "serviceworker" | "audioworklet"
            | "paintworklet" => Self::Script,
            "image" => Self::Image,
            "font" => Self::Font,
            "audio" | "video" | "track" => Self::Media,
            "object" | "embed" => Self::Object,
            "empty" | "json" => Self::Data,
            "websocket" => Self::WebSocket,
            _ => Self::Other,
        }
    }
}

/// The registered part of a host name, estimated without a list of public suffixes. An address is
/// returned unchanged.
fn site_of(host: &str) -> &str {
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
        return host;
    }
    let mut labels = host.rsplit('.');
    let (top, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let parts = if top.len() == 2 && SHARED.contains(&second) { 3 } else { 2 };
    let start = host.rmatch_indices('.').nth(parts - 1).map_or(0, |(dot, _)| dot + 1);
    host.get(start..).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::LocalHost;

    #[test]
    fn a_site_is_the_registered_domain() {
        for (host, want) in [
            ("www.example.org", "example.org"),
            ("example.org", "example.org"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("www.web.de", "web.de"),
            ("localhost", "localhost"),
            ("10.1.2.3", "10.1.2.3"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("", ""),
        ] {
            assert_eq!(site_of(host), want, "{host}");
        }
    }

    #[test]
    fn the_browser_or_the_host_name_identifies_a_third_party() {
        let parse = |url| CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let url = parse("http://img.shop.test/x.gif");
        let parts = UrlParts::of(&url);
        for (page, site, want) in [
            (None, None, (false, None)),
            (None, Some("none"), (false, Some("img.shop.test"))),
            (None, Some("cross-site"), (true, None)),
            (Some("http://www.shop.test/"), None, (false, Some("www.shop.test"))),
            (Some("http://other.test/"), None, (true, Some("other.test"))),
            (Some("http://other.test/"), Some("same-site"), (false, Some("other.test"))),
            (Some("http://other.test/"), Some("else"), (true, Some("other.test"))),
        ] {
            let page = page.map(parse);
            let asked = BlockQuery {
                page: page.as_ref(),
                site: site.and_then(PageRelation::parse),
                ..BlockQuery::of(&parts)
            };
            assert_eq!((asked.is_third_party(), asked.page_host()), want, "{page:?} {site:?}");
        }
    }
}
