use std::collections::BTreeSet;

use super::texts::TEXTS;
use super::{
    Aid, BadCertificate, CopyInfo, Denied, Message, NoTls, OriginFailure, Phase, Ruled, page,
    page_with,
};
use crate::page::Shell;
use crate::page::certificates::{self, ShownCertificate};
use crate::page::guard::GuardRefusal;
use crate::page::testing::{assert_harmless, hostile, shell, time};
use crate::page::ways::{FetchOffer, SimilarPage};
use wwwoffle_api::{Chain, Mode};
use wwwoffle_http::caching::like::Likeness;

/// Returns every message, with its status.
pub(crate) fn all<'a>(text: &'a str, chain: &'a Chain) -> Vec<(u16, Message<'a>)> {
    let failed = |failure| Message::OriginFailed { url: text, failure, copy: None };
    let copy = Some(CopyInfo { url: text, stored: time(), came: time() });
    let shown = ShownCertificate { site: text, chain, may_be_allowed: true, now: time() };
    let ruled = |ruled| Message::Ruled { url: text, ruled, place: Some(text) };
    let certificate = |fault| failed(OriginFailure::Certificate { fault, detail: text, shown });
    vec![
        (400, Message::BadRequest { detail: text }),
        (400, Message::BadAddress { detail: text }),
        (409, Message::BadForm { status: 409, detail: text }),
        (422, Message::NothingChosen { back: "/queue/" }),
        (403, Message::Forbidden(GuardRefusal::ForeignHost)),
        (403, Message::Forbidden(GuardRefusal::CrossSite)),
        (403, Message::Forbidden(GuardRefusal::OpenedElsewhere)),
        (403, Message::Forbidden(GuardRefusal::ForeignOrigin)),
        (403, Message::Forbidden(GuardRefusal::NoPassword)),
        (403, Message::Forbidden(GuardRefusal::OtherMachine)),
        (403, Message::Forbidden(GuardRefusal::NotAdministrator)),
        (403, Message::Forbidden(GuardRefusal::NoToken)),
        (403, Message::Forbidden(GuardRefusal::WrongToken)),
        (403, Message::OpenedElsewhere { address: "/info/warc?url=x" }),
        (403, Message::Denied(Denied::Machine)),
        (407, Message::Denied(Denied::ProxyLogin)),
        (401, Message::Denied(Denied::Login)),
        (401, Message::Denied(Denied::Control)),
        (401, Message::Denied(Denied::ControlPage)),
        (401, Message::Denied(Denied::WrongControl)),
        (429, Message::Denied(Denied::TooOften { seconds: 7 })),
        (503, Message::Denied(Denied::Busy)),
        (403, ruled(Ruled::Blocked)),
        (403, ruled(Ruled::OtherProtocol)),
        (501, ruled(Ruled::UnknownMethod)),
        (404, ruled(Ruled::LeadsToBlocked)),
        (504, ruled(Ruled::NeverKept)),
        (504, ruled(Ruled::NotQueued)),
        (404, Message::NotFound { path: text }),
        (404, Message::NotFound { path: "/local/x" }),
        (202, Message::RefreshQueued { url: text }),
        (405, Message::MethodNotAllowed { method: text }),
        (502, failed(OriginFailure::Parent(text))),
        (502, failed(OriginFailure::UnknownHost)),
        (502, failed(OriginFailure::Refused)),
        (502, failed(OriginFailure::Unreachable)),
        (504, failed(OriginFailure::Timeout(Phase::Resolving))),
        (504, failed(OriginFailure::Timeout(Phase::Connecting))),
        (504, failed(OriginFailure::Timeout(Phase::Head))),
        (504, failed(OriginFailure::Timeout(Phase::Body))),
        (502, failed(OriginFailure::Closed)),
        (502, failed(OriginFailure::BadAnswer(text))),
        (502, failed(OriginFailure::HeadTooLarge)),
        (502, failed(OriginFailure::TooLarge(u64::MAX))),
        (403, failed(OriginFailure::Inward)),
        (504, failed(OriginFailure::Timeout(Phase::Securing))),
        (502, certificate(BadCertificate::Expired)),
        (502, certificate(BadCertificate::NotYetValid)),
        (502, certificate(BadCertificate::WrongName)),
        (502, certificate(BadCertificate::SelfSigned)),
        (502, certificate(BadCertificate::MissingIssuer)),
        (502, certificate(BadCertificate::UnknownIssuer)),
        (502, certificate(BadCertificate::Revoked)),
        (502, certificate(BadCertificate::Unusable)),
        (502, failed(OriginFailure::Tls { fault: NoTls::NotSpoken, detail: text })),
        (502, failed(OriginFailure::Tls { fault: NoTls::TooLarge, detail: text })),
        (502, failed(OriginFailure::Tls { fault: NoTls::NoAgreement, detail: text })),
        (502, Message::OriginFailed { url: text, failure: OriginFailure::Refused, copy }),
        (
            504,
            Message::MustAsk {
                url: text,
                detail: text,
                copy: CopyInfo { url: text, stored: time(), came: time() },
            },
        ),
        (502, Message::Undecodable { url: text, detail: text }),
        (504, Message::NotKept { url: text }),
        (401, Message::Locked { url: text }),
        (403, Message::LockedHere { url: text }),
        (404, Message::FormAnswer { url: text }),
        (504, Message::FormUnknown { url: text }),
        (404, Message::NothingKept { url: text }),
        (504, Message::OfflineRefused { method: text, url: text }),
        (403, Message::PortBlocked { host_port: text }),
        (403, Message::HostRefused { host_port: text }),
        (504, Message::TunnelOffline { host_port: text }),
        (508, Message::Loop { url: text }),
        (507, Message::SpoolFull),
        (507, Message::QueueFull),
        (507, Message::ShareUsedUp),
        (429, Message::QuotaReached),
        (504, Message::SpellingRefused),
        (413, Message::TooLargeToQueue { url: text }),
        (500, Message::SpoolFailed { detail: text }),
        (500, Message::Internal),
    ]
}

