//! The configured rules for a URL and its client, which apply before any lookup.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{HeaderName, REFERER};
use wwwoffle_config::{
    BlockQuery, Config, EnvironmentParents, Location, PageRelation, ParentAddress, ParentStep,
    RequestPurpose, UrlParts,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::intent::SEC_FETCH_DEST;
use super::opener::FETCH_SITE;
use super::protocols;
use crate::base::basic::Login;
use crate::base::context::BaseContext;
use crate::net::upstream::{ParentRoute, Via};
use wwwoffle_http::caching::vary::VaryRules;

/// The result of the URL rules for a request: it depends on the URL and the client, not on stored
/// copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// No special rule applies: the mode and the stored copy decide. Contains the rule for storing
    /// responses.
    Usual(StoragePolicy),
    /// The URL is replaced by another one: `[alias]`.
    Moved {
        /// The new URL.
        to: String,
        /// The configuration line of the alias.
        by: Location,
    },
    /// The URL is blocked: `[dont-get]`.
    Blocked {
        /// The configuration line of the rule.
        by: Location,
        /// The URL or path of ours to which the client is redirected. `None` if there is no
        /// replacement.
        replacement: Option<String>,
    },
    /// The port of the URL belongs to another protocol.
    OtherProtocol,
}

/// The rule for storing the responses of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoragePolicy {
    /// Responses are stored.
    #[default]
    Usual,
    /// Never stored: `[dont-cache]`.
    NeverKept,
    /// Never stored, and the origin is asked in every mode: `[local-net]`.
    Nearby,
}

/// The context in which a browser sends a request, for the rules of content blockers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterContext {
    page: Option<CanonicalUrl>,
    site: Option<PageRelation>,
    purpose: RequestPurpose,
}

impl FilterContext {
    /// Reads the context from the fields of a request.
    #[must_use]
    pub fn of(fields: &HeaderMap, local: &LocalHost) -> Self {
        let text = |name: &HeaderName| fields.get(name).and_then(|value| value.to_str().ok());
        Self {
            page: page(fields, local),
            site: text(&FETCH_SITE).and_then(PageRelation::parse),
            purpose: text(&SEC_FETCH_DEST).map(RequestPurpose::parse).unwrap_or_default(),
        }
    }

    /// The context of a recorded request. Its site relation is not used: after the browser declared
    /// it, a redirect may have led to another site. `page` is the page that sent the request;
    /// `None` if only `Referer`, which may have been censored, names the page.
    #[must_use]
    pub fn of_recorded(fields: &HeaderMap, page: Option<&str>, local: &LocalHost) -> Self {
        let mut filter_context = Self { site: None, ..Self::of(fields, local) };
        if let Some(page) = page.and_then(|page| CanonicalUrl::parse(page, local).ok()) {
            filter_context.page = Some(page);
        }
        filter_context
    }

    fn block_query<'a>(&'a self, url: &'a UrlParts<'a>) -> BlockQuery<'a> {
        BlockQuery { url, page: self.page.as_ref(), site: self.site, purpose: self.purpose }
    }

    /// Whether a rule blocks `url` in this context. An invalid URL is not blocked.
    fn is_refused(&self, config: &Config, url: &str) -> bool {
        let Ok(url) = CanonicalUrl::parse(url, &LocalHost::default()) else { return false };
        let parts = UrlParts::of(&url);
        // After a redirect the page may be of another site than the URL.
        let sites = [self.site, Some(PageRelation::Cross)];
        let blocks =
            |site| config.dont_get.urls.blocks(&BlockQuery { site, ..self.block_query(&parts) });
        !url.is_local() && sites.into_iter().any(|site| blocks(site).is_some())
    }
}

/// The page in the `Referer` of a request, if it is a page of the web.
#[must_use]
pub fn page(fields: &HeaderMap, local: &LocalHost) -> Option<CanonicalUrl> {
    let page = CanonicalUrl::parse_bytes(fields.get(REFERER)?.as_bytes(), local).ok()?;
    (!page.is_local()).then(|| page.without_credentials())
}

