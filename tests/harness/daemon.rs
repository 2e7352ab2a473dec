//! The real binary on a temporary spool: started, queried, killed and started again.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use super::client::{Client, Response};
use super::{PATIENCE, eventually, eventually_within};

/// Time limit for a verb. Fetching many pages with retries is the slowest.
const VERB_LIMIT: Duration = Duration::from_secs(240);

/// The fields that a browser sends when a person opens a page.
pub(crate) const AS_PERSON: &str =
    "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nSec-Fetch-Dest: document\r\n";

/// The exit status and the output of a command that has ended. The status is -1 if a signal ended
/// the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Parses every line of the output as JSON.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.out.lines().map(parse).collect()
    }

    /// Parses the whole output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}", self.out))
    }
}

/// A daemon and its temporary directory. The daemon need not be running.
pub(crate) struct Daemon {
    home: Arc<TempDir>,
    spool: PathBuf,
    config: Option<PathBuf>,
    child: Option<Child>,
    addr: Option<SocketAddr>,
    /// The line in which the daemon reported that it is ready.
    pub(crate) ready: String,
    log: Arc<Mutex<String>>,
    /// The thread that reads the standard error until it ends.
    listener: Option<JoinHandle<()>>,
    variables: Vec<(&'static str, String)>,
    setup: Option<&'static str>,
    /// The field with the control password, including its line end. Empty without a password.
    control: String,
}

impl Daemon {
    /// Starts with the built-in configuration.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let mut daemon = Self::prepare(None);
        daemon.up();
        daemon
    }

    /// Starts with `text` as the configuration file.
    #[track_caller]
    pub(crate) fn configured(text: &str) -> Self {
        let mut daemon = Self::prepare(Some(text));
        daemon.up();
        daemon
    }

    /// Creates a spool and a configuration without starting a daemon.
    pub(crate) fn prepare(config: Option<&str>) -> Self {
        let home = Arc::new(TempDir::with_prefix("wwwoffle-e2e-").unwrap());
        let config = config.map(|text| {
            let path = home.path().join("wwwoffle.conf");
            std::fs::write(&path, text).unwrap();
            path
        });
        let (spool, log) = (home.path().join("spool"), Arc::default());
        let (ready, variables) = (String::new(), Vec::new());
        Self {
            home,
            spool,
            config,
            child: None,
            addr: None,
            ready,
            log,
            listener: None,
            variables,
            setup: None,
            control: String::new(),
        }
    }

    /// Sets a control password, which [`page`](Self::page) and [`post`](Self::post) send from now
    /// on.
    #[track_caller]
    pub(crate) fn set_password(&mut self, password: &str) {
        let mut command = self.bare_command();
        command.arg("passwd");
        let line = run(command, Some(format!("{password}\n").as_bytes())).out;
        let hash = line.split('"').nth(1).unwrap();
        self.ok(&["config", "set", "startup.password", hash]);
        let login = BASE64_STANDARD.encode(format!("whoever:{password}"));
        self.control = format!("Authorization: Basic {login}\r\n");
    }

    /// Sets an environment variable, from the next start on.
    pub(crate) fn with_variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Runs this shell command before each start, such as `umask 077` or `ulimit -n 64`.
    pub(crate) fn with_setup(mut self, command: &'static str) -> Self {
        self.setup = Some(command);
        self
    }

    /// The path of the configuration file.
    pub(crate) fn config_file(&self) -> &Path {
        self.config.as_deref().unwrap()
    }

    /// Uses another directory as the spool, from the next start on.
    pub(crate) fn with_spool(mut self, spool: &Path) -> Self {
        self.spool = spool.to_path_buf();
        self
    }

