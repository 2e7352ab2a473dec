//! Ports of other protocols, and unregistered methods. Requests to these ports or with these
//! methods are refused, because a client could use them to speak to a mail server through the
//! proxy.

use hyper::Method;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::CanonicalUrl;

/// The bad ports of the Fetch standard (§ "Port blocking"), to which browsers do not connect.
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// The methods of the IANA registry (RFC 9110 §16.1.1), including those of `WebDAV`, without `PRI`,
/// which is never a request.
const METHODS: [&str; 39] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// Whether requests may go to the port of `url`.
pub(super) fn allows_port(config: &Config, url: &CanonicalUrl, parts: &UrlParts<'_>) -> bool {
    let is_allowed = |port| config.dont_get.allowed_ports.of(parts).contains(port);
    // A finger request is one line that the requester chooses. A server of another protocol could
    // execute it.
    let is_bad = |port: u16| url.protocol() == "finger" || BAD_PORTS.binary_search(&port).is_ok();
    // The usual port of the scheme itself is allowed: FTP has a bad port.
    url.port().is_none_or(|port| !is_bad(port) || is_allowed(port))
}

/// Whether a request to `url` may have the method.
pub(super) fn allows_method(config: &Config, url: &CanonicalUrl, method: &Method) -> bool {
    METHODS.contains(&method.as_str())
        || config.dont_get.allowed_methods.of(&UrlParts::of(url)).contains(method.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_url::LocalHost;

    const CONFIG: &str = "[[dont-get.for]]\nurl = \"*://mail.test/*\"\nallowed-ports = [\"25\", 993]\n\
                          allowed-methods = [\"PURGE\"]\n";

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    #[test]
    fn ports_are_in_order_for_the_search() {
        assert!(BAD_PORTS.is_sorted());
    }

    #[test]
    fn ports_of_other_protocols_are_refused_unless_a_rule_allows_them() {
        let config = Config::parse(CONFIG, Path::new("w.conf")).unwrap();
        for (text, want) in [
            ("http://a.test/", true),
            ("https://a.test/", true),
            ("http://a.test:8080/", true),
            ("http://a.test:3128/", true),
            ("http://a.test:25/", false),
            ("https://a.test:993/", false),
            ("http://a.test:6667/", false),
            ("http://a.test:10080/", false),
            ("http://a.test:21/", false),
            ("ftp://a.test/", true),
            ("ftp://a.test:21/", true),
            ("ftp://a.test:25/", false),
            ("finger://a.test/", true),
            ("finger://a.test:21/", false),
            ("finger://a.test:79/", true),
            ("finger://a.test:6379/", false),
            ("http://mail.test:25/x", true),
            ("https://mail.test:993/", true),
            ("http://mail.test:110/", false),
        ] {
            let url = url(text);
            assert_eq!(allows_port(&config, &url, &UrlParts::of(&url)), want, "{text}");
        }
    }

    #[test]
    fn unregistered_methods_are_refused_unless_a_rule_allows_them() {
        let config = Config::parse(CONFIG, Path::new("w.conf")).unwrap();
        for (method, elsewhere, at_mail) in [
            ("GET", true, true),
            ("PROPFIND", true, true),
            ("VERSION-CONTROL", true, true),
            ("PRI", false, false),
            ("HELO", false, false),
            ("get", false, false),
            ("PURGE", false, true),
            ("purge", false, false),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            for (text, want) in [("http://a.test/", elsewhere), ("http://mail.test:25/", at_mail)] {
                assert_eq!(allows_method(&config, &url(text), &method), want, "{method} {text}");
            }
        }
    }
}
