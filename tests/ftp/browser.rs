//! A real browser reads FTP in the gateway, from a real server, online and offline.

use serde_json::json;

use super::servers::Pyftpdlib;
use crate::harness::{Chromium, Daemon, heavy};
use crate::site::browser::browser;
use crate::site::gateway_browser::PIXEL;

#[test]
#[ignore = "needs chromium and pyftpdlib"]
fn a_tree_is_browsed_online_and_with_the_server_stopped() {
    let program = browser();
    let _alone = heavy();
    let server = Pyftpdlib::start();
    server
        .file("pub/pages/page.html", "<title>Page</title><img id=i src='../p.gif'><p>of a server");
    server.file("pub/p.gif", PIXEL);
    server.file("pub/a <b> & \u{1b}[2J é.txt", "plain text");
    let daemon = Daemon::start();
    let mut server = Some(server);
    let top = server.as_ref().unwrap().url("/pub/");
    let at = daemon.own(&top.replacen("ftp://", "/ftp/", 1));
    let mut browser = Chromium::direct(&program, &[]);
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        if mode == "offline" {
            drop(server.take());
        }
        browser.open(&at);
        assert_eq!(browser.value("document.title"), json!(top), "{mode}");
        let rows = browser.value("document.querySelectorAll('tr').length");
        // The parent, two directories and three files.
        assert_eq!(rows, json!(6), "{mode}");
        assert_eq!(browser.value("self.origin"), json!("null"), "{mode}");
        // Pages are opened by their links.
        browser.press("document.querySelector('a[href$=\"pages/\"]')", &format!("{top}pages/"));
        let text = browser.press("document.querySelector('a[href$=\"page.html\"]')", "Page");
        assert!(text.contains("of a server"), "{mode}: {text}");
        let is_shown = "document.getElementById('i').naturalWidth == 1";
        browser.until(is_shown, "the picture is shown");
        browser.open(&at);
        let text = browser.press("document.querySelector('a[href*=\"%1B\"]')", "");
        assert!(text.contains("plain text"), "{mode}: {text}");
        daemon.settle();
    }
    // A person who is offline asks for a file, and gets it later.
    browser.open(&format!("{at}missing.txt"));
    assert_eq!(daemon.queued_by_browser(), [format!("{top}missing.txt")]);
}
