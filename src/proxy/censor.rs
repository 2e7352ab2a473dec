//! Fields that the configuration removes or replaces, in requests to origins and in their
//! responses.

use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, HeaderName, HeaderValue, REFERER, USER_AGENT};
use wwwoffle_config::{Config, FieldAction, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// Our `User-Agent`, for requests whose client sent none.
pub(crate) const OUR_USER_AGENT: &str = concat!("wwwoffle/", env!("CARGO_PKG_VERSION"));

/// Changes the fields of a request for `url`, which has no credentials in it.
pub(crate) fn request(config: &Config, url: &CanonicalUrl, fields: &mut HeaderMap) {
    let parts = UrlParts::of(url);
    let options = &config.censor_header;
    if let Some(page) = fields.get(REFERER).and_then(|page| parse(page.as_bytes()))
        && *options.referer_from.of(&UrlParts::of(&page))
    {
        fields.remove(REFERER);
    }
    let own = url.as_str().split('?').next().unwrap_or_default();
    let directory = own.rfind('/').and_then(|slash| own.get(..=slash));
    let referer = match (*options.referer_self_dir.of(&parts), *options.referer_self.of(&parts)) {
        (true, _) => directory,
        (false, true) => Some(url.as_str()),
        (false, false) => None,
    };
    if let Some(referer) = referer.and_then(|referer| HeaderValue::from_str(referer).ok()) {
        fields.insert(REFERER, referer);
    }
    listed(config, &parts, fields);
    if *options.force_user_agent.of(&parts) && !fields.contains_key(USER_AGENT) {
        fields.insert(USER_AGENT, HeaderValue::from_static(OUR_USER_AGENT));
    }
    let is_plain = !*config.online_options.request_compressed_data.of(&parts);
    if is_plain || config.dont_compress.file_ext.matches_path(url.path()) {
        // Without the field an origin may choose any coding (RFC 9110 §12.5.3).
        fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
}

/// Changes the fields of a response to a request for `url`.
pub(crate) fn answer(config: &Config, url: &CanonicalUrl, fields: &mut HeaderMap) {
    listed(config, &UrlParts::of(url), fields);
}

fn listed(config: &Config, url: &UrlParts<'_>, fields: &mut HeaderMap) {
    for (name, censor) in config.censor_header.headers.of(url) {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
        match censor {
            FieldAction::Leave => {}
            FieldAction::Remove => {
                fields.remove(name);
            }
            FieldAction::Replace(text) => {
                if let hyper::header::Entry::Occupied(mut field) = fields.entry(name)
                    && let Ok(value) = HeaderValue::from_str(text)
                {
                    field.insert(value);
                }
            }
        }
    }
}

fn parse(url: &[u8]) -> Option<CanonicalUrl> {
    CanonicalUrl::parse_bytes(url, &LocalHost::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const CONFIG: &str = r#"
        [dont-compress]
        file-ext = [".tgz"]
        [[online-options.for]]
        url = "*://plain.test/*"
        request-compressed-data = false
        [censor-header]
        headers = { Cookie = true, From = "nobody@example.org" }
        [[censor-header.for]]
        url = "*://self.test/*"
        referer-self = true
        headers = { Cookie = false }
        [[censor-header.for]]
        url = "*://dir.test/*"
        referer-self-dir = true
        [[censor-header.for]]
        url = "*://secret.test/*"
        referer-from = true
        [[censor-header.for]]
        url = "*://named.test/*"
        force-user-agent = true
    "#;

    fn lines(fields: &HeaderMap) -> String {
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        let mut lines: Vec<_> = fields.iter().map(line).collect();
        lines.sort();
        lines.join(" | ")
    }

    #[test]
    fn request_fields_are_changed_as_the_table_says() {
        let config = Config::parse(CONFIG, Path::new("w.conf")).unwrap();
        let ours = format!("user-agent: {OUR_USER_AGENT}");
        for (url, name, value, want) in [
            ("http://a.test/", "cookie", "a=b", ""),
            (
                "http://self.test/p?q",
                "cookie",
                "a=b",
                "cookie: a=b | referer: http://self.test/p?q",
            ),
            ("http://a.test/", "from", "me", "from: nobody@example.org"),
            ("http://a.test/", "accept", "*/*", "accept: */*"),
            ("http://a.test/", "referer", "http://x.test/", "referer: http://x.test/"),
            ("http://self.test/", "referer", "http://x.test/", "referer: http://self.test/"),
            (
                "http://dir.test/a/b?c/d",
                "from",
                "x",
                "from: nobody@example.org | referer: http://dir.test/a/",
            ),
            ("http://a.test/", "referer", "https://secret.test/x", ""),
            ("http://secret.test/", "referer", "http://x.test/", "referer: http://x.test/"),
            ("http://named.test/", "user-agent", "x", "user-agent: x"),
            ("http://named.test/", "cookie", "x", &ours),
            ("http://a.test/x.TGZ?y", "accept-encoding", "br", "accept-encoding: identity"),
            ("http://a.test/x?y.tgz", "accept-encoding", "br", "accept-encoding: br"),
            ("http://plain.test/", "accept-encoding", "br", "accept-encoding: identity"),
        ] {
            let parsed = parse(url.as_bytes()).unwrap();
            let name: HeaderName = name.parse().unwrap();
            let mut fields = [(name, value.parse().unwrap())].into_iter().collect();
            request(&config, &parsed, &mut fields);
            assert_eq!(lines(&fields), want, "{url}: {value}");
            // A queued request is changed again when it is sent, so a second change must have no
            // effect.
            request(&config, &parsed, &mut fields);
            assert_eq!(lines(&fields), want, "{url}: {value}, again");
        }
    }
}
