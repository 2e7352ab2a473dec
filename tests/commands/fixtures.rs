//! `wwwoffle run`: a command runs while its requests are recorded, and again while they are
//! answered from the recording.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::harness::daemon::{Ran, run};
use crate::harness::tools::{plain, program, python_with};
use crate::harness::{Answer, Authority, Daemon, TlsOrigin, eventually};

/// A site with TLS, and a directory in which commands are recorded. No daemon runs.
pub(super) struct Studio {
    pub(super) place: Daemon,
    pub(super) site: TlsOrigin,
}

impl Studio {
    #[track_caller]
    pub(super) fn set() -> Self {
        let authority = Authority::new();
        let site = TlsOrigin::start(authority.identity(&["localhost", "127.0.0.1"]));
        let place = authority.place("");
        Self { place, site }
    }

    /// The path of the recording.
    pub(super) fn file(&self) -> PathBuf {
        self.place.home().join("site.wacz")
    }

    /// `wwwoffle run`, which trusts the site.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.bare_command();
        command.arg("--config").arg(self.place.config_file()).arg("run");
        command.args(["--local"]).args(arguments);
        command
    }

    /// Runs `wwwoffle run`.
    #[track_caller]
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        run(self.command(arguments), None)
    }

    /// Runs a shell script while it is recorded in the file.
    #[track_caller]
    pub(super) fn record(&self, script: &str) -> Ran {
        let ran = self.run(&["--record", "site.wacz", "--replace", "--", "sh", "-c", script]);
        assert_eq!(ran.status, 0, "{ran:?}");
        ran
    }

    /// Runs a shell script that is answered from the file. `arguments` are further options.
    #[track_caller]
    pub(super) fn replay(&self, arguments: &[&str], script: &str) -> Ran {
        let line = [&["--replay", "site.wacz"], arguments, &["--", "sh", "-c", script]].concat();
        self.run(&line)
    }
}

