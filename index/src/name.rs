//! The parts of a canonical URL by which lists are sorted.

use std::net::Ipv4Addr;

use wwwoffle_url::registrable_domain;

/// The sort keys of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostName {
    /// Its labels in reverse order, separated by spaces. A space sorts before all characters of
    /// labels, so subdomains are adjacent. An explicit port comes last.
    pub(crate) labels: String,
    /// The registrable domain by the public suffix list: `example.co.uk`; otherwise the host
    /// itself.
    pub(crate) site: String,
}

/// Splits a URL into the scheme, the host with its port, and the rest.
pub(crate) fn split(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    (scheme, host, path)
}

impl HostName {
    /// The sort keys of a host with port.
    pub(crate) fn of(host_port: &str) -> HostName {
        let (host, port) = match host_port.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, Some(port))
            }
            _ => (host_port, None),
        };
        let is_address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
        let mut labels: Vec<&str> =
            if is_address { vec![host] } else { host.rsplit('.').collect() };
        let port = port.map(|port| format!(":{port}"));
        labels.extend(port.as_deref());
        HostName { labels: labels.join(" "), site: registrable_domain(host).to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_sorts_below_its_domain() {
        let mut hosts = [
            "www.example.com:81",
            "example.com",
            "example-b.com",
            "www.example.com",
            "a.www.example.com",
            "example.com:8080",
            "192.0.2.1:80",
            "[2001:db8::1]:8080",
            "bbc.co.uk",
        ];
        hosts.sort_by_key(|host| HostName::of(host).labels);
        assert_eq!(
            hosts,
            [
                "192.0.2.1:80",
                "[2001:db8::1]:8080",
                "example.com",
                "example.com:8080",
                "www.example.com",
                "www.example.com:81",
                "a.www.example.com",
                "example-b.com",
                "bbc.co.uk",
            ]
        );
    }

    #[test]
    fn site_is_the_registrable_domain() {
        for (host, site) in [
            ("www.example.co.uk:8080", "example.co.uk"),
            ("ada.github.io", "ada.github.io"),
            ("co.uk", "co.uk"),
            ("localhost", "localhost"),
            ("192.0.2.1:81", "192.0.2.1"),
            ("[::1]", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(HostName::of(host).site, site, "{host}");
        }
        assert_eq!(split("http://a.example:81/x/y?z"), ("http", "a.example:81", "/x/y?z"));
        assert_eq!(split("finger://a.example"), ("finger", "a.example", ""));
    }
}
