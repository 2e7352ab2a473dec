//! Chromium with a separate profile, controlled through its devtools pipe. Each message of the
//! devtools protocol is a JSON text that ends with a zero byte.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tools::plain;
use super::{Daemon, LOOK, PATIENCE};

/// Time limit for the start and for one command, on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

/// A running Chromium. Dropping it ends the browser and deletes its profile.
pub(crate) struct Chromium {
    child: Child,
    writer: ChildStdin,
    answers: Receiver<Value>,
    session: String,
    sent: u64,
    listens: bool,
    heard: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// Starts the browser with an empty page. All its requests go to the daemon.
    #[track_caller]
    pub(crate) fn start(program: &Path, daemon: &Daemon) -> Self {
        Self::start_with(program, daemon, &[])
    }

    /// Like [`start`](Self::start), with further options.
    #[track_caller]
    pub(crate) fn start_with(program: &Path, daemon: &Daemon, options: &[&str]) -> Self {
        let proxy = format!("--proxy-server=http://{}", daemon.addr());
        Self::launch(program, &[options, &[&proxy, "--proxy-bypass-list=<-loopback>"]].concat())
    }

    /// Starts the browser with an empty page, without a proxy.
    #[track_caller]
    pub(crate) fn direct(program: &Path, options: &[&str]) -> Self {
        Self::launch(program, &[options, &["--no-proxy-server"]].concat())
    }

    #[track_caller]
    fn launch(program: &Path, options: &[&str]) -> Self {
        let profile = TempDir::with_prefix("wwwoffle-chromium-").unwrap();
        // The browser reads from descriptor 3 and writes to descriptor 4.
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
            // With these features disabled, requests by frames of other sites are reported with the
            // rest, and a page stays in the process and frame of the previous page. Otherwise some
            // requests during the navigation are not reported.
            "--disable-features=IsolateOrigins,site-per-process,RenderDocument",
            "--disable-back-forward-cache",
        ]);
        command.args(options);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let writer = child.stdin.take().unwrap();
        let answers = listen(child.stdout.take().unwrap());
        let session = String::new();
        let (heard, listens, sent) = (Vec::new(), false, 0);
        let mut me =
            Self { child, writer, answers, session, sent, listens, heard, _profile: profile };
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

    /// Records requests from now on, so that [`quiet`](Self::quiet) returns those of each page.
    #[track_caller]
    pub(crate) fn listen(&mut self) {
        // Lazy resources are loaded only in a visible page.
        self.command("Page.bringToFront", &json!({}));
        let page = self.session.clone();
        self.listens = true;
        self.listen_to(&page);
    }

    /// Records the requests of a page or a worker, from its first request on.
    fn listen_to(&mut self, session: &str) {
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        self.post(session, "Network.enable", &json!({}));
        self.post(session, "Target.setAutoAttach", &attach);
        self.post(session, "Runtime.runIfWaitingForDebugger", &json!({}));
    }

    /// Makes the browser load the page's manifest, as it does before it offers to install the page.
    #[track_caller]
    pub(crate) fn manifest(&mut self) {
        let told = self.command("Page.getAppManifest", &json!({}));
        assert!(told["url"].as_str().is_some_and(|url| !url.is_empty()), "{told}");
    }

    /// Waits until no request is pending. Returns all requests since the last call.
    #[track_caller]
    pub(crate) fn quiet(&mut self, what: &str) -> Vec<Requested> {
        requested(&self.told(what))
    }

    /// Like [`quiet`](Self::quiet), but returns the messages of the browser.
    #[track_caller]
    pub(super) fn told(&mut self, what: &str) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Events are sent in order, so the reply to this command comes after all earlier
            // events.
            self.value("0");
            let all = requested(&self.heard);
            let open: Vec<_> = all.iter().filter(|one| !one.is_over).collect();
            if open.is_empty() {
                return std::mem::take(&mut self.heard);
            }
            assert!(Instant::now() < deadline, "{what}: requests are still pending: {open:?}");
            std::thread::sleep(LOOK);
        }
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let told = self.command("Runtime.evaluate", &asked);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// A screenshot of the page, in base64.
    #[track_caller]
    pub(crate) fn picture(&mut self) -> String {
        let told = self.command("Page.captureScreenshot", &json!({}));
        told["data"].as_str().unwrap_or_else(|| panic!("no screenshot: {told}")).to_owned()
    }

    /// Waits until the page is loaded and `condition` holds in it. Returns the text of the page.
    #[track_caller]
    pub(crate) fn until(&mut self, condition: &str, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let whole = format!("document.readyState == 'complete' && ({condition})");
        loop {
            let asked = json!({"expression": whole, "returnByValue": true});
            // While one page is being replaced by the next, expressions have no value.
            let told = self.command("Runtime.evaluate", &asked);
            let text = "document.body ? document.body.innerText : ''";
            if told["result"]["value"] == json!(true) {
                return self.value(text).as_str().unwrap_or_default().to_owned();
            }
            assert!(Instant::now() < deadline, "{what}: {}", self.value(text));
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a form with its button, as a person does, and waits for a page with this title.
    #[track_caller]
    pub(crate) fn press(&mut self, button: &str, title: &str) -> String {
        let press = format!("document.old = true; {button}.click()");
        self.value(&format!("{{ {press}; 0 }}"));
        let condition = format!("!document.old && document.title.startsWith({title:?})");
        self.until(&condition, &format!("{button} leads to {title:?}"))
    }

    /// Sends a command and returns its number.
    fn post(&mut self, session: &str, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        self.writer.write_all(format!("{message}\0").as_bytes()).unwrap();
        json!(self.sent)
    }

    #[track_caller]
    fn command(&mut self, method: &str, parameters: &Value) -> Value {
        let session = self.session.clone();
        self.command_to(&session, method, parameters)
    }

    /// Sends a command to a page or a worker and returns its result, or null if the command failed.
    #[track_caller]
    pub(super) fn command_to(&mut self, session: &str, method: &str, parameters: &Value) -> Value {
        let number = self.post(session, method, parameters);
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left);
            let answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
            let told = answer["method"].as_str().unwrap_or_default();
            if told == "Target.attachedToTarget" && self.listens {
                let session = answer["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
                self.listen_to(&session);
            } else if told.starts_with("Network.") {
                self.heard.push(answer);
            } else if answer["id"] == number {
                return answer["result"].clone();
            }
        }
    }
}