/// Applies the URL rules to `url`. Aliases come first, so that blocks apply to the new URL. Blocks
/// also apply to hosts of the local network.
#[must_use]
pub fn determine_ruling(
    config: &Config,
    url: &CanonicalUrl,
    filter_context: &FilterContext,
) -> Ruling {
    let parts = UrlParts::of(url);
    if let Some((to, alias)) = config.alias.urls.apply(&parts) {
        return Ruling::Moved { to, by: alias.location().clone() };
    }
    if let Some(by) = config.dont_get.urls.blocks(&filter_context.block_query(&parts)) {
        let replacement = config.dont_get.replacement.of(&parts).url();
        // A blocked replacement would cause a redirect loop.
        let replacement =
            replacement.filter(|with| !filter_context.is_refused(config, with)).map(str::to_owned);
        return Ruling::Blocked { by: by.location().clone(), replacement };
    }
    if !protocols::allows_port(config, url, &parts) {
        return Ruling::OtherProtocol;
    }
    Ruling::Usual(storage_policy(config, &parts, url.host()))
}

fn storage_policy(config: &Config, parts: &UrlParts<'_>, host: &str) -> StoragePolicy {
    if config.local_net.hosts.contains(host) {
        StoragePolicy::Nearby
    } else if config.dont_cache.urls.matches_parts(parts).is_some() {
        StoragePolicy::NeverKept
    } else {
        StoragePolicy::Usual
    }
}

/// The parent proxy for requests to `url`, with the ways to try after it. `None` if the origin is
/// connected to directly.
#[must_use]
pub fn parent(base: &BaseContext, config: &Config, url: &CanonicalUrl) -> Option<Arc<Via>> {
    find_parent(config, &base.live.environment, url, &base.pseudonym)
}

/// The parent proxy for `url`: that of the options, or else that of the `environment`. Hosts of the
/// local network and those of `except` are connected to directly. `pseudonym` is our name in `Via`.
fn find_parent(
    config: &Config,
    environment: &EnvironmentParents,
    url: &CanonicalUrl,
    pseudonym: &str,
) -> Option<Arc<Via>> {
    let (parts, options) = (UrlParts::of(url), &config.proxy);
    let hosts = [&config.local_net.hosts, &options.except];
    if hosts.iter().any(|list| list.contains(url.host())) {
        return None;
    }
    let via = |address: &ParentAddress, login: Option<Login>| {
        let ParentAddress { protocol, host, port } = address.clone();
        let (pseudonym, route) = (pseudonym.to_owned(), ParentRoute::default());
        Via { protocol, host, port, login, pseudonym, route }
    };
    let proxy = if url.protocol() == "https" { &options.ssl } else { &options.proxy };
    let steps = proxy.of(&parts).steps();
    if steps.is_empty() {
        let found = environment.of(url.protocol(), url.host(), url.port_or_default())?;
        let login = found.login.clone().map(|(user, password)| Login { user, password });
        return Some(Arc::new(via(&found.address, login)));
    }
    let login = options.auth_username.of(&parts).as_str().map(|user| {
        let password = options.auth_password.of(&parts).reveal().unwrap_or_default();
        Login { user: user.into(), password: password.into() }
    });
    let ways = steps.iter().map(|step| match step {
        ParentStep::Parent(address) => Some(Arc::new(via(address, login.clone()))),
        ParentStep::Direct => None,
    });
    ParentRoute::first(ways.collect())
}

/// The configured exceptions from `Vary` for a URL.
#[must_use]
pub fn vary_rules(config: &Config, url: &UrlParts<'_>) -> VaryRules {
    let options = &config.offline_options;
    let (ignored, added) = (options.near_headers.of(url), options.match_headers.of(url));
    VaryRules { ignored: ignored.clone(), added: added.clone() }
}

