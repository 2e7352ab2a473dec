//! The form that fetches a page, as sent by a person who typed an address and changed no other
//! field.

use crate::harness::form::form;
use crate::harness::{Answer, Daemon, Origin, eventually};

/// The page without its unticked boxes, which a browser does not send.
fn without_unticked(html: &str) -> String {
    let mut rest = html;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("<input type=\"checkbox\"") {
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        kept += before;
        if tag.contains("checked=\"checked\"") {
            kept += &format!("<input type=\"checkbox\"{tag}>");
        }
        rest = after;
    }
    kept + rest
}

/// A page with one sub-resource of each class.
fn site(origin: &Origin) {
    origin.say(
        "/",
        Answer::html(
            "<!DOCTYPE html><title>Page</title><link rel=stylesheet href=/style.css>\
             <link rel=icon href=/icon.png><script src=/script.js></script><img src=/image.png>\
             <iframe src=/frame.html></iframe>",
        ),
    );
    let css = "@font-face { font-family: f; src: url(/font.woff2) }";
    origin.say("/style.css", Answer::new(200, "text/css", css));
    origin.say("/script.js", Answer::new(200, "text/javascript", "1"));
    origin.say("/frame.html", Answer::html("frame"));
    origin.say("/font.woff2", Answer::new(200, "font/woff2", "font"));
    for image in ["/icon.png", "/image.png"] {
        origin.say(image, Answer::new(200, "image/png", "image"));
    }
}

/// Opens the form from the link on `/fetches/`, sends it with only an address filled in, and goes
/// offline.
fn fetched_by_form(config: &str) -> (Daemon, Origin) {
    let (daemon, mut origin) = (Daemon::configured(config), Origin::start());
    site(&origin);
    let list = daemon.page("/fetches/").text();
    assert!(list.contains("/refresh-options/\""), "{list}");
    let page = without_unticked(&daemon.page("/refresh-options/").text());
    let untouched = form(&page, "/refresh-request/").without("method");
    let sent = daemon.submit(&untouched.with("method", "host").with("url", &origin.url("/")));
    assert_eq!(sent.status, 303, "{}", sent.shown());
    eventually("the fetch has ended", || {
        let runs = daemon.run(&["runs", "--json"]).json();
        runs["runs"].as_array().is_some_and(|runs| runs.len() == 1 && runs[0]["ended"].is_string())
    });
    daemon.ok(&["offline"]);
    origin.stop();
    (daemon, origin)
}

#[test]
fn an_untouched_form_fetches_all_that_the_page_needs() {
    let (daemon, origin) = fetched_by_form("");
    for path in
        ["/", "/style.css", "/icon.png", "/image.png", "/script.js", "/font.woff2", "/frame.html"]
    {
        let stored = daemon.get(&origin.url(path)).whole();
        assert_eq!(
            (stored.status, stored.field("Cache-Status")),
            (200, "wwwoffle; hit; detail=offline"),
            "{path}"
        );
    }
}

#[test]
fn an_untouched_form_follows_the_configuration() {
    let (daemon, origin) = fetched_by_form("[fetch-options]\nscripts = false\nfonts = false\n");
    for (path, status) in
        [("/style.css", 200), ("/image.png", 200), ("/script.js", 504), ("/font.woff2", 504)]
    {
        assert_eq!(daemon.get(&origin.url(path)).whole().status, status, "{path}");
    }
}
