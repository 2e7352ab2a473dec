//! A real browser that uses the proxy shows the same pages online and offline.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::harness::tools::{plain, program, tool};
use crate::harness::{Answer, Daemon, Origin, Trust, daemon, heavy};

/// Time limit for one page.
const LIMIT: Duration = Duration::from_secs(90);

/// Program names of the browser.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub(crate) fn browser() -> PathBuf {
    program(&NAMES)
}

/// The directory of the screenshots. They are preserved for review.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A browser with a separate profile that uses the proxy.
struct Chromium {
    command: Command,
    profile: TempDir,
    /// The port of our own pages, as in their URLs.
    own: String,
}

impl Chromium {
    fn new(program: &Path, daemon: &Daemon) -> Self {
        let profile = TempDir::new().unwrap();
        let mut command = plain(Command::new(program));
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
            // Without this, requests to loopback addresses bypass the proxy.
            "--proxy-bypass-list=<-loopback>",
        ]);
        command.arg(format!("--proxy-server=http://{}", daemon.addr()));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path());
        Self { command, profile, own: format!(":{}/", daemon.addr().port()) }
    }

    /// Makes the browser trust an authority.
    #[track_caller]
    fn trusting(self, trust: &Trust) -> Self {
        let folder = self.profile.path().join(".pki/nssdb");
        std::fs::create_dir_all(&folder).unwrap();
        let database = format!("sql:{}", folder.display());
        for arguments in [
            &["-d", &database, "-N", "--empty-password"][..],
            &["-d", &database, "-A", "-t", "C,,", "-n", "test", "-i", trust.file()],
        ] {
            let ran = tool("certutil", arguments, "");
            assert_eq!(ran.status, 0, "{ran:?}");
        }
        self
    }

    /// Runs the browser once, until the page is complete, and returns its output.
    #[track_caller]
    fn open(mut self, options: &[String], url: &str) -> Vec<u8> {
        // Virtual time stands still while a request waits, such as the event stream of our own pages.
        if !url.contains(&self.own) {
            self.command.arg("--virtual-time-budget=10000");
        }
        self.command.args(options).arg(url);
        let output = daemon::output(self.command, None, LIMIT);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the browser failed on {url}:\n{said}");
        output.stdout
    }
}

/// A browser that shows a page. Dropping it ends the browser.
pub(crate) struct Looking {
    child: Child,
    _profile: TempDir,
}

impl Drop for Looking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a page in a browser. The browser runs until the returned value is dropped.
pub(crate) fn look(program: &Path, daemon: &Daemon, trust: &Trust, url: &str) -> Looking {
    let Chromium { mut command, profile, .. } = Chromium::new(program, daemon).trusting(trust);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Looking { child: command.spawn().unwrap(), _profile: profile }
}

fn dom(program: &Path, daemon: &Daemon, url: &str) -> String {
    dom_with(program, daemon, &[], url)
}

/// The final DOM of a page in a browser with further options.
pub(crate) fn dom_with(program: &Path, daemon: &Daemon, options: &[String], url: &str) -> String {
    let options = [&["--dump-dom".into()], options].concat();
    String::from_utf8(Chromium::new(program, daemon).open(&options, url)).unwrap()
}

/// The final DOM of a page in a browser that trusts an authority.
pub(crate) fn dom_trusting(program: &Path, daemon: &Daemon, trust: &Trust, url: &str) -> String {
    let chromium = Chromium::new(program, daemon).trusting(trust);
    String::from_utf8(chromium.open(&["--dump-dom".into()], url)).unwrap()
}

/// The final DOM of a page for a user with this home directory.
pub(crate) fn dom_at_home(program: &Path, daemon: &Daemon, home: &Path, url: &str) -> String {
    let mut chromium = Chromium::new(program, daemon);
    chromium.command.env("HOME", home);
    String::from_utf8(chromium.open(&["--dump-dom".into()], url)).unwrap()
}

