//! The host that a client requested with CONNECT, and how its connection is handled.

use std::net::SocketAddr;
use std::sync::Arc;

use wwwoffle_config::Config;
use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};

/// The host and port of an HTTPS site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsSite {
    url: CanonicalUrl,
    port: u16,
}

impl HttpsSite {
    /// The site with this host (in the client's spelling) and this port.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the host is invalid.
    pub fn of(host: &str, port: u16, local: &LocalHost) -> Result<Self, ParseError> {
        Ok(Self { url: CanonicalUrl::parse(&format!("https://{host}:{port}/"), local)?, port })
    }

    /// The URL of its root page.
    #[must_use]
    pub fn url(&self) -> &CanonicalUrl {
        &self.url
    }

    /// The host: a name, or an address; IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host()
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether `url` is a resource of this site.
    #[must_use]
    pub fn has(&self, url: &CanonicalUrl) -> bool {
        url.protocol() == "https"
            && url.host() == self.host()
            && url.port_or_default() == Some(self.port)
    }
}

/// The port or connection through which a client has connected.
#[derive(Clone, Debug)]
pub enum Door {
    /// Our port.
    Plain,
    /// Our port, over TLS.
    Secured,
    /// A port for intercepted connections. The client connected to this address of an origin.
    Redirected(SocketAddr),
    /// A connection that the client opened to this site with CONNECT, and that we intercept.
    Site(Arc<HttpsSite>),
}

/// The handling of a connection to a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPlan {
    /// We answer the requests ourselves, and store the responses.
    Intercept,
    /// The target of the connection is this proxy itself.
    Ourselves,
    /// The connection is tunnelled.
    Tunnel(TunnelReason),
    /// The connection is refused.
    Refuse,
}

/// The reason why a connection is tunnelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelReason {
    /// Interception is off.
    Off,
    /// The site is on the list of tunnelled sites.
    Listed,
    /// Our certificate authority is limited to other domains.
    Outside,
    /// This client has rejected our certificate for this host.
    Rejected,
}

/// Decides how to handle a connection to `site`. `cannot` is the reason if the connection cannot be
/// intercepted for this client.
#[must_use]
pub fn plan(config: &Config, site: &HttpsSite, cannot: Option<TunnelReason>) -> ConnectionPlan {
    if config.https.refuse.matches(site.url()).is_some() {
        ConnectionPlan::Refuse
    } else if site.url().is_local() {
        ConnectionPlan::Ourselves
    } else if !config.https.intercept {
        ConnectionPlan::Tunnel(TunnelReason::Off)
    } else if config.tunnels().matches(site.url()).is_some() {
        ConnectionPlan::Tunnel(TunnelReason::Listed)
    } else if let Some(why) = cannot {
        ConnectionPlan::Tunnel(why)
    } else {
        ConnectionPlan::Intercept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn site(host: &str, port: u16) -> HttpsSite {
        HttpsSite::of(host, port, &LocalHost::default()).unwrap()
    }

    #[test]
    fn a_site_contains_the_urls_of_its_host_and_port() {
        let has = |site: &HttpsSite, url| {
            site.has(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
        };
        let plain = site("WWW.Bücher.example", 443);
        assert_eq!(plain.host(), "www.xn--bcher-kva.example");
        assert!(has(&plain, "https://www.bücher.example/x"));
        assert!(has(&plain, "https://www.bücher.example:443/x"));
        for url in [
            "https://bücher.example/",
            "https://www.bücher.example:8443/",
            "http://www.bücher.example/",
            "http://www.bücher.example:443/",
        ] {
            assert!(!has(&plain, url), "{url}");
        }
        let other = site("[::2]", 8443);
        assert_eq!((other.host(), other.port()), ("[::2]", 8443));
        assert!(has(&other, "https://[::2]:8443/"));
        assert!(!has(&other, "https://[::2]/"));
        assert!(HttpsSite::of("a b", 443, &LocalHost::default()).is_err());
    }

    #[test]
    fn each_connection_has_its_plan_and_reason() {
        let own = "[https]\ntunnel = [\"*://t.example/*\", \"!*://paypal.com/*\"]\n\
                   refuse = [\"*://r.example/*\", \"https://p.example:8443/*\"]";
        let off = "[https]\nintercept = false\nrefuse = [\"*://r.example/*\"]";
        for (text, host, port, cannot, want) in [
            ("", "www.example.org", 443, None, ConnectionPlan::Intercept),
            ("", "www.example.org", 9443, None, ConnectionPlan::Intercept),
            (
                "",
                "www.example.org",
                443,
                Some(TunnelReason::Rejected),
                ConnectionPlan::Tunnel(TunnelReason::Rejected),
            ),
            (
                "",
                "www.example.org",
                443,
                Some(TunnelReason::Outside),
                ConnectionPlan::Tunnel(TunnelReason::Outside),
            ),
            (
                "",
                "PayPal.com",
                443,
                Some(TunnelReason::Rejected),
                ConnectionPlan::Tunnel(TunnelReason::Listed),
            ),
            ("", "localhost", 8080, None, ConnectionPlan::Ourselves),
            (own, "t.example", 443, None, ConnectionPlan::Tunnel(TunnelReason::Listed)),
            (own, "paypal.com", 443, None, ConnectionPlan::Intercept),
            (own, "r.example", 443, Some(TunnelReason::Rejected), ConnectionPlan::Refuse),
            (own, "p.example", 8443, None, ConnectionPlan::Refuse),
            (own, "p.example", 443, None, ConnectionPlan::Intercept),
            (off, "www.example.org", 443, None, ConnectionPlan::Tunnel(TunnelReason::Off)),
            (off, "r.example", 443, None, ConnectionPlan::Refuse),
        ] {
            let config = Config::parse(text, Path::new("w.conf")).unwrap();
            assert_eq!(plan(&config, &site(host, port), cannot), want, "{text} {host}:{port}");
        }
    }
}
