//! Firefox with a separate profile, controlled by its Marionette protocol.
//!
//! A message is its length, a colon and JSON: `[0, number, command, parameters]` from us, and `[1,
//! number, error, result]` from the browser.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tools::{plain, program, tool};
use super::wire::Reader;
use super::{Daemon, PATIENCE, Trust, eventually_within};

/// Time limit for the start, on a busy machine.
const START: Duration = Duration::from_secs(90);

/// A running Firefox. Dropping it ends the browser and deletes its profile.
pub(crate) struct Firefox {
    child: Child,
    writer: TcpStream,
    reader: Reader<TcpStream>,
    sent: u64,
    profile: TempDir,
}

impl Firefox {
    /// Starts the browser with the daemon as its proxy. It also trusts the authority `trust`.
    #[track_caller]
    pub(crate) fn start(daemon: &Daemon, trust: Option<&Trust>) -> Self {
        let profile = TempDir::with_prefix("wwwoffle-firefox-").unwrap();
        let database = format!("sql:{}", profile.path().display());
        let mut made = vec![vec!["-N", "-d", &database, "--empty-password"]];
        if let Some(trust) = trust {
            made.push(vec!["-A", "-d", &database, "-n", "test", "-t", "C,,", "-i", trust.file()]);
        }
        for arguments in made {
            let ran = tool("certutil", &arguments, "");
            assert_eq!(ran.status, 0, "{ran:?}");
        }
        std::fs::write(profile.path().join("user.js"), preferences(daemon)).unwrap();
        let browser = program(&["firefox-esr", "firefox"]);
        let mut command = plain(Command::new(browser));
        command.args(["--headless", "--no-remote", "--marionette", "--profile"]);
        command.arg(profile.path()).arg("about:blank").env("HOME", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let (mut port, file) = (None, profile.path().join("MarionetteActivePort"));
        eventually_within(START, "Firefox listens", || {
            port = read_port(&file);
            port.is_some()
        });
        let writer = TcpStream::connect(("127.0.0.1", port.unwrap())).unwrap();
        writer.set_read_timeout(Some(START)).unwrap();
        let reader = Reader::new(writer.try_clone().unwrap());
        let mut me = Self { child, writer, reader, sent: 0, profile };
        assert_eq!(me.receive()["applicationType"], "gecko");
        me.command("WebDriver:NewSession", &json!({"pageLoadStrategy": "normal"})).unwrap();
        me
    }

    /// Opens a page and waits until it is loaded. The error is that of Marionette, such as `insecure
    /// certificate`.
    pub(crate) fn open(&mut self, url: &str) -> Result<(), String> {
        self.command("WebDriver:Navigate", &json!({"url": url})).map(drop)
    }

    /// The current HTML of the page.
    #[track_caller]
    pub(crate) fn html(&mut self) -> String {
        self.value("return document.documentElement.outerHTML")
    }

    /// Runs `script` in the page as the body of a function. Returns its result, or an empty string
    /// if the result is not a string.
    #[track_caller]
    pub(crate) fn value(&mut self, script: &str) -> String {
        let result =
            self.command("WebDriver:ExecuteScript", &json!({"script": script, "args": []}));
        result.unwrap()["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page contains all of `texts`. Returns the HTML of the page.
    #[track_caller]
    pub(crate) fn until(&mut self, texts: &[&str]) -> String {
        let mut html = String::new();
        let deadline = std::time::Instant::now() + PATIENCE;
        while !texts.iter().all(|text| html.contains(text)) {
            assert!(std::time::Instant::now() < deadline, "{texts:?} in Firefox:\n{html}");
            std::thread::sleep(super::LOOK);
            html = self.html();
        }
        html
    }

    fn command(&mut self, name: &str, parameters: &Value) -> Result<Value, String> {
        self.sent += 1;
        let message = json!([0, self.sent, name, parameters]).to_string();
        self.writer.write_all(format!("{}:{message}", message.len()).as_bytes()).unwrap();
        let answer = self.receive();
        assert_eq!((&answer[0], &answer[1]), (&json!(1), &json!(self.sent)), "{answer}");
        if answer[2].is_null() { Ok(answer[3].clone()) } else { Err(answer[2].to_string()) }
    }

    fn receive(&mut self) -> Value {
        let length = self.reader.until(b":").unwrap().expect("Firefox is installed");
        let length = String::from_utf8(length).unwrap().trim_end_matches(':').parse().unwrap();
        serde_json::from_slice(&self.reader.exactly(length).unwrap()).unwrap()
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        // The browser is asked to quit, so that its processes end and release the profile.
        let message = "[0,0,\"Marionette:Quit\",{\"flags\":[\"eForceQuit\"]}]";
        let asked = write!(self.writer, "{}:{message}", message.len());
        let _ = self.writer.set_read_timeout(Some(PATIENCE));
        if asked.is_err() || std::thread::panicking() {
            let _ = self.child.kill();
        }
        let deadline = std::time::Instant::now() + PATIENCE;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if std::time::Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(super::LOOK);
        }
        let _ = std::fs::remove_dir_all(self.profile.path());
    }
}

fn read_port(file: &Path) -> Option<u16> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn preferences(daemon: &Daemon) -> String {
    let (host, port) = (daemon.addr().ip().to_string(), daemon.addr().port());
    let rows = [
        ("network.proxy.type", json!(1)),
        ("network.proxy.http", json!(host)),
        ("network.proxy.http_port", json!(port)),
        ("network.proxy.ssl", json!(host)),
        ("network.proxy.ssl_port", json!(port)),
        ("network.proxy.no_proxies_on", json!("")),
        // Without this, requests to loopback addresses bypass the proxy.
        ("network.proxy.allow_hijacking_localhost", json!(true)),
        ("marionette.port", json!(0)),
        ("network.captive-portal-service.enabled", json!(false)),
        ("network.connectivity-service.enabled", json!(false)),
    ];
    rows.map(|(name, value)| format!("user_pref(\"{name}\", {value});\n")).concat()
}
