//! Chromium with a profile of its own, driven through the pipe that it has for that: messages of its
//! devtools protocol, each a JSON text with a zero byte at its end.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tools::plain;
use super::{Daemon, LOOK, PATIENCE};

/// How long it may take to start, and for one command, on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(90);

/// Dropping it ends the browser, and its profile is gone.
pub(crate) struct Chromium {
    child: Child,
    writer: ChildStdin,
    answers: Receiver<Value>,
    session: String,
    sent: u64,
    _profile: TempDir,
}

impl Chromium {
    /// Starts it with an empty page. It asks the daemon for everything.
    #[track_caller]
    pub(crate) fn start(program: &Path, daemon: &Daemon) -> Self {
        let profile = TempDir::with_prefix("wwwoffle-chromium-").unwrap();
        // It reads from its descriptor 3, and writes to 4.
        let mut command = plain(Command::new("sh"));
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"]).arg(program);
        command.args([
            "--headless",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--proxy-bypass-list=<-loopback>",
        ]);
        command.arg(format!("--proxy-server=http://{}", daemon.addr()));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let writer = child.stdin.take().unwrap();
        let answers = listen(child.stdout.take().unwrap());
        let session = String::new();
        let mut me = Self { child, writer, answers, session, sent: 0, _profile: profile };
        let page = me.command("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = me.command("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut me.session);
        me
    }

    /// Opens a page and waits until it is loaded.
    #[track_caller]
    pub(crate) fn open(&mut self, url: &str) {
        let opened = self.command("Page.navigate", &json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        self.until("true", &format!("{url} is loaded"));
    }

    /// What an expression is in the page.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let told = self.command("Runtime.evaluate", &asked);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// Waits until the page is loaded and `condition` holds in it, and gives the text of it.
    #[track_caller]
    pub(crate) fn until(&mut self, condition: &str, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let whole = format!("document.readyState == 'complete' && ({condition})");
        loop {
            let asked = json!({"expression": whole, "returnByValue": true});
            // While one page goes and the next comes there is nothing to ask.
            let told = self.command("Runtime.evaluate", &asked);
            let text = "document.body ? document.body.innerText : ''";
            if told["result"]["value"] == json!(true) {
                return self.value(text).as_str().unwrap_or_default().to_owned();
            }
            assert!(Instant::now() < deadline, "{what}: {}", self.value(text));
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a form by its button, as a person does, and waits for a page with this title.
    #[track_caller]
    pub(crate) fn press(&mut self, button: &str, title: &str) -> String {
        let press = format!("document.old = true; {button}.click()");
        self.value(&format!("{{ {press}; 0 }}"));
        let condition = format!("!document.old && document.title.startsWith({title:?})");
        self.until(&condition, &format!("{button} leads to {title:?}"))
    }

    #[track_caller]
    fn command(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.writer.write_all(format!("{message}\0").as_bytes()).unwrap();
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left);
            let answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == json!(self.sent) {
                return answer["result"].clone();
            }
        }
    }
}

/// Takes messages out of the pipe until it ends.
fn listen(mut pipe: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut whole, mut part) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            whole.extend_from_slice(&part[..count]);
            while let Some(end) = whole.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = whole.drain(..=end).collect();
                let message = serde_json::from_slice(&message[..end]).unwrap_or_default();
                if sender.send(message).is_err() {
                    return;
                }
            }
        }
    });
    receiver
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // By itself, so that its processes go with it.
        let _ = self.writer.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(LOOK);
        }
    }
}
