//! Classes of responses by `Content-Type`.

use std::str::FromStr;

use crate::words::words;

/// The maximum length of a media type that is distinguished, in bytes.
const MAX_TYPE: usize = 100;

words! {
    /// A class of content, used by filters and lists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    Class:
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

impl Class {
    /// The class of a media type in the form of [`essence`].
    #[must_use]
    pub fn of(essence: &str) -> Class {
        let (kind, name) = essence.split_once('/').unwrap_or((essence, ""));
        match (kind, name) {
            ("text", "html") | ("application", "xhtml+xml") => Class::Page,
            ("text", "css") => Class::Style,
            ("text" | "application", "javascript" | "ecmascript" | "x-javascript") => Class::Script,
            ("text" | "application", "xml" | "json") => Class::Data,
            ("text", _) => Class::Text,
            ("application", "pdf" | "postscript" | "epub+zip" | "rtf" | "msword") => {
                Class::Document
            }
            ("image", _) => Class::Image,
            ("audio" | "video", _) | ("application", "ogg") => Class::Media,
            ("font", _) | ("application", "font-woff" | "font-woff2" | "vnd.ms-fontobject") => {
                Class::Font
            }
            ("application", "zip" | "gzip" | "x-tar" | "x-gzip" | "x-bzip2" | "x-xz" | "zstd") => {
                Class::Archive
            }
            ("application", name) if name.ends_with("+json") || name.ends_with("+xml") => {
                Class::Data
            }
            _ => Class::Other,
        }
    }

    /// Whether users open such a response directly, rather than as a sub-resource of a page.
    #[must_use]
    pub const fn is_page(self) -> bool {
        matches!(self, Class::Page | Class::Text | Class::Document)
    }

    /// Whether the text of such a response can be searched.
    pub(crate) const fn has_words(self) -> bool {
        matches!(self, Class::Page | Class::Text)
    }

    pub(crate) fn number(self) -> i64 {
        let at = Self::ALL.iter().position(|class| *class == self);
        at.and_then(|at| i64::try_from(at).ok()).unwrap_or(10)
    }

    pub(crate) fn of_number(number: i64) -> Class {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        Self::ALL.get(at).copied().unwrap_or(Class::Other)
    }
}

/// A text that is not the name of a class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {names}, not {0:?}", names = Class::ALL.map(Class::name).join(", "))]
pub struct ParseClassError(String);

impl FromStr for Class {
    type Err = ParseClassError;

    fn from_str(text: &str) -> Result<Class, ParseClassError> {
        let found = Class::ALL.into_iter().find(|class| class.name() == text);
        found.ok_or_else(|| ParseClassError(text.chars().take(40).collect()))
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
            ("text/html; charset=utf-8", "text/html", Class::Page),
            ("Application/XHTML+XML", "application/xhtml+xml", Class::Page),
            ("text/plain", "text/plain", Class::Text),
            ("application/pdf", "application/pdf", Class::Document),
            (" image/svg+xml ;x", "image/svg+xml", Class::Image),
            ("text/javascript", "text/javascript", Class::Script),
            ("application/ld+json", "application/ld+json", Class::Data),
            ("font/woff2", "font/woff2", Class::Font),
            ("html", "", Class::Other),
            ("a/b/c", "", Class::Other),
            ("text/\u{1b}[31m", "", Class::Other),
        ] {
            let media_type = super::essence(Some(content_type.as_bytes()));
            assert_eq!(
                (media_type.as_str(), Class::of(&media_type)),
                (essence, class),
                "{content_type}"
            );
        }
        assert_eq!(super::essence(None), "");
        assert_eq!(super::essence(Some(format!("text/{}", "x".repeat(200)).as_bytes())), "");
    }

    #[test]
    fn each_has_a_name_and_a_number() {
        for class in Class::ALL {
            assert_eq!(class.name().parse(), Ok(class));
            assert_eq!(Class::of_number(class.number()), class);
        }
        assert!("pages".parse::<Class>().unwrap_err().to_string().ends_with("not \"pages\""));
    }
}
