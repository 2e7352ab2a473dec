//! What the configuration says of a URL before anything else is looked at.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderValue;
use wwwoffle_config::{Config, Place, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::upstream::Via;

/// What becomes of a request by the URL alone, whatever is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// What follows from the mode and from what is kept; with what may be kept.
    Usual(Standing),
    /// It has become another URL: `[alias]`.
    Moved {
        /// The other one.
        to: String,
        /// The alias.
        by: Place,
    },
    /// It is never got: `[dont-get]`.
    Blocked {
        /// The specification.
        by: Place,
        /// What is served in its place, a URL or a path of ours.
        replacement: Option<String>,
    },
}

/// Whether answers are kept at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// They are.
    #[default]
    Usual,
    /// Never: `[dont-cache]`.
    NeverKept,
    /// Never, and it is asked in every mode: `[local-net]`.
    Nearby,
}

/// Finds out what is said of `url`. Aliases come first, so that what a URL has become is judged and
/// not what it was; then what is blocked, which counts for machines nearby too.
#[must_use]
pub fn ruled(config: &Config, url: &CanonicalUrl) -> Ruling {
    let parts = UrlParts::of(url);
    if let Some((to, alias)) = config.alias.urls.apply(&parts) {
        return Ruling::Moved { to, by: alias.place().clone() };
    }
    if let Some(listed) = config.dont_get.urls.matches_parts(&parts) {
        let replacement = config.dont_get.replacement.of(&parts).url();
        // One that is blocked itself would lead a browser in a circle.
        let replacement = replacement.filter(|with| !is_blocked(config, with)).map(str::to_owned);
        return Ruling::Blocked { by: listed.place().clone(), replacement };
    }
    Ruling::Usual(standing(config, &parts, url.host()))
}

fn standing(config: &Config, parts: &UrlParts<'_>, host: &str) -> Standing {
    if config.local_net.hosts.contains(host) {
        Standing::Nearby
    } else if config.dont_cache.urls.matches_parts(parts).is_some() {
        Standing::NeverKept
    } else {
        Standing::Usual
    }
}

/// The proxy that requests for `url` go through, under our own `pseudonym`; none for hosts nearby.
#[must_use]
pub fn parent(config: &Config, url: &CanonicalUrl, pseudonym: &str) -> Option<Arc<Via>> {
    let (parts, options) = (UrlParts::of(url), &config.proxy);
    let proxy = if url.protocol() == "https" { &options.ssl } else { &options.proxy };
    let (host, port) = proxy.of(&parts).host_port()?;
    if config.local_net.hosts.contains(url.host()) {
        return None;
    }
    let login = options.auth_username.of(&parts).as_str().and_then(|user| {
        let password = options.auth_password.of(&parts).reveal().unwrap_or_default();
        let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    let (host, pseudonym) = (host.to_owned(), pseudonym.to_owned());
    Some(Arc::new(Via { host, port, login, pseudonym }))
}

/// Whether a URL is one that is never got. What is no URL is none.
#[must_use]
pub fn is_blocked(config: &Config, url: &str) -> bool {
    let url = CanonicalUrl::parse(url, &LocalHost::default());
    url.is_ok_and(|url| !url.is_local() && config.dont_get.urls.matches(&url).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_url_has_its_parent_proxy() {
        let text = "[proxy]\nproxy = \"p.test:3128\"\nauth-username = \"u\"\nauth-password = \"p\"\n\
                    [[proxy.for]]\nurl = \"*://direct.test/*\"\nproxy = \"\"\n\
                    [[proxy.for]]\nurl = \"*://s.test/*\"\nssl = \"[::1]:8080\"\nauth-username = \"\"\n\
                    [local-net]\nhosts = [\"near.test\"]";
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        for (url, want) in [
            ("http://a.test/", "p.test:3128 Basic dTpw"),
            ("https://a.test/", ""),
            ("http://direct.test/", ""),
            ("http://near.test/", ""),
            ("https://s.test/", "[::1]:8080 "),
            ("http://s.test/", "p.test:3128 "),
        ] {
            let parsed = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
            let got = parent(&config, &parsed, "w").map_or(String::new(), |via| {
                let login = via.login.as_ref().map_or("", |login| login.to_str().unwrap());
                format!("{via} {login}")
            });
            assert_eq!(got, want, "{url}");
        }
    }

    /// `url -> ruling`, each under the configuration of `rules.txt`.
    #[test]
    fn each_url_has_its_ruling() {
        let (text, rows) = include_str!("rules.txt").split_once("\n---\n").unwrap();
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let mut wrong = Vec::new();
        for row in rows.lines() {
            let Some((url, want)) = row.split_once("->") else { continue };
            let url = CanonicalUrl::parse(url.trim(), &LocalHost::default()).unwrap();
            let got = match ruled(&config, &url) {
                Ruling::Usual(standing) => format!("{standing:?}"),
                Ruling::Moved { to, by } => format!("Moved {to} {by}"),
                Ruling::Blocked { by, replacement: None } => format!("Blocked {by}"),
                Ruling::Blocked { by, replacement: Some(with) } => format!("Blocked {by} {with}"),
            };
            if got != want.trim() {
                wrong.push(format!("{row}\n  got {got}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
