//! The local page `/ca`: our certificate authority, and how a browser is told to trust it.

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Page, Shell, Templates,
    shown::{self, ShownTime},
};

/// Hosts with rejections that are listed; the others are counted.
const SHOWN_HOSTS: usize = 50;

/// What the page tells.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The name of the authority.
    pub name: &'a str,
    /// Its SHA-256 fingerprint.
    pub fingerprint: &'a str,
    /// When it ends.
    pub until: Timestamp,
    /// Whether HTTPS is answered by us at all.
    pub intercept: bool,
    /// Hosts for which a client has lately rejected our certificate.
    pub rejected: &'a [String],
}

#[derive(Serialize)]
struct View {
    name: String,
    fingerprint: String,
    until: ShownTime,
    intercept: bool,
    rejected: Vec<String>,
    more_rejected: usize,
    proxy: String,
}

/// Makes the page.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, trust: &Trust<'_>) -> Page {
    let view = View {
        name: shown::text(trust.name),
        fingerprint: shown::text(trust.fingerprint),
        until: ShownTime::new(trust.until, &shell.zone),
        intercept: trust.intercept,
        rejected: trust.rejected.iter().take(SHOWN_HOSTS).map(|host| shown::text(host)).collect(),
        more_rejected: trust.rejected.len().saturating_sub(SHOWN_HOSTS),
        proxy: shell.origin.host_port().to_owned(),
    };
    templates.page("ca.html", 200, shell, &view)
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_HOSTS, Trust, page};
    use crate::pages::testing::{assert_harmless, hostile, shell, templates, time};

    fn trust<'a>(text: &'a str, rejected: &'a [String]) -> Trust<'a> {
        Trust { name: text, fingerprint: text, until: time(), intercept: true, rejected }
    }

    #[test]
    fn it_offers_the_certificate_and_says_what_to_do_with_it() {
        let page = page(&templates(), &shell(), &trust("AB:CD", &[]));
        assert_harmless(&page);
        let body = page.body.replace("&#x2f;", "/");
        for want in [
            "href=\"http://localhost:8080/ca.pem\"",
            "href=\"http://localhost:8080/ca.crt\"",
            "<code>AB:CD</code>",
            "Firefox",
            "Android",
            "iPhone",
            "Windows",
            "macOS",
            "localhost:8080",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert!(!body.contains("intercept = true"));
    }

    #[test]
    fn rejections_and_hostile_values_are_bounded_text() {
        let hosts: Vec<String> = (0..SHOWN_HOSTS + 5).map(|n| format!("h{n}.example")).collect();
        let page_of_many = page(&templates(), &shell(), &trust("x", &hosts));
        assert_harmless(&page_of_many);
        assert!(page_of_many.body.contains("and 5 more"));
        for text in hostile() {
            let rejected = [text.clone()];
            let off = Trust { intercept: false, ..trust(&text, &rejected) };
            let page = page(&templates(), &shell(), &off);
            assert_harmless(&page);
            assert!(page.body.contains("intercept = true"));
        }
    }
}