/// The report that a run wrote to `report.json`.
pub(super) fn report(studio: &Studio) -> Value {
    let text = std::fs::read(studio.place.home().join("report.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
#[ignore = "needs curl"]
fn ten_replays_are_identical_to_the_byte() {
    let _curl = program(&["curl"]);
    let mut studio = Studio::set();
    let site = &studio.site.origin;
    let count = std::sync::atomic::AtomicUsize::new(0);
    site.on("/count", move |exchange| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        exchange.answer(&Answer::new(200, "text/plain", format!("number {number}\n")))
    });
    let page = Answer::html("<p>page").field("Date", "Thu, 26 Nov 2026 10:00:00 GMT");
    let page = page.field("Set-Cookie", "a=b").field("Set-Cookie", "c=d").field("Age", "7");
    site.say("/page", page.field("ETag", "\"1\"").chunked());
    site.say("/moved", Answer::redirect(302, "/page"));
    site.say("/gone", Answer::new(410, "text/plain", "gone"));
    site.say("/broken", Answer::new(500, "text/plain", "broken"));
    site.say("/empty", Answer::new(204, "", ""));
    site.on("/echo", |exchange| {
        let body = exchange.body()?.to_vec();
        let text = format!("{} {}", exchange.seen.method, String::from_utf8_lossy(&body));
        exchange.answer(&Answer::new(201, "text/plain", text))
    });
    let url = studio.site.url("");
    let script = format!(
        "set -e; for n in 1 2 3; do curl -sSi {url}/count; done; \
         curl -sSi {url}/page {url}/gone {url}/broken {url}/empty; curl -sSiL {url}/moved; \
         curl -sSI {url}/page; curl -sSi -X DELETE {url}/echo; \
         for body in one two; do for method in POST PUT PATCH; do \
         curl -sSi -X $method -d $body {url}/echo; done; done; \
         curl -sSi -H 'If-None-Match: \"1\"' {url}/page"
    );
    let recorded = studio.record(&script);
    assert!(recorded.err.contains("18 requests recorded in site.wacz"), "{recorded:?}");
    studio.site.stop();
    for _ in 0..10 {
        let again = studio.replay(&["--fail-missing"], &script);
        assert_eq!((again.status, &again.out), (0, &recorded.out), "{}", again.err);
    }
    let lower = recorded.out.to_lowercase();
    for name in ["\nage:", "\nvia:", "\ndate:", "\ncache-status:"] {
        assert!(!lower.contains(name), "{name} in {lower}");
    }
    for text in ["number 0", "number 1", "number 2", "PATCH two", "a=b", "c=d", "410", "500"] {
        assert!(recorded.out.contains(text), "{text} in {}", recorded.out);
    }
    // After the last recorded response, the last one is repeated, unless each is used once.
    let more = format!("for n in 1 2 3 4 5; do curl -sS {url}/count; done");
    let again = studio.replay(&["--fail-missing"], &more);
    assert_eq!(again.out, "number 0\nnumber 1\nnumber 2\nnumber 2\nnumber 2\n");
    let once = studio.replay(&["--fail-missing", "--each-once"], &more);
    assert_eq!(once.status, 1, "{once:?}");
    assert!(once.err.contains("2 requests not in site.wacz"), "{once:?}");
    assert!(once.err.contains("have all been used"), "{once:?}");
    let all = studio.replay(&["--all-fields"], &format!("curl -sSi {url}/page"));
    let lower = all.out.to_lowercase();
    assert!(lower.contains("\ndate: thu, 26 nov 2026 10:00:00 gmt\r\n"), "{all:?}");
    assert!(lower.contains("\nage: 7\r\n"), "{all:?}");
}

#[test]
#[ignore = "needs curl"]
fn a_new_request_is_reported_with_the_nearest_recorded_one() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    let url = studio.site.url("");
    for path in ["/list?page=1", "/list?page=2", "/api"] {
        studio.site.origin.say(path, Answer::html(path));
    }
    let ask = |page, id| {
        format!(
            "curl -sS '{url}/list?page={page}'; curl -sS {url}/api -H 'Content-Type: \
             application/json' -d '{{\"query\":\"q\",\"v\":{{\"id\":{id}}}}}'"
        )
    };
    studio.record(&ask(1, 1));
    let options = ["--fail-missing", "--report", "report.json"];
    let ran = studio.replay(&options, &ask(2, 5));
    assert_eq!(ran.status, 1, "{ran:?}");
    for text in [
        format!("no recorded response: GET {url}/list?page=2"),
        format!("nearest recorded: GET {url}/list?page=1"),
        r#"argument "page" is "2", recorded "1""#.to_owned(),
        format!("no recorded response: POST {url}/api"),
        r#"JSON field "v.id" is "5", recorded "1""#.to_owned(),
    ] {
        assert!(ran.err.contains(&text) && ran.out.contains(&text), "{text} in {ran:?}");
    }
    let told = report(&studio);
    assert_eq!((&told["missing_count"], &told["answered"]), (&2.into(), &0.into()), "{told}");
    assert_eq!(told["missing"][0]["nearest"]["url"], format!("{url}/list?page=1"), "{told}");
    assert_eq!(told["command_status"], 0, "{told}");
    assert_eq!(told["unused"].as_array().map(Vec::len), Some(2), "{told}");
    let ran = studio.replay(&["--report", "report.xml"], &ask(2, 1));
    assert_eq!(ran.status, 0, "without --fail-missing only the command decides: {ran:?}");
    let xml = std::fs::read_to_string(studio.place.home().join("report.xml")).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("recorded &quot;1&quot;"), "{xml}");
    // The status of a command that fails is passed on.
    let ran = studio.replay(&["--fail-missing"], &format!("curl -sSf {url}/new"));
    assert_eq!(ran.status, 22, "{ran:?}");

    let before = studio.site.origin.seen().len();
    let ran = studio.replay(&["--record-missing", "--fail-missing"], &ask(2, 1));
    assert_eq!((ran.status, ran.out.contains("/list?page=2")), (0, true), "{ran:?}");
    assert!(ran.err.contains("1 request recorded in"), "{ran:?}");
    assert_eq!(studio.site.origin.seen().len(), before + 1, "only the new request is sent");
    let both = format!("{}; {}", ask(1, 1), ask(2, 1));
    assert_eq!(studio.replay(&["--fail-missing"], &both).status, 0);
}

#[test]
#[ignore = "needs curl"]
fn only_hosts_of_the_recording_have_certificates() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    let url = studio.site.url("/");
    studio.site.origin.say("/", Answer::html("here"));
    studio.record(&format!("curl -sS {url}; cp $SSL_CERT_FILE one.pem"));
    let get = format!("cp $SSL_CERT_FILE next.pem; curl -sS {url}; curl -sS https://other.test/x");
    let ran = studio.replay(&[], &get);
    assert!(ran.out.contains("here") && ran.status != 0, "{ran:?}");
    assert!(ran.err.contains("no recorded response: CONNECT https://other.test/"), "{ran:?}");
    let pem = |name| std::fs::read_to_string(studio.place.home().join(name)).unwrap();
    let (recording, first) = (pem("one.pem"), pem("next.pem"));
    assert_ne!(recording, first, "the authority of a recording ends with it");
    studio.replay(&[], &get);
    assert_eq!(pem("next.pem"), first, "the authority of a fixture is always the same");
    // A recording that adds no host does not change it either.
    studio.site.origin.say("/more", Answer::html("more"));
    let more = format!("curl -sS {}", studio.site.url("/more"));
    assert_eq!(studio.replay(&["--record-missing"], &more).out, "more");
    studio.replay(&[], &get);
    assert_eq!(pem("next.pem"), first);
}

