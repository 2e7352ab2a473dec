//! `wwwoffle browse`: one command that starts a browser whose HTTPS pages are stored.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::harness::daemon::run;
use crate::harness::tools::program;
use crate::harness::{Authority, Daemon, TlsOrigin, heavy};
use crate::site::browser::{browser, furnish};

/// Options with which a browser runs without a screen, and as root.
const UNSEEN: [&str; 5] =
    ["--", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"];

const CONFIG: &str = "[startup]\nlisten = [\"127.0.0.1:0\"]\n[https]\n\
    extra-ca = [\"authority.pem\"]\n";

#[test]
#[ignore = "needs chromium"]
fn browse_configures_chromium_and_starts_a_daemon() {
    let program = browser();
    let _alone = heavy();
    let authority = Authority::new();
    let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    furnish(&site.origin);
    let mut daemon = Daemon::prepare(Some(CONFIG));
    authority.write(daemon.home());
    let url = site.url("/shop/");
    let line = ["browse", "--browser", program.to_str().unwrap(), &url];
    let line = [&line[..], &UNSEEN, &["--dump-dom"]].concat();
    for own in [true, false] {
        let shown = daemon.run(&line);
        assert_eq!(shown.status, 0, "{shown:?}");
        assert!(shown.out.contains("script ran"), "{shown:?}");
        assert_eq!(shown.err.contains("until the browser is closed"), own, "{shown:?}");
        assert!(daemon.ok(&["ls", "https"]).contains(&url));
        assert_eq!(daemon.run(&["status"]).status, if own { 69 } else { 0 });
        if own {
            daemon.up();
        }
    }
    let profile = daemon.home().join(".local/state/wwwoffle/browse");
    assert_eq!(std::fs::read_dir(profile).unwrap().count(), 1, "one profile, which is not removed");
    assert!(!daemon.home().join(".pki/nssdb/cert9.db").exists(), "other files changed");
}

/// Starts a server that responds like a proxy, with a page whose only sub-resource arrives late.
/// Returns its address and the request lines so far.
fn slow_proxy() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let seen = Arc::clone(&all);
            std::thread::spawn(move || {
                let mut line = String::new();
                let _ = BufReader::new(&stream).read_line(&mut line);
                let is_part = line.contains("/part.js");
                seen.lock().unwrap().extend((!line.is_empty()).then_some(line));
                let body = if is_part {
                    // During this time the browser could send requests that do not belong to the
                    // page.
                    std::thread::sleep(Duration::from_secs(8));
                    ""
                } else {
                    "<script src=/part.js></script>"
                };
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                let _ = (&stream).write_all((head + body).as_bytes());
            });
        }
    });
    (address, seen)
}

#[test]
#[ignore = "needs chromium"]
fn chromium_requests_only_the_opened_pages() {
    let program = browser();
    let _alone = heavy();
    let (address, seen) = slow_proxy();
    let profile = tempfile::tempdir().unwrap();
    let ran = Command::new(program)
        .args(wwwoffle::fetch::chromium::arguments(address, profile.path(), "none"))
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("http://site.test/")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let mut seen = seen.lock().unwrap().clone();
    seen.retain(|line| !line.contains("/favicon.ico"));
    let wanted = ["/", "/part.js"].map(|path| format!("GET http://site.test{path} HTTP/1.1\r\n"));
    assert_eq!(*seen, wanted);
}

#[test]
fn a_missing_display_is_explained() {
    let daemon = Daemon::prepare(Some("[startup]\nlisten = [\"127.0.0.1:0\"]\n"));
    let browse = |more: &[&str]| {
        let mut command = daemon.command(&["browse", "--browser", "/bin/false"]);
        command.args(more);
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        run(command, None)
    };
    let shown = browse(&["--", "--no-sandbox"]);
    assert!(shown.status == 1 && shown.err.contains("there is no display"), "{shown:?}");
    let headless = browse(&["--", "--no-sandbox", "--headless=new"]);
    assert!(!headless.err.contains("display"), "{headless:?}");
}

#[test]
#[ignore = "needs firefox and certutil"]
fn browse_configures_firefox_by_its_profile() {
    let firefox = program(&["firefox-esr"]);
    program(&["certutil"]);
    let _alone = heavy();
    let authority = Authority::new();
    let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
    furnish(&site.origin);
    let daemon = authority.daemon("");
    let (profile, picture) = (daemon.home().join("profile"), daemon.home().join("shop.png"));
    let url = site.url("/shop/");
    for _ in 0..2 {
        let shown = daemon.run(&[
            "browse",
            "--browser",
            firefox.to_str().unwrap(),
            "--profile",
            profile.to_str().unwrap(),
            &url,
            "--",
            "--headless",
            "--screenshot",
            picture.to_str().unwrap(),
        ]);
        assert_eq!(shown.status, 0, "{shown:?}");
    }
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    daemon.settle();
    let kept = daemon.ok(&["ls", "https"]);
    for part in ["/shop/", "/shop/more.js", "/shop/data.json"] {
        assert!(kept.contains(&site.url(part)), "{part} in {kept}");
    }
}

#[test]
fn a_missing_browser_is_reported() {
    let mut daemon = Daemon::prepare(Some("[startup]\nlisten = [\"127.0.0.1:0\"]\n"));
    let none = daemon.run(&["browse", "--browser", "lynx-of-nobody"]);
    assert!(none.status == 1 && none.err.contains("or a path"), "{none:?}");
    assert_eq!(daemon.run(&["status"]).status, 69, "no daemon was left running");
    // A failure of the browser is reported. A daemon that was started only for the browser stops.
    let fails = daemon.run(&["browse", "--browser", "/bin/false"]);
    assert!(
        fails.status == 1 && fails.err.contains("false ended with exit status: 1"),
        "{fails:?}"
    );
    assert_eq!(daemon.run(&["status"]).status, 69);
    daemon.up();
    assert_eq!(daemon.run(&["browse", "--browser", "/bin/true"]).status, 0);
    let gone = daemon.run(&["browse", "--browser", "/nowhere/chromium"]);
    assert!(gone.status == 1 && gone.err.contains("cannot be started"), "{gone:?}");
    assert_eq!(daemon.run(&["status"]).status, 0, "a daemon that ran before keeps running");
}
