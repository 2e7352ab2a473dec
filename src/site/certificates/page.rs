//! The local page `/ca`: our certificate authority, how to make a browser or phone trust it, and
//! whether this browser trusts it.
//!
//! The test needs no script: the page loads a style sheet from us over TLS. If the browser trusts
//! the authority, the style sheet loads and shows another sentence.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use jiff::Timestamp;

use super::code::QrImage;
use crate::base::shown::{self, ShownTime};
use crate::page::{LocalOrigin, RenderedPage, Shell, view};
use wwwoffle_api::RejectionItem;
use wwwoffle_url::is_this_machine;

/// Maximum number of rejections in the list; the others are counted.
const SHOWN_REJECTIONS: usize = 50;

/// Path of the style sheet that tests whether the browser trusts the authority.
pub const TEST: &str = "/ca/trusted.css";

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct AuthorityStatus<'a> {
    /// Name of the authority.
    pub name: &'a str,
    /// SHA-256 fingerprint of the authority's certificate.
    pub fingerprint: &'a str,
    /// Start of validity: creation time minus the one day by which certificates are backdated.
    pub from: Timestamp,
    /// End of validity.
    pub until: Timestamp,
    /// Whether the authority expires soon and should be renewed.
    pub ends_soon: bool,
    /// Whether we intercept HTTPS at all.
    pub intercept: bool,
    /// Origin of our site over TLS, under the host name that the client used.
    pub secure: &'a LocalOrigin,
    /// Address at which a phone reaches us; `None` if no phone can reach us.
    pub phone: Option<&'a str>,
    /// Clients that recently rejected our certificate.
    pub rejected: &'a [RejectionItem],
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, trust: &AuthorityStatus<'_>) -> RenderedPage {
    let reached = trust.phone.map_or_else(|| shell.origin.to_string(), str::to_owned);
    let pac = format!("{reached}/proxy.pac");
    let view = view! {
        name: shown::text(trust.name),
        fingerprint: shown::text(trust.fingerprint),
        from: ShownTime::new(trust.from, &shell.zone),
        until: ShownTime::new(trust.until, &shell.zone),
        ends_soon: trust.ends_soon,
        intercept: trust.intercept,
        test: format!("{}{TEST}", trust.secure),
        // The proxy without the scheme.
        proxy: reached.split_once("://").map_or(&*reached, |(_, rest)| rest),
        pac_code: trust.phone.and_then(|_| QrImage::of(&pac)),
        pac,
        code: trust.phone.and_then(|phone| QrImage::of(&format!("{phone}/ca.crt"))),
        rejected: trust.rejected.get(..SHOWN_REJECTIONS).unwrap_or(trust.rejected),
        more_rejected: trust.rejected.len().saturating_sub(SHOWN_REJECTIONS),
    };
    shell.page("ca.html", 200, &view)
}

/// Returns the style sheet that only loads in a browser that trusts the authority.
#[must_use]
pub fn test() -> RenderedPage {
    RenderedPage {
        status: 200,
        content_type: "text/css; charset=utf-8",
        body: ".untrusted { display: none; }\n.trusted { display: block; }\n".to_owned(),
    }
}

