//! The reload of a client: which of its cache directives the configuration honours.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::COOKIE;
use wwwoffle_config::{Config, UrlParts, UrlRules};

use crate::base::mode::Mode;
use wwwoffle_http::caching::control::RequestControl;

/// Returns the client's cache directives, as far as they are honoured, and the option that
/// overrules them, if it changes whether the request is a reload.
pub(super) fn control(
    config: &Config,
    mode: Mode,
    url: &UrlParts<'_>,
    fields: &HeaderMap,
) -> (RequestControl, Option<&'static str>) {
    let (online, offline) = (&config.online_options, &config.offline_options);
    let honours = |online: &UrlRules<bool>, offline: &UrlRules<bool>| {
        let rules = if mode.may_dial() { online } else { offline };
        *rules.of(url)
    };
    let mut control = RequestControl::of(fields);
    let was_reload = control.is_reload();
    let mut overruled = None;
    if control.no_cache && !honours(&online.cache_control_no_cache, &offline.cache_control_no_cache)
    {
        (control.no_cache, overruled) = (false, Some("cache-control-no-cache"));
    }
    if control.pragma && !honours(&online.pragma_no_cache, &offline.pragma_no_cache) {
        (control.pragma, overruled) = (false, Some("pragma-no-cache"));
    }
    if control.max_age == Some(Duration::ZERO)
        && !honours(&online.cache_control_max_age_0, &offline.cache_control_max_age_0)
    {
        (control.max_age, overruled) = (None, Some("cache-control-max-age-0"));
    }
    if forced(config, mode, url, fields) && !control.is_reload() {
        (control.no_cache, overruled) = (true, Some("cookies-force-refresh"));
    }
    let is_same = was_reload == control.is_reload();
    (control, overruled.filter(|_| !is_same))
}

/// Whether a cookie of the request forces revalidation.
fn forced(config: &Config, mode: Mode, url: &UrlParts<'_>, fields: &HeaderMap) -> bool {
    mode.may_dial()
        && fields.contains_key(COOKIE)
        && *config.online_options.cookies_force_refresh.of(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    #[test]
    fn a_reload_is_heeded_as_the_options_say() {
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let parts = UrlParts::of(&url);
        for (options, name, value, want) in [
            ("", "cache-control", "no-cache", (true, None)),
            ("", "cache-control", "Max-Age = 0", (true, None)),
            ("", "cache-control", "max-age=60", (false, None)),
            ("", "pragma", "no-cache", (true, None)),
            ("", "cookie", "a=b", (false, None)),
            (
                "cache-control-no-cache = false",
                "cache-control",
                "no-cache",
                (false, Some("cache-control-no-cache")),
            ),
            (
                "cache-control-no-cache = false",
                "cache-control",
                "no-cache, max-age=0",
                (true, None),
            ),
            (
                "cache-control-max-age-0 = false",
                "cache-control",
                "max-age=0",
                (false, Some("cache-control-max-age-0")),
            ),
            ("cache-control-max-age-0 = false", "cache-control", "max-age=1", (false, None)),
            ("pragma-no-cache = false", "pragma", "no-cache", (false, Some("pragma-no-cache"))),
            (
                "cookies-force-refresh = true",
                "cookie",
                "a=b",
                (true, Some("cookies-force-refresh")),
            ),
        ] {
            let text = format!("[online-options]\n{options}\n");
            let config = Config::parse(&text, std::path::Path::new("w.conf")).unwrap();
            let fields: HeaderMap =
                [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect();
            let (control, overruled) = control(&config, Mode::Online, &parts, &fields);
            assert_eq!((control.is_reload(), overruled), want, "{options} {name}: {value}");
        }
    }

    #[test]
    fn a_reload_offline_is_heeded_as_the_options_for_offline_say() {
        let url = CanonicalUrl::parse("http://h.example/", &LocalHost::default()).unwrap();
        let parts = UrlParts::of(&url);
        for (option, name, value) in [
            ("cache-control-no-cache", "cache-control", "no-cache"),
            ("cache-control-max-age-0", "cache-control", "max-age=0"),
            ("pragma-no-cache", "pragma", "no-cache"),
        ] {
            let text = format!("[offline-options]\n{option} = false\n");
            let config = Config::parse(&text, std::path::Path::new("w.conf")).unwrap();
            let fields: HeaderMap =
                [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect();
            for (mode, want) in
                [(Mode::Offline, (false, Some(option))), (Mode::Online, (true, None))]
            {
                let (control, overruled) = control(&config, mode, &parts, &fields);
                assert_eq!((control.is_reload(), overruled), want, "{option} {mode}");
            }
        }
    }
}
