//! Which HTTPS passes through a tunnel, unread and not kept.
//!
//! Some of it is nobody's business, and some of it is spoken by programs that take no certificate
//! but their maker's own.

use crate::spec::UrlSpec;
use crate::{schema::Https, shipped::Shipped, specset::UrlSpecSet};
use wwwoffle_url::CanonicalUrl;

/// The shipped list.
const SHIPPED: Shipped = Shipped { name: "tunnel.txt", text: include_str!("../data/tunnel.txt") };

/// Which hosts pass: those of `tunnel` in `[https]`, then those of the shipped list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed(UrlSpecSet);

impl Passed {
    pub(crate) fn of(options: &Https) -> Self {
        Self(SHIPPED.after(&options.tunnel, options.shipped_tunnel))
    }

    /// The specification by which `site` passes, if it does. `site` is the URL of a host's first
    /// page: nothing more is known of what will be asked.
    ///
    /// ```
    /// use wwwoffle_config::Config;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let config = Config::default();
    /// let local = LocalHost::default();
    /// let bank = CanonicalUrl::parse("https://www.paypal.com/", &local)?;
    /// assert!(config.passed().matches(&bank).is_some());
    /// let page = CanonicalUrl::parse("https://www.example.org/", &local)?;
    /// assert!(config.passed().matches(&page).is_none());
    /// # Ok::<(), wwwoffle_url::ParseError>(())
    /// ```
    #[must_use]
    pub fn matches(&self, site: &CanonicalUrl) -> Option<&UrlSpec> {
        self.0.matches(site).map(crate::specset::Listed::spec)
    }
}

#[cfg(test)]
mod tests {
    use super::SHIPPED;
    use crate::{Config, specset::UrlSpecSet};
    use std::{collections::HashSet, path::Path};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn passes(config: &Config, url: &str) -> bool {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        config.passed().matches(&url).is_some()
    }

    #[test]
    fn each_line_of_the_shipped_list_is_read_and_is_there_once() {
        let mut set = UrlSpecSet::default();
        set.add_lines(SHIPPED.text, &Path::new(SHIPPED.name).into(), |line, kind| {
            panic!("{}:{line}: {kind}", SHIPPED.name)
        });
        let mut seen = HashSet::new();
        for listed in set.iter() {
            let spec = listed.spec().to_string();
            assert!(spec.ends_with("/*"), "{}: a host is meant, not a page", listed.place());
            assert!(seen.insert(spec), "{} is there already", listed.place());
        }
        assert!(seen.len() > 50);
    }

    #[test]
    fn what_is_private_or_pinned_is_told_from_the_web() {
        let config = Config::default();
        for (url, want) in [
            ("https://www.paypal.com/", true),
            ("https://paypal.com/", true),
            ("https://api.stripe.com/", true),
            ("https://www.nhs.uk/", true),
            ("https://download.windowsupdate.com/", true),
            ("https://gdmf.apple.com/", true),
            ("https://chat.signal.org/", true),
            ("https://web.whatsapp.com/", true),
            ("https://notpaypal.com/", false),
            ("https://www.example.org/", false),
            ("https://en.wikipedia.org/", false),
            ("https://www.apple.com/", false),
            ("https://mirror.example.org/", false),
        ] {
            assert_eq!(passes(&config, url), want, "{url}");
        }
    }

    #[test]
    fn the_users_list_adds_and_excepts() {
        let read = |text: &str| Config::parse(text, Path::new("w.conf")).unwrap();
        let config =
            read("[https]\ntunnel = [\"!*://www.paypal.com/*\", \"https://my.example:8443/*\"]");
        assert!(!passes(&config, "https://www.paypal.com/"));
        assert!(passes(&config, "https://paypal.com/"));
        assert!(passes(&config, "https://my.example:8443/"));
        assert!(!passes(&config, "https://my.example/"));
        assert!(!passes(&read("[https]\nshipped-tunnel = false"), "https://paypal.com/"));
    }
}
