//! The scope of a recursive fetch.

use std::fmt;

use serde::{Deserialize, Serialize};
use wwwoffle_config::UrlSpec;
use wwwoffle_url::{CanonicalUrl, registrable_domain};

/// The pages that belong to a recursive fetch, relative to its start page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Scope {
    /// All pages.
    Any,
    /// Pages with the same protocol.
    Protocol,
    /// Pages of the same host, over `http` or `https`; if the port is not the default of the
    /// scheme, also with the same port.
    #[default]
    Host,
    /// Pages of the same site: hosts below the same registrable domain, such as `www.example.co.uk`
    /// and `img.example.co.uk`.
    Site,
    /// Pages of the same host whose path begins like that of the start page up to its last `/`.
    Directory,
    /// Pages whose URL begins with this text: the `limit` of WWWOFFLE 2.9.
    Prefix(String),
    /// Pages that match a URL-SPECIFICATION.
    Matching(Box<UrlSpecText>),
}

/// A URL-SPECIFICATION with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlSpecText {
    spec: UrlSpec,
    text: String,
}

/// The reason why a text is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAScope {
    /// The text is neither one of the words nor a URL-SPECIFICATION.
    #[error(
        "a scope is \"any\", \"protocol\", \"host\", \"site\", \"directory\" or a URL-SPECIFICATION, not {0:?}"
    )]
    Unknown(String),
    /// The URL-SPECIFICATION is invalid.
    #[error("the URL-SPECIFICATION {0:?} cannot be read")]
    Spec(String, #[source] wwwoffle_config::ParseSpecError),
}

/// The word before the text of [`Scope::Prefix`].
const PREFIX: &str = "prefix:";

impl Scope {
    /// Parses a scope as users write it.
    ///
    /// # Errors
    ///
    /// [`NotAScope`] for anything else.
    pub fn parse(text: &str) -> Result<Self, NotAScope> {
        Ok(match text {
            "any" => Self::Any,
            "protocol" | "proto" => Self::Protocol,
            "host" => Self::Host,
            "site" => Self::Site,
            "directory" | "dir" => Self::Directory,
            _ => {
                if let Some(prefix) = text.strip_prefix(PREFIX) {
                    return Ok(Self::Prefix(prefix.to_owned()));
                }
                if !text.contains("://") {
                    return Err(NotAScope::Unknown(text.to_owned()));
                }
                let spec = text.parse().map_err(|error| NotAScope::Spec(text.to_owned(), error))?;
                Self::Matching(Box::new(UrlSpecText { spec, text: text.to_owned() }))
            }
        })
    }

    /// Whether `url` belongs to a fetch with the start page `start`.
    #[must_use]
    pub fn has(&self, start: &CanonicalUrl, url: &CanonicalUrl) -> bool {
        match self {
            Self::Any => true,
            Self::Protocol => start.protocol() == url.protocol(),
            Self::Host => is_same_host(start, url),
            Self::Site => registrable_domain(start.host()) == registrable_domain(url.host()),
            Self::Directory => is_same_host(start, url) && url.path().starts_with(directory(start)),
            Self::Prefix(prefix) => url.as_str().starts_with(prefix.as_str()),
            Self::Matching(matching) => matching.spec.matches(url),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Protocol => f.write_str("protocol"),
            Self::Host => f.write_str("host"),
            Self::Site => f.write_str("site"),
            Self::Directory => f.write_str("directory"),
            Self::Prefix(prefix) => write!(f, "{PREFIX}{prefix}"),
            Self::Matching(matching) => f.write_str(&matching.text),
        }
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for Scope {
    type Error = NotAScope;

    fn try_from(text: String) -> Result<Self, NotAScope> {
        Self::parse(&text)
    }
}

fn is_same_host(one: &CanonicalUrl, other: &CanonicalUrl) -> bool {
    let is_web = |url: &CanonicalUrl| matches!(url.protocol(), "http" | "https");
    one.host() == other.host()
        && one.port() == other.port()
        && (one.protocol() == other.protocol() || (is_web(one) && is_web(other)))
}

/// The path of a URL up to and including its last `/`.
fn directory(url: &CanonicalUrl) -> &str {
    let path = url.path();
    path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::LocalHost;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    #[test]
    fn a_scope_matches_as_the_table_says() {
        let mut wrong = Vec::new();
        for (scope, start, other, want) in [
            ("any", "http://a.example/", "ftp://b.example/", true),
            ("protocol", "http://a.example/", "http://b.example/", true),
            ("protocol", "http://a.example/", "https://a.example/", false),
            ("host", "http://a.example/x/y", "http://a.example/", true),
            ("host", "http://a.example/", "https://a.example/z?q", true),
            ("host", "http://a.example/", "http://a.example:8080/", false),
            ("host", "http://a.example:8080/", "http://a.example:8080/x", true),
            ("host", "http://a.example/", "http://www.a.example/", false),
            ("host", "http://a.example/", "ftp://a.example/", false),
            ("site", "http://www.example.co.uk/", "https://img.example.co.uk/", true),
            ("site", "http://www.example.co.uk/", "http://other.co.uk/", false),
            ("site", "http://a.github.io/", "http://b.github.io/", false),
            ("site", "http://127.0.0.1/", "http://127.0.0.2/", false),
            ("site", "http://[::1]/", "http://[::1]:81/", true),
            ("site", "http://printer/", "http://printer/x", true),
            ("site", "http://printer/", "http://scanner/", false),
            ("directory", "http://a.example/x/y.html", "http://a.example/x/z/w", true),
            ("directory", "http://a.example/x/y.html", "https://a.example/x/", true),
            ("directory", "http://a.example/x/y.html", "http://a.example/xy", false),
            ("directory", "http://a.example/x/y.html", "http://a.example/", false),
            ("directory", "http://a.example/", "http://a.example/any", true),
            ("prefix:http://a.example/q", "http://b.example/", "http://a.example/quiet", true),
            ("prefix:http://a.example/q", "http://b.example/", "http://b.example/", false),
            ("*://*.example/*.html", "http://b.test/", "http://a.example/x.html", true),
            ("*://*.example/*.html", "http://b.test/", "http://a.example/x.png", false),
        ] {
            let parsed = Scope::parse(scope).unwrap();
            if parsed.has(&url(start), &url(other)) != want {
                wrong.push(format!("{scope}: {start} {other}"));
            }
            assert_eq!(Scope::parse(&parsed.to_string()), Ok(parsed), "{scope} reads back");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn unknown_words_are_not_a_scope() {
        for text in ["", "hosts", "example.org"] {
            assert!(matches!(Scope::parse(text), Err(NotAScope::Unknown(_))), "{text}");
        }
        assert!(matches!(Scope::parse("*:///x"), Err(NotAScope::Spec(..))));
    }
}
