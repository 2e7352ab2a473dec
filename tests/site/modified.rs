//! Pages that are modified on their way to the browser. The stored copy stays unchanged.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use crate::harness::chromium::Chromium;
use crate::harness::daemon::AS_PERSON;
use crate::harness::{Answer, Daemon, Origin, heavy};
use crate::site::browser::browser;

fn changing(options: &str) -> Daemon {
    Daemon::configured(&format!("[modify-html]\nenable-modify-html = true\n{options}\n"))
}

fn in_a(dest: &str) -> String {
    format!("Sec-Fetch-Dest: {dest}\r\n")
}

#[test]
fn a_shown_page_is_modified_and_the_stored_copy_is_not() {
    let origin = Origin::start();
    let page = "<title>x</title><script>a()</script><p onclick=b()>text<a href=/kept>k</a>";
    let answer = Answer::html(page).field("ETag", "\"1\"").field("Cache-Control", "max-age=60");
    origin.say("/page", answer.field("Content-Security-Policy", "default-src 'self'"));
    let options = "disable-script = true\nadd-cache-info = true\nanchor-not-cached-begin = \"(-)\"";
    let daemon = changing(options);
    let url = origin.url("/page");
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let seen = daemon.browse(&url);
        let text = seen.text();
        let begin = "<title>x</title><p>text<a href=/kept>(-)k</a><div id=\"wwwoffle-bar\">";
        assert!(text.starts_with(begin), "{mode}: {text}");
        for gone in ["ETag", "Content-Length", "Last-Modified"] {
            assert_eq!(seen.fields.get(gone), None, "{mode}: {seen:?}");
        }
        assert_eq!(seen.fields.get("Cache-Control"), Some("private, no-cache"), "{mode}");
        let policies = seen.fields.all("Content-Security-Policy");
        assert!(policies[0].starts_with("default-src 'self'; style-src-elem 'self' 'sha256-"));
        assert!(policies.contains(&"script-src 'none'"), "{policies:?}");
        // The `ETag` belongs to the page without the bar, so the response is not a 304.
        assert!(text.contains(if mode == "online" { "just now" } else { "Saved <time" }), "{text}");
        let conditional = format!("{AS_PERSON}If-None-Match: \"1\"\r\n");
        assert_eq!(daemon.client().get_with(&url, &conditional).whole().status, 200, "{mode}");
        // A page in a frame has neither bar nor marks. A program gets the origin's bytes, all of
        // them or a range.
        let framed = daemon.client().get_with(&url, &in_a("iframe")).whole().text();
        assert_eq!(framed, "<title>x</title><p>text<a href=/kept>k</a>", "{mode}");
        let plain = daemon.get(&url);
        assert_eq!(plain.text(), page, "{mode}");
        assert_eq!(plain.fields.get("ETag"), Some("\"1\""), "{mode}");
        assert_eq!(daemon.client().get_with(&url, &in_a("empty")).whole().text(), page, "{mode}");
        let part = format!("{AS_PERSON}Range: bytes=0-6\r\n");
        assert_eq!(daemon.client().get_with(&url, &part).whole().text(), "<title>", "{mode}");
    }
    let kept = daemon.ok(&["cat", &url]);
    assert!(kept.ends_with(page), "{kept}");
}

#[test]
#[ignore = "slow"]
fn a_coded_page_is_modified_and_a_no_transform_page_is_not() {
    let origin = Origin::start();
    let page = format!("<style>a{{}}</style>{}", "<p>text".repeat(30_000));
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(page.as_bytes()).unwrap();
    let coded = Answer::html(packer.finish().unwrap()).field("Content-Encoding", "gzip");
    origin.say("/coded", coded);
    let fixed = Answer::html("<style>a{}</style>").field("Cache-Control", "no-transform");
    origin.say("/fixed", fixed);
    origin.say("/text", Answer::new(200, "text/plain", "<style>a{}</style>"));
    origin.say("/error", Answer::new(404, "text/html", "<style>a{}</style>"));
    let daemon = changing("disable-style = true");
    let asks = format!("{AS_PERSON}Accept-Encoding: gzip\r\n");
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let seen = daemon.client().get_with(&origin.url("/coded"), &asks).whole();
        assert_eq!(seen.fields.get("Content-Encoding"), None, "{mode}");
        assert_eq!(seen.text(), "<p>text".repeat(30_000), "{mode}");
        for path in ["/fixed", "/text", "/error"] {
            let seen = daemon.client().get_with(&origin.url(path), &asks).whole();
            assert_eq!(seen.text(), "<style>a{}</style>", "{mode} {path}");
        }
    }
}

#[test]
fn unstored_pages_are_modified_and_message_pages_run_no_script() {
    let origin = Origin::start();
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(b"<script>a()</script>text").unwrap();
    let coded = packer.finish().unwrap();
    origin.on("/live", move |exchange| {
        let asked = exchange.seen.fields.get("Accept-Encoding").unwrap_or_default();
        exchange.answer(&if asked.contains("gzip") {
            Answer::html(coded.clone()).field("Content-Encoding", "gzip")
        } else {
            Answer::html("<script>a()</script>text")
        })
    });
    origin.say("/gone", Answer::new(404, "text/html", "<script>a()</script>"));
    origin.say("/image", Answer::new(200, "image/svg+xml", "<svg><script>a()</script></svg>"));
    let host = origin.addr.ip();
    let daemon = Daemon::configured(&format!(
        "[modify-html]\nenable-modify-html = true\ndisable-script = true\nreplace-dontget-images = true\n\
         replacement-dontget-image = \"/local/no.gif\"\n[dont-cache]\nurls = [\"*://{host}/live\"]\n\
         [dont-get]\nurls = [\"*://ads.test/*\"]\n"
    ));
    let asks = format!("{AS_PERSON}Accept-Encoding: gzip\r\n");
    let get = |path: &str| daemon.client().get_with(&origin.url(path), &asks).whole();
    assert_eq!(get("/live").text(), "text");
    for path in ["/gone", "/image"] {
        let answer = get(path);
        assert!(answer.text().contains("<script>"), "{path}");
        let policies = answer.fields.all("Content-Security-Policy");
        assert!(policies.contains(&"script-src 'none'"), "{path} {policies:?}");
    }
    // The replacement image is served from our own address, whatever site the page belongs to.
    origin.say("/page", Answer::html("<img src=http://ads.test/x>"));
    let want = format!("<img src=\"http://localhost:{}/local/no.gif\">", daemon.addr().port());
    assert_eq!(get("/page").text(), want);
}

