//! The page `/captures/`: captures of a page in web archives.

use jiff::Timestamp;

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::{RenderedPage, Shell, links, view};
use crate::proxy::captures::CaptureFault;
use crate::site::lists::page::room::without_long_link;

/// The content of the page.
#[derive(Debug)]
pub struct CapturesPage<'a> {
    /// The URL, without credentials.
    pub url: &'a str,
    /// The addresses of the TimeGates.
    pub gates: &'a [String],
    /// The reason why captures cannot be looked up.
    pub fault: Option<&'a CaptureFault>,
    /// The result of each TimeGate, after a look-up.
    pub results: Option<&'a [(String, Result<Timestamp, CaptureFault>)]>,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, captures: &CapturesPage<'_>) -> RenderedPage {
    let row = |(gate, found): &(String, Result<Timestamp, CaptureFault>)| {
        let time = found.as_ref().ok();
        view! {
            gate,
            captured: time.map(|time| ShownTime::new(*time, &shell.zone)),
            // The time as the value of a form field.
            at: time.map(ToString::to_string),
            fault: found.as_ref().err().map(words),
        }
    };
    let results = captures.results.map(|results| results.iter().map(row).collect::<Vec<_>>());
    let has_no_gates = matches!(captures.fault, Some(CaptureFault::NoGates));
    let view = view! {
        url: without_long_link(ShownUrl::new(captures.url)),
        // The URL as the value of a form field; `None` if a form cannot send it.
        href: ShownUrl::new(captures.url).href,
        gates: captures.gates,
        fault: captures.fault.map(words),
        results,
        is_offline: matches!(captures.fault, Some(CaptureFault::Offline)),
        history: links::history(captures.url),
        // Address of the option, if no archive is configured.
        option: has_no_gates.then(|| links::configuration(&["web-archives", "time-gates"], None)),
    };
    shell.page("captures.html", 200, &view)
}

fn words(fault: &CaptureFault) -> Text {
    match fault {
        CaptureFault::NoGates => tr("No web archive is configured."),
        CaptureFault::Private => tr(
            "Its address is not sent to web archives: only addresses of public hosts, without a \
             login, are.",
        ),
        CaptureFault::Offline => tr("You are offline. Go online to look it up."),
        CaptureFault::Missing => tr("no copy"),
        CaptureFault::OtherPage(url) => {
            tr("only a copy of {url}").with("url", ShownUrl::new(url).text)
        }
        other => tr("{fact}").with("fact", shown::text(&other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};

    #[test]
    fn a_look_up_is_offered_explained_and_answered() {
        let gates = ["https://archive.example/web/".to_owned()];
        let offered = CapturesPage {
            url: "http://gone.example/?a=b",
            gates: &gates,
            fault: None,
            results: None,
        };
        let body = page(&shell(), &offered).body;
        for want in [
            "learn its whole address",
            "https://archive.example/web/",
            "action=\"http://localhost:8080/control/captures/find\"",
            "name=\"token\" value=\"f00\"",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        let results = [
            (gates[0].clone(), Ok(time())),
            ("https://other.example/".to_owned(), Err(CaptureFault::Missing)),
        ];
        let body = page(&shell(), &CapturesPage { results: Some(&results), ..offered }).body;
        for want in
            ["2026-11-20 12:00", "no copy", "/control/captures/store", "2026-11-20T12:00:00Z"]
        {
            assert!(body.contains(want), "{want} in {body}");
        }
        let none = CaptureFault::NoGates;
        let body = page(
            &shell(),
            &CapturesPage {
                url: "http://a.example/",
                gates: &[],
                fault: Some(&none),
                results: None,
            },
        )
        .body;
        assert!(body.contains("/configuration/web-archives/time-gates"), "{body}");
        assert!(!body.contains("<form method=\"post\""), "{body}");
    }

    #[test]
    fn hostile_values_are_text() {
        // The configuration names the archives.
        let gate = "https://archive.example/web/".to_owned();
        for text in hostile() {
            let fault = CaptureFault::OtherPage(text.clone());
            let results = [
                (gate.clone(), Err(CaptureFault::OtherPage(text.clone()))),
                (gate.clone(), Ok(time())),
            ];
            for (fault, results) in [(Some(&fault), None), (None, Some(&results[..])), (None, None)]
            {
                let gates = [gate.clone()];
                let shown = CapturesPage { url: &text, gates: &gates, fault, results };
                assert_harmless(&page(&shell(), &shown));
            }
        }
    }
}
