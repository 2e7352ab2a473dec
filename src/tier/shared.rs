//! Which entries may leave this node, and which may be looked up in the tier.

use std::net::IpAddr;

use wwwoffle_config::{Config, SizeLimit, UrlParts};
use wwwoffle_spool::{Entry, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost, is_this_machine};

/// Whether entries of this URL belong in the tier: the configuration shares it, and other nodes
/// mean the same page by it.
pub(super) fn is_shared_url(config: &Config, url: &CanonicalUrl) -> bool {
    matches!(url.protocol(), "http" | "https" | "ftp")
        && url.user().is_none()
        // The response to a form belongs to the person who sent it.
        && url.form_target().is_none()
        && !is_inner_host(url.host())
        && *config.tier.share.of(&UrlParts::of(url))
}

/// The URL of a place that may be shared, whatever its entry: it has no owner and no login, and its
/// key follows from the URL alone. So the key depends on no credential.
pub(super) fn url_of(place: &Place) -> Option<CanonicalUrl> {
    let is_public = place.owner().is_none() && place.login().is_none() && place.follows_from_url();
    let url = is_public.then(|| CanonicalUrl::parse(place.url(), &LocalHost::default()))?.ok()?;
    (url.key() == place.key()).then_some(url)
}

/// Whether an entry may leave this node.
pub(super) fn is_shared_entry(config: &Config, entry: &Entry) -> bool {
    let fits = match config.tier.max_body {
        SizeLimit::At(most) => entry.body_len() <= most.bytes(),
        SizeLimit::None => true,
    };
    let is_plain = !entry.place().variant_text().contains(char::is_control);
    fits
        && is_plain
        // Errors of origins pass, and entries that a form may have changed wait for the origin.
        && entry.status() < 500
        && entry.invalid_since().is_none()
        && url_of(entry.place()).is_some_and(|url| is_shared_url(config, &url))
}

/// Whether a host names another machine at each site: a private address, or a name without a dot.
fn is_inner_host(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    match literal.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(v4)) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified()
        }
        Ok(IpAddr::V6(v6)) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
        Err(_) => {
            let inner = [".local", ".localhost", ".internal", ".home.arpa", ".lan"];
            !host.contains('.')
                || is_this_machine(host)
                || inner.iter().any(|end| host.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_mean_the_same_everywhere_are_shared() {
        let config = Config::default();
        let shared = |url: &str| {
            is_shared_url(&config, &CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
        };
        for url in ["http://h.example/", "https://h.example:8443/x?y", "http://192.0.2.1/"] {
            assert!(shared(url), "{url}");
        }
        for url in [
            "http://localhost/",
            "http://intranet/",
            "http://10.1.2.3/",
            "http://[fd00::1]/",
            "http://printer.local/",
            "http://192.168.1.1/",
            "http://127.0.0.1:8080/",
            "http://u:p@h.example/",
            "http://[::ffff:10.0.0.1]/",
            "finger://h.example/",
            "http://h.example/x?!POST:0123456789abcdef0123456789abcdef",
        ] {
            assert!(!shared(url), "{url}");
        }
    }

    #[test]
    fn a_place_of_one_person_has_no_shared_url() {
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        assert!(url_of(&Place::of(&url)).is_some());
        assert!(url_of(&Place::of(&url).owned_by("local")).is_none());
        assert!(url_of(&Place::variant(&url, "secret")).is_none());
        let login = Place::of(&url).with_variant(&Place::for_login("ada", ""));
        assert!(url_of(&login).is_none());
    }
}
