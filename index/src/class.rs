//! Classes of responses by `Content-Type`.

use std::str::FromStr;

/// The beginnings of the media types of office documents.
const OFFICE: [&str; 5] = [
    "vnd.oasis.opendocument.",
    "vnd.openxmlformats-officedocument.",
    "vnd.ms-excel",
    "vnd.ms-powerpoint",
    "vnd.ms-word",
];

/// The maximum length of a media type that is distinguished, in bytes.
const MAX_TYPE: usize = 100;

wwwoffle_url::named! {
    /// A class of content, used by filters and lists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ContentClass {
        /// HTML.
        Page = "page",
        /// Plain text and other directly readable text.
        Text = "text",
        /// PDF and other document formats for printing.
        Document = "document",
        /// An image.
        Image = "image",
        /// Audio or video.
        Media = "media",
        /// A style sheet.
        Style = "style",
        /// A script.
        Script = "script",
        /// A font.
        Font = "font",
        /// Data for scripts: JSON, XML.
        Data = "data",
        /// A compressed archive.
        Archive = "archive",
        /// Anything else, or an unknown type.
        Other = "other",
    }
}

impl ContentClass {
    /// The class of a media type in the form of [`essence`].
    #[must_use]
    pub fn of(essence: &str) -> ContentClass {
        let (kind, name) = essence.split_once('/').unwrap_or((essence, ""));
        match (kind, name) {
            ("text", "html") | ("application", "xhtml+xml") => ContentClass::Page,
            ("text", "css") => ContentClass::Style,
            ("text" | "application", "javascript" | "ecmascript" | "x-javascript") => {
                ContentClass::Script
            }
            ("text" | "application", "xml" | "json") => ContentClass::Data,
            ("text", _) => ContentClass::Text,
            ("application", "pdf" | "postscript" | "epub+zip" | "rtf" | "msword") => {
                ContentClass::Document
            }
            ("application", name) if OFFICE.iter().any(|begin| name.starts_with(begin)) => {
                ContentClass::Document
            }
            ("image", _) => ContentClass::Image,
            ("audio" | "video", _) | ("application", "ogg") => ContentClass::Media,
            ("font", _) | ("application", "font-woff" | "font-woff2" | "vnd.ms-fontobject") => {
                ContentClass::Font
            }
            ("application", "zip" | "gzip" | "x-tar" | "x-gzip" | "x-bzip2" | "x-xz" | "zstd") => {
                ContentClass::Archive
            }
            ("application", name) if name.ends_with("+json") || name.ends_with("+xml") => {
                ContentClass::Data
            }
            _ => ContentClass::Other,
        }
    }

    /// Whether users open such a response directly, rather than as a sub-resource of a page.
    #[must_use]
    pub const fn is_page(self) -> bool {
        matches!(self, ContentClass::Page | ContentClass::Text | ContentClass::Document)
    }

    /// Whether the text of such a response can be searched.
    pub(crate) const fn has_words(self) -> bool {
        self.is_page()
    }

    pub(crate) fn number(self) -> i64 {
        let at = Self::ALL.iter().position(|class| *class == self);
        at.and_then(|at| i64::try_from(at).ok()).unwrap_or(10)
    }

    pub(crate) fn of_number(number: i64) -> ContentClass {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        Self::ALL.get(at).copied().unwrap_or(ContentClass::Other)
    }
}

/// A text that is not the name of a class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {names}, not {0:?}", names = ContentClass::ALL.map(ContentClass::as_str).join(", "))]
pub struct ParseContentClassError(String);

impl FromStr for ContentClass {
    type Err = ParseContentClassError;

    fn from_str(text: &str) -> Result<ContentClass, ParseContentClassError> {
        let found = ContentClass::ALL.into_iter().find(|class| class.as_str() == text);
        found.ok_or_else(|| ParseContentClassError(text.chars().take(40).collect()))
    }
}

/// The media type in a `Content-Type`, in lower case without parameters; empty if it is invalid.
#[must_use]
pub fn essence(content_type: Option<&[u8]>) -> String {
    let value = content_type.unwrap_or_default();
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+/".contains(byte);
    let slashes = essence.split(|byte| *byte == b'/').count() - 1;
    if essence.len() > MAX_TYPE || slashes != 1 || !essence.iter().all(is_token) {
        return String::new();
    }
    String::from_utf8_lossy(essence).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_determines_its_class() {
        for (content_type, essence, class) in [
            ("text/html; charset=utf-8", "text/html", ContentClass::Page),
            ("Application/XHTML+XML", "application/xhtml+xml", ContentClass::Page),
            ("text/plain", "text/plain", ContentClass::Text),
            ("application/pdf", "application/pdf", ContentClass::Document),
            (
                "application/vnd.oasis.opendocument.text",
                "application/vnd.oasis.opendocument.text",
                ContentClass::Document,
            ),
            (" image/svg+xml ;x", "image/svg+xml", ContentClass::Image),
            ("text/javascript", "text/javascript", ContentClass::Script),
            ("application/ld+json", "application/ld+json", ContentClass::Data),
            ("font/woff2", "font/woff2", ContentClass::Font),
            ("html", "", ContentClass::Other),
            ("a/b/c", "", ContentClass::Other),
            ("text/\u{1b}[31m", "", ContentClass::Other),
        ] {
            let media_type = super::essence(Some(content_type.as_bytes()));
            assert_eq!(
                (media_type.as_str(), ContentClass::of(&media_type)),
                (essence, class),
                "{content_type}"
            );
        }
        assert_eq!(super::essence(None), "");
        assert_eq!(super::essence(Some(format!("text/{}", "x".repeat(200)).as_bytes())), "");
    }

    #[test]
    fn each_has_a_name_and_a_number() {
        for class in ContentClass::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
            assert_eq!(ContentClass::of_number(class.number()), class);
        }
        assert!(
            "pages".parse::<ContentClass>().unwrap_err().to_string().ends_with("not \"pages\"")
        );
    }
}