#[test]
fn the_page_bar_shows_the_age_of_a_page() {
    let mut origin = Origin::start();
    origin.say("/", Answer::html("x").field("Cache-Control", "max-age=0"));
    let daemon = changing("add-cache-info = true");
    assert!(daemon.browse(&origin.url("/")).text().contains("just now"));
    origin.stop();
    let seen = daemon.browse(&origin.url("/"));
    assert!(seen.text().contains("Saved <time"), "{}", seen.text());
}

#[test]
fn links_are_marked_by_their_stored_state() {
    let origin = Origin::start();
    origin.say("/kept", Answer::html("k"));
    let links =
        "<a href=/kept>a</a><a href=queued#x>b</a><a href=/absent>c</a><a href=//ads.test/>d</a>";
    origin.say("/", Answer::html(links));
    let daemon = Daemon::configured(
        "[modify-html]\nenable-modify-html = true\nanchor-cached-begin = \"+\"\n\
         anchor-requested-begin = \"?\"\nanchor-requested-end = \"!\"\nanchor-not-cached-end = \"<b>-</b>\"\n\
         disable-dontget-links = true\n[dont-get]\nurls = [\"*://ads.test/*\"]\n",
    );
    daemon.browse(&origin.url("/"));
    daemon.browse(&origin.url("/kept"));
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/queued"));
    let seen = daemon.browse(&origin.url("/")).text();
    let want = "<a href=/kept>+a</a><a href=queued#x>?b!</a><a href=/absent>c<b>-</b></a><a>d</a>";
    assert_eq!(seen, want);
}

#[test]
fn an_animated_image_is_shown_still() {
    let origin = Origin::start();
    let begin: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0";
    let picture: &[u8] = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    let image = [begin, picture, picture, b"\x3b"].concat();
    origin.say("/a.gif", Answer::new(200, "image/gif", image.clone()));
    let daemon = changing("disable-animated-gif = true");
    let url = origin.url("/a.gif");
    let still = daemon.client().get_with(&url, &in_a("image")).whole();
    assert_eq!(still.body, [begin, picture, b"\x3b"].concat());
    assert_eq!(daemon.get(&url).body, image, "a program gets all of it");
    daemon.ok(&["offline"]);
    assert_eq!(daemon.client().get_with(&url, &in_a("image")).whole().body, still.body);
}

#[test]
#[ignore = "needs chromium"]
fn the_page_bar_is_visible_on_every_page() {
    let program = browser();
    let _alone = heavy();
    let origin = Origin::start();
    let page = "<!DOCTYPE html><title>page</title><style>body * { display: none !important; \
                position: absolute !important; left: -9999px !important; font-size: 0 !important; }</style><p>x";
    let sha = "style-src 'unsafe-inline'";
    for (path, policy) in
        [("/plain", None), ("/none", Some("default-src 'none'")), ("/inline", Some(sha))]
    {
        let answer = Answer::html(page);
        origin.say(
            path,
            match policy {
                Some(policy) => answer.field("Content-Security-Policy", policy),
                None => answer,
            },
        );
    }
    let daemon = changing("add-cache-info = true");
    let mut browser = Chromium::start(&program, &daemon);
    let seen = "(bar => { const it = bar.getBoundingClientRect(); return [it.height > 20, it.left >= 0, bar.shadowRoot, \
                getComputedStyle(bar).position]; })(document.getElementById('wwwoffle-bar'))";
    for path in ["/plain", "/none", "/inline"] {
        browser.open(&origin.url(path));
        let told = browser.value(seen);
        assert_eq!(told, serde_json::json!([true, true, null, "static"]), "{path}");
    }
    // With the option off, the page is unchanged.
    daemon.ok(&["config", "set", "modify-html.enable-modify-html", "false"]);
    browser.open(&origin.url("/plain"));
    assert_eq!(browser.value("document.getElementById('wwwoffle-bar')"), serde_json::Value::Null);
}

#[test]
fn a_page_of_xhtml_is_modified_and_stays_well_formed() {
    let origin = Origin::start();
    let page = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><script src=\"a.js\"/></head>\
        <body><p/>text<a href=\"/x\">x</a><br/></body></html>";
    origin.say("/page", Answer::new(200, "application/xhtml+xml", page));
    let options = "disable-script = true\nadd-cache-info = true\nanchor-not-cached-begin = \"(-)\"";
    let daemon = changing(options);
    let url = origin.url("/page");
    let want = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head></head>\
        <body><p></p>text<a href=\"/x\">(-)x</a><br/></body></html>";
    assert_eq!(daemon.browse(&url).text(), want);
    assert_eq!(daemon.get(&url).text(), page, "the stored copy is unchanged");
    daemon.ok(&["config", "set", "modify-html.anchor-not-cached-end", "&nbsp;"]);
    let without = daemon.browse(&url).text();
    assert_eq!(without, want.replace("(-)", ""), "a mark that is no XML is left out");
}
