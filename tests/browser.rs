//! A real browser, set to the proxy: what it shows online it shows offline.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::{Answer, Daemon, Origin, cannot_run, daemon, heavy};

/// How long the browser may take for one page.
const LIMIT: Duration = Duration::from_secs(90);

/// Names under which the browser is installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub(crate) fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        cannot_run("no Chromium is installed");
    }
    found
}

/// Where screenshots stay for people to look at.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the browser once with a profile of its own, set to the proxy, and gives what it wrote.
fn open(program: &Path, daemon: &Daemon, options: &[String], url: &str) -> Vec<u8> {
    let home = tempfile::TempDir::new().unwrap();
    open_at_home(program, daemon, home.path(), options, url)
}

/// The same in the home directory of a person.
fn open_at_home(
    program: &Path,
    daemon: &Daemon,
    home: &Path,
    options: &[String],
    url: &str,
) -> Vec<u8> {
    let profile = tempfile::TempDir::new().unwrap();
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        // Without this, loopback addresses never go through a proxy.
        "--proxy-bypass-list=<-loopback>",
        "--virtual-time-budget=10000",
    ]);
    command.arg(format!("--proxy-server=http://{}", daemon.addr()));
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.env("HOME", home).args(options).arg(url);
    let output = daemon::output(command, None, LIMIT);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser failed on {url}:\n{said}");
    output.stdout
}

fn dom(program: &Path, daemon: &Daemon, url: &str) -> String {
    dom_with(program, daemon, &[], url)
}

/// What a page has become, in a browser with more options.
pub(crate) fn dom_with(program: &Path, daemon: &Daemon, options: &[String], url: &str) -> String {
    let options = [&["--dump-dom".into()], options].concat();
    String::from_utf8(open(program, daemon, &options, url)).unwrap()
}

/// What a page has become for a person with this home directory.
pub(crate) fn dom_at_home(program: &Path, daemon: &Daemon, home: &Path, url: &str) -> String {
    String::from_utf8(open_at_home(program, daemon, home, &["--dump-dom".into()], url)).unwrap()
}

/// A screenshot; its width and height are in the file's own head.
fn picture(program: &Path, daemon: &Daemon, url: &str, name: &str, size: (u32, u32)) -> Vec<u8> {
    picture_with(program, daemon, &[], url, name, size)
}

/// A screenshot of a browser with more options.
pub(crate) fn picture_with(
    program: &Path,
    daemon: &Daemon,
    options: &[String],
    url: &str,
    name: &str,
    size: (u32, u32),
) -> Vec<u8> {
    let file = pictures().join(name);
    let size = format!("--window-size={},{}", size.0, size.1);
    let options = [&[format!("--screenshot={}", file.display()), size], options].concat();
    open(program, daemon, &options, url);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{name} is a picture");
    bytes
}

/// A page with a style, a script and an image that each change what it is.
pub(crate) fn furnish(origin: &Origin) {
    origin.say(
        "/shop/",
        Answer::html(
            "<!DOCTYPE html><title>Shop</title><link rel=stylesheet href=style.css>\
             <h1>Shop</h1><p id=style>style?<p id=image>image?<p id=script>script?\
             <img id=i src=dot.svg onload=\"document.getElementById('image').textContent=\
             'image '+this.naturalWidth\"><script src=more.js></script>",
        ),
    );
    let style = "h1 { color: rgb(1, 2, 3) } #i { border: 40px solid green }";
    origin.say("/shop/style.css", Answer::new(200, "text/css", style));
    let script = "document.getElementById('script').textContent = 'script ran';\
        document.getElementById('style').textContent =\
        getComputedStyle(document.querySelector('h1')).color;\
        fetch('data.json').then(r => r.json()).then(j => { document.title = j.title });";
    origin.say("/shop/more.js", Answer::new(200, "text/javascript", script).chunked());
    let image = "<svg xmlns='http://www.w3.org/2000/svg' width='31' height='17'><rect width='31' \
        height='17' fill='red'/></svg>";
    origin.say("/shop/dot.svg", Answer::new(200, "image/svg+xml", image).until_close());
    origin
        .say("/shop/data.json", Answer::new(200, "application/json", "{\"title\":\"Full shop\"}"));
}

#[test]
fn a_browser_shows_offline_what_it_showed_online() {
    let Some(program) = browser() else { return };
    let _alone = heavy();
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    furnish(&origin);
    let url = origin.url("/shop/");
    let online = dom(&program, &daemon, &url);
    for text in ["script ran", "rgb(1, 2, 3)", "image 31", "<title>Full shop</title>"] {
        assert!(online.contains(text), "{text:?} online:\n{online}");
    }
    assert!(origin.count("/shop/") >= 1, "the page came from the origin");
    let shown = picture(&program, &daemon, &url, "shop-online.png", (800, 600));
    daemon.settle();
    daemon.ok(&["offline"]);
    origin.stop();
    daemon.restart();
    assert_eq!(dom(&program, &daemon, &url), online, "offline");
    let offline = picture(&program, &daemon, &url, "shop-offline.png", (800, 600));
    assert!(offline == shown, "both screenshots are the same");

    let missing = dom(&program, &daemon, &origin.url("/missing/"));
    assert!(missing.contains("/missing/") && missing.contains("queue/"), "{missing}");
    let queue = daemon.queued_by_browser();
    assert_eq!(queue, [origin.url("/missing/")], "the page alone is queued, no noise");
    picture(&program, &daemon, &origin.url("/missing/"), "will-get.png", (360, 740));
}

#[test]
fn the_own_pages_fit_a_phone_and_a_desk() {
    let Some(program) = browser() else { return };
    let _alone = heavy();
    let daemon = Daemon::start();
    for width in [360, 1_280] {
        for (page, path) in [("welcome", "/"), ("queue", "/queue/"), ("ca", "/ca")] {
            let name = format!("{page}-{width}.png");
            let bytes = picture(&program, &daemon, &daemon.own(path), &name, (width, 800));
            assert!(bytes.len() > 2_000, "{name} shows something");
        }
    }
    let html = dom(&program, &daemon, &daemon.own("/"));
    assert!(html.contains("/control/offline"), "{html}");
}