/// A request of a page over the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requested {
    pub(crate) url: String,
    pub(crate) status: Option<u64>,
    /// The `Cache-Status` of the response.
    pub(crate) cache: String,
    pub(crate) error: Option<String>,
    is_over: bool,
}

impl Requested {
    pub(crate) fn is_redirect(&self) -> bool {
        self.status.is_some_and(|status| (300..400).contains(&status))
    }

    fn answered(&mut self, response: &Value) {
        self.status = response["status"].as_u64();
        let fields = response["headers"].as_object().into_iter().flatten();
        let cache = fields.filter(|(name, _)| name.eq_ignore_ascii_case("cache-status"));
        self.cache = cache.filter_map(|(_, value)| value.as_str()).collect();
    }
}

/// Combines the messages that belong to the same request.
fn requested(heard: &[Value]) -> Vec<Requested> {
    let mut all: Vec<Requested> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for event in heard {
        let (method, told) = (event["method"].as_str().unwrap_or_default(), &event["params"]);
        let id = told["requestId"].as_str().unwrap_or_default().to_owned();
        if method == "Network.requestWillBeSent" {
            if let Some(before) = known.get(&id).and_then(|at: &usize| all.get_mut(*at)) {
                before.answered(&told["redirectResponse"]);
                before.is_over = true;
            }
            let url = told["request"]["url"].as_str().unwrap_or_default().to_owned();
            // URLs such as `data:` cause no request over the network.
            if url.starts_with("http") {
                known.insert(id, all.len());
                all.push(Requested { url, ..Requested::default() });
            }
            continue;
        }
        let Some(one) = known.get(&id).and_then(|at: &usize| all.get_mut(*at)) else { continue };
        match method {
            "Network.responseReceived" => one.answered(&told["response"]),
            "Network.loadingFinished" => one.is_over = true,
            "Network.loadingFailed" => {
                one.error = told["errorText"].as_str().map(str::to_owned);
                one.is_over = true;
            }
            _ => {}
        }
    }
    all
}

/// Reads messages from the pipe until it ends.
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
        // A browser that is asked to quit also ends its child processes.
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