    /// The binary with the options for this configuration and spool.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare_command();
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.arg("--spool").arg(&self.spool).args(arguments);
        command
    }

    /// The binary without options. Its environment names the directories of the test and no proxy.
    pub(crate) fn bare_command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_wwwoffle");
        let mut command = match self.setup {
            Some(setup) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("{setup}; exec \"$0\" \"$@\""), program]);
                shell
            }
            None => Command::new(program),
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            command.env_remove(name);
        }
        command.env("HOME", self.home.path()).env("XDG_DATA_HOME", self.home.path().join("data"));
        command
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .env_remove("XDG_STATE_HOME");
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    /// Starts the daemon and waits until it is ready.
    #[track_caller]
    pub(crate) fn up(&mut self) {
        self.up_at("127.0.0.1:0");
    }

    /// Like [`up`](Self::up), listening on `listen`. A new spool starts online: on its own, it would
    /// follow the connection of the machine.
    #[track_caller]
    pub(crate) fn up_at(&mut self, listen: &str) {
        assert!(self.child.is_none(), "it is running already");
        let mut command = self.command(&["serve", "--listen", listen, "--rest", "0"]);
        if !self.spool.join("state").exists() {
            command.args(["--mode", "online"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let log = Arc::clone(&self.log);
        self.listener = Some(std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(got @ 1..) = err.read(&mut bytes) {
                log.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..got]));
            }
        }));
        let (said, hear) = mpsc::sync_channel(16);
        std::thread::spawn(move || {
            BufReader::new(out)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| drop(said.send(line)));
        });
        self.child = Some(child);
        let ready = hear.recv_timeout(PATIENCE);
        self.ready = ready.unwrap_or_else(|_| panic!("it did not start:\n{}", self.log()));
        let addr = self.ready.split("listening on ").nth(1).and_then(|rest| rest.split(',').next());
        let addr = addr.and_then(|addr| addr.trim().parse().ok());
        self.addr = Some(addr.unwrap_or_else(|| panic!("no address in {:?}", self.ready)));
    }

    /// Stops the daemon with SIGTERM and waits for its end.
    #[track_caller]
    pub(crate) fn down(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Kills the daemon without a chance to clean up.
    #[track_caller]
    pub(crate) fn kill9(&mut self) {
        let mut child = self.child.take().expect("it is running");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops the daemon and starts it again on the same spool.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        self.down();
        self.up();
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid()).status();
        assert!(status.unwrap().success());
    }

    /// Waits until the daemon has ended, and returns its exit status.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it is running");
        let mut status = None;
        eventually("the daemon ends", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// Runs a verb on this spool.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        run(self.command(arguments), None)
    }

    /// Runs a verb that must succeed. Returns its output.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}\n{}", self.log());
        ran.out
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr.expect("it was started")
    }

    pub(crate) fn spool(&self) -> &Path {
        &self.spool
    }

    /// The directory with the spool and the configuration. It is deleted with the test.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The process ID.
    pub(crate) fn pid(&self) -> String {
        self.child.as_ref().expect("it is running").id().to_string()
    }

    /// The standard error so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The whole standard error, once the daemon has ended.
    #[track_caller]
    pub(crate) fn whole_log(&mut self) -> String {
        assert!(self.child.is_none(), "it is still running");
        let listener = self.listener.take().expect("it was started");
        super::eventually("its standard error is read to the end", || listener.is_finished());
        self.log()
    }

    /// Waits until the standard error contains `text`. Another thread reads the standard error.
    #[track_caller]
    pub(crate) fn tells(&self, text: &str) {
        super::eventually(&format!("the log contains: {text}"), || self.log().contains(text));
    }

    /// A new connection to the proxy port.
    #[track_caller]
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.addr())
    }

    /// Sends one GET on a new connection. The response must be complete.
    #[track_caller]
    pub(crate) fn get(&self, url: &str) -> Response {
        self.client().get(url).whole()
    }

    /// Sends one GET like a browser in which a person opens a page.
    #[track_caller]
    pub(crate) fn browse(&self, url: &str) -> Response {
        self.client().get_with(url, AS_PERSON).whole()
    }

    /// The URL of one of the daemon's own pages.
    pub(crate) fn own(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr())
    }

    /// Requests one of the daemon's own pages in origin form.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> Response {
        let mut client = self.client();
        let control = &self.control;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{control}\r\n", self.addr()));
        client.receive("GET").whole()
    }

    /// Sends a form as a browser does from a page of the daemon.
    #[track_caller]
    pub(crate) fn submit(&self, form: &super::form::Form) -> Response {
        self.submit_as(
            form,
            &format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", self.addr()),
        )
    }

    /// Sends a form with `fields` instead of the header fields by which the daemon recognises its
    /// own pages.
    #[track_caller]
    pub(crate) fn submit_as(&self, form: &super::form::Form, fields: &str) -> Response {
        let body = form.body();
        let path = form.action.strip_prefix("http://").map_or(form.action.as_str(), |rest| {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        });
        self.post(path, fields, &body)
    }

    /// Sends `body`, an encoded form, to a path of the daemon with the additional header fields
    /// `fields`.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, fields: &str, body: &str) -> Response {
        let mut client = self.client();
        client.send(format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             {fields}{}Content-Length: {}\r\n\r\n{body}",
            self.addr(),
            self.control,
            body.len()
        ));
        client.receive("POST").whole()
    }

    /// Calls the API through the Unix socket.
    #[track_caller]
    pub(crate) fn api(&self, method: &str, path: &str, body: &str) -> Response {
        let mut client = Client::unix(&self.spool.join("control"));
        client.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        client.receive(method).whole()
    }

    /// The result of `GET /api/status`.
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        let response = self.api("GET", "/api/status", "");
        assert_eq!(response.status, 200, "{}", response.text());
        serde_json::from_slice(&response.body).expect("status is JSON")
    }

    /// The outgoing queue.
    #[track_caller]
    pub(crate) fn queue(&self) -> Vec<Value> {
        let response = self.api("GET", "/api/queue", "");
        let value: Value = serde_json::from_slice(&response.body).expect("the queue is JSON");
        value["queue"].as_array().expect("a list").clone()
    }

    /// The URLs in the outgoing queue, sorted, except those of icons, which a browser may request
    /// at any time.
    pub(crate) fn queued_by_browser(&self) -> Vec<String> {
        self.queued().into_iter().filter(|url| !url.ends_with("/favicon.ico")).collect()
    }

    /// The URLs in the outgoing queue, sorted.
    #[track_caller]
    pub(crate) fn queued(&self) -> Vec<String> {
        let url = |entry: &Value| entry["url"].as_str().unwrap_or_default().to_owned();
        let mut urls: Vec<_> = self.queue().iter().map(url).collect();
        urls.sort();
        urls
    }

    /// Waits until no download and no fetch is in progress.
    #[track_caller]
    pub(crate) fn settle(&self) {
        self.settle_within(PATIENCE);
    }

    /// Waits for at most `limit` until no download and no fetch is in progress. A large download
    /// ends after its file is synced, which takes long on a disk that other programs use.
    #[track_caller]
    pub(crate) fn settle_within(&self, limit: Duration) {
        eventually_within(limit, "no download is in progress", || {
            let status = self.status();
            status["downloads"].as_array().is_some_and(Vec::is_empty)
                && status["queue"]["active"] == 0
        });
    }

    /// The peak of the daemon's private memory in KiB. The result is inexact by the amount by which
    /// the mapped pages have changed since the peak. Mapped pages of the program are not counted:
    /// they grow with the program, most of all in a debug build, and the system reclaims them.
    pub(crate) fn peak_kib(&self) -> u64 {
        self.proc_field("VmHWM:").saturating_sub(self.proc_field("RssFile:"))
    }

    /// The daemon's private memory now, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        self.proc_field("RssAnon:") + self.proc_field("RssShmem:")
    }

    fn proc_field(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).expect("the kernel reports it");
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The number of open files and sockets.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// The number of open sockets. The number of all open files varies, because the index is opened
    /// in the background after the start.
    pub(crate) fn open_sockets(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().flatten();
        let to = open.filter_map(|file| std::fs::read_link(file.path()).ok());
        to.filter(|to| to.to_string_lossy().starts_with("socket:")).count()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            let log = self.log();
            let from = log.char_indices().rev().nth(8_000).map_or(0, |(at, _)| at);
            eprintln!("--- what the daemon said:\n{}\n---", &log[from..]);
        }
    }
}

/// Runs a command to its end, within [`VERB_LIMIT`], with `input` as its standard input.
#[track_caller]
pub(crate) fn run(command: Command, input: Option<&[u8]>) -> Ran {
    let ran = output(command, input, VERB_LIMIT);
    Ran {
        status: ran.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&ran.stdout).into_owned(),
        err: String::from_utf8_lossy(&ran.stderr).into_owned(),
    }
}

/// Runs a command to its end, within `limit`, with `input` as its standard input. Returns its
/// output as bytes.
#[track_caller]
pub(crate) fn output(mut command: Command, input: Option<&[u8]>, limit: Duration) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    let reader = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            bytes
        })
    };
    let out = reader(Box::new(child.stdout.take().unwrap()));
    let err = reader(Box::new(child.stderr.take().unwrap()));
    if let (Some(input), Some(mut stdin)) = (input.map(<[u8]>::to_vec), child.stdin.take()) {
        std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
    }
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            let err = String::from_utf8_lossy(&err.join().unwrap()).into_owned();
            panic!("{command:?} did not end within {limit:?}:\n{err}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
}