/// Returns the address at which a phone can reach us; `None` if no phone can.
///
/// We must listen on an address other than loopback. If the host of `used`, the origin of the
/// request, is not a loopback name, returns that origin with `http`. Otherwise the host of the
/// address is the first of our `names` that is not a loopback name, and no address of a kind on
/// which we do not listen.
#[must_use]
pub fn for_phones(
    used: &LocalOrigin,
    names: &[String],
    listening: &[SocketAddr],
) -> Option<String> {
    let open: Vec<_> = listening.iter().filter(|at| !at.ip().is_loopback()).collect();
    if open.is_empty() {
        return None;
    }
    if !is_this_machine(used.host()) {
        return Some(used.as_str().replacen("https://", "http://", 1));
    }
    // The wildcard of IPv6 accepts IPv4 too.
    let accepts = |at: &SocketAddr, name: &str| {
        let is_wide = at.is_ipv6() && at.ip().is_unspecified();
        name.parse::<IpAddr>().map_or(true, |ip| is_wide || ip.is_ipv4() == at.is_ipv4())
    };
    let (name, open) = names.iter().filter(|name| !is_this_machine(name)).find_map(|name| {
        let open = open.iter().find(|at| accepts(at, name))?;
        Some((name, open))
    })?;
    let name = if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]") } else { name.clone() };
    Some(format!("http://{name}:{}", open.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};

    fn secure() -> LocalOrigin {
        LocalOrigin::parse("https", "localhost:8080").unwrap()
    }

    fn trust<'a>(
        text: &'a str,
        secure: &'a LocalOrigin,
        rejected: &'a [RejectionItem],
    ) -> AuthorityStatus<'a> {
        let (from, until) = (time(), time());
        let (ends_soon, intercept, phone) = (false, true, None);
        let (name, fingerprint) = (text, text);
        AuthorityStatus {
            name,
            fingerprint,
            from,
            until,
            ends_soon,
            intercept,
            secure,
            phone,
            rejected,
        }
    }

    fn rejection(text: &str) -> RejectionItem {
        RejectionItem { host: text.to_owned(), client: text.to_owned(), until: time() }
    }

    #[test]
    fn the_page_offers_the_certificate_with_instructions() {
        let secure = secure();
        let plain = page(&shell(), &trust("AB:CD", &secure, &[]));
        assert_harmless(&plain);
        let body = plain.body;
        for want in [
            "href=\"http://localhost:8080/ca.pem\"",
            "href=\"http://localhost:8080/ca.crt\"",
            "<link rel=\"stylesheet\" href=\"https://localhost:8080/ca/trusted.css\">",
            "<code>AB:CD</code>",
            "Firefox",
            "Android",
            "iPhone",
            "Windows",
            "macOS",
            "wwwoffle ca install --user",
            "A phone cannot reach this proxy",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert!(
            !body.contains("intercept = true") && !body.contains("wwwoffle ca renew</code> now")
        );
        let open = AuthorityStatus {
            phone: Some("http://192.168.1.2:8080"),
            ends_soon: true,
            ..trust("x", &secure, &[])
        };
        let page = page(&shell(), &open);
        assert_harmless(&page);
        let body = page.body;
        assert!(body.contains("<code>http://192.168.1.2:8080/ca.crt</code>"), "{body}");
        assert!(body.contains("<path fill=\"#000\" d=\"M4 4h7"), "{body}");
        assert!(body.contains("wwwoffle ca renew</code> now"), "{body}");
    }

    #[test]
    fn rejections_and_hostile_values_are_bounded_text() {
        let secure = secure();
        let many: Vec<RejectionItem> =
            (0..SHOWN_REJECTIONS + 5).map(|n| rejection(&format!("h{n}.example"))).collect();
        let page_of_many = page(&shell(), &trust("x", &secure, &many));
        assert_harmless(&page_of_many);
        assert!(page_of_many.body.contains("and 5 more"));
        for text in hostile() {
            let rejected = [rejection(&text)];
            let off = AuthorityStatus { intercept: false, ..trust(&text, &secure, &rejected) };
            let page = page(&shell(), &off);
            assert_harmless(&page);
            assert!(page.body.contains("intercept = true"));
        }
    }

    #[test]
    fn a_phone_gets_a_reachable_address() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let usual = names(&["localhost", "127.0.0.1", "::1"]);
        let open = names(&["localhost", "192.168.1.2"]);
        let six = names(&["::1", "fd00::2"]);
        for (used, names, listening, want) in [
            ("localhost:8080", &usual, "127.0.0.1:8080", None),
            ("localhost:8080", &usual, "0.0.0.0:8080", None),
            ("localhost:8080", &open, "127.0.0.1:8080", None),
            ("localhost:8080", &open, "0.0.0.0:8080", Some("http://192.168.1.2:8080")),
            ("[::1]:8080", &six, "[fd00::2]:81", Some("http://[fd00::2]:81")),
            ("[::1]:8080", &six, "0.0.0.0:81", None),
            ("localhost:8080", &open, "[::]:81", Some("http://192.168.1.2:81")),
            ("localhost:8080", &open, "[fd00::2]:81", None),
            ("ship.lan:8080", &usual, "10.0.0.1:8080", Some("http://ship.lan:8080")),
            ("ship.lan:8080", &usual, "127.0.0.1:8080", None),
        ] {
            for scheme in ["http", "https"] {
                let used = LocalOrigin::parse(scheme, used).unwrap();
                let got = for_phones(&used, names, &[listening.parse().unwrap()]);
                assert_eq!(got.as_deref(), want, "{used} {listening}");
            }
        }
    }
}
