//! Other programs open the same export: 50 pages of two sites, each with a style sheet and a
//! picture.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::Timestamp;

use super::browsable::gif;
use super::exchange::script;
use crate::harness::tools::{plain, program, python_with};
use crate::harness::{Daemon, cannot_run, daemon, heavy, then};
use crate::site::browser::browser;
use crate::site::ui::modules;

/// The number of pages.
const PAGES: u8 = 50;

/// Time limit for a viewer, on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// A page with its style sheet and its picture.
struct SitePage {
    url: String,
    title: String,
    colour: [u8; 3],
    /// URLs, media types and bodies.
    files: [(String, &'static str, Vec<u8>); 3],
}

fn pages() -> Vec<SitePage> {
    let page = |number: u8| {
        let site =
            if number.is_multiple_of(2) { "http://site.example" } else { "https://other.example" };
        let (title, colour) = (format!("Page {number}"), [number, 100, 200]);
        let (url, [red, green, blue]) = (format!("{site}/page/{number}?a=b&c={number}"), colour);
        let body = format!(
            "<!doctype html><html><head><title>{title}</title><link rel=\"stylesheet\" \
             href=\"/style-{number}.css\"></head><body><p>text {number}</p>\
             <img src=\"/picture-{number}.gif\" width=\"20\" height=\"20\"></body></html>"
        );
        let sheet = format!("body {{ color: rgb({red}, {green}, {blue}) }}").into_bytes();
        let files = [
            (url.clone(), "text/html", body.into_bytes()),
            (format!("{site}/style-{number}.css"), "text/css", sheet),
            (format!("{site}/picture-{number}.gif"), "image/gif", gif(colour)),
        ];
        SitePage { url, title, colour, files }
    };
    (0..PAGES).map(page).collect()
}

/// Stores all pages, and exports them. The archive contains nothing else.
fn exported(daemon: &Daemon, pages: &[SitePage], name: &str) -> String {
    let now = Timestamp::now();
    for (url, kind, body) in pages.iter().flat_map(|page| &page.files) {
        then::keep(daemon.spool(), now, url, kind, body);
    }
    let file = daemon.home().join(name).to_str().unwrap().to_owned();
    let said = daemon.ok(&["export", &file]);
    assert!(said.contains(&format!("{} responses", u32::from(PAGES) * 3)), "{said}");
    file
}

#[test]
#[ignore = "needs python3 with pywb"]
fn pywb_replays_fifty_pages() {
    let daemon = Daemon::prepare(None);
    let pages = pages();
    let file = exported(&daemon, &pages, "site.wacz");
    let rows = pages.iter().flat_map(|page| &page.files);
    let rows = rows.map(|(url, _, body)| format!("{url}\t{}\n", hex::encode(Sha256::digest(body))));
    let ran = script(python_with("pywb"), "unpack.py", &[file], &rows.collect::<String>());
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
}

#[test]
#[ignore = "needs node, chromium and npm packages"]
fn replayweb_page_shows_fifty_pages() {
    let (node, chromium, modules) = (program(&["node", "nodejs"]), browser(), modules());
    let viewer = modules.join("replaywebpage");
    if !viewer.join("sw.js").is_file() {
        cannot_run("the package replaywebpage is not in UI_TEST_MODULES");
    }
    let _alone = heavy();
    let daemon = Daemon::prepare(None);
    let pages = pages();
    let archive = exported(&daemon, &pages, "site.wacz");
    let told = pages
        .iter()
        .map(|page| json!({"url": page.url, "title": page.title, "colour": page.colour}));
    let settings = json!({
        "modules": modules,
        "viewer": viewer,
        "chromium": chromium,
        "home": daemon.home(),
        "archive": archive,
        "pages": told.collect::<Vec<_>>(),
    });
    let name = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives/replayweb.mjs");
    let mut command = plain(Command::new(node));
    command.arg(name).arg(settings.to_string());
    let ran = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&ran.stdout);
    let failed = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("replayed"), "{said}\n{failed}");
}

#[test]
#[ignore = "needs warc2zim and kiwix-serve"]
fn kiwix_serves_fifty_pages() {
    let kiwix = program(&["kiwix-serve"]);
    // Its dependencies do not fit those of the other tools, so it has an environment of its own.
    let Some(python) = std::env::var_os("ZIM_PYTHON") else {
        cannot_run("set ZIM_PYTHON to a Python with warc2zim");
    };
    let daemon = Daemon::prepare(None);
    let pages = pages();
    let file = exported(&daemon, &pages, "site.warc.gz");
    let rows = pages.iter().flat_map(|page| &page.files);
    let rows = rows.map(|(url, _, body)| format!("{url}\t{}\n", BASE64_STANDARD.encode(body)));
    let arguments = [kiwix.to_str().unwrap().to_owned(), file, pages[0].url.clone()];
    let python = plain(Command::new(python));
    let ran = script(python, "zim.py", &arguments, &rows.collect::<String>());
    assert!(ran.status == 0 && ran.out.contains("served"), "{ran:?}");
}
