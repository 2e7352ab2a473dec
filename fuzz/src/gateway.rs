//! Gateway addresses and their URLs, and pages and style sheets whose links are rewritten to the
//! gateway.

use std::sync::Arc;

use super::input::{Input, text};
use wwwoffle_html::rewrite::gateway::{Gateway, address, url_of};
use wwwoffle_html::rewrite::{
    Changes, PageKnowledge, Readdress, Removal, Rewriter, Sheet, UrlStatus,
};
use wwwoffle_url::{BrowserUrl, LocalHost};

struct Nothing;

impl PageKnowledge for Nothing {
    fn is_blocked(&self, _: &str) -> bool {
        false
    }

    fn status_of(&self, _: &str) -> UrlStatus {
        UrlStatus::Absent
    }
}

/// Checks one input: the first line as an address and as a URL, the rest as a page and as a style
/// sheet.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let line = input.line();
    there_and_back(line);
    target(line);
    let rest = input.rest();
    led(rest);
}

/// Checks that a written address is read back as the same URL, and that a browser leaves it
/// unchanged.
fn there_and_back(line: &str) {
    let Ok(url) = BrowserUrl::parse(line, None) else { return };
    let Some(address) = address(&url) else { return };
    let end = address.find('#').unwrap_or(address.len());
    let bare = url.as_str().split('#').next().unwrap();
    assert_eq!(url_of(&address[..end]), Some(Ok(bare.to_owned())));
    let page = BrowserUrl::parse("http://ship:8080/https/o.example/x/?y", None).unwrap();
    let there = BrowserUrl::parse(&address, Some(&page)).unwrap();
    assert_eq!(there.as_str(), format!("http://ship:8080{address}"));
}

/// Checks that an address names a host, or is invalid.
fn target(line: &str) {
    let Some(Ok(url)) = url_of(line) else { return };
    let (_, rest) = url.split_once("://").unwrap();
    let host = rest.split(['/', '?']).next().unwrap();
    assert!(!host.is_empty() && !host.contains(['@', '%', '\\']) && host != "..");
}

/// Checks that the result does not depend on how the input is split, and that rewriting a style
/// sheet again changes nothing.
fn led(bytes: &[u8]) {
    let gateway = Gateway { local: LocalHost::default(), is_ours: false, onward: "on".to_owned() };
    let url = BrowserUrl::parse("http://a.example/b/c?d", None).unwrap();
    let cuts = [Removal::Scripts, Removal::Refresh].into();
    let changes = Changes {
        cuts,
        readdress: Some(Readdress::Gateway(gateway.clone())),
        ..Changes::default()
    };
    let changes = Arc::new(changes);
    let page = |size: usize| {
        let content_type = Some("text/html; charset=utf-8");
        let mut page =
            Rewriter::new(Arc::clone(&changes), Arc::new(Nothing), url.clone(), content_type);
        let mut sent: Vec<u8> = bytes.chunks(size).flat_map(|piece| page.write(piece)).collect();
        sent.extend(page.finish());
        sent
    };
    assert_eq!(page(1), page(bytes.len().max(1)));
    let sheet = |size: usize| {
        let mut sheet =
            Sheet::new(Readdress::Gateway(gateway.clone()), url.clone(), Some("text/css"));
        let mut sent: Vec<u8> = bytes.chunks(size).flat_map(|piece| sheet.write(piece)).collect();
        sent.extend(sheet.finish());
        sent
    };
    let whole = sheet(bytes.len().max(1));
    assert_eq!(sheet(1), whole);
    // A style sheet never closes its element, unless the original did so.
    let ends = |text: &str| text.to_ascii_lowercase().contains("</style");
    assert!(ends(text(bytes)) || !ends(text(&whole)), "{}", text(&whole));
}
