//! The gateway in a real browser without a proxy: a small site can be browsed, and hostile pages
//! cannot read our pages.

use serde_json::json;

use crate::harness::chromium::Chromium;
use crate::harness::{Answer, Daemon, Origin, heavy};
use crate::site::browser::browser;
use crate::site::gateway::at;

pub(crate) const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Sets up two sites. The second site has the images of the first.
fn furnish(site: &Origin, other: &Origin) {
    let images = format!(
        "<img id=a src='{0}/a.gif'><img id=b srcset='{0}/b.gif 1x, {0}/c.gif 2x'>",
        other.url("")
    );
    site.say(
        "/",
        Answer::html(format!(
            "<!DOCTYPE html><title>Home</title><base href='/dir/'><link rel=stylesheet href=s.css integrity=sha256-x \
             crossorigin><noscript>no scripts</noscript><script>document.title = 'ran'</script>{images}<a id=next \
             href='../moved'>next</a><iframe id=frame src='inner'></iframe>\
             <form id=look action='/find'><input name=q value='a b&amp;c'></form>"
        ))
        .field("Set-Cookie", "theirs=1"),
    );
    site.say(
        "/dir/s.css",
        Answer::new(200, "text/css", "@import 'more.css'; body { color: rgb(1, 2, 3) }"),
    );
    let more = format!("body {{ background: url({}) }}", other.url("/bg.gif"));
    site.say("/dir/more.css", Answer::new(200, "text/css", format!("{more} p {{ margin: 7px }}")));
    site.say(
        "/dir/inner",
        Answer::html("<title>inner</title><p>inner <a id=out target=_top href='/last'>out</a>"),
    );
    site.say("/moved", Answer::redirect(302, "/next"));
    site.say("/next", Answer::html("<title>Next</title><p>next<a id=home href=/>home</a>"));
    site.say("/last", Answer::html("<title>Last</title>last"));
    site.say("/find?q=a+b%26c", Answer::html("<title>Found</title>found"));
    for path in ["/a.gif", "/b.gif", "/c.gif", "/bg.gif"] {
        other.say(path, Answer::new(200, "image/gif", PIXEL));
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_site_is_browsed_through_the_gateway_online_and_offline() {
    let program = browser();
    let _alone = heavy();
    let (daemon, site, other) = (Daemon::start(), Origin::start(), Origin::start());
    furnish(&site, &other);
    let (mut browser, mut asked) = (Chromium::direct(&program, &[]), 0);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        browser.open(&daemon.own("/gateway/"));
        browser.value(&format!("document.querySelector('[name=url]').value = '{}'", site.url("/")));
        let text = browser.press("document.querySelector('main button')", "Home");
        assert!(text.contains("no scripts"), "{mode}: {text}");
        let address = json!(daemon.own(&at(&site, "/")));
        assert_eq!(browser.value("location.href"), address, "{mode}");
        assert_eq!(browser.value("self.origin"), json!("null"), "{mode}");
        assert_eq!(
            browser.value("getComputedStyle(document.body).color"),
            "rgb(1, 2, 3)",
            "{mode}"
        );
        let loaded =
            "[...document.images].every(image => image.complete && image.naturalWidth == 1)";
        browser.until(loaded, "the images are there");
        let background = browser.value("getComputedStyle(document.body).backgroundImage");
        assert!(background.as_str().unwrap().contains(&at(&other, "/bg.gif")), "{background}");
        let found = browser.press("(look.requestSubmit(), document.body)", "Found");
        assert!(found.contains("found"), "{mode}");
        let here = browser.value("location.href");
        assert_eq!(here, json!(daemon.own(&at(&site, "/find?q=a+b%26c"))), "{mode}");
        browser.open(&daemon.own(&at(&site, "/")));
        browser.press("next", "Next");
        assert_eq!(browser.value("location.href"), json!(daemon.own(&at(&site, "/next"))));
        browser.press("home", "Home");
        daemon.settle();
        match mode {
            "online" => asked = site.seen().len(),
            _ => assert_eq!(site.seen().len(), asked, "offline nobody is asked"),
        }
    }
    // The message page about a missing page has a button that works.
    browser.open(&daemon.own(&at(&site, "/unseen")));
    assert_eq!(daemon.queued_by_browser(), [site.url("/unseen")]);
    browser.press("document.querySelector('form[action*=\"delete/req\"] button')", "");
    assert!(daemon.queued_by_browser().is_empty());
}

#[test]
#[ignore = "needs chromium"]
fn a_hostile_page_stays_inside_the_gateway() {
    let program = browser();
    let _alone = heavy();
    let (daemon, site, outside) = (Daemon::start(), Origin::start(), Origin::start());
    outside.say("/seen", Answer::html("seen"));
    let (out, own) = (outside.url("/seen"), daemon.own(""));
    let page = format!(
        "<!DOCTYPE html><title>Evil</title><base href='{own}/'><body onload=\"document.title='ran'\">\
         <script>fetch('{own}/')</script><img src=x onerror=\"document.title='ran'\">\
         <meta http-equiv=refresh content='0; url={own}/control/online'>\
         <meta http-equiv=refresh content='0; url=javascript:document.title=1'>\
         <iframe id=f1 src='{own}/'></iframe><iframe id=f2 src='/queue/'></iframe><iframe id=f3 src='{out}'></iframe>\
         <iframe srcdoc=\"<script>parent.document.title='ran'</script><img src='{out}'>\"></iframe>\
         <object data='{out}'></object><embed src='{out}'><link rel=stylesheet href='{own}/style.css'>\
         <link rel='preload prefetch' as=image href='{out}'><style>@import '{out}'; body {{ background: url({out}) }}</style>\
         <video src='{out}' poster='{out}'></video><svg><image href='{out}' /><use href='{out}#a' /></svg>\
         <p id=paint style=\"background: \\75rl('{out}')\">x</p>\
         <form id=press method=post action='{own}/control/offline'><input name=token value=x></form>\
         <form id=dots method=post action='../../../control/offline'></form>\
         <a id=js href=\"javascript:document.title='ran'\">js</a><a id=encoded href='..%2f..%2fcontrol/'>e</a>"
    );
    site.say("/evil", Answer::html(page));
    let mut browser = Chromium::direct(&program, &[]);
    browser.open(&daemon.own(&at(&site, "/evil")));
    let loaded = browser.value("performance.getEntriesByType('resource').map(one => one.name)");
    let loaded = loaded.as_array().unwrap();
    assert!(!loaded.is_empty());
    for one in loaded {
        assert!(one.as_str().unwrap().starts_with(&format!("{own}/http/")), "{loaded:?}");
    }
    // All requests came through the gateway.
    for seen in outside.seen() {
        assert!(seen.fields.get("Via").is_some(), "{seen:?}");
    }
    for click in ["js.click()", "encoded.href"] {
        browser.value(click);
    }
    assert_eq!(browser.value("document.title"), "Evil");
    let encoded = browser.value("encoded.href");
    assert!(!encoded.as_str().unwrap().contains("/control/online"), "{encoded}");
    // A script could not read a page of ours, even if it was run.
    let read = "(() => { try { return document.getElementById('f1').contentDocument } catch { return null } })()";
    assert!(browser.value(read).is_null());
    assert_eq!(
        browser.value(
            "try_cookie = (() => { try { return document.cookie } catch { return 'refused' } })()"
        ),
        "refused"
    );
    for form in ["press", "dots"] {
        browser.open(&daemon.own(&at(&site, "/evil")));
        browser.value(&format!("{{ document.getElementById('{form}').submit(); 0 }}"));
        browser.until("document.title != 'Evil'", "the form is answered");
        assert_eq!(daemon.status()["mode"], "online", "{form}");
    }
}
