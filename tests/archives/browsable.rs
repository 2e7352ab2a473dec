//! Exports that a browser opens without the proxy: a folder, and a page in one file. They look as
//! the pages do through the proxy, and load nothing from the network.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::harness::chromium::Chromium;
use crate::harness::{Answer, Daemon, Origin, cannot_run, heavy};
use crate::site::browser::browser;

/// The font of the pages, which no style of a browser names. `.ci/run` installs it.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf";

/// An image of one pixel of this colour.
pub(super) fn gif(colour: [u8; 3]) -> Vec<u8> {
    let head = b"GIF89a\x01\0\x01\0\x80\0\0";
    [&head[..], &colour, &[0; 3], b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"].concat()
}

/// Sets up a page with all kinds of sub-resources, of two sites, and with scripts that would send
/// requests.
fn furnish(site: &Origin, other: &Origin) {
    let font = std::fs::read(FONT).unwrap_or_else(|_| cannot_run(&format!("{FONT} is missing")));
    let (cdn, long) = (other.url(""), "x".repeat(400));
    let page = format!(
        "<!DOCTYPE html>\n<html lang=fr><head><title>Page</title>\
         <link rel=stylesheet href='style.css?v=1.2&amp;x=\"a b\"'>\
         <style>h1 {{ background: url({cdn}/red.gif) }}</style><script>fetch('{cdn}/phone')</script>\
         </head><body onload=\"fetch('{cdn}/phone')\"><h1>caf\u{e9}</h1><p class=special>special font</p>\
         <img src='{cdn}/green.gif' width=40 height=40><img srcset='{cdn}/blue.gif 1x, /none.gif 2x' \
         width=40 height=40><img src=/pic.svg width=50 height=50><iframe src='frame?a=b&amp;c' width=300 \
         height=80></iframe><p><a id=next href='/moved#there'>next</a> <a id=long href='/{long}?{long}'>\
         long</a> <a id=out href='http://out.example/'>out</a><script src='{cdn}/s.js'></script>\
         <object data=/pic.svg width=50 height=50></object></body></html>"
    );
    let (page, _, _) = encoding_rs::WINDOWS_1252.encode(&page);
    let latin = "text/html; charset=iso-8859-1";
    site.say("/dir/", Answer::new(200, latin, page.into_owned()));
    let sheet = "@import 'more.css'; body { color: rgb(1, 2, 3); margin: 10px }";
    site.say("/dir/style.css?v=1.2&x=%22a%20b%22", Answer::new(200, "text/css", sheet));
    let more = "@font-face { font-family: special; src: url(/fonts/special) format('truetype') }\
                .special { font: 20px special, serif }";
    site.say("/dir/more.css", Answer::new(200, "text/css", more));
    site.say("/fonts/special", Answer::new(200, "font/ttf", font));
    // Straight edges: Chromium smooths curves differently each time.
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'><rect width='10' height='10' \
         fill='orange'/><script>fetch('{cdn}/phone')</script></svg>"
    );
    site.say("/pic.svg", Answer::new(200, "image/svg+xml", svg));
    let frame =
        format!("<title>Frame</title>in a frame<img src='{cdn}/green.gif' width=9 height=9>");
    site.say("/dir/frame?a=b&c", Answer::html(frame));
    site.say("/moved", Answer::redirect(302, "/Next"));
    let next = "<!DOCTYPE html><title>Next</title><p id=there>next <a id=back href=/dir/>back</a>";
    site.say("/Next", Answer::html(next));
    site.say("/next", Answer::html("<title>Another</title>the same name but for the case"));
    site.say(&format!("/{long}?{long}"), Answer::html("<title>Long</title>long"));
    other.say("/s.js", Answer::new(200, "text/javascript", format!("fetch('{cdn}/phone')")));
    other
        .say("/phone", Answer::new(200, "text/plain", "called").field("Cache-Control", "no-store"));
    for (path, colour) in
        [("/red.gif", [255, 0, 0]), ("/green.gif", [0, 128, 0]), ("/blue.gif", [0, 0, 255])]
    {
        other.say(path, Answer::new(200, "image/gif", gif(colour)));
    }
}

/// Waits until all of the page is shown, and returns its picture.
#[track_caller]
fn picture(browser: &mut Chromium, what: &str) -> String {
    let is_there = "[...document.images].every(one => one.complete && one.naturalWidth > 0) \
                    && document.fonts.size == 1 && [...document.fonts][0].status == 'loaded'";
    browser.until(is_there, what);
    browser.picture()
}