#[test]
#[ignore = "needs python3 with warcio, pywb and wacz, and curl"]
fn archive_tools_read_a_recording() {
    let _curl = program(&["curl"]);
    let studio = Studio::set();
    studio.site.origin.say("/page", Answer::html("<title>t</title>page").chunked());
    studio.site.origin.say("/api", Answer::new(200, "application/json", "{}"));
    let (page, api) = (studio.site.url("/page"), studio.site.url("/api"));
    studio.record(&format!("curl -sS {page} {page}; curl -sSI {page}; curl -sS --data a=b {api}"));
    let file = studio.file().to_str().unwrap().to_owned();
    let tool = |mut command: Command, arguments: &[&str]| {
        command.args(arguments).current_dir(studio.place.home());
        run(command, None)
    };
    python_with("wacz");
    let ran = tool(plain(Command::new("wacz")), &["validate", "-f", &file]);
    assert_eq!(ran.status, 0, "{ran:?}");
    python_with("warcio");
    let unzip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall('x')";
    tool(Command::new("python3"), &["-c", unzip, &file]);
    let ran = tool(plain(Command::new("warcio")), &["check", "-v", "x/archive/data.warc.gz"]);
    assert!(ran.status == 0 && !ran.out.contains("fail"), "{ran:?}");
    let rows = format!("{page}\t{}\n", sha256("<title>t</title>page"));
    let script = crate::archives::exchange::script;
    let ran = script(python_with("pywb"), "unpack.py", std::slice::from_ref(&file), &rows);
    assert!(ran.status == 0 && ran.out.contains("replayed"), "{ran:?}");
    // A spool takes the recording as an archive.
    let told = studio.place.run(&["import", "--json", &file]).json();
    assert_eq!(told["kept"], 2, "{told}");
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    hex::encode(sha2::Sha256::digest(text))
}

#[test]
#[ignore = "slow"]
fn the_exit_status_and_signals_are_passed_on() {
    let studio = Studio::set();
    let script = |text| studio.run(&["--record", "x.wacz", "--", "sh", "-c", text]);
    assert_eq!(script("exit 7").status, 7);
    assert_eq!(script("kill -TERM $$").status, 143);
    let missing = studio.run(&["--record", "x.wacz", "--", "./no-such-command"]);
    assert_eq!(missing.status, 127, "{missing:?}");
    assert!(missing.err.contains("\"./no-such-command\" cannot be started"), "{missing:?}");
    let denied = studio.run(&["--record", "x.wacz", "--", "/"]);
    assert_eq!(denied.status, 126, "{denied:?}");
    for name in ["TERM", "HUP", "INT"] {
        let ready = studio.place.home().join(name);
        let wait = format!("trap 'exit 9' {name}; touch {name}; while :; do sleep 0.02; done");
        let mut command = studio.command(&["--record", "x.wacz", "--", "sh", "-c", &wait]);
        let mut child = command.spawn().unwrap();
        eventually("the command runs", || ready.exists());
        let id = child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(9), "{name}");
    }
}

#[test]
fn a_command_that_ignores_the_proxy_is_told() {
    let studio = Studio::set();
    let ran = studio.run(&["--record", "site.wacz", "--", "true"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.err.contains("no request arrived"), "{ran:?}");
    assert!(ran.err.contains("ignores the variables http_proxy and https_proxy"), "{ran:?}");
    assert!(!studio.file().exists(), "an empty recording");
    let told = studio.run(&["--record", "site.wacz", "--", "sh", "-c", "env"]);
    for name in [
        "http_proxy=http://127.0.0.1:",
        "HTTPS_PROXY=http://127.0.0.1:",
        "no_proxy=\n",
        "NODE_USE_ENV_PROXY=1",
        "NODE_EXTRA_CA_CERTS=/",
        "GIT_SSL_CAINFO=/",
        "CARGO_HTTP_CAINFO=/",
        "REQUESTS_CA_BUNDLE=/",
        "PIP_CERT=/",
        "-Dhttps.proxyHost=127.0.0.1",
    ] {
        assert!(told.out.contains(name), "{name} in {told:?}");
    }
    // Without --local, requests to this machine go past the proxy.
    let mut command = studio.place.bare_command();
    command.args(["run", "--record", "site.wacz", "--", "sh", "-c", "env"]);
    assert!(run(command, None).out.contains("no_proxy=localhost,127.0.0.1,::1\n"));
}