/// Whether a URL is blocked for every client. An invalid URL is not blocked.
#[must_use]
pub fn is_blocked(config: &Config, url: &str) -> bool {
    let url = CanonicalUrl::parse(url, &LocalHost::default());
    url.is_ok_and(|url| !url.is_local() && config.dont_get.urls.matches(&url).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_config::ProxyVariables;

    #[test]
    fn each_url_has_its_parent_proxies() {
        let text = "[proxy]\nproxy = \"p.test:3128\"\nauth-username = \"u\"\nauth-password = \"p\"\n\
                    except = [\"*.lan\", \"10.0.0.0/8\"]\n\
                    [[proxy.for]]\nurl = \"*://direct.test/*\"\nproxy = \"direct\"\nssl = \"direct\"\n\
                    [[proxy.for]]\nurl = \"*://s.test/*\"\nssl = \"[::1]:8080\"\nauth-username = \"\"\n\
                    [[proxy.for]]\nurl = \"*://many.test/*\"\nproxy = \"a.test:1, socks5://b.test:2,direct\"\n\
                    [local-net]\nhosts = [\"near.test\"]";
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let variables = ProxyVariables {
            all: Some("socks5://e:s@env.test:9050".into()),
            exceptions: Some("no.test".into()),
            ..ProxyVariables::default()
        };
        let environment = EnvironmentParents::parse(&variables).unwrap();
        for (url, want) in [
            ("http://a.test/", "p.test:3128 u:p"),
            ("https://a.test/", "socks5://env.test:9050 e:s"),
            ("https://no.test/", ""),
            ("http://no.test/", "p.test:3128 u:p"),
            ("http://direct.test/", ""),
            ("https://direct.test/", ""),
            ("http://near.test/", ""),
            ("https://nas.lan/", ""),
            ("http://10.1.2.3/", ""),
            ("https://s.test/", "[::1]:8080 "),
            ("http://s.test/", "p.test:3128 "),
            ("http://many.test/", "a.test:1 u:p, socks5://b.test:2 u:p, direct"),
        ] {
            let parsed = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
            let first = find_parent(&config, &environment, &parsed, "w");
            let ways: Vec<String> = first
                .iter()
                .flat_map(Via::ways)
                .map(|way| {
                    let Some(via) = way else { return "direct".to_owned() };
                    let login = via.login.as_ref().map_or(String::new(), |login| {
                        let [user, password] = [&login.user, &login.password]
                            .map(|text| String::from_utf8_lossy(text));
                        format!("{user}:{password}")
                    });
                    format!("{via} {login}")
                })
                .collect();
            assert_eq!(ways.join(", "), want, "{url}");
        }
    }

    /// The sections of the table: a configuration and its URLs, then a configuration and its URLs
    /// with their contexts.
    fn table() -> [&'static str; 4] {
        let parts: Vec<_> = include_str!("rules.txt").split("\n---\n").collect();
        parts.try_into().unwrap()
    }

    fn described(ruling: Ruling) -> String {
        match ruling {
            Ruling::Usual(standing) => format!("{standing:?}"),
            Ruling::Moved { to, by } => format!("Moved {to} {by}"),
            Ruling::OtherProtocol => "OtherProtocol".to_owned(),
            Ruling::Blocked { by, replacement: None } => format!("Blocked {by}"),
            Ruling::Blocked { by, replacement: Some(with) } => format!("Blocked {by} {with}"),
        }
    }

    /// Rows `url referer site dest -> result`, under the second configuration of `rules.txt`. `-`
    /// is a missing field.
    #[cfg(feature = "easylist")]
    #[test]
    fn each_requester_has_its_ruling() {
        let [.., text, rows] = table();
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let mut wrong = Vec::new();
        for row in rows.lines() {
            let Some((given, want)) = row.split_once("->") else { continue };
            let words: Vec<_> = given.split_whitespace().collect();
            let names = [REFERER, FETCH_SITE, SEC_FETCH_DEST];
            let fields = std::iter::zip(names, &words[1..])
                .filter(|(_, value)| **value != "-")
                .map(|(name, value)| (name, value.parse().unwrap()))
                .collect();
            let url = CanonicalUrl::parse(words[0], &LocalHost::default()).unwrap();
            let got = described(determine_ruling(
                &config,
                &url,
                &FilterContext::of(&fields, &LocalHost::default()),
            ));
            if got != want.trim() {
                wrong.push(format!("{row}\n  got {got}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// A browser declares the relation of its page to the requested URL, not to the target of a
    /// redirect.
    #[test]
    fn a_redirect_target_does_not_inherit_the_site_relation() {
        let local = LocalHost::default();
        let fields = [(REFERER, "http://censored.test/"), (FETCH_SITE, "same-origin")];
        let fields = fields.map(|(name, value)| (name, value.parse().unwrap()));
        let fields = fields.into_iter().collect();
        for (page, want) in [(None, "censored.test"), (Some("http://page.test/x"), "page.test")] {
            let filter_context = FilterContext::of_recorded(&fields, page, &local);
            assert_eq!(filter_context.page.as_ref().map(CanonicalUrl::host), Some(want));
            assert_eq!(filter_context.site, None);
        }
    }

    /// Rows `url -> result`, under the first configuration of `rules.txt`.
    #[test]
    fn each_url_has_its_ruling() {
        let [text, rows, ..] = table();
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let mut wrong = Vec::new();
        for row in rows.lines() {
            let Some((url, want)) = row.split_once("->") else { continue };
            let url = CanonicalUrl::parse(url.trim(), &LocalHost::default()).unwrap();
            let got = described(determine_ruling(&config, &url, &FilterContext::default()));
            if got != want.trim() {
                wrong.push(format!("{row}\n  got {got}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