#[test]
fn each_message_has_its_texts_in_the_file_and_each_text_its_message() {
    let chain = Chain::default();
    let used: BTreeSet<_> = all("x", &chain).iter().map(|(_, message)| message.row().1).collect();
    let mut names = Vec::new();
    for (heading, texts) in TEXTS.split("\n[").skip(1).filter_map(|rest| rest.split_once("]\n")) {
        let texts = texts.lines().take_while(|line| !line.is_empty());
        assert!(texts.clone().all(|text| text == text.trim()), "{heading}");
        assert!(texts.count() >= 2, "{heading}");
        names.push(heading);
    }
    names.sort_unstable();
    assert_eq!(names, Vec::from_iter(used));
}

#[test]
fn each_message_has_a_cause_and_advice() {
    for (status, message) in all("http://a.example/", &Chain::default()) {
        let page = page(&shell(), &message);
        assert_eq!((page.status, message.status()), (status, status), "{message:?}");
        assert!(page.body.contains(&format!("<h1>{}</h1>", message.title())), "{message:?}");
        assert!(page.body.contains("<h2>What you can do</h2>\n<ul>\n<li>"), "{message:?}");
        let many = page.body.matches("<h1>").count();
        assert_eq!(many, 1, "{message:?}");
        assert!(page.body.contains("href=\"http://localhost:8080/\""), "{message:?}");
    }
}

#[test]
fn a_stored_copy_is_offered() {
    let message = Message::OriginFailed {
        url: "http://a.example/p",
        failure: OriginFailure::Refused,
        copy: Some(CopyInfo { url: "http://a.example/p", stored: time(), came: time() }),
    };
    let body = page(&shell(), &message).body;
    let when = "saved on <time datetime=\"2026-11-20T12:00:00Z\">2026-11-20 12:00";
    assert!(body.contains(when), "{body}");
    let copy = "href=\"http://localhost:8080/history/version/?url=http://a.example/p&amp;came=";
    assert!(body.contains(copy), "{body}");
    assert!(body.contains("href=\"http://localhost:8080/info/?http://a.example/p\""));
}

/// The page offers the action itself, not advice on how to find it.
#[test]
fn messages_link_to_the_relevant_form() {
    let url = "http://a.example/p";
    let failed = |failure| Message::OriginFailed { url, failure, copy: None };
    let ruled = |ruled| Message::Ruled { url, ruled, place: None };
    let of_url = "http://a.example/p";
    for (message, want) in [
        (ruled(Ruled::Blocked), vec!["/configuration/dont-get/urls?", "/configuration/url?"]),
        (ruled(Ruled::OtherProtocol), vec!["/configuration/dont-get/allowed-ports?"]),
        (ruled(Ruled::UnknownMethod), vec!["/configuration/dont-get/allowed-methods?"]),
        (ruled(Ruled::LeadsToBlocked), vec!["/configuration/dont-get/location-error?"]),
        (ruled(Ruled::NeverKept), vec!["/configuration/dont-cache/urls?", "/\""]),
        (
            ruled(Ruled::NotQueued),
            vec!["/configuration/offline-options/dont-request?", "/missing/?"],
        ),
        (failed(OriginFailure::Refused), vec!["/missing/?", "/refresh-options/?", "/\""]),
        (failed(OriginFailure::Parent("x")), vec!["/configuration/proxy/proxy?"]),
        (failed(OriginFailure::TooLarge(7)), vec!["/configuration/options/max-body"]),
        (failed(OriginFailure::Inward), vec!["/configuration/allowed-connect-hosts/inside"]),
        (Message::PortBlocked { host_port: "a:1" }, vec!["/configuration/tunnel/ports"]),
        (Message::HostRefused { host_port: "a:1" }, vec!["/configuration/https/refuse"]),
        (Message::TunnelOffline { host_port: "a:1" }, vec!["/ca\"", "/configuration/https/tunnel"]),
        (Message::Loop { url }, vec!["/configuration/local-host/names"]),
        (Message::QueueFull, vec!["/queue/"]),
        (Message::ShareUsedUp, vec!["/queue/"]),
        (Message::QuotaReached, vec!["/usage/"]),
        (Message::NothingChosen { back: "/index/all" }, vec!["/index/all\""]),
        (Message::OpenedElsewhere { address: "/info/warc?url=x" }, vec!["/info/warc?url=x\""]),
        (Message::SpoolFull, vec!["/purge/"]),
        (Message::NotFound { path: "/x" }, vec!["/index/"]),
        (Message::RefreshQueued { url }, vec!["/info/?", "/queue/"]),
        (Message::NotKept { url }, vec!["/missing/?", "/refresh-options/?"]),
        (Message::NothingKept { url }, vec!["/missing/?", "/refresh-options/?"]),
    ] {
        let body = page(&shell(), &message).body;
        let body = body.split("<main>").nth(1).unwrap();
        for path in want {
            assert!(body.contains(&format!("href=\"http://localhost:8080{path}")), "{path} {body}");
            let is_of_url = path.ends_with('?');
            assert!(!is_of_url || body.contains(&format!("{path}{of_url}")), "{path} {body}");
        }
    }
}

