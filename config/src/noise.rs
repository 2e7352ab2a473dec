//! What browsers and systems ask for of their own accord.
//!
//! Nobody waits for it. Offline it would fill the outgoing queue with requests that mean nothing once
//! the line is back, so it is neither queued nor listed.

use crate::spec::UrlSpec;
use crate::{schema::OfflineOptions, shipped::Shipped, specset::UrlSpecSet};
use wwwoffle_url::CanonicalUrl;

/// The shipped list.
const SHIPPED: Shipped = Shipped { name: "noise.txt", text: include_str!("../data/noise.txt") };

/// Which URLs are noise: those of `noise` in `[offline-options]`, then those of the shipped list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noise(UrlSpecSet);

impl Noise {
    pub(crate) fn of(options: &OfflineOptions) -> Self {
        Self(SHIPPED.after(&options.noise, options.shipped_noise))
    }

    /// The specification that makes `url` noise, if it is.
    ///
    /// ```
    /// use wwwoffle_config::Config;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let config = Config::default();
    /// let local = LocalHost::default();
    /// let check = CanonicalUrl::parse("http://detectportal.firefox.com/success.txt", &local)?;
    /// assert!(config.noise().matches(&check).is_some());
    /// let page = CanonicalUrl::parse("http://www.example.org/", &local)?;
    /// assert!(config.noise().matches(&page).is_none());
    /// # Ok::<(), wwwoffle_url::ParseError>(())
    /// ```
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> Option<&UrlSpec> {
        self.0.matches(url).map(crate::specset::Listed::spec)
    }
}

#[cfg(test)]
mod tests {
    use super::SHIPPED;
    use crate::{Config, specset::UrlSpecSet};
    use std::{collections::HashSet, path::Path};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn each_line_of_the_shipped_list_is_read_and_is_there_once() {
        let mut set = UrlSpecSet::default();
        set.add_lines(SHIPPED.text, &Path::new(SHIPPED.name).into(), |line, kind| {
            panic!("{}:{line}: {kind}", SHIPPED.name)
        });
        let mut seen = HashSet::new();
        for listed in set.iter() {
            let spec = listed.spec().to_string();
            assert!(seen.insert(spec.clone()), "{}: {spec} is there already", listed.place());
        }
    }

    #[test]
    fn noise_is_told_from_pages() {
        let config = Config::default();
        for (url, want) in [
            ("http://detectportal.firefox.com/canonical.html", true),
            ("http://connectivitycheck.gstatic.com/generate_204", true),
            ("http://www.msftconnecttest.com/connecttest.txt", true),
            ("http://captive.apple.com/hotspot-detect.html", true),
            ("http://nmcheck.gnome.org/check_network_status.txt", true),
            ("https://incoming.telemetry.mozilla.org/submit/telemetry/1", true),
            ("https://clients2.google.com/service/update2/json?cup2key=1", true),
            ("https://safebrowsing.googleapis.com/v4/threatListUpdates:fetch?$req=1", true),
            ("https://v10.events.data.microsoft.com/OneCollector/1.0/", true),
            ("http://r10.o.lencr.org/", true),
            ("http://ocsp.digicert.com/", true),
            ("http://wpad/wpad.dat", true),
            ("https://download.mozilla.org/?product=firefox-131.0-complete&os=linux64", true),
            ("https://download.mozilla.org/?product=firefox-latest&os=linux64", false),
            ("https://www.catalog.update.microsoft.com/Search.aspx", false),
            ("https://www.mozilla.org/", false),
            ("https://docs.telemetry.mozilla.org/", false),
            ("https://www.google.com/search?q=telemetry", false),
            ("https://support.apple.com/", false),
            ("https://www.ubuntu.com/", false),
            ("http://www.example.org/favicon.ico", false),
        ] {
            let parsed = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
            assert_eq!(config.noise().matches(&parsed).is_some(), want, "{url}");
        }
    }

    #[test]
    fn a_list_adds_to_the_shipped_one_and_excepts_from_it() {
        let shipped = "http://captive.apple.com/";
        for (options, url, want) in [
            ("", shipped, true),
            ("shipped-noise = false", shipped, false),
            (r#"noise = ["!*://captive.apple.com/*"]"#, shipped, false),
            (r#"noise = ["*://n.test/*"]"#, "http://n.test/", true),
            ("noise = [\"*://n.test/*\"]\nshipped-noise = false", "http://n.test/", true),
            (r#"noise = ["!*://n.test/a", "*://n.test/*"]"#, "http://n.test/a", false),
        ] {
            let text = format!("[offline-options]\n{options}");
            let config = Config::parse(&text, Path::new("test.conf")).unwrap();
            let parsed = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
            assert_eq!(config.noise().matches(&parsed).is_some(), want, "{options} {url}");
        }
    }
}
