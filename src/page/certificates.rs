//! Certificates of origins on pages, and the local page `/certificate`, on which a person can allow
//! a certificate.

use jiff::Timestamp;

use crate::base::shown::{self, ShownUrl};
use crate::page::{RenderedPage, Shell, links, view};
use wwwoffle_api::Chain;

/// The certificate on a message page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownCertificate<'a> {
    /// The site of the certificate: host and port.
    pub site: &'a str,
    /// The certificate and the chain that was sent with it.
    pub chain: &'a Chain,
    /// Whether the user may allow the certificate.
    pub may_be_allowed: bool,
    /// The time by the clock of this machine.
    pub now: Timestamp,
}

/// The state of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateState<'a> {
    /// The certificate was refused.
    Refused {
        /// The fault of the certificate, in words.
        fault: &'a str,
        /// Whether another certificate is allowed for the site.
        differs: bool,
    },
    /// The certificate is allowed for the site by its fingerprint.
    Allowed,
    /// No certificate of the site was refused recently.
    Unknown,
}

/// The content of the page `/certificate`.
#[derive(Clone, Copy, Debug)]
pub struct CertificatePage<'a> {
    /// Host and port.
    pub site: &'a str,
    /// The requested page, if it is one of this host.
    pub url: Option<&'a str>,
    /// The state of the site's certificate.
    pub standing: CertificateState<'a>,
    /// The certificate and the chain that was sent with it; `None` if no certificate of the site
    /// was refused recently.
    pub chain: Option<&'a Chain>,
    /// The fingerprint, 64 hex digits; empty if there is no certificate.
    pub sha256: &'a str,
    /// The configuration file that gets the entry; `None` if the program runs without one.
    pub file: Option<&'a str>,
    /// Whether to show the button: the caller is an administrator, or could log in with a control
    /// password.
    pub has_button: bool,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, site: &CertificatePage<'_>) -> RenderedPage {
    let (state, fault, differs) = match site.standing {
        CertificateState::Refused { fault, differs } => {
            ("refused", Some(shown::text(fault)), differs)
        }
        CertificateState::Allowed => ("allowed", None, false),
        CertificateState::Unknown => ("unknown", None, false),
    };
    let entry =
        || format!("{{ host = \"{}\", sha256 = \"{}\" }}", shown::text(site.site), site.sha256);
    let line = || format!("allowed-certificates = [{}]", entry());
    // Shell-safe: the parser of sites accepts only letters, digits, dots, dashes, colons and
    // brackets.
    let command = || format!("wwwoffle config add https.allowed-certificates '{}'", entry());
    let url = site.url.map(ShownUrl::new);
    let view = view! {
        site: shown::text(site.site),
        state,
        fault,
        differs,
        // The stored pages of the host, whose details show its certificates.
        list: links::host_list(&format!("https://{}/", site.site)),
        back: url.as_ref().and_then(|url| url.href.as_deref()).unwrap_or_default(),
        url: url.clone(),
        chain: site.chain,
        sha256: site.sha256,
        file: shown::text(site.file.unwrap_or_default()),
        lines: site.file.is_none().then(line),
        command: (site.file.is_some() && !site.has_button).then(command),
    };
    shell.page("certificate.html", 200, &view)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};
    use wwwoffle_api::Certificate;

    /// Returns a chain with `text` in each of its fields.
    pub(crate) fn chain(text: &str) -> Chain {
        let one = Certificate {
            subject: text.to_owned(),
            issuer: format!("{text}!"),
            sha256: "ab".repeat(32),
            from: Some(time()),
            until: None,
            names: vec![text.to_owned(); 8],
            more_names: 3,
        };
        Chain { certificates: vec![one; 8], left_out: 2 }
    }

    fn site<'a>(standing: CertificateState<'a>, chain: &'a Chain) -> CertificatePage<'a> {
        CertificatePage {
            site: "old.example:8443",
            url: Some("https://old.example:8443/p"),
            standing,
            chain: Some(chain),
            sha256: "abcd",
            file: Some("/etc/wwwoffle.conf"),
            has_button: true,
        }
    }

    fn body(site: &CertificatePage<'_>) -> String {
        let page = page(&shell(), site);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn a_refused_certificate_has_a_form_and_its_chain() {
        let chain = chain("CN=a.example");
        let refused = CertificateState::Refused { fault: "it is self-signed", differs: true };
        let text = body(&site(refused, &chain));
        for want in [
            "action=\"http://localhost:8080/control/certificate/allow\"",
            "name=\"token\" value=\"f00\"",
            "name=\"site\" value=\"old.example:8443\"",
            "name=\"sha256\" value=\"abcd\"",
            "it is self-signed",
            "You allowed another certificate",
            "/etc/wwwoffle.conf",
            "<bdi>CN=a.example</bdi>",
            "AB:AB:AB",
            "and 3 more",
            "and 2 more",
        ] {
            assert!(text.contains(want), "{want} in {text}");
        }
        let without = CertificatePage { file: None, ..site(refused, &chain) };
        let text = body(&without);
        assert!(!text.contains("<form"), "{text}");
        assert!(
            text.contains("[{ host = &quot;old.example:8443&quot;, sha256 = &quot;abcd&quot; }]")
        );
        let text = body(&CertificatePage { has_button: false, ..site(refused, &chain) });
        assert!(!text.contains("<form"), "{text}");
        assert!(
            text.contains("wwwoffle config add https.allowed-certificates &#x27;{ host"),
            "{text}"
        );
    }

    #[test]
    fn without_a_rejected_certificate_there_is_no_form() {
        for (standing, words) in [
            (CertificateState::Allowed, "is allowed for this host"),
            (CertificateState::Unknown, "No certificate"),
        ] {
            let text = body(&site(standing, &Chain::default()));
            assert!(text.contains(words) && !text.contains("<form"), "{text}");
        }
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            let chain = chain(&text);
            let site = CertificatePage {
                site: &text,
                url: Some(&text),
                standing: CertificateState::Refused { fault: &text, differs: false },
                chain: Some(&chain),
                sha256: "00",
                file: Some(&text),
                has_button: true,
            };
            body(&site);
            body(&CertificatePage { file: None, ..site });
            body(&CertificatePage { has_button: false, ..site });
        }
    }

    #[test]
    fn the_page_address_encodes_any_url() {
        assert_eq!(
            crate::page::links::certificate(
                "a.example:8443",
                "https://a.example:8443/p?x=1&y=%20#"
            ),
            "/certificate?site=a.example:8443&url=https://a.example:8443/p%3Fx%3D1%26y%3D%2520%23"
        );
    }
}