#[test]
fn a_fetchable_page_has_a_button_and_similar_pages() {
    let url = "http://a.example/p";
    let message = Message::OriginFailed { url, failure: OriginFailure::Refused, copy: None };
    let likes = [SimilarPage {
        likeness: Likeness::Www,
        url: "http://www.a.example/p".to_owned(),
        version: (time(), time()),
    }];
    let aid =
        Aid { fetch: Some(FetchOffer { url, token: "ab12" }), likes: &likes, has_captures: true };
    for mode in [Mode::Online, Mode::Offline] {
        let shell = Shell { mode, ..shell() };
        let page = page_with(&shell, &message, &aid);
        assert_harmless(&page);
        let body = page.body;
        assert!(body.contains("action=\"http://localhost:8080/refresh-request/\""), "{body}");
        assert!(body.contains("name=\"token\" value=\"ab12\""), "{body}");
        assert!(body.contains("with or without www"), "{body}");
        // Online the address leads to the origin, so the copy is offered.
        assert_eq!(body.contains("/history/version/"), mode == Mode::Online, "{body}");
    }
}

#[test]
fn a_bad_certificate_is_shown_with_its_chain_and_the_clock() {
    let chain = certificates::tests::chain("CN=a.example");
    for (fault, may_be_allowed) in
        [(BadCertificate::Expired, true), (BadCertificate::Revoked, false)]
    {
        let site = "a.example:8443";
        let shown = ShownCertificate { site, chain: &chain, may_be_allowed, now: time() };
        let failure = OriginFailure::Certificate { fault, detail: "it expired", shown };
        let message =
            Message::OriginFailed { url: "https://a.example:8443/p?q", failure, copy: None };
        let body = page(&shell(), &message).body;
        assert_eq!(body.contains("The clock of this machine says"), fault.is_about_time());
        let way = "href=\"http://localhost:8080/certificate?site=a.example:8443&amp;url=\
                   https://a.example:8443/p%3Fq\"";
        assert_eq!(body.contains(way), may_be_allowed, "{body}");
        assert!(body.contains("<bdi>CN=a.example</bdi>") && body.contains("AB:AB:"), "{body}");
        assert!(!body.contains("token"), "{body}");
    }
}

#[test]
#[ignore = "slow"]
fn hostile_values_are_text() {
    for hostile in &hostile() {
        let chain = certificates::tests::chain(hostile);
        for (_, message) in all(hostile, &chain) {
            let likes = [SimilarPage {
                likeness: Likeness::Several,
                url: hostile.clone(),
                version: (time(), time()),
            }];
            let fetch = Some(FetchOffer { url: hostile, token: "ab12" });
            let aid = Aid { fetch, likes: &likes, has_captures: true };
            for mode in [Mode::Online, Mode::Offline] {
                let shell = Shell { mode, ..shell() };
                assert_harmless(&page_with(&shell, &message, &aid));
            }
        }
    }
}

#[test]
fn values_are_filled_into_the_texts() {
    let too_large = OriginFailure::TooLarge(2_000_000);
    for (message, want) in [
        (Message::Denied(Denied::TooOften { seconds: 7 }), "Wait 7 seconds, then reload"),
        (
            Message::OriginFailed { url: "http://a/", failure: too_large, copy: None },
            "larger than 2.0 MB, the maximum",
        ),
    ] {
        let body = page(&shell(), &message).body;
        assert!(body.contains(want), "{body}");
    }
}

#[test]
fn a_missing_local_file_is_reported_with_its_directory() {
    for (path, want) in [("/local/", true), ("/local/a.html", true), ("/locals", false)] {
        let body = page(&shell(), &Message::NotFound { path }).body;
        assert_eq!(body.contains("<code>local</code> of the spool"), want, "{path}: {body}");
    }
}