/// Compares two screenshots. If they differ, both stay in the directory `exports` of cargo's
/// directory for tests.
#[track_caller]
fn compare(shown: &str, want: &str, name: &str) {
    if shown == want {
        return;
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exports");
    std::fs::create_dir_all(&out).unwrap();
    for (picture, which) in [(shown, "shown"), (want, "proxy")] {
        let bytes = BASE64_STANDARD.decode(picture).unwrap();
        std::fs::write(out.join(format!("{name}-{which}.png")), bytes).unwrap();
    }
    panic!("the {name} looks different: see {}", out.display());
}

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
#[ignore = "needs chromium"]
fn a_folder_and_a_single_file_look_as_through_the_proxy() {
    let program = browser();
    let _alone = heavy();
    let (daemon, site, other) = (Daemon::start(), Origin::start(), Origin::start());
    furnish(&site, &other);
    let long = "x".repeat(400);
    let mut proxied = Chromium::start(&program, &daemon);
    proxied.open(&site.url("/dir/"));
    let want = picture(&mut proxied, "the page through the proxy");
    for path in ["/moved", "/Next", "/next", &format!("/{long}?{long}")] {
        assert!(daemon.get(&site.url(path)).status < 400, "{path}");
    }
    daemon.settle();
    drop(proxied);
    let (folder, file) = (daemon.home().join("stick"), daemon.home().join("page.html"));
    daemon.ok(&["export", &format!("{}/", folder.display())]);
    let page = site.url("/dir/");
    let said = daemon.ok(&["export", "--page", &page, file.to_str().unwrap()]);
    assert!(said.contains("a page with 8 sub-resources"), "{said}");
    let asked = (site.seen().len(), other.seen().len());

    let mut browser = Chromium::direct(&program, &[]);
    browser.listen();
    browser.open(&file_url(&folder.join("index.html")));
    let link = format!("[...document.links].find(one => one.textContent == '{page}')");
    browser.press(&link, "Page");
    let shown = picture(&mut browser, "the page in the folder");
    compare(&shown, &want, "folder");
    assert_eq!(browser.value("document.characterSet"), json!("windows-1252"));
    assert_eq!(browser.value("document.compatMode"), json!("CSS1Compat"));
    assert_eq!(browser.value("document.documentElement.lang"), json!("fr"));
    assert_eq!(browser.value("out.href"), json!("http://out.example/"));
    browser.press("next", "Next");
    assert!(browser.value("location.href").as_str().unwrap().ends_with("#there"));
    browser.press("back", "Page");
    browser.press("long", "Long");

    browser.open(&file_url(&file));
    let shown = picture(&mut browser, "the single file");
    compare(&shown, &want, "single-file");
    let loaded = browser.quiet("the exports");
    assert!(loaded.is_empty(), "requests to the network: {loaded:?}");
    assert_eq!((site.seen().len(), other.seen().len()), asked, "nothing was requested");
}

#[test]
fn a_single_file_needs_a_stored_page() {
    let (mut daemon, site) = (Daemon::start(), Origin::start());
    site.say("/", Answer::html("<img src=a.gif><img src=missing.gif>"));
    site.say("/a.gif", Answer::new(200, "image/gif", gif([1, 2, 3])));
    for path in ["/", "/a.gif"] {
        daemon.get(&site.url(path)).whole();
    }
    daemon.settle();
    let file = daemon.home().join("page.html");
    let file = file.to_str().unwrap();
    let ran = daemon.run(&["export", "--json", "--page", &site.url("/"), file]);
    let told = ran.json();
    assert_eq!((&told["sub_resources"], &told["missing"]), (&json!(1), &json!(1)), "{ran:?}");
    for (arguments, status, why) in [
        (vec!["export", file], 2, "name it with --page URL"),
        (vec!["export", "--page", &site.url("/none"), file], 1, "`wwwoffle get URL` fetches it"),
        (vec!["export", "--page", &site.url("/a.gif"), file], 1, "is not a page"),
        (vec!["export", "--page", "http://", file], 1, "invalid URL"),
    ] {
        let ran = daemon.run(&arguments);
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
    // With another format, the page and its sub-resources are exported. The index knows them.
    daemon.down();
    daemon.ok(&["reindex"]);
    let warc = daemon.home().join("page.warc.gz");
    let ran = daemon.run(&["export", "--json", "--page", &site.url("/"), warc.to_str().unwrap()]);
    assert_eq!(ran.json()["entries"], json!(2), "{ran:?}");
}