/// Takes a screenshot of a page, and stores it under `name`. Returns the PNG.
fn picture(program: &Path, daemon: &Daemon, url: &str, name: &str, size: (u32, u32)) -> Vec<u8> {
    picture_with(program, daemon, &[], url, name, size)
}

/// A screenshot of a browser with further options.
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
    Chromium::new(program, daemon).open(&options, url);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{name} is a picture");
    bytes
}

/// Texts on the page of [`furnish`] once all its sub-resources are loaded.
pub(crate) const FURNISHED: [&str; 6] = [
    "script ran",
    "rgb(1, 2, 3)",
    "image 31",
    "font loaded",
    "frame within",
    "<title>Full shop</title>",
];

/// Sets up a page that is changed by each of its sub-resources: a style sheet, a script, an image,
/// a font, a frame, and the result of a script's fetch.
pub(crate) fn furnish(origin: &Origin) {
    origin.say(
        "/shop/",
        Answer::html(
            "<!DOCTYPE html><title>Shop</title><link rel=stylesheet href=style.css>\
             <h1>Shop</h1><p id=style>style?<p id=image>image?<p id=script>script?<p id=font>font?\
             <p id=frame>frame?<img id=i src=dot.svg onload=\"document.getElementById('image')\
             .textContent='image '+this.naturalWidth\"><script src=more.js></script>\
             <iframe src=frame.html></iframe>",
        ),
    );
    let style = "h1 { color: rgb(1, 2, 3) } #i { border: 40px solid green }\
        @font-face { font-family: Own; src: url(own.ttf) }";
    origin.say("/shop/style.css", Answer::new(200, "text/css", style));
    let script = "const say = (id, text) => document.getElementById(id).textContent = text;\
        say('script', 'script ran');\
        say('style', getComputedStyle(document.querySelector('h1')).color);\
        document.fonts.load('20px Own').then(f => say('font', f.length ? 'font loaded' : 'none'));\
        fetch('data.json').then(r => r.json()).then(j => { document.title = j.title });\
        onmessage = event => say('frame', event.data);";
    origin.say("/shop/more.js", Answer::new(200, "text/javascript", script).chunked());
    let image = "<svg xmlns='http://www.w3.org/2000/svg' width='31' height='17'><rect width='31' \
        height='17' fill='red'/></svg>";
    origin.say("/shop/dot.svg", Answer::new(200, "image/svg+xml", image).until_close());
    origin
        .say("/shop/data.json", Answer::new(200, "application/json", "{\"title\":\"Full shop\"}"));
    let frame = "<script>parent.postMessage('frame within', '*')</script>";
    origin.say("/shop/frame.html", Answer::html(frame).field("Cache-Control", "no-cache"));
    origin.say("/shop/own.ttf", Answer::new(200, "font/ttf", font()));
}

/// Any font of this machine. Every browser package depends on one. Empty if there is none.
pub(crate) fn font() -> Vec<u8> {
    let fonts = Path::new("/usr/share/fonts");
    let files = if fonts.is_dir() { crate::harness::files(fonts) } else { Vec::new() };
    let mut fonts = files.into_iter().filter(|file| file.extension().is_some_and(|x| x == "ttf"));
    fonts.next().map_or_else(Vec::new, |file| std::fs::read(file).unwrap())
}

#[test]
#[ignore = "needs chromium"]
fn a_browser_shows_the_same_page_offline_as_online() {
    let program = browser();
    let _alone = heavy();
    let (mut daemon, mut origin) = (Daemon::start(), Origin::start());
    furnish(&origin);
    let url = origin.url("/shop/");
    let online = dom(&program, &daemon, &url);
    for text in FURNISHED {
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
    assert_eq!(queue, [origin.url("/missing/")], "only the page is queued");
    picture(&program, &daemon, &origin.url("/missing/"), "will-get.png", (360, 740));
}

#[test]
#[ignore = "needs chromium"]
fn the_own_pages_fit_a_phone_and_a_desk() {
    let program = browser();
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
