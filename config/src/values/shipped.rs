//! Lists that are shipped with the program, and the entries that a user adds to them.

use crate::pattern::set::UrlSpecSet;
use std::{path::Path, sync::Arc};

/// URLs that browsers and systems request on their own.
///
/// No person waits for the responses. While offline, these requests would fill the queue, and
/// fetching them later would be pointless. So they are neither queued nor listed.
pub(crate) const NOISE: ShippedList =
    ShippedList { name: "noise.txt", text: include_str!("../../data/noise.txt") };

/// Hosts whose HTTPS passes through a tunnel and is not stored: the content is private, or the
/// program that requests it accepts only the certificate of its vendor.
pub(crate) const TUNNELS: ShippedList =
    ShippedList { name: "tunnel.txt", text: include_str!("../../data/tunnel.txt") };

/// A compiled-in list of URL-SPECIFICATIONs.
pub(crate) struct ShippedList {
    /// The file name of the list, for locations.
    pub(crate) name: &'static str,
    /// The text: one specification on each line, with comments.
    pub(crate) text: &'static str,
}

impl ShippedList {
    /// Appends this list to the user's list, if `used`. The user's list comes first, so that a `!`
    /// in it makes an exception.
    ///
    /// An unreadable line of this list is skipped here, and fails a test.
    pub(crate) fn after(&self, users: &UrlSpecSet, used: bool) -> UrlSpecSet {
        let mut set = users.clone();
        if used {
            let file: Arc<Path> = Path::new(self.name).into();
            let mut shipped = UrlSpecSet::default();
            shipped.add_lines(self.text, &file, |_, _| ());
            set.add_all(&shipped);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::{NOISE, ShippedList, TUNNELS};
    use crate::{Config, pattern::set::UrlSpecSet};
    use std::{collections::HashSet, path::Path};
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    fn passes(config: &Config, url: &str) -> bool {
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        config.tunnels().matches(&url).is_some()
    }

    fn read(list: &ShippedList) -> UrlSpecSet {
        let mut set = UrlSpecSet::default();
        set.add_lines(list.text, &Path::new(list.name).into(), |line, kind| {
            panic!("{}:{line}: {kind}", list.name)
        });
        set
    }

    #[test]
    fn each_line_of_a_shipped_list_is_valid_and_unique() {
        for list in [NOISE, TUNNELS] {
            let set = read(&list);
            let mut seen = HashSet::new();
            for listed in set.iter() {
                let spec = listed.spec().to_string();
                assert!(seen.insert(spec), "{}: it is there already", listed.location());
            }
        }
    }

    #[test]
    fn each_tunnel_is_a_host() {
        let set = read(&TUNNELS);
        assert!(set.len() > 50);
        for listed in set.iter() {
            let spec = listed.spec().to_string();
            assert!(spec.ends_with("/*"), "{}: a host is meant, not a page", listed.location());
        }
    }

    #[test]
    fn private_and_pinned_hosts_are_tunnelled() {
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

    #[test]
    fn noise_is_distinguished_from_pages() {
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
