//! Other programs open the same export: 50 pages of two sites, each with a style sheet and a
//! picture.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
             href=\"/style-{number}.css\"></head><body><main><p>text {number}</p>\
             <img src=\"/picture-{number}.gif\" width=\"20\" height=\"20\"></main></body></html>"
        );
        let sheet = format!(
            "body {{ color: rgb({red}, {green}, {blue}); background: white }}\
             main {{ width: 200px; height: 100px; overflow: hidden }}"
        );
        let files = [
            (url.clone(), "text/html", body.into_bytes()),
            (format!("{site}/style-{number}.css"), "text/css", sheet.into_bytes()),
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

/// A reader that serves an archive until its standard input ends.
struct ServingReader(Child, u16);

impl ServingReader {
    /// Starts a script that prints its port, with this text as its standard input.
    fn start(python: impl Into<std::ffi::OsString>, arguments: &[&str], input: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives");
        let (name, rest) = arguments.split_first().unwrap();
        let mut command = plain(Command::new(python.into()));
        command.arg(script.join(name)).args(rest);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
        let (mut said, mut line) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        while said.read_line(&mut line).unwrap() > 0 {
            if let Ok(port) = line.trim().parse() {
                child.stdout = Some(said.into_inner());
                return Self(child, port);
            }
            assert!(!line.starts_with("wrong"), "{line}");
            line.clear();
        }
        panic!("{name:?} does not serve: {:?}", child.wait());
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.1)
    }
}

impl Drop for ServingReader {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

/// The proxy, a folder, single files, pywb, replayweb.page and kiwix-serve show the same pictures of
/// all pages. kiwix-serve shows them without the frame of its reader, and returns the bytes of all
/// files.
#[test]
#[ignore = "needs node, chromium, npm packages, pywb, warc2zim and kiwix-serve"]
fn fifty_pages_look_the_same_in_all_readers() {
    let (node, chromium, modules) = (program(&["node", "nodejs"]), browser(), modules());
    let (kiwix, python) = (program(&["kiwix-serve"]), python_with("pywb"));
    // The dependencies of warc2zim do not fit those of the other tools.
    let Some(zim) = std::env::var_os("ZIM_PYTHON") else {
        cannot_run("set ZIM_PYTHON to a Python with warc2zim");
    };
    let viewer = modules.join("replaywebpage");
    if !viewer.join("sw.js").is_file() {
        cannot_run("the package replaywebpage is not in UI_TEST_MODULES");
    }
    let _alone = heavy();
    let mut daemon = Daemon::prepare(None);
    let pages = pages();
    let wacz = exported(&daemon, &pages, "site.wacz");
    let at_home = |name: &str| daemon.home().join(name).to_str().unwrap().to_owned();
    let (warc, folder) = (at_home("site.warc.gz"), at_home("stick"));
    daemon.ok(&["export", &warc]);
    daemon.ok(&["export", &format!("{folder}/")]);
    let pictured = pages.iter().enumerate().map(|(number, page)| {
        let file = at_home(&format!("{number}.html"));
        daemon.ok(&["export", "--page", &page.url, &file]);
        json!({"url": page.url, "title": page.title, "colour": page.colour, "file": file})
    });
    let pictured: Vec<_> = pictured.collect();
    daemon.up();
    daemon.ok(&["offline"]);
    let rows = pages.iter().flat_map(|page| &page.files);
    let rows = rows.map(|(url, _, body)| format!("{url}\t{}\n", BASE64_STANDARD.encode(body)));
    let rows = rows.chain(["\n".to_owned()]).collect::<String>();
    let arguments = ["zim.py", kiwix.to_str().unwrap(), &warc, &pages[0].url];
    let zim = ServingReader::start(zim, &arguments, &rows);
    let pywb = ServingReader::start(python.get_program(), &["archive.py", &wacz], "");
    let settings = json!({
        "modules": modules,
        "viewer": viewer,
        "chromium": chromium,
        "home": daemon.home(),
        "out": Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers"),
        "proxy": format!("http://{}", daemon.addr()),
        "archive": wacz,
        "folder": folder,
        "pywb": pywb.address(),
        "kiwix": zim.address(),
        "pages": pictured,
    });
    let name = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/archives/pictures.mjs");
    let mut command = plain(Command::new(node));
    command.arg(name).arg(settings.to_string());
    let ran = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&ran.stdout);
    let failed = String::from_utf8_lossy(&ran.stderr);
    let is_same = said.contains("50 pages look the same in 6 readers");
    assert!(ran.status.success() && is_same, "{said}\n{failed}");
}
