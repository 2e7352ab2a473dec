//! The parts of a URL that patterns compare.

use std::sync::OnceLock;
use wwwoffle_url::CanonicalUrl;

/// A URL, split once for all patterns that are compared with it.
///
/// ```
/// use wwwoffle_config::{Config, UrlParts};
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
///
/// let config = Config::default();
/// let url = CanonicalUrl::parse("http://www.example.org/", &LocalHost::default())?;
/// let parts = UrlParts::of(&url);
/// assert!(!config.offline_options.dont_request.of(&parts));
/// assert!(config.dont_get.urls.matches_parts(&parts).is_none());
/// # Ok::<(), wwwoffle_url::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UrlParts<'a> {
    pub(crate) protocol: &'a str,
    pub(crate) host: &'a str,
    /// The port to connect to, if it is known.
    pub(crate) port: Option<u16>,
    /// The port in the URL; `None` if it is the protocol's default.
    pub(crate) explicit_port: Option<u16>,
    pub(crate) path: &'a str,
    pub(crate) arguments: Option<&'a str>,
    /// Path and arguments in lower case, computed on first use.
    folded: OnceLock<(String, Option<String>)>,
}

impl<'a> UrlParts<'a> {
    /// Splits `url`.
    #[must_use]
    pub fn of(url: &'a CanonicalUrl) -> Self {
        Self {
            protocol: url.protocol(),
            host: url.host(),
            port: url.port_or_default(),
            explicit_port: url.port(),
            path: url.path(),
            arguments: url.arguments(),
            folded: OnceLock::new(),
        }
    }

    /// Path and arguments in lower case.
    pub(crate) fn folded(&self) -> (&str, Option<&str>) {
        let fold = || (self.path.to_ascii_lowercase(), self.arguments.map(str::to_ascii_lowercase));
        let (path, arguments) = self.folded.get_or_init(fold);
        (path, arguments.as_deref())
    }
}
