//! How a body is parsed.

/// The kind of a body, as far as it matters for finding references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// `text/html`.
    Html,
    /// `application/xhtml+xml`, read as XML.
    Xhtml,
    /// A style sheet.
    Css,
    /// JavaScript.
    Script,
    /// A web app manifest.
    Manifest,
    /// RSS or Atom.
    Feed,
    /// A sitemap, or an index of sitemaps.
    Sitemap,
    /// An image in SVG.
    Svg,
    /// A body without references.
    None,
}

/// The number of bytes of a body that are needed to determine its kind.
pub const HEAD: usize = 2048;

impl BodyKind {
    /// All kinds that contain references.
    pub const THAT_REFER: [Self; 8] = [
        Self::Html,
        Self::Xhtml,
        Self::Css,
        Self::Script,
        Self::Manifest,
        Self::Feed,
        Self::Sitemap,
        Self::Svg,
    ];

    /// Determines the kind of a body from its `Content-Type`. For XML, the first bytes decide
    /// ([`HEAD`] bytes are enough). For JSON and plain text, the file name decides whether it is a
    /// manifest. If the type is missing or `application/octet-stream`, the first bytes decide, or
    /// else the extension in the path of the URL.
    #[must_use]
    pub fn of(content_type: Option<&str>, url: &str, head: &[u8]) -> Self {
        let kind = content_type.map(essence).unwrap_or_default();
        match kind.as_str() {
            "text/html" => Self::Html,
            "application/xhtml+xml" => Self::Xhtml,
            "text/css" => Self::Css,
            "application/manifest+json" => Self::Manifest,
            "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" => Self::Feed,
            "image/svg+xml" => Self::Svg,
            "text/xml" | "application/xml" => xml(head),
            "application/json" | "text/json" | "text/plain" if is_manifest(url) => Self::Manifest,
            "" | "application/octet-stream" | "unknown/unknown" => Self::unknown(url, head),
            _ if is_script(&kind) => Self::Script,
            _ if kind.ends_with("+xml") => xml(head),
            _ => Self::None,
        }
    }

    /// The kind of a body without a known type.
    fn unknown(url: &str, head: &[u8]) -> Self {
        match root(head) {
            Self::None => {}
            kind => return kind,
        }
        match extension(url).as_str() {
            "html" | "htm" => Self::Html,
            "xhtml" | "xht" => Self::Xhtml,
            "css" => Self::Css,
            "js" | "mjs" => Self::Script,
            "webmanifest" => Self::Manifest,
            _ => Self::None,
        }
    }
}

/// Type and subtype in lower case, without parameters.
fn essence(content_type: &str) -> String {
    content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a media type is a *JavaScript MIME type* (WHATWG MIME Sniffing §4.6).
fn is_script(essence: &str) -> bool {
    let subtype = essence.split_once('/').map_or("", |(kind, subtype)| match kind {
        "text" | "application" => subtype.strip_prefix("x-").unwrap_or(subtype),
        _ => "",
    });
    matches!(subtype, "javascript" | "ecmascript" | "jscript" | "livescript")
        || subtype.strip_prefix("javascript1.").is_some_and(|version| version.len() == 1)
}

fn path(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// The extension of the last path segment, in lower case.
pub(super) fn extension(url: &str) -> String {
    let name = path(url).rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
}

fn is_manifest(url: &str) -> bool {
    let name = path(url).rsplit('/').next().unwrap_or_default();
    name.ends_with(".webmanifest") || name == "manifest.json" || name == "site.manifest"
}

/// The kind of a body that was sent as XML. HTML is then parsed as XML.
fn xml(head: &[u8]) -> BodyKind {
    match root(head) {
        BodyKind::Html => BodyKind::Xhtml,
        kind => kind,
    }
}

/// The kind according to the first tag after byte order mark, declarations and comments.
fn root(head: &[u8]) -> BodyKind {
    // After removing the zero bytes, the tag names in UTF-16 text can be read too.
    let text: Vec<u8> = head.iter().copied().take(HEAD).filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&text);
    let mut rest = &*text;
    while let Some((_, after)) = rest.split_once('<') {
        let end = |mark: &str| after.split_once(mark).map_or("", |(_, rest)| rest);
        if after.starts_with("!--") {
            rest = end("-->");
        } else if after.starts_with('?') {
            rest = end("?>");
        } else if let Some(declared) = after.strip_prefix('!') {
            let declared = declared.trim_start().to_ascii_lowercase();
            let name = declared.strip_prefix("doctype").map(str::trim_start);
            if name.is_some_and(|name| name.starts_with("html")) {
                return BodyKind::Html;
            }
            rest = end(">");
        } else {
            let name: String =
                after.chars().take_while(|c| !c.is_whitespace() && !"/>".contains(*c)).collect();
            return named(&name);
        }
    }
    BodyKind::None
}

fn named(tag: &str) -> BodyKind {
    let local = tag.rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
    match local.as_str() {
        "rss" | "feed" | "rdf" => BodyKind::Feed,
        "urlset" | "sitemapindex" => BodyKind::Sitemap,
        "svg" => BodyKind::Svg,
        "html" => BodyKind::Html,
        _ => BodyKind::None,
    }
}

#[cfg(test)]
mod tests {
    use super::BodyKind;

    #[test]
    fn the_kind_of_a_body_follows_from_type_and_content() {
        let xml = "<?xml version='1.0'?>\n<!-- <rss> -->";
        let rows: &[(Option<&str>, &str, &str, BodyKind)] = &[
            (Some("text/html; charset=x"), "/a.css", "", BodyKind::Html),
            (Some("TEXT/CSS"), "/", "", BodyKind::Css),
            (Some("text/javascript1.5"), "/", "", BodyKind::Script),
            (Some("application/x-javascript"), "/", "", BodyKind::Script),
            (Some("application/json"), "/x/manifest.json?v=1", "", BodyKind::Manifest),
            (Some("application/json"), "/x/data.json", "", BodyKind::None),
            (Some("text/xml"), "/", "<rss version='2.0'>", BodyKind::Feed),
            (Some("application/xml"), "/", "<urlset>", BodyKind::Sitemap),
            (Some("application/xml"), "/", "<svg:svg>", BodyKind::Svg),
            (Some("application/xml"), "/", "<html xmlns='…'>", BodyKind::Xhtml),
            (Some("application/xml"), "/", "<!DOCTYPE html><html xmlns='…'>", BodyKind::Xhtml),
            (Some("application/vnd.x+xml"), "/", "<sitemapindex/>", BodyKind::Sitemap),
            (Some("image/png"), "/a.html", "<html>", BodyKind::None),
            (Some("text/plain"), "/a.html", "<html>", BodyKind::None),
            (None, "/a", "<!doctype html>", BodyKind::Html),
            (None, "/a", "<p>", BodyKind::None),
            (None, "/a.html?x", "<p>", BodyKind::Html),
            (None, "/a.mjs", "", BodyKind::Script),
            (None, "/a", "", BodyKind::None),
        ];
        for (content_type, url, head, expected) in rows {
            let url = format!("http://a.example{url}");
            let kind = BodyKind::of(*content_type, &url, head.as_bytes());
            assert_eq!(kind, *expected, "{content_type:?} {url} {head}");
        }
        let head = format!("{xml}<feed xmlns='http://www.w3.org/2005/Atom'>");
        assert_eq!(BodyKind::of(Some("text/xml"), "/", head.as_bytes()), BodyKind::Feed);
        let wide: Vec<u8> = "\u{feff}<rss>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(BodyKind::of(None, "/", &wide), BodyKind::Feed);
    }
}
