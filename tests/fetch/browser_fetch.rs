//! Queued pages that are opened in a browser, so that resources loaded by scripts are stored too.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::harness::daemon::AS_PERSON;
use crate::harness::tools::need_root;
use crate::harness::{Answer, Authority, Daemon, Origin, TlsOrigin, eventually, heavy};
use crate::security::owners;
use crate::site::browser::browser;

/// A page whose other resources are known only to its script.
const PAGE: &str = "<!DOCTYPE html><title>x</title><p id=p><script>\
    const name = ['da', 'ta'].join(''); alert('nobody closes it');\
    fetch(name + '.json?' + 6 * 7).then(r => r.json()).then(j => setTimeout(() => {\
    const i = new Image(); i.src = j.image; document.body.append(i);\
    new Worker(j.worker) }, 100));</script>";

/// A page that sends requests without end.
const RESTLESS: &str = "<!DOCTYPE html><script>let n = 0;\
    setInterval(() => fetch('/again?' + n++), 50)</script>";

fn executable(path: &Path, lines: &str) -> PathBuf {
    std::fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// A daemon whose browser program is a shell script with these lines.
fn opening(lines: &str, more: &str, authority: Option<&Authority>) -> Daemon {
    let mut daemon = match authority {
        Some(authority) => authority.place(""),
        None => Daemon::prepare(Some("")),
    };
    let program = executable(&daemon.home().join("program"), lines);
    let config = std::fs::read_to_string(daemon.config_file()).unwrap();
    let config =
        format!("{config}\n[fetch-options]\nbrowser = \"{}\"\n{more}\n", program.display());
    std::fs::write(daemon.config_file(), config).unwrap();
    let temporary = daemon.home().join("t");
    std::fs::create_dir(&temporary).unwrap();
    daemon = daemon.with_variable("TMPDIR", temporary.to_str().unwrap());
    daemon.up();
    daemon
}

/// Chromium runs as root only without its sandbox.
fn chromium(program: &Path) -> String {
    format!("exec {} \"$@\" --no-sandbox", program.display())
}

/// A daemon with users, whose browser program is a shell script with these lines.
fn opening_for_users(lines: &str) -> Daemon {
    let daemon = owners::daemon();
    let program = executable(&daemon.home().join("program"), lines);
    daemon.ok(&["config", "set", "fetch-options.browser", program.to_str().unwrap()]);
    daemon
}

/// The number of browser processes of this daemon.
fn processes(daemon: &Daemon) -> usize {
    let profile = daemon.home().join("t/wwwoffle-browser-").display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&profile)).count()
}

