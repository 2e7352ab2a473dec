//! The library, and the style sheet and the script of all pages.

use crate::harness::form::unescape;
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::site::own_pages::without_our_script;

/// An image of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// The library. Waits until it contains `text`.
#[track_caller]
fn library_with(daemon: &Daemon, text: &str) -> String {
    let mut library = String::new();
    eventually("the sites are in the library", || {
        let page = daemon.page("/index/").whole();
        assert_eq!(page.status, 200);
        assert!(page.body.len() < 100_000, "{}", page.body.len());
        library = unescape(&page.text());
        library.contains(text)
    });
    library
}

#[test]
fn the_library_shows_sites_with_icon_title_and_state() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let empty = library_with(&daemon, "Nothing is saved yet.");
    assert!(empty.contains("/?help=1#help"), "{empty}");
    origin.say("/", Answer::html("<title>All teas</title><img src=/leaf.png><p>Tea."));
    origin.say("/leaf.png", Answer::new(200, "image/png", PNG));
    origin.say("/favicon.ico", Answer::new(200, "image/png", PNG));
    for path in ["/", "/favicon.ico"] {
        assert_eq!(daemon.get(&origin.url(path)).status, 200);
    }
    let partial = library_with(&daemon, "1 file missing");
    assert!(partial.contains("All teas") && partial.contains("1 page,"), "{partial}");
    assert!(partial.contains("<img src=\"data:image/png;base64,"), "{partial}");
    daemon.get(&origin.url("/leaf.png"));
    let whole = library_with(&daemon, ">complete<");
    let site = whole.split_once("/index/site/").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(daemon.page(&format!("/index/site/{site}")).status, 200);
}

#[test]
fn hostile_titles_and_broken_icons_do_not_spoil_the_library() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let title = format!("\u{202e}</a><script>alert(1)</script>{}", "x".repeat(8_000));
    origin.say("/", Answer::html(format!("<title>{title}</title><p>Tea.")));
    origin.say("/favicon.ico", Answer::new(200, "image/png", "no picture"));
    let long = format!("/{}", "a".repeat(8_000));
    origin.say(&long, Answer::html("<title>Long</title>"));
    for path in ["/", "/favicon.ico", &long] {
        daemon.get(&origin.url(path));
    }
    let library = library_with(&daemon, "alert(1)");
    assert!(library.contains("2 pages") && !library.contains('\u{202e}'), "{library}");
    let page = daemon.page("/index/").whole().text();
    let page = without_our_script(&page);
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
}

#[test]
fn a_browser_may_keep_the_style_sheet_and_the_script_for_ever() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let home = unescape(&daemon.page("/").whole().text());
    let (_, sheet) = home.split_once("/style-").expect("the page links to the style sheet");
    let path = format!("/style-{}", sheet.split_once('"').unwrap().0);
    let sheet = daemon.page(&path).whole();
    assert_eq!((sheet.status, sheet.field("Content-Type")), (200, "text/css; charset=utf-8"));
    assert_eq!(sheet.field("Cache-Control"), "public, max-age=31536000, immutable");
    assert!(sheet.body.len() <= 24_000, "{}", sheet.body.len());
    assert_eq!(sheet.body, daemon.page("/style.css").whole().body);
    let (_, script) = home.split_once("/live-").expect("the page links to the script");
    let script = daemon.page(&format!("/live-{}", script.split_once('"').unwrap().0)).whole();
    assert_eq!(
        (script.status, script.field("Content-Type")),
        (200, "text/javascript; charset=utf-8")
    );
    assert_eq!(script.field("Cache-Control"), "public, max-age=31536000, immutable");
    assert!(script.body.len() <= 12_000, "{}", script.body.len());
    // A page of an earlier version names an earlier sheet. It gets the present one, which it may
    // not keep under that name.
    let earlier = daemon.page("/style-0123456789abcdef.css").whole();
    assert_eq!((earlier.status, earlier.field("Cache-Control")), (200, "no-store"));
    assert_eq!(earlier.body, sheet.body);
    // A message page appears under the origin of another site, and contains the sheet.
    daemon.ok(&["offline"]);
    let missing = daemon.browse(&origin.url("/missing")).whole();
    assert!(missing.text().contains("<style>") && !missing.text().contains("/style-"));
    let policy = missing.field("Content-Security-Policy");
    assert!(policy.contains("style-src 'unsafe-inline';") && !policy.contains("script-src"));
    assert!(!missing.text().contains("<script"), "{}", missing.text());
}