/// The browser profiles that exist.
fn profiles(daemon: &Daemon) -> Vec<OsString> {
    let entries = std::fs::read_dir(daemon.home().join("t")).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

fn furnish(origin: &Origin) {
    origin.say("/page", Answer::html(PAGE));
    let data = "{\"image\":\"/late.svg\",\"worker\":\"/worker.js\"}";
    origin.say("/data.json?42", Answer::new(200, "application/json", data));
    let image = "<svg xmlns='http://www.w3.org/2000/svg' width='3' height='3'/>";
    origin.say("/late.svg", Answer::new(200, "image/svg+xml", image));
    origin.say("/worker.js", Answer::new(200, "text/javascript", "fetch('/deep.txt')"));
    origin.say("/deep.txt", Answer::new(200, "text/plain", "deep"));
}

#[test]
#[ignore = "needs chromium"]
fn resources_loaded_by_scripts_are_stored_and_the_browser_ends() {
    let program = browser();
    let _alone = heavy();
    let authority = Authority::new();
    let secure = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    let plain = Origin::start();
    let daemon = opening(&chromium(&program), "browser-time = \"10m\"", Some(&authority));
    for (origin, url) in [(&plain, plain.url("")), (&secure.origin, secure.url(""))] {
        furnish(origin);
        let told = daemon.ok(&["get", &format!("{url}/page")]);
        assert!(!told.contains("browser"), "{told}\n{}", daemon.log());
        assert_eq!((processes(&daemon), profiles(&daemon)), (0, vec![]));
        daemon.settle();
        for part in ["/page", "/data.json?42", "/late.svg", "/worker.js", "/deep.txt"] {
            assert_eq!(origin.count(part), usize::from(part == "/page") + 1, "{part}");
        }
    }
    daemon.ok(&["offline"]);
    for part in ["/page", "/data.json?42", "/late.svg", "/worker.js", "/deep.txt"] {
        assert_eq!(daemon.get(&plain.url(part)).status, 200, "{part}");
        assert!(daemon.ok(&["ls", "https"]).contains(&secure.url(part)), "{part}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_never_idle_page_ends_and_the_browser_ends_with_the_daemon() {
    let program = browser();
    let _alone = heavy();
    let origin = Origin::start();
    origin.say("/restless", Answer::html(RESTLESS));
    let mut daemon = opening(&chromium(&program), "browser-time = \"4s\"", None);
    let told = daemon.ok(&["get", &origin.url("/restless")]);
    assert!(told.contains("done"), "{told}");
    assert_eq!((processes(&daemon), profiles(&daemon)), (0, vec![]));
    // The browser ends if the daemon is killed or stops, and if the mode becomes offline.
    daemon.ok(&["config", "set", "fetch-options.browser-time", "10m"]);
    for mode in ["KILL", "TERM", "offline"] {
        daemon.ok(&["offline"]);
        daemon.run(&["get", "--refresh", &origin.url("/restless")]);
        let before = origin.seen().len();
        daemon.ok(&["online"]);
        eventually("it is running", || origin.seen().len() > before + 3);
        assert!(processes(&daemon) > 0);
        let left = profiles(&daemon);
        match mode {
            "KILL" => daemon.kill9(),
            "TERM" => drop(daemon.down()),
            mode => drop(daemon.ok(&[mode])),
        }
        eventually("it is gone", || processes(&daemon) == 0);
        if mode != "offline" {
            daemon.up();
        }
        eventually("its profile is removed", || {
            profiles(&daemon).iter().all(|profile| !left.contains(profile))
        });
        assert_eq!(daemon.queue().len(), 1, "the page was completed: {mode}");
    }
}

#[test]
#[ignore = "slow"]
fn pages_are_opened_one_by_one_and_failures_are_reported() {
    let origin = Origin::start();
    let daemon = opening(
        "cd ..; echo + >>$HOME/../log; sleep 0.2; echo - >>$HOME/../log; echo broken >&2",
        "",
        None,
    );
    origin.say("/image", Answer::new(200, "image/png", "x"));
    let urls = ["/1", "/2", "/3", "/image"].map(|path| origin.url(path));
    for page in &urls[..3] {
        origin.say(page.strip_prefix(&origin.url("")).unwrap(), Answer::html("<p>x"));
    }
    let told = daemon.ok(&["get", &urls[0], &urls[1], &urls[2], &urls[3]]);
    assert_eq!(told.matches("the browser has ended: broken").count(), 3, "{told}");
    let log = std::fs::read_to_string(daemon.home().join("t/log")).unwrap();
    assert_eq!(log.replace('\n', ""), "+-+-+-", "one at a time, and no images");
    daemon.ok(&["config", "set", "fetch-options.browser", "/nowhere/chromium"]);
    let told = daemon.ok(&["get", "--refresh", &urls[0]]);
    assert!(told.contains("/nowhere/chromium is not an executable program"), "{told}");
    daemon.tells("a page was fetched, but could not be opened in the browser");
    // A shell script without a `#!` line.
    let program = executable(&daemon.home().join("lines"), "");
    let written = daemon.home().join("t/written");
    std::fs::write(&program, format!("id >{}\n", written.display())).unwrap();
    daemon.ok(&["config", "set", "fetch-options.browser", program.to_str().unwrap()]);
    let told = daemon.ok(&["get", "--refresh", &urls[0]]);
    assert!(told.contains("is not run: it is neither an ELF file"), "{told}");
    let lines = std::fs::read(&program).unwrap();
    std::fs::write(&program, [b"\x7fELF\x01\x01\x01\n", &lines[..]].concat()).unwrap();
    daemon.ok(&["get", "--refresh", &urls[0]]);
    assert!(!written.exists(), "no shell runs it");
    assert_eq!(daemon.queue().len(), 0, "requests of the browser count as pages");
    daemon.ok(&["offline"]);
    assert!(urls.iter().all(|url| daemon.get(url).status == 200));
}

#[test]
fn a_browser_does_not_block_other_fetches() {
    let origin = Origin::start();
    let lines = "while [ ! -e $HOME/../go ]; do sleep 0.05; done; echo broken >&2";
    let daemon = opening(lines, "per-host = 1\nat-once = 1\nbrowser-time = \"90s\"", None);
    daemon.ok(&["offline"]);
    for path in ["/1", "/2", "/3"] {
        origin.say(path, Answer::html("<p>x"));
        daemon.browse(&origin.url(path));
    }
    daemon.ok(&["online"]);
    eventually("the others are fetched while one is opened", || origin.seen().len() == 3);
    assert_eq!(daemon.queue().len(), 3, "a page was completed");
    std::fs::write(daemon.home().join("t/go"), "").unwrap();
    eventually("all have ended", || daemon.queue().is_empty());
    assert_eq!(origin.seen().len(), 3, "each was asked for once");
}

#[test]
#[ignore = "needs chromium"]
fn responses_loaded_with_cookies_belong_to_their_owner_only() {
    let program = browser();
    let _alone = heavy();
    let origin = Origin::start();
    origin.say("/page", Answer::html("<!DOCTYPE html><script>fetch('/mine.' + 'json')</script>"));
    origin.say("/mine.json", Answer::new(200, "application/json", "{}"));
    let daemon = opening(&chromium(&program), "browser-time = \"90s\"", None);
    daemon.ok(&["offline"]);
    let asked =
        daemon.client().get_with(&origin.url("/page"), &format!("{AS_PERSON}Cookie: id=1\r\n"));
    assert_eq!(asked.whole().status, 504);
    daemon.ok(&["online"]);
    eventually("it is opened", || daemon.queue().is_empty());
    daemon.settle();
    let told: Vec<_> = origin.asked("/mine.json");
    assert_eq!(told.len(), 1, "{}", daemon.log());
    assert_eq!(told[0].fields.get("Cookie"), Some("id=1"));
    for path in ["/page", "/mine.json"] {
        let kept = |owner: &str| {
            let url = crate::harness::form::encode(&origin.url(path));
            let told = daemon.api("GET", &format!("/api/info?url={url}&owner={owner}"), "");
            let told: serde_json::Value = serde_json::from_str(&told.text()).unwrap();
            told["kept"]["owner"].as_str().map(str::to_owned)
        };
        assert_eq!(kept("local").as_deref(), Some("local"), "{path}");
        for other in ["user:ada", "client:192.0.2.1"] {
            assert_eq!(kept(other), None, "{path} {other}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_page_of_a_proxy_user_is_not_opened_in_the_browser() {
    let origin = Origin::start();
    origin.say("/page", Answer::html("<p>x"));
    let daemon = opening_for_users("echo >>$HOME/../started");
    daemon.ok(&["offline"]);
    let url = origin.url("/page");
    assert_eq!(owners::get(&daemon, "ada", &url, "").status, 504);
    daemon.ok(&["online"]);
    eventually("it is fetched", || daemon.queue().is_empty());
    assert_eq!(origin.count("/page"), 1);
    daemon.tells("it was requested by user:ada");
    daemon.ok(&["offline"]);
    assert_eq!(owners::get(&daemon, "ada", &url, "").status, 200);
}

#[test]
#[ignore = "needs chromium and root"]
fn a_browser_refused_for_root_is_reported_with_advice() {
    let origin = Origin::start();
    origin.say("/1", Answer::html("<p>x"));
    let lines = "echo '[1:1:ERROR:x.cc(1)] Running as root without --no-sandbox is not supported. See \
                 https://crbug.com/638180.' >&2; echo >&2";
    let daemon = opening(lines, "", None);
    let told = daemon.ok(&["get", &origin.url("/1")]);
    assert!(told.contains("set [startup] run-uid to another user"), "{told}");
    // The same test with the real browser.
    let program = browser();
    need_root();
    let _alone = heavy();
    daemon.ok(&["config", "set", "fetch-options.browser", program.to_str().unwrap()]);
    let told = daemon.ok(&["get", "--refresh", &origin.url("/1")]);
    assert!(told.contains("set [startup] run-uid to another user"), "{told}");
}
